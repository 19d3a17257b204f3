#include "wick/nn/loss.h"

#include <cstdint>
#include <vector>

#include "wick/base/fail.h"
#include "wick/nn/activation.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/normalize.h"

namespace wick::nn {
namespace {

void check_classes(const char* name, const Tensor& x, const Tensor& target) {
  if (x.rank() != 2 || target.rank() != 1 || x.shape()[0] != target.shape()[0]) {
    fail(ErrorCode::shape_mismatch, "{}: x {} must be [batch, classes] and target {} [batch]", name, x.describe(), target.describe());
  }
  if (!is_float(x.dtype())) fail(ErrorCode::dtype_mismatch, "{}: x {} must be of a float dtype", name, x.describe());
  if (!is_integer(target.dtype())) {
    fail(ErrorCode::dtype_mismatch, "{}: target {} must hold class numbers, of an integer dtype", name, target.describe());
  }
  if (x.shape()[0] == 0) fail(ErrorCode::shape_mismatch, "{}: x {} is an empty batch, which has no mean", name, x.describe());
}

void check_pair(const char* name, const Tensor& x, const Tensor& target) {
  if (x.shape() != target.shape()) {
    fail(ErrorCode::shape_mismatch, "{}: x {} and target {} must have one shape", name, x.describe(), target.describe());
  }
  if (x.elements() == 0) fail(ErrorCode::shape_mismatch, "{}: x {} is empty and has no mean", name, x.describe());
  if (!is_float(x.dtype()) || x.dtype() != target.dtype()) {
    fail(ErrorCode::dtype_mismatch, "{}: x {} and target {} must have one float dtype", name, x.describe(), target.describe());
  }
}

// The error in words that name the first target that is no class of x: on the way of an error alone, as it waits for the device.
Error for_target(const Error& error, const char* name, const Tensor& x, const Tensor& target) {
  const int64_t classes = x.shape()[1];
  const std::vector<int64_t> numbers = target.to_vector<int64_t>();
  for (size_t at = 0; at < numbers.size(); ++at) {
    if (numbers[at] >= 0 && numbers[at] < classes) continue;
    return {error, fmt::format("{}: target {} at [{}] is out of range for the {} classes of x {}; allowed: 0 to {}", name, numbers[at], at,
                               classes, x.describe(), classes - 1)};
  }
  return error;
}

Tensor picked(const char* name, const Tensor& log_probabilities, const Tensor& target) {
  const bool indexes = target.dtype() == DType::u8 || target.dtype() == DType::u32;
  const Tensor ids = (indexes ? target : target.to_dtype(DType::i64)).unsqueeze(1);
  try {
    return log_probabilities.gather(ids, 1).mean_all().neg();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::index_out_of_range) throw for_target(error, name, log_probabilities, target);
    throw;
  }
}

}  // namespace

Tensor nll(const Tensor& log_probabilities, const Tensor& target) {
  check_assigned("nll", {{"log_probabilities", log_probabilities}, {"target", target}});
  check_classes("nll", log_probabilities, target);
  return picked("nll", log_probabilities, target);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target) {
  check_assigned("cross_entropy", {{"logits", logits}, {"target", target}});
  check_classes("cross_entropy", logits, target);
  return picked("cross_entropy", log_softmax(logits, -1), target);
}

Tensor mse(const Tensor& x, const Tensor& target) {
  check_assigned("mse", {{"x", x}, {"target", target}});
  check_pair("mse", x, target);
  return (x - target).sqr().mean_all();
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target) {
  check_assigned("binary_cross_entropy_with_logits", {{"logits", logits}, {"target", target}});
  check_pair("binary_cross_entropy_with_logits", logits, target);
  // -log sigmoid(x) = softplus(-x): exact for large x of either sign, and smooth at 0.
  return (target * softplus(logits.neg()) + (1.0 - target) * softplus(logits)).mean_all();
}

Tensor huber(const Tensor& x, const Tensor& target, double delta) {
  check_assigned("huber", {{"x", x}, {"target", target}});
  check_pair("huber", x, target);
  if (!(delta > 0)) fail(ErrorCode::invalid_argument, "huber: delta is {}; allowed: above 0", delta);
  const Tensor difference = x - target;
  const Tensor distance = difference.abs();
  return distance.le(delta).where_cond(difference.sqr() * 0.5, (distance - 0.5 * delta) * delta).mean_all();
}

}  // namespace wick::nn
