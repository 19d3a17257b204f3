// unary: every function, every rank, every layout, every plain dtype, and the numbers that are not.
#include "wick/tensor/ops/unary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/case.h"

namespace wick::conformance {
namespace {

// A result below the normal numbers of f32 may become 0.
constexpr double kFlushed = 0x1p-126;

const std::vector<double> kSpecialNumbers = {
    0.0,   -0.0,  1,     -1,    kNaN, kInfinity, -kInfinity, 3e38, -3e38, 1e-40, -1e-40, 88.5,  -88.5, 104,
    -104,  0.5,   -0.5,  1.5,   -1.5, 2.5,       -2.5,       1e-8, -1e-8, -89,   -95,    -150,  -1000, 1000,
    -1e30, 1e30,  39001, -5e4,  3,    -3,        3.2,        -3.2, 0.999, 1.001, 710,    -745,  2e-45, 1e6,
    6,     8.3e6, -4,    -5.75, 10,   -10,       0.49999997, 1e-4, 20,    -20,   1e15,   -1e15, 4.5,   5.5};

// A function's name with its parameters.
std::string name_of(const UnaryParams& params) {
  const std::string_view name = to_string(params.kind);
  return params.a == 0 && params.b == 0 ? std::string(name) : fmt::format("{}({}, {})", name, params.a, params.b);
}

// Factors of e^x beyond this do not fit f32; for f64 the error of e^x is no longer seen from here on.
double magnitude(double x) { return std::min(std::fabs(x), 128.0); }

// The error of each function in units in the last place u, counted through its definition. e^x errs by 3 + 2 |x| as Vulkan allows: the
// product x / log 2 is rounded, and the error counts in full. Quotients and roots: 3.
double allowed_error(const UnaryParams& params, double u, double x, double y) {
  const double exponential = 3 + 2 * magnitude(x);
  switch (params.kind) {
    case UnaryKind::neg:
    case UnaryKind::abs:
    case UnaryKind::sign:
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
    case UnaryKind::sqr:
    case UnaryKind::relu: return 0;
    case UnaryKind::sqrt:
    case UnaryKind::recip: return 3 * u * std::fabs(y);
    case UnaryKind::rsqrt: return 5 * u * std::fabs(y);
    case UnaryKind::exp: return exponential * u * y + kFlushed;
    // Near 1 the logarithm is as small as x - 1, which is exact.
    case UnaryKind::log: return 4 * u * std::fabs(y);
    // The error of the reduced angle is absolute.
    case UnaryKind::sin:
    case UnaryKind::cos: return 4 * u;
    // tanh as (e^2x - 1) / (e^2x + 1) loses the digits that 1 has before a small x.
    case UnaryKind::tanh: return 8 * u * std::fabs(y) + 2 * u;
    case UnaryKind::erf: return 6 * u * std::fabs(y) + u;
    case UnaryKind::sigmoid:
    case UnaryKind::silu: return (3 + exponential) * u * std::fabs(y) + kFlushed;
    // v = 2 √(2/π) (x + 0.044715 x³) takes three roundings, which e^-v multiplies by |v|; the reference itself adds 1 to a tanh near -1.
    case UnaryKind::gelu: {
      const double v = 1.6 * std::fabs(x + 0.044715 * x * x * x);
      return (8 + 5 * magnitude(v)) * u * std::fabs(y) + std::fabs(x) * 0x1p-51 + kFlushed;
    }
    // 1 + erf has an absolute error.
    case UnaryKind::gelu_erf: return 4 * u * (std::fabs(y) + std::fabs(x));
    case UnaryKind::softplus: return (6 + exponential) * u * std::fabs(y) + kFlushed;
    case UnaryKind::mish: return (8 + 2 * exponential) * u * std::fabs(y) + kFlushed;
    case UnaryKind::hard_sigmoid: return 3 * u;
    case UnaryKind::hard_swish: return 3 * u * std::fabs(x);
    case UnaryKind::affine: return 2 * u * (std::fabs(params.a * x) + std::fabs(params.b));
    // e^(a log x): the exponent's own error counts in full.
    case UnaryKind::powf: return (4 + 4 * magnitude(params.a * std::log(std::fabs(x)))) * u * std::fabs(y) + kFlushed;
    case UnaryKind::elu: return 6 * u * std::fabs(y) + 2 * u * std::fabs(params.a);
    case UnaryKind::leaky_relu: return 2 * u * std::fabs(y);
    case UnaryKind::clamp: return u * std::fabs(y);
    case UnaryKind::trunc: return 0;
    // A quotient of a sine and a cosine, whose errors are absolute.
    case UnaryKind::tan: return 8 * u * (1 + y * y);
    case UnaryKind::asin:
    case UnaryKind::atan: return 10 * u * std::fabs(y) + kFlushed;
    case UnaryKind::acos:
    case UnaryKind::asinh:
    case UnaryKind::acosh:
    case UnaryKind::atanh: return 12 * u * std::fabs(y) + kFlushed;
    // Through the square of e^(|x|/2).
    case UnaryKind::sinh:
    case UnaryKind::cosh: return (12 + 4 * magnitude(x)) * u * std::fabs(y) + kFlushed;
    case UnaryKind::exp2: return exponential * u * y + kFlushed;
    case UnaryKind::expm1: return (6 + exponential) * u * std::fabs(y) + kFlushed;
    case UnaryKind::log2:
    case UnaryKind::log10:
    case UnaryKind::log1p: return 6 * u * std::fabs(y) + kFlushed;
  }
  return 0;
}

Bound bound_of(const UnaryParams& params, DType dtype) {
  if (is_integer(dtype)) return {};
  return elementwise_bound([params, u = 2 * roundoff(dtype)](double x, double y) {
    const double allowed = std::isfinite(y) && std::isfinite(x) ? allowed_error(params, u, x, y) : 0;
    return std::isfinite(allowed) ? allowed : 0;
  });
}

bool takes(UnaryKind kind, DType dtype) { return !is_integer(dtype) || info(kind).domain == Domain::numbers; }

// Where a narrow dtype ends, a result that errs may be the largest number instead of infinity; that is the business of copy's cases.
Range range_of(UnaryKind kind, DType dtype) {
  if (kind == UnaryKind::recip || kind == UnaryKind::rsqrt) return {0.1, 4};
  const bool grows = kind == UnaryKind::exp || kind == UnaryKind::exp2 || kind == UnaryKind::expm1 || kind == UnaryKind::sinh ||
                     kind == UnaryKind::cosh || kind == UnaryKind::tan;
  if (grows && dtype == DType::f8e4m3) return {-4, 4};
  if (kind == UnaryKind::asin || kind == UnaryKind::acos || kind == UnaryKind::atanh) return {-1, 1};
  if (kind == UnaryKind::acosh) return {1, 9};
  if (kind == UnaryKind::log1p) return {-1, 9};
  return {-9, 9};
}

void add(CaseList& list, const UnaryParams& params, const Shape& shape, DType dtype, View view) {
  if (!takes(params.kind, dtype)) return;
  list.add(OpId::unary, dtype, fmt::format("{}/{}/{}", name_of(params), shape.to_string(), to_string(view)), [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, view, range_of(params.kind, dtype));
    trial.expect(OpId::unary, &params, {&x}, unary(params, x), bound_of(params, dtype));
  });
}

void add_values(CaseList& list, const UnaryParams& params, DType dtype, View view, const std::vector<double>& values) {
  if (!takes(params.kind, dtype)) return;
  list.add(OpId::unary, dtype, fmt::format("{}/special numbers/{}", name_of(params), to_string(view)), [=](Trial& trial) {
    const Tensor x = trial.input_of(values, {static_cast<int64_t>(values.size()) + 3}, dtype, view);
    trial.expect(OpId::unary, &params, {&x}, unary(params, x), bound_of(params, dtype));
  });
}

std::vector<UnaryParams> functions() {
  std::vector<UnaryParams> list;
  for (size_t kind = 0; kind < kUnaryKinds.size(); ++kind) {
    switch (const auto id = static_cast<UnaryKind>(kind)) {
      case UnaryKind::affine: list.insert(list.end(), {{id, 2.5, -1.25}, {id, -1, 300}, {id, 1, 0.1}}); break;
      case UnaryKind::powf:
        for (const double a : {2.0, 3.0, 2.5, -1.0, -2.5, 0.5, 1.0, 0.0}) list.push_back({id, a, 0});
        break;
      case UnaryKind::elu: list.push_back({id, 1.5, 0}); break;
      case UnaryKind::leaky_relu: list.push_back({id, 0.1, 0}); break;
      case UnaryKind::clamp: list.insert(list.end(), {{id, -2.5, 3.25}, {id, 3, 1}, {id, -kInfinity, 0.5}, {id, kNaN, 0.5}}); break;
      default: list.push_back({id, 0, 0});
    }
  }
  return list;
}

void add_function(CaseList& list, const UnaryParams& params) {
  for (const Shape& shape : shapes_of_every_rank()) {
    for (const View view : views_of(shape)) add(list, params, shape, DType::f32, view);
  }
  for (const DType dtype : kPlainDTypes) {
    for (const View view : views_of({3, 5, 2})) add(list, params, {3, 5, 2}, dtype, view);
    for (const int64_t n : {1, 15, 16, 17, 33, 70, 1025}) add(list, params, {n}, dtype, View::contiguous);
  }
  for (const int64_t n : {2, 31, 63, 64, 65, 255, 256, 257, 1023, 1024}) add(list, params, {n}, DType::f32, View::contiguous);
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}}) add(list, params, shape, DType::f32, View::contiguous);
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::f8e4m3}) {
    // Where e^x overflows a narrow dtype is a matter of its last place.
    add_values(list, params, dtype, View::contiguous, kSpecialNumbers);
  }
  add_values(list, params, DType::f32, View::strided, kSpecialNumbers);
  add_values(list, params, DType::u8, View::contiguous, {0, 1, 2, 3, 127, 128, 200, 255});
  add_values(list, params, DType::i8, View::contiguous, {0, 1, -1, 2, -2, -3, 7, -7, 100, 127, -128});
  add_values(list, params, DType::i16, View::contiguous, {0, 1, -1, 2, -2, -3, 7, -7, 300, 32767, -32768});
  add_values(list, params, DType::u32, View::contiguous, {0, 1, 2, 7, 65536, 2147483648, 4294967295});
  add_values(list, params, DType::i32, View::contiguous, {0, 1, -1, -2, -3, 7, -7, 65536, 2147483647, -2147483648.0});
  add_values(list, params, DType::i64, View::contiguous, {0, 1, -1, -2, -3, 7, -7, 94906265, -94906265});
}

}  // namespace

void add_unary_cases(CaseList& list) {
  for (const UnaryParams& params : functions()) add_function(list, params);
  // Enough for several threads, and for tiles of every size of element.
  for (const DType dtype : kPlainDTypes) {
    const UnaryParams negate{UnaryKind::neg};
    add(list, negate, {70001}, dtype, View::contiguous);
    for (const View view : {View::transposed, View::strided, View::broadcast, View::broadcast_last, View::flipped})
      add(list, negate, {257, 300}, dtype, view);
    for (const View view : {View::transposed, View::permuted, View::narrowed}) add(list, negate, {3, 65, 70}, dtype, view);
  }
  for (const UnaryKind kind : {UnaryKind::exp, UnaryKind::silu, UnaryKind::gelu}) {
    add(list, {kind}, {70001}, DType::f32, View::contiguous);
    add(list, {kind}, {70001}, DType::bf16, View::contiguous);
  }
}

}  // namespace wick::conformance
