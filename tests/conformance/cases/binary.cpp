// binary, compare and where_cond: every rank, every layout, every plain dtype, broadcasting, and the numbers that are not.
#include <fmt/format.h>

#include <cmath>

#include "conformance/case.h"
#include "wick/tensor/ops/binary.h"

namespace wick::conformance {
namespace {

const std::vector<double> kSpecials = {0.0,   -0.0, 1,    -1,  kNaN, kInfinity, -kInfinity, 3e38, -3e38, 1e-40, -1e-40, 88.5,
                                       -88.5, 104,  -104, 0.5, 1e-8, -89,       -95,        -150, -1000, 1000,  -1e30};

// f32 and f64 are due the value rounded once, quotients three units in the last place as Vulkan allows. Narrow floats go through f32: one
// more rounding. Powers as e^(y log x): the exponent's own error counts in full.
Bound binary_bound(BinaryKind kind, DType dtype) {
  if (is_integer(dtype)) return {};
  const double u = 2 * roundoff(dtype);
  const bool wide = dtype == DType::f32 || dtype == DType::f64;
  // fmod is exact in every dtype. What the others of its family round is their last sum, or the quotient where it has many digits.
  const bool exact = kind == BinaryKind::minimum || kind == BinaryKind::maximum || kind == BinaryKind::fmod;
  const bool errs = kind == BinaryKind::div || kind == BinaryKind::pow || kind >= BinaryKind::remainder;
  if (exact || (wide && !errs)) return {};
  return [=](Inputs inputs, const ReferenceTensor& expected) {
    std::vector<double> bounds(expected.values.size());
    for (size_t i = 0; i < bounds.size(); ++i) {
      const double y = std::fabs(expected.values[i]);
      const double exponent = std::fabs(inputs[1].values[i] * std::log(std::fabs(inputs[0].values[i])));
      double factor = kind == BinaryKind::floor_divide ? 4 : kind == BinaryKind::atan2 ? 8 : 3;
      if (kind == BinaryKind::pow) factor = 4 + 4 * (std::isfinite(exponent) ? std::min(exponent, 1000.0) : 0);
      bounds[i] = std::isfinite(y) ? factor * u * y + (kind == BinaryKind::pow || kind == BinaryKind::atan2 ? 0x1p-126 : 0) : 0;
    }
    return bounds;
  };
}

void add_binary(CaseList& list, BinaryKind kind, const Shape& left, const Shape& right, DType dtype, View left_view, View right_view) {
  if (is_integer(dtype) && info(kind).domain == Domain::floats) return;
  const std::string name =
      fmt::format("{}/{} {}/{} {}", to_string(kind), left.to_string(), to_string(left_view), right.to_string(), to_string(right_view));
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
  if (is_integer(dtype) && info(kind).domain == Domain::floats) return;
  const auto n = static_cast<int64_t>(values.size());
  const std::string name = fmt::format("{}/special numbers/{}", to_string(kind), row_major ? "contiguous" : "broadcast");
  list.add(OpId::binary, dtype, name, [=](Trial& trial) {
    std::vector<double> columns;
    for (const double value : values) columns.insert(columns.end(), values.size(), value);
    const Tensor lhs = row_major ? trial.input_of(values, {n, n}, dtype) : trial.input_of(values, {n}, dtype).broadcast_to({n, n});
    const Tensor rhs = row_major ? trial.input_of(columns, {n, n}, dtype) : trial.input_of(values, {n, 1}, dtype).broadcast_to({n, n});
    const BinaryParams params{kind};
    trial.expect(OpId::binary, &params, {&lhs, &rhs}, binary(kind, lhs, rhs), binary_bound(kind, dtype));
  });
}

void add_binaries(CaseList& list, BinaryKind kind) {
  for (const Shape& shape : shapes_of_every_rank()) {
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
  // All dtypes at the widths of vector loops, with one operand that is a single element, and in tiles over several threads.
  for (const DType dtype : kPlainDTypes) {
    for (const int64_t n : {1, 15, 16, 17, 33, 70, 1025}) {
      add_binary(list, kind, {n}, {n}, dtype, View::contiguous, View::contiguous);
      add_binary(list, kind, {n}, {}, dtype, View::contiguous, View::contiguous);
      add_binary(list, kind, {1}, {n}, dtype, View::contiguous, View::contiguous);
    }
    add_binary(list, kind, {257, 300}, {257, 300}, dtype, View::transposed, View::contiguous);
    add_binary(list, kind, {70, 130}, {70, 130}, dtype, View::transposed, View::transposed);
    add_binary(list, kind, {130, 1}, {70}, dtype, View::contiguous, View::flipped);
  }
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}})
    add_binary(list, kind, shape, {1}, DType::f32, View::contiguous, View::contiguous);
  add_binary_specials(list, kind, DType::f32, kSpecials, true);
  add_binary_specials(list, kind, DType::f32, kSpecials, false);
  // Integers wrap around, and a division by zero gives 0.
  add_binary_specials(list, kind, DType::u8, {0, 1, 2, 3, 127, 128, 200, 255}, true);
  add_binary_specials(list, kind, DType::i8, {0, 1, -1, 2, -2, 7, -7, 100, 127, -128}, true);
  add_binary_specials(list, kind, DType::i16, {0, 1, -1, 2, -2, 7, -7, 300, 32767, -32768}, true);
  add_binary_specials(list, kind, DType::u32, {0, 1, 2, 7, 65536, 2147483648, 4294967295}, true);
  add_binary_specials(list, kind, DType::i32, {0, 1, -1, 7, -7, 65536, 2147483647, -2147483648.0}, true);
  add_binary_specials(list, kind, DType::i64, {0, 1, -1, 7, -7, 94906265, -94906265}, true);
}

