#include "wick/quant/codebook_search.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/quant/scale_search.h"

namespace wick::quant {
namespace {

constexpr size_t kMaxCodebookRun = 32;
constexpr size_t kMaxLanes = 8;

void round_digits(const Codebook& book, std::span<const float> values, float inverse_scale, std::span<uint8_t> digits) {
  for (size_t lane = 0; lane < values.size(); ++lane) {
    digits[lane] = static_cast<uint8_t>(std::clamp(nearest_integer(0.5f * (inverse_scale * values[lane] - 1)), 0, book.max_digit()));
  }
}

// Replaces digits that are no point by the neighbour of the smallest weighted square error.
void snap(const Codebook& book, std::span<const float> values, const float* root_weights, float scale, std::span<uint8_t> digits) {
  float best_error = FLT_MAX;
  const std::span<const uint16_t> candidates = book.neighbours(digits);
  int best = candidates.front();
  for (const int point : candidates) {
    float error = 0;
    for (size_t lane = 0; lane < values.size(); ++lane) {
      const auto q = static_cast<float>(2 * book.digit(point, static_cast<int>(lane)) + 1);
      const float difference = scale * q - values[lane];
      error += root_weights[lane] * difference * difference;
    }
    if (error < best_error) {
      best_error = error;
      best = point;
    }
  }
  for (size_t lane = 0; lane < values.size(); ++lane) digits[lane] = static_cast<uint8_t>(book.digit(best, static_cast<int>(lane)));
}

struct Sums {
  float value_code = 0;
  float code_code = 0;
};

Sums sums_of(std::span<const float> values, std::span<const float> weights, std::span<const uint8_t> digits) {
  Sums sums;
  for (size_t index = 0; index < values.size(); ++index) {
    const auto q = static_cast<float>(2 * digits[index] + 1);
    sums.value_code += weights[index] * values[index] * q;
    sums.code_code += weights[index] * q * q;
  }
  return sums;
}

}  // namespace

Codebook::Codebook(std::span<const uint16_t> points, int lanes, int max_digit, int rings)
    : points_(points), lanes_(lanes), bits_(lanes == 4 ? 3 : 2), mask_((1 << bits_) - 1), max_digit_(max_digit) {
  starts_.resize(size_t{1} << (bits_ * lanes_));
  for (size_t point = 0; point < points_.size(); ++point) starts_[points_[point]].point = static_cast<int32_t>(point);
  for (size_t index = 0; index < starts_.size(); ++index) {
    if (starts_[index].point < 0) collect_neighbours(index, rings);
  }
}

size_t Codebook::index_of(std::span<const uint8_t> digits) const noexcept {
  size_t index = 0;
  for (size_t lane = 0; lane < digits.size(); ++lane) index |= static_cast<size_t>(digits[lane]) << (static_cast<size_t>(bits_) * lane);
  return index;
}

std::span<const uint16_t> Codebook::neighbours(std::span<const uint8_t> digits) const noexcept {
  const Start& start = starts_[index_of(digits)];
  return {neighbours_.data() + start.begin, start.count};
}

void Codebook::collect_neighbours(size_t index, int rings) {
  std::array<int, kMaxLanes> digits{};
  for (int lane = 0; lane < lanes_; ++lane) {
    digits[static_cast<size_t>(lane)] = static_cast<int>(index >> (bits_ * lane)) & mask_;
    if (digits[static_cast<size_t>(lane)] > max_digit_) return;  // never needed
  }
  constexpr size_t kFar = kMaxLanes * 49;
  std::array<uint16_t, kFar + 1> counts{};
  std::vector<uint16_t> distances(points_.size());
  for (size_t point = 0; point < points_.size(); ++point) {
    int distance = 0;
    for (int lane = 0; lane < lanes_; ++lane) {
      const int difference = ((points_[point] >> (bits_ * lane)) & mask_) - digits[static_cast<size_t>(lane)];
      distance += difference * difference;
    }
    distances[point] = static_cast<uint16_t>(distance);
    ++counts[distances[point]];
  }
  Start& start = starts_[index];
  start.begin = static_cast<uint32_t>(neighbours_.size());
  for (size_t distance = 0; distance <= kFar && rings > 0; ++distance) {
    if (counts[distance] == 0) continue;
    --rings;
    for (size_t point = 0; point < points_.size(); ++point) {
      if (distances[point] == distance) neighbours_.push_back(static_cast<uint16_t>(point));
    }
  }
  start.count = static_cast<uint32_t>(neighbours_.size()) - start.begin;
}

int point_of(const Codebook& book, std::span<const uint8_t> digits) {
  const int point = book.find(digits);
  return point >= 0 ? point : book.neighbours(digits).front();
}

void search_run(const Codebook& book, const RunSearch& search, std::span<const float> values, std::span<const float> weights, float reach,
                float& scale, std::span<uint8_t> digits) {
  WICK_ASSERT(values.size() <= kMaxCodebookRun && weights.size() == values.size() && digits.size() == values.size());
  const auto lanes = static_cast<size_t>(book.lanes());
  std::array<float, kMaxCodebookRun> root_weights;
  for (size_t index = 0; index < weights.size(); ++index) root_weights[index] = std::sqrt(weights[index]);
  std::array<bool, kMaxCodebookRun> exact;
  exact.fill(search.again == RunSearch::Again::inexact);
  std::array<uint8_t, kMaxCodebookRun> trial_storage{};
  const std::span<uint8_t> trial(trial_storage.data(), values.size());
  const auto largest = static_cast<float>(2 * book.max_digit() + 1);
  float best = 0;
  for (int step = -search.steps; step <= search.steps; ++step) {
    const float inverse_scale = (largest + static_cast<float>(step) * search.step) / reach;
    std::array<bool, kMaxCodebookRun> trial_exact{};
    for (size_t at = 0; at < values.size(); at += lanes) {
      const std::span<uint8_t> point = trial.subspan(at, lanes);
      round_digits(book, values.subspan(at, lanes), inverse_scale, point);
      trial_exact[at] = book.find(point) >= 0;
      if (!trial_exact[at]) snap(book, values.subspan(at, lanes), root_weights.data() + at, 1 / inverse_scale, point);
    }
    const Sums sums = sums_of(values, weights, trial);
    if (!(sums.code_code > 0 && sums.value_code * sums.value_code > best * sums.code_code)) continue;
    scale = sums.value_code / sums.code_code;
    best = scale * sums.value_code;
    std::copy(trial.begin(), trial.end(), digits.begin());
    exact = trial_exact;
  }
  bool all_exact = search.again != RunSearch::Again::all;
  for (size_t at = 0; at < values.size(); at += lanes) all_exact = all_exact && exact[at];
  if (all_exact || !(scale > 0)) return;
  for (size_t at = 0; at < values.size(); at += lanes) {
    if (exact[at] && search.again == RunSearch::Again::inexact) continue;
    const std::span<uint8_t> point = digits.subspan(at, lanes);
    round_digits(book, values.subspan(at, lanes), 1 / scale, point);
    if (book.find(point) < 0) snap(book, values.subspan(at, lanes), root_weights.data() + at, scale, point);
  }
  const Sums sums = sums_of(values, weights, digits);
  if (sums.code_code > 0) scale = sums.value_code / sums.code_code;
}

}  // namespace wick::quant
