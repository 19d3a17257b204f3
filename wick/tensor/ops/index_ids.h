// Common parts of ops with ids: allowed dtypes, and reading ids in the reference loops.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "wick/tensor/ops/op_rule.h"

namespace wick {

// Errors: dtype_mismatch for ids that are not u8, u32, i32 or i64.
void check_id_dtype(std::string_view op, const Tensor& ids);
// `shape` with another extent along dim.
[[nodiscard]] Shape with_extent(const Shape& shape, int dim, int64_t extent);

// The result of checked_ids and chosen_places for the id that means "none" (op/op.h).
inline constexpr size_t kNothing = std::numeric_limits<size_t>::max();

// The ids as numbers. Errors: index_out_of_range for one that is not in [0, extent) and does not mean "nothing".
[[nodiscard]] std::vector<size_t> checked_ids(OpId op, const ReferenceTensor& ids, int dim, int64_t extent);
// For each id of a tensor of shape `ids`, the row-major place in `target` that it chooses: the id's own place with the id along dim.
[[nodiscard]] std::vector<size_t> chosen_places(const std::vector<size_t>& ids, const Shape& ids_shape, const Shape& target, int dim);
// sum + value as the dtype adds: integers wrap around.
[[nodiscard]] double added(DType dtype, double sum, double value);

}  // namespace wick
