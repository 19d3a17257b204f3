// Tensors made from numbers alone.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "tensor/tensor.h"

namespace wick {

Tensor Tensor::arange(double start, double end, double step, DType dtype, const Device& device) {
  if (step == 0 || !std::isfinite(start) || !std::isfinite(end) || !std::isfinite(step)) {
    fail(ErrorCode::invalid_argument, "arange: from {} to {} by {}: the step must not be 0, and all must be finite", start, end, step);
  }
  const double count = std::ceil((end - start) / step);
  if (count > 0x1p53) fail(ErrorCode::out_of_memory, "arange: {} elements from {} to {} by {}", count, start, end, step);
  std::vector<double> values(static_cast<size_t>(std::max(count, 0.0)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * step;
  return from_vector(values, {static_cast<int64_t>(values.size())}, device).to_dtype(dtype);
}

}  // namespace wick