void add_compare(CaseList& list, CompareKind kind, const Shape& left, const Shape& right, DType dtype, View left_view, View right_view) {
  const std::string name =
      fmt::format("{}/{} {}/{} {}", to_string(kind), left.to_string(), to_string(left_view), right.to_string(), to_string(right_view));
  list.add(OpId::compare, dtype, name, [=](Trial& trial) {
    // Few different numbers, so that many pairs are equal.
    const auto few = [&](const Shape& shape, View view) {
      std::vector<double> values(97);
      for (double& value : values) value = static_cast<double>(trial.random().below(4));
      return trial.input_of(values, shape, dtype, view);
    };
    const Tensor lhs = few(left, left_view);
    const Tensor rhs = few(right, right_view);
    const Shape shape = broadcast_shapes(left, right, "case");
    const Tensor wide_left = lhs.broadcast_to(shape);
    const Tensor wide_right = rhs.broadcast_to(shape);
    const CompareParams params{kind};
    trial.expect(OpId::compare, &params, {&wide_left, &wide_right}, lhs.compare(kind, rhs));
  });
}

void add_compare_specials(CaseList& list, CompareKind kind, DType dtype) {
  list.add(OpId::compare, dtype, fmt::format("{}/special numbers", to_string(kind)), [=](Trial& trial) {
    const auto n = static_cast<int64_t>(kSpecials.size());
    const Shape square{n, n};
    const Tensor values = trial.input_of(kSpecials, {n}, dtype);
    const Tensor lhs = values.broadcast_to(square);
    const Tensor rhs = values.reshape({n, 1}).broadcast_to(square);
    const CompareParams params{kind};
    trial.expect(OpId::compare, &params, {&lhs, &rhs}, lhs.compare(kind, rhs));
    trial.expect(OpId::compare, &params, {&rhs, &lhs}, rhs.compare(kind, lhs));
    const Tensor same = lhs.contiguous();
    trial.expect(OpId::compare, &params, {&same, &rhs}, same.compare(kind, rhs));
  });
}

