// The bias of attention scores that follows from the distance between two positions (RelativeBiasSpec).
#pragma once

#include <cstdint>
#include <span>

#include "wick/model/description.h"
#include "wick/tensor/tensor.h"

namespace wick {

// The bucket of a key's position less the query's.
[[nodiscard]] int64_t relative_bucket(const RelativeBiasSpec& spec, int64_t distance);
// table f32 [heads, buckets] -> f32 [heads, rows, longest]: of the queries at these positions and keys at 0 … longest - 1.
[[nodiscard]] Tensor relative_bias(const Tensor& table, const RelativeBiasSpec& spec, std::span<const int32_t> positions, int64_t longest);

}  // namespace wick
