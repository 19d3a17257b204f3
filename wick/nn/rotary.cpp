#include "wick/nn/rotary.h"

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/rope.h"

namespace wick::nn {
namespace {

// Where x's tokens are.
enum class Order { heads_tokens, tokens_heads };

struct Angles {
  Tensor cos;  // [tokens, pairs] or [batch, tokens, pairs], with exactly x's tokens
  Tensor sin;
};

Angles checked(const char* name, const Tensor& x, const Tensor& cos, const Tensor& sin, Order order) {
  if (x.rank() != 4 || x.shape().last() % 2 != 0 || cos.shape() != sin.shape() || (cos.rank() != 2 && cos.rank() != 3)) {
    fail(ErrorCode::shape_mismatch, "{}: x {} must have rank 4 and an even head_dim; cos {} and sin {} one shape of rank 2 or 3", name,
         x.describe(), cos.describe(), sin.describe());
  }
  const int64_t tokens = x.shape()[order == Order::heads_tokens ? 2 : 1];
  if (cos.dim(-1) * 2 != x.shape().last() || cos.dim(-2) < tokens || (cos.rank() == 3 && cos.shape()[0] != x.shape()[0])) {
    fail(ErrorCode::shape_mismatch, "{}: cos and sin {} are not for x {}: want {} or more tokens and {} pairs", name, cos.describe(),
         x.describe(), tokens, x.shape().last() / 2);
  }
  if (!is_float(x.dtype()) || cos.dtype() != x.dtype() || sin.dtype() != x.dtype()) {
    fail(ErrorCode::dtype_mismatch, "{}: x {}, cos {} and sin {} must have one float dtype", name, x.describe(), cos.describe(),
         sin.describe());
  }
  return {cos.narrow(-2, 0, tokens), sin.narrow(-2, 0, tokens)};
}

// Beside x: a dimension for the heads, and one for the batch by broadcasting.
Tensor beside(const Tensor& angles, Order order) {
  const int tokens = angles.rank() - 2;
  return angles.unsqueeze(order == Order::heads_tokens ? tokens : tokens + 1);
}

Tensor by_parts(const Tensor& x, const Angles& angles, Order order, RopeStyle style) {
  const Tensor cos = beside(angles.cos, order);
  const Tensor sin = beside(angles.sin, order);
  const int64_t pairs = x.shape().last() / 2;
  if (style == RopeStyle::half_split) {
    const Tensor a = x.narrow(-1, 0, pairs);
    const Tensor b = x.narrow(-1, pairs, pairs);
    return Tensor::cat({a * cos - b * sin, a * sin + b * cos}, -1);
  }
  const Tensor a = x.stride_slice(-1, 0, pairs, 2);
  const Tensor b = x.stride_slice(-1, 1, pairs, 2);
  return Tensor::stack({a * cos - b * sin, a * sin + b * cos}, -1).reshape(x.shape());
}

// The op takes [tokens, heads, head_dim] and one table of f32 for it; a batch is its sequences one after another.
Tensor by_op(const Tensor& x, const Angles& angles, Order order, RopeStyle style) {
  const Tensor thd = order == Order::heads_tokens ? x.transpose(1, 2) : x;
  const Shape& shape = thd.shape();
  const Tensor table = Tensor::stack({angles.cos, angles.sin}, -1).to_dtype(DType::f32);
  const Shape whole{shape[0], shape[1], shape[3] / 2, 2};
  const Tensor rows = table.broadcast_to(whole).reshape({shape[0] * shape[1], shape[3] / 2, 2});
  const Tensor turned = wick::rope(thd.reshape({shape[0] * shape[1], shape[2], shape[3]}), rows, style).reshape(shape);
  return order == Order::heads_tokens ? turned.transpose(1, 2) : turned;
}

Tensor turned(const char* name, const Tensor& x, const Tensor& cos, const Tensor& sin, Order order, RopeStyle style) {
  const Angles angles = checked(name, x, cos, sin, order);
  // The op's table is f32 and has no gradient.
  const bool composed = x.dtype() == DType::f64 || cos.is_tracked() || sin.is_tracked() || x.elements() == 0;
  return composed ? by_parts(x, angles, order, style) : by_op(x, angles, order, style);
}

}  // namespace

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  check_assigned("rope", {{"x", x}, {"cos", cos}, {"sin", sin}});
  return turned("rope", x, cos, sin, Order::heads_tokens, RopeStyle::half_split);
}

Tensor rope_i(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  check_assigned("rope_i", {{"x", x}, {"cos", cos}, {"sin", sin}});
  return turned("rope_i", x, cos, sin, Order::heads_tokens, RopeStyle::interleaved);
}

Tensor rope_thd(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  check_assigned("rope_thd", {{"x", x}, {"cos", cos}, {"sin", sin}});
  return turned("rope_thd", x, cos, sin, Order::tokens_heads, RopeStyle::half_split);
}

Tensor rope_slow(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  check_assigned("rope_slow", {{"x", x}, {"cos", cos}, {"sin", sin}});
  return by_parts(x, checked("rope_slow", x, cos, sin, Order::heads_tokens), Order::heads_tokens, RopeStyle::half_split);
}

Tensor rope_i_slow(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  check_assigned("rope_i_slow", {{"x", x}, {"cos", cos}, {"sin", sin}});
  return by_parts(x, checked("rope_i_slow", x, cos, sin, Order::heads_tokens), Order::heads_tokens, RopeStyle::interleaved);
}

Tensor rope_thd_slow(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  check_assigned("rope_thd_slow", {{"x", x}, {"cos", cos}, {"sin", sin}});
  return by_parts(x, checked("rope_thd_slow", x, cos, sin, Order::tokens_heads), Order::tokens_heads, RopeStyle::half_split);
}

}  // namespace wick::nn
