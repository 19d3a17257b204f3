#include "wick/model/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "wick/base/fail.h"

namespace wick {
namespace {

// Llama 3.1's rule: long wavelengths are divided by the factor, short ones kept, those between blended.
double llama3_frequency(double frequency, const RopeConfig& config) {
  const auto context = static_cast<double>(config.original_context);
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength > context / config.low_frequency_factor) return frequency / config.factor;
  if (wavelength < context / config.high_frequency_factor) return frequency;
  const double blend = (context / wavelength - config.low_frequency_factor) / (config.high_frequency_factor - config.low_frequency_factor);
  return (1 - blend) * frequency / config.factor + blend * frequency;
}

// The pair number, as a real one, that turns `turns` times within the original context (YaRN, section 3.2).
double yarn_pair(double turns, const RopeConfig& config) {
  const auto dims = static_cast<double>(config.dims);
  return dims * std::log(static_cast<double>(config.original_context) / (turns * 2 * std::numbers::pi)) / (2 * std::log(config.base));
}

double yarn_frequency(double frequency, int64_t pair, const RopeConfig& config) {
  const double first = yarn_pair(config.beta_fast, config), last = yarn_pair(config.beta_slow, config);
  const double low = std::max(0.0, config.truncate ? std::floor(first) : first);
  const double high = std::min(static_cast<double>(config.dims - 1), config.truncate ? std::ceil(last) : last);
  const double ramp = std::clamp((static_cast<double>(pair) - low) / std::max(0.001, high - low), 0.0, 1.0);
  return frequency / config.factor * ramp + frequency * (1 - ramp);
}

// More than any context; products of it with a head's size stay far from overflow.
constexpr int64_t kMaxPositions = int64_t{1} << 31;

double scaled_frequency(double frequency, int64_t pair, const RopeConfig& config) {
  switch (config.scaling) {
    case RopeScaling::none:
    case RopeScaling::longrope: return frequency;
    case RopeScaling::linear: return frequency / config.factor;
    case RopeScaling::llama3: return llama3_frequency(frequency, config);
    case RopeScaling::yarn: return yarn_frequency(frequency, pair, config);
  }
  return frequency;
}

}  // namespace

RopeTable::RopeTable(const RopeConfig& config, int64_t context) {
  if (config.dims < 2 || config.dims % 2 != 0) {
    fail(ErrorCode::invalid_argument, "RopeTable: {} dims: pairs are rotated, so give an even number of at least 2", config.dims);
  }
  const int64_t pairs = config.dims / 2;
  const std::vector<float>& divisors = config.scaling != RopeScaling::longrope ? config.frequency_divisors
                                       : context > config.original_context     ? config.long_divisors
                                                                               : config.short_divisors;
  if (!divisors.empty() && static_cast<int64_t>(divisors.size()) != pairs) {
    fail(ErrorCode::invalid_argument, "RopeTable: {} frequency divisors for {} pairs: give one for each pair, or none", divisors.size(),
         pairs);
  }
  for (int64_t pair = 0; pair < pairs; ++pair) {
    double frequency = std::pow(config.base, -2.0 * static_cast<double>(pair) / static_cast<double>(config.dims));
    if (!divisors.empty()) frequency /= divisors[static_cast<size_t>(pair)];
    frequencies_.push_back(scaled_frequency(frequency, pair, config));
  }
  magnitude_ = config.attention_factor;
  if (config.scaling == RopeScaling::yarn) magnitude_ *= 1 + 0.1 * std::log(config.factor);
}

Tensor RopeTable::table(int64_t first, int64_t count, const Device& device) const {
  const auto pairs = static_cast<int64_t>(frequencies_.size());
  if (first < 0 || count < 0 || count > kMaxPositions - first) {
    fail(ErrorCode::invalid_argument, "RopeTable: positions {} to {} + {}: give positions from 0 to {}", first, first, count,
         kMaxPositions);
  }
  std::vector<float> values;
  values.reserve(static_cast<size_t>(count * pairs * 2));
  for (int64_t position = first; position < first + count; ++position) {
    for (const double frequency : frequencies_) {
      const double angle = static_cast<double>(position) * frequency;
      values.push_back(static_cast<float>(std::cos(angle) * magnitude_));
      values.push_back(static_cast<float>(std::sin(angle) * magnitude_));
    }
  }
  return Tensor::from_vector(values, {count, pairs, 2}, device);
}

std::vector<int64_t> interleaved_rows(int64_t rows, int64_t head_dim, int64_t rotated) {
  std::vector<int64_t> sources;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t within = row % head_dim;
    const int64_t source = within < rotated ? within % 2 * (rotated / 2) + within / 2 : within;
    sources.push_back(row - within + source);
  }
  return sources;
}

}  // namespace wick
