// Vectors or scores of many texts without an Engine: texts of about one length go through the layers together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "wick/engine/prompt.h"
#include "wick/model/language_model.h"

namespace wick {

// ModelResult::pooled for each text, in their order: [vector_width], or its scores; `done` is called with the number of finished texts.
// Errors: context_full for a text that is longer than the model's context, by its number; LanguageModel::forward's.
[[nodiscard]] std::vector<std::vector<float>> text_vectors(const LanguageModel& model, std::span<const TextPair> texts,
                                                           const std::optional<Pooling>& pooling,
                                                           const std::function<void(size_t)>& done = {});

}  // namespace wick
