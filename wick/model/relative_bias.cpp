#include "wick/model/relative_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace wick {

int64_t relative_bucket(const RelativeBiasSpec& spec, int64_t distance) {
  const int64_t count = spec.bidirectional ? spec.buckets / 2 : spec.buckets;
  const int64_t first = spec.bidirectional && distance > 0 ? count : 0;
  const int64_t away = spec.bidirectional ? std::abs(distance) : std::max<int64_t>(-distance, 0);
  const int64_t exact = count / 2;
  if (away < exact) return first + away;
  // In f32 throughout, as in transformers: a logarithm of more digits may fall into the next bucket.
  const float share = std::log(static_cast<float>(away) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(spec.max_distance) / static_cast<double>(exact)));
  const auto further = static_cast<int64_t>(share * static_cast<float>(count - exact));
  return first + std::min(exact + further, count - 1);
}

Tensor relative_bias(const Tensor& table, const RelativeBiasSpec& spec, std::span<const int32_t> positions, int64_t longest) {
  std::vector<int32_t> of_distance;  // from -(longest - 1) on
  for (int64_t distance = 1 - longest; distance < longest; ++distance) {
    of_distance.push_back(static_cast<int32_t>(relative_bucket(spec, distance)));
  }
  std::vector<int32_t> buckets;
  buckets.reserve(positions.size() * static_cast<size_t>(longest));
  for (const int32_t position : positions) {
    const auto* first = of_distance.data() + (longest - 1 - position);
    buckets.insert(buckets.end(), first, first + longest);
  }
  const auto rows = std::ssize(positions);
  const Tensor chosen = table.index_select(Tensor::from_span(std::span<const int32_t>(buckets), {rows * longest}, table.device()), 1);
  return chosen.reshape({table.dim(0), rows, longest});
}

}  // namespace wick
