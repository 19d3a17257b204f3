// Scores of a classifier's labels as probabilities, and of a reranker's pairs as one number.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "wick/model/checkpoint/classifier.h"
#include "wick/model/language_model.h"

namespace wick {

// The head's results for one text or token as their softmax, their sigmoids, or, of a regression, the same numbers.
[[nodiscard]] std::vector<float> label_scores(const Classifier& classifier, std::span<const float> results);
// The index of the highest score, of equal ones the first.
[[nodiscard]] size_t best_label(std::span<const float> scores);

// Whether the model scores pairs of texts: by one label, or by the labels "yes" and "no" (Qwen3 Reranker).
[[nodiscard]] bool is_reranker(Pooling pooling, const std::optional<Classifier>& classifier);
// The one result as it is, or the probability of "yes".
[[nodiscard]] float pair_score(const std::optional<Classifier>& classifier, std::span<const float> results);
// Errors: invalid_argument for a model without a head that scores pairs, saying what it is for.
void require_reranker(std::string_view model, Pooling pooling, const std::optional<Classifier>& classifier);
// Errors: invalid_argument for a model without labels.
void require_classifier(std::string_view model, Pooling pooling, const std::optional<Classifier>& classifier);

}  // namespace wick
