// unary and binary: every rank, every layout, every plain dtype, broadcasting, and the numbers that are not.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "conformance/case.h"
#include "tensor/ops/binary.h"
#include "tensor/ops/unary.h"

namespace wick::conformance {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const std::vector<double> kSpecials = {0.0,   -0.0, 1,    -1,  kNaN, kInfinity, -kInfinity, 3e38, -3e38, 1e-40, -1e-40, 88.5,
                                       -88.5, 104,  -104, 0.5, 1e-8, -89,       -95,        -150, -1000, 1000,  -1e30};

// Units in the last place that a function may err by, as Vulkan asks of its own: 3 + 2 |x| for exponentials, 3 for quotients and roots.
Bound unary_bound(UnaryKind kind, DType dtype) {
  const double u = 2 * roundoff(dtype);
  switch (kind) {
    case UnaryKind::neg:
    case UnaryKind::abs:
    case UnaryKind::relu: return {};
    case UnaryKind::sqrt:
    case UnaryKind::recip: return elementwise_bound([u](double, double y) { return 3 * u * std::fabs(y); });
    case UnaryKind::exp: return elementwise_bound([u](double x, double y) { return (3 + 2 * std::fabs(x)) * u * y; });
    case UnaryKind::silu:
      return elementwise_bound([u](double x, double y) { return (6 + 2 * std::fabs(x)) * u * std::fabs(y) + 0x1p-126; });
    // tanh as (e^2x - 1) / (e^2x + 1) loses the digits that 1 has before a small x.
    case UnaryKind::tanh: return elementwise_bound([u](double, double y) { return 8 * u * std::fabs(y) + 2 * u; });
    default: return elementwise_bound([u](double, double y) { return 8 * u * std::fabs(y) + 2 * u; });
  }
  return {};
}

Bound binary_bound(BinaryKind kind, DType dtype) {
  if (kind != BinaryKind::div || is_integer(dtype)) return {};
  return elementwise_bound([u = 2 * roundoff(dtype)](double, double y) { return 3 * u * std::fabs(y); });
}

bool takes(UnaryKind kind, DType dtype) {
  return !is_integer(dtype) || kind == UnaryKind::neg || kind == UnaryKind::abs || kind == UnaryKind::relu;
}

Range range_of(UnaryKind kind) {
  if (kind == UnaryKind::sqrt) return {0.01, 9};
  if (kind == UnaryKind::recip) return {0.1, 4};
  return {-9, 9};
}

// e^x leaves the narrow dtypes' range early; saturation and overflow are the business of copy's cases.
Range range_of(UnaryKind kind, DType dtype) {
  if (kind == UnaryKind::exp && dtype == DType::f8e4m3) return {-4, 4};
  return range_of(kind);
}

void add_unary(CaseList& list, UnaryKind kind, const Shape& shape, DType dtype, View view) {
  if (!takes(kind, dtype)) return;
  const std::string name = fmt::format("{}/{}/{}", kUnaryNames[static_cast<size_t>(kind)], shape.to_string(), to_string(view));
  list.add(OpId::unary, dtype, name, [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, view, range_of(kind, dtype));
    const UnaryParams params{kind};
    trial.expect(OpId::unary, &params, {&x}, unary(params, x), unary_bound(kind, dtype));
  });
}

void add_unary_of(CaseList& list, UnaryKind kind, View view) {
  const std::string name = fmt::format("{}/special numbers/{}", kUnaryNames[static_cast<size_t>(kind)], to_string(view));
  list.add(OpId::unary, DType::f32, name, [=](Trial& trial) {
    const Tensor x = trial.input_of(kSpecials, {53}, DType::f32, view);
    const UnaryParams params{kind};
    trial.expect(OpId::unary, &params, {&x}, unary(params, x), unary_bound(kind, DType::f32));
  });
}

void add_binary(CaseList& list, BinaryKind kind, const Shape& left, const Shape& right, DType dtype, View left_view, View right_view) {
  const std::string name = fmt::format("{}/{} {}/{} {}", kBinaryNames[static_cast<size_t>(kind)], left.to_string(), to_string(left_view),
                                       right.to_string(), to_string(right_view));
  list.add(OpId::binary, dtype, name, [=](Trial& trial) {
    const Tensor lhs = trial.input(left, dtype, left_view);
    const Tensor rhs = trial.input(right, dtype, right_view, {1, 5});
    const Shape shape = broadcast_shapes(left, right, "case");
    const Tensor wide_left = lhs.broadcast_to(shape);
    const Tensor wide_right = rhs.broadcast_to(shape);
    const BinaryParams params{kind};
    trial.expect(OpId::binary, &params, {&wide_left, &wide_right}, binary(kind, lhs, rhs), binary_bound(kind, dtype));
  });
}

