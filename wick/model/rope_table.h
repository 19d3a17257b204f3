// Rotary angles: which frequency each pair of a head turns with, and the table of cosines and sines for a run of positions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wick/tensor/tensor.h"

namespace wick {

enum class RopeScaling { none, linear, llama3, yarn, longrope };

// How positions become angles. Pair i of `dims / 2` turns by position · base^(−2i/dims), before scaling.
struct RopeConfig {
  int64_t dims = 0;
  double base = 10000;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;             // the context is stretched by this much
  bool dynamic = false;          // behind the context, the base would grow with the text (dynamic NTK): no table is made for that
  int64_t original_context = 0;  // what the model was trained for, before stretching: llama3 and yarn
  // llama3 (Llama 3.1): wavelengths above original_context / low_frequency_factor are stretched, below …/ high_… are kept.
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  // yarn (Peng et al. 2023): pairs that turn more than beta_fast times in the original context are kept, less than beta_slow stretched.
  double beta_fast = 32;
  double beta_slow = 1;
  bool truncate = true;         // these bounds are rounded to whole pairs
  double attention_factor = 1;  // multiplies cosines and sines, for yarn beside its own 1 + 0.1·ln(factor)
  // longrope (Ding et al. 2024): divisors of each frequency for texts up to the original context, and for longer ones.
  std::vector<float> short_divisors = {}, long_divisors = {};
  // Divisors of each frequency that the file brings along (GGUF's rope_freqs.weight); empty: none.
  std::vector<float> frequency_divisors = {};
};

class RopeTable {
 public:
  // Table for texts of up to `context` positions (used by longrope only); 0: the shortest. Errors: invalid_argument for odd or zero dims,
  // and for divisors that are not one a pair.
  explicit RopeTable(const RopeConfig& config, int64_t context = 0);

  // f32 [count, dims / 2, 2]: cosine and sine of each pair's angle at positions first … first + count − 1. Angles are computed in f64.
  // Errors: invalid_argument for positions below 0 or beyond 2^31.
  [[nodiscard]] Tensor table(int64_t first, int64_t count, const Device& device) const;
  [[nodiscard]] const std::vector<double>& frequencies() const noexcept { return frequencies_; }
  // Factor of cosines and sines: attention_factor times yarn's own factor.
  [[nodiscard]] double magnitude() const noexcept { return magnitude_; }

 private:
  std::vector<double> frequencies_;
  double magnitude_ = 1;
};

// The rows of heads whose pairs lie side by side (2i, 2i + 1), as their places among rows whose pairs lie as halves (i, i + rotated / 2).
// Rows beyond the rotated dimensions of a head stay.
[[nodiscard]] std::vector<int64_t> interleaved_rows(int64_t rows, int64_t head_dim, int64_t rotated);

}  // namespace wick
