#include "wick/nn/encoding.h"

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick::nn {

Tensor one_hot(const Tensor& ids, int64_t depth, DType dtype, double on, double off) {
  check_assigned("one_hot", {{"ids", ids}});
  if (!is_integer(ids.dtype())) fail(ErrorCode::dtype_mismatch, "one_hot: ids {} must be of an integer dtype", ids.describe());
  if (depth < 0) fail(ErrorCode::invalid_argument, "one_hot: depth is {}; allowed: 0 or more", depth);
  for (const int64_t id : ids.to_vector<int64_t>()) {
    if (id < -1 || id >= depth)
      fail(ErrorCode::index_out_of_range, "one_hot: id {} is out of range for depth {}; allowed: -1 to {}", id, depth, depth - 1);
  }
  const Tensor places = Tensor::arange(0, static_cast<double>(depth), DType::i64, ids.device());
  const Tensor hit = ids.to_dtype(DType::i64).unsqueeze(-1).eq(places);
  const auto number = [&](double value) { return Tensor::full(Shape(), value, dtype, ids.device()); };
  return hit.where_cond(number(on), number(off));
}

}  // namespace wick::nn
