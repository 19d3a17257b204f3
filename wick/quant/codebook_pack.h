// Common parts of the IQ2 and IQ3 quantizers: separated signs, groups fitted to a codebook, four-bit scales.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "wick/quant/codebook_search.h"
#include "wick/quant/scale_search.h"

namespace wick::quant {

// A run of values as the search takes it.
template <size_t kRun>
struct SignedRun {
  std::array<float, kRun> magnitudes;
  std::array<float, kRun> weights;
  std::array<uint8_t, kRun / 8> signs;

  // Takes the signs off; `even`: their number in each group of eight is made even, at the expense of the value that costs least.
  void split(const float* in, bool even);
  [[nodiscard]] float highest() const { return std::max(0.0f, *std::max_element(magnitudes.begin(), magnitudes.end())); }
};

template <size_t kRun>
void SignedRun<kRun>::split(const float* in, bool even) {
  for (size_t group = 0; group < kRun / 8; ++group) {
    uint32_t bits = 0;
    int negative = 0;
    for (size_t lane = 0; lane < 8; ++lane) {
      const size_t at = group * 8 + lane;
      const bool minus = !(in[at] >= 0);
      magnitudes[at] = minus ? -in[at] : in[at];
      bits |= static_cast<uint32_t>(minus) << lane;
      negative += minus;
    }
    if (even && negative % 2 != 0) {
      size_t cheapest = 0;
      float least = weights[group * 8] * in[group * 8] * in[group * 8];
      for (size_t lane = 1; lane < 8; ++lane) {
        const size_t at = group * 8 + lane;
        const float cost = weights[at] * in[at] * in[at];
        if (cost >= least || std::isnan(cost)) continue;
        least = cost;
        cheapest = lane;
      }
      magnitudes[group * 8 + cheapest] = -magnitudes[group * 8 + cheapest];
      bits ^= 1u << cheapest;
    }
    signs[group] = static_cast<uint8_t>(bits);
  }
}

// A fitted group.
template <size_t kRun>
struct FittedRun {
  float scale = 0;
  std::array<uint8_t, kRun> digits{};
};

// How the runs of a format are fitted.
struct RunFit {
  RunSearch search;
  float zero_run = 0;  // runs whose largest magnitude is below count as zeros
};

// Fits a run, the first guess being that the largest magnitude is the largest digit. Signs are flipped if the scale came out negative.
template <size_t kRun>
FittedRun<kRun> fit_run(const Codebook& book, const RunFit& fit, SignedRun<kRun>& run) {
  FittedRun<kRun> fitted;
  const float highest = run.highest();
  if (!(highest >= fit.zero_run) || highest == 0) {
    run.signs.fill(0);  // such a run is point 0 without signs
    return fitted;
  }
  fitted.scale = highest / static_cast<float>(2 * book.max_digit() + 1);
  search_run(book, fit.search, run.magnitudes, run.weights, highest, fitted.scale, fitted.digits);
  if (fitted.scale < 0) {
    fitted.scale = -fitted.scale;
    for (uint8_t& signs : run.signs) signs = static_cast<uint8_t>(~signs);
  }
  return fitted;
}

// The four bits s of a run's scale, which stand for 2 s + 1.
[[nodiscard]] inline int odd_scale_bits(float inverse_d, float scale, int highest) noexcept {
  return std::clamp(nearest_integer(0.5f * (inverse_d * scale - 1)), 0, highest);
}

}  // namespace wick::quant
