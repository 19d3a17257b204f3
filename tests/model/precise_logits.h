// The logits of a model file or folder for some tokens, computed with f32 activations on the CPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {

// [tokens · vocabulary], for every row.
inline std::vector<float> precise_logits(const std::filesystem::path& path, std::span<const int32_t> tokens) {
  const auto model = load_language_model(Checkpoint::open(path), Device::cpu(), {.precise = true});
  return model->forward(tokens, *model->new_sequence(64), LogitRows::all).to_vector<float>();
}

}  // namespace wick
