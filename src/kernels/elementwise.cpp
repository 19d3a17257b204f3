#include "kernels/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "kernels/group_options.h"
#include "kernels/math.h"
#include "kernels/strided.h"

namespace wick::kernels {

using ir::Element;
using ir::Kernel;
using ir::KernelBuilder;
using ir::Memory;
using ir::Type;
using ir::Value;

namespace {

Value apply(UnaryOp op, const Value& x) {
  switch (op) {
    case UnaryOp::copy: return x;
    case UnaryOp::negate: return -x;
    case UnaryOp::absolute: return abs(x);
    case UnaryOp::square: return x * x;
    case UnaryOp::square_root: return sqrt(x);
    case UnaryOp::exp: return exp(x);
    case UnaryOp::log: return log(x);
    case UnaryOp::sine: return sin_of(x);
    case UnaryOp::cosine: return cos_of(x);
    case UnaryOp::tanh: return tanh(x);
    case UnaryOp::sigmoid: return sigmoid(x);
    case UnaryOp::silu: return silu(x);
    case UnaryOp::gelu: return gelu(x);
    case UnaryOp::relu: return max(x, 0.0F);
  }
  assertion_failed("a unary op of no kind");
}

Value apply(BinaryOp op, const Value& a, const Value& b) {
  switch (op) {
    case BinaryOp::add: return a + b;
    case BinaryOp::subtract: return a - b;
    case BinaryOp::multiply: return a * b;
    case BinaryOp::divide: return a / b;
    case BinaryOp::minimum: return min(a, b);
    case BinaryOp::maximum: return max(a, b);
  }
  assertion_failed("a binary op of no kind");
}

// The four coordinates of element i of an array, the last dimension innermost.
struct Coordinates {
  std::array<Value, 4> at;

  Coordinates(const Value& i, const std::array<Value, 3>& extents) {
    Value rest = i;
    for (std::size_t d = 3; d > 0; --d) {
      at[d] = rest % extents[d - 1];
      rest = rest / extents[d - 1];
    }
    at[0] = rest;
  }
};

std::array<Value, 3> extents(KernelBuilder& k) {
  return {k.parameter("extent_1", Type::u32), k.parameter("extent_2", Type::u32), k.parameter("extent_3", Type::u32)};
}

// Where a strided array holds the element of these coordinates. Takes five parameters.
class Strided {
 public:
  Strided(KernelBuilder& k, std::string_view name) : offset_(k.parameter(fmt::format("{}_offset", name), Type::u32)) {
    for (std::size_t d = 0; d < 4; ++d) strides_[d] = k.parameter(fmt::format("{}_stride_{}", name, d), Type::u32);
  }
  [[nodiscard]] Value index(const Coordinates& c) const {
    Value index = offset_;
    for (std::size_t d = 0; d < 4; ++d) index = index + c.at[d] * strides_[d];
    return index;
  }

 private:
  Value offset_;
  std::array<Value, 4> strides_;
};

Value as_f32(const Value& v) { return cast(Type::f32, v); }

void store(const Memory& y, const Value& i, const Value& result, Element out) { y[i] = cast(register_type(out), result); }

}  // namespace

std::string_view to_string(UnaryOp op) noexcept {
  static constexpr std::array<std::string_view, 14> kNames{"copy", "negate", "absolute", "square",  "square_root", "exp",  "log",
                                                           "sine", "cosine", "tanh",     "sigmoid", "silu",        "gelu", "relu"};
  return kNames[static_cast<std::size_t>(op)];
}

std::string_view to_string(BinaryOp op) noexcept {
  static constexpr std::array<std::string_view, 6> kNames{"add", "subtract", "multiply", "divide", "minimum", "maximum"};
  return kNames[static_cast<std::size_t>(op)];
}

Kernel unary(UnaryOp op, Element in, Element out, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("{}_{}_{}", to_string(op), to_string(in), to_string(out)),
                  {.group_size = group_options(caps, 256).group_size});
  const Memory x = k.buffer("x", in), y = k.output("y", out);
  const Value count = k.parameter("count", Type::u32);
  const std::array<Value, 3> shape = extents(k);
  const Strided place(k, "x");
  const Value i = global_lane(k);
  k.when(i < count, [&] { store(y, i, apply(op, as_f32(x[place.index(Coordinates(i, shape))])), out); });
  return k.finish();
}

Kernel binary(BinaryOp op, Element in, Element out, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("{}_{}_{}", to_string(op), to_string(in), to_string(out)),
                  {.group_size = group_options(caps, 256).group_size});
  const Memory a = k.buffer("a", in), b = k.buffer("b", in), y = k.output("y", out);
  const Value count = k.parameter("count", Type::u32);
  const std::array<Value, 3> shape = extents(k);
  const Strided place_a(k, "a"), place_b(k, "b");
  const Value i = global_lane(k);
  k.when(i < count, [&] {
    const Coordinates c(i, shape);
    store(y, i, apply(op, as_f32(a[place_a.index(c)]), as_f32(b[place_b.index(c)])), out);
  });
  return k.finish();
}

}  // namespace wick::kernels