// Every pair of special numbers: one along rows, one along columns.
void add_binary_specials(CaseList& list, BinaryKind kind, DType dtype, const std::vector<double>& values, bool row_major) {
  const auto n = static_cast<int64_t>(values.size());
  const std::string name =
      fmt::format("{}/special numbers/{}", kBinaryNames[static_cast<size_t>(kind)], row_major ? "contiguous" : "broadcast");
  list.add(OpId::binary, dtype, name, [=](Trial& trial) {
    std::vector<double> columns;
    for (const double value : values) columns.insert(columns.end(), values.size(), value);
    const Tensor lhs = row_major ? trial.input_of(values, {n, n}, dtype) : trial.input_of(values, {n}, dtype).broadcast_to({n, n});
    const Tensor rhs = row_major ? trial.input_of(columns, {n, n}, dtype) : trial.input_of(values, {n, 1}, dtype).broadcast_to({n, n});
    const BinaryParams params{kind};
    trial.expect(OpId::binary, &params, {&lhs, &rhs}, binary(kind, lhs, rhs), binary_bound(kind, dtype));
  });
}

std::vector<Shape> ranks() {
  return {
      {}, {1}, {7}, {3, 5}, {2, 3, 5}, {2, 3, 2, 3}, {2, 1, 3, 2, 3}, {2, 2, 1, 2, 2, 3}, {1, 2, 2, 1, 2, 2, 3}, {2, 1, 2, 2, 1, 2, 2, 3}};
}

const std::vector<UnaryKind> kUnaries = {UnaryKind::neg,   UnaryKind::abs,  UnaryKind::exp,  UnaryKind::sqrt,
                                         UnaryKind::recip, UnaryKind::silu, UnaryKind::tanh, UnaryKind::relu};
const std::vector<BinaryKind> kBinaries = {BinaryKind::add, BinaryKind::sub,     BinaryKind::mul,
                                           BinaryKind::div, BinaryKind::minimum, BinaryKind::maximum};

void add_unaries(CaseList& list, UnaryKind kind) {
  for (const Shape& shape : ranks()) {
    for (const View view : views_of(shape)) add_unary(list, kind, shape, DType::f32, view);
  }
  for (const DType dtype : kPlainDTypes) {
    for (const View view : views_of({3, 5, 2})) add_unary(list, kind, {3, 5, 2}, dtype, view);
  }
  for (const int64_t n : {2, 15, 16, 17, 31, 33, 63, 64, 65, 255, 257, 1023, 1025, 70001})
    add_unary(list, kind, {n}, DType::f32, View::contiguous);
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}}) add_unary(list, kind, shape, DType::f32, View::contiguous);
  add_unary_of(list, kind, View::contiguous);
  add_unary_of(list, kind, View::strided);
}

void add_binaries(CaseList& list, BinaryKind kind) {
  for (const Shape& shape : ranks()) {
    for (const View view : views_of(shape)) {
      add_binary(list, kind, shape, shape, DType::f32, view, View::contiguous);
      add_binary(list, kind, shape, shape, DType::f32, View::contiguous, view);
      add_binary(list, kind, shape, {}, DType::f32, view, View::contiguous);
    }
  }
  for (const DType dtype : kPlainDTypes) {
    for (const View view : views_of({3, 5, 2})) add_binary(list, kind, {3, 5, 2}, {5, 1}, dtype, view, View::strided);
  }
  add_binary(list, kind, {2, 1, 5}, {3, 1}, DType::f32, View::contiguous, View::contiguous);
  add_binary(list, kind, {5}, {2, 3, 1}, DType::f32, View::flipped, View::narrowed);
  for (const int64_t n : {2, 15, 16, 17, 31, 33, 63, 64, 65, 255, 257, 1023, 1025, 70001}) {
    add_binary(list, kind, {n}, {n}, DType::f32, View::contiguous, View::contiguous);
  }
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}})
    add_binary(list, kind, shape, {1}, DType::f32, View::contiguous, View::contiguous);
  add_binary_specials(list, kind, DType::f32, kSpecials, true);
  add_binary_specials(list, kind, DType::f32, kSpecials, false);
  // Integers wrap around, and a division by zero gives 0.
  add_binary_specials(list, kind, DType::u8, {0, 1, 2, 3, 127, 128, 200, 255}, true);
  add_binary_specials(list, kind, DType::i16, {0, 1, -1, 2, -2, 7, -7, 300, 32767, -32768}, true);
  add_binary_specials(list, kind, DType::u32, {0, 1, 2, 7, 65536, 2147483648, 4294967295}, true);
  add_binary_specials(list, kind, DType::i32, {0, 1, -1, 7, -7, 65536, 2147483647, -2147483648.0}, true);
  add_binary_specials(list, kind, DType::i64, {0, 1, -1, 7, -7, 94906265, -94906265}, true);
}

}  // namespace

void add_elementwise_cases(CaseList& list) {
  for (const UnaryKind kind : kUnaries) add_unaries(list, kind);
  for (const BinaryKind kind : kBinaries) add_binaries(list, kind);
}

}  // namespace wick::conformance