void add_comparisons(CaseList& list) {
  for (size_t id = 0; id < kCompareKinds.size(); ++id) {
    const auto kind = static_cast<CompareKind>(id);
    for (const Shape& shape : shapes_of_every_rank()) {
      for (const View view : views_of(shape)) {
        add_compare(list, kind, shape, shape, DType::f32, view, View::contiguous);
        add_compare(list, kind, {}, shape, DType::f32, View::contiguous, view);
      }
    }
    for (const DType dtype : kPlainDTypes) {
      for (const View view : views_of({3, 5, 2})) add_compare(list, kind, {3, 5, 2}, {5, 1}, dtype, view, View::strided);
      for (const int64_t n : {1, 15, 16, 17, 33, 70, 1025}) {
        add_compare(list, kind, {n}, {n}, dtype, View::contiguous, View::contiguous);
        add_compare(list, kind, {n}, {}, dtype, View::contiguous, View::contiguous);
        add_compare(list, kind, {}, {n}, dtype, View::contiguous, View::contiguous);
      }
      add_compare(list, kind, {70, 300}, {70, 1}, dtype, View::contiguous, View::contiguous);
      if (is_float(dtype)) add_compare_specials(list, kind, dtype);
    }
    for (const Shape& shape : {Shape{0}, Shape{3, 0}}) add_compare(list, kind, shape, {1}, DType::f32, View::contiguous, View::contiguous);
  }
}

struct ChoiceShapes {
  Shape condition;
  Shape on_true;
  Shape on_false;
};

void add_choice(CaseList& list, const ChoiceShapes& shapes, DType condition_dtype, DType dtype, View condition_view, View view) {
  const std::string name = fmt::format("{} {} {}/{} {}/{}", shapes.condition.to_string(), shapes.on_true.to_string(),
                                       shapes.on_false.to_string(), to_string(condition_dtype), to_string(condition_view), to_string(view));
  list.add(OpId::where_cond, dtype, name, [=](Trial& trial) {
    std::vector<double> conditions(89);
    for (double& value : conditions) value = static_cast<double>(trial.random().below(3));
    const Tensor condition = trial.input_of(conditions, shapes.condition, condition_dtype, condition_view);
    const Tensor on_true = trial.input(shapes.on_true, dtype, view);
    const Tensor on_false = trial.input(shapes.on_false, dtype);
    const Shape shape = broadcast_shapes(shapes.condition, broadcast_shapes(shapes.on_true, shapes.on_false, "case"), "case");
    const Tensor wide_condition = condition.broadcast_to(shape);
    const Tensor left = on_true.broadcast_to(shape);
    const Tensor right = on_false.broadcast_to(shape);
    trial.expect(OpId::where_cond, nullptr, {&wide_condition, &left, &right}, condition.where_cond(on_true, on_false));
  });
}

void add_choices(CaseList& list) {
  for (const DType condition : {DType::u8, DType::u32, DType::i64}) {
    for (const DType dtype : kPlainDTypes) {
      for (const View view : views_of({3, 5, 2})) {
        add_choice(list, {{3, 5, 2}, {3, 5, 2}, {3, 5, 2}}, condition, dtype, view, View::contiguous);
        add_choice(list, {{3, 5, 2}, {3, 5, 2}, {5, 1}}, condition, dtype, View::contiguous, view);
      }
      for (const int64_t n : {1, 15, 17, 33, 70, 1025}) {
        add_choice(list, {{n}, {n}, {n}}, condition, dtype, View::contiguous, View::contiguous);
        add_choice(list, {{n}, {}, {n}}, condition, dtype, View::contiguous, View::contiguous);
        add_choice(list, {{n}, {n}, {}}, condition, dtype, View::contiguous, View::contiguous);
        add_choice(list, {{n}, {}, {1}}, condition, dtype, View::contiguous, View::contiguous);
        add_choice(list, {{}, {n}, {n}}, condition, dtype, View::contiguous, View::contiguous);
      }
      add_choice(list, {{70, 1}, {300}, {70, 300}}, condition, dtype, View::contiguous, View::contiguous);
      add_choice(list, {{130, 70}, {130, 70}, {130, 70}}, condition, dtype, View::transposed, View::transposed);
    }
  }
  for (const Shape& shape : shapes_of_every_rank()) {
    for (const View view : views_of(shape)) add_choice(list, {shape, shape, {}}, DType::u8, DType::f32, view, View::contiguous);
  }
  add_choice(list, {{0, 3}, {3}, {}}, DType::u8, DType::f32, View::contiguous, View::contiguous);
}

}  // namespace

void add_binary_cases(CaseList& list) {
  for (const BinaryInfo& row : kBinaryKinds) add_binaries(list, row.kind);
  add_comparisons(list);
  add_choices(list);
}

}  // namespace wick::conformance
