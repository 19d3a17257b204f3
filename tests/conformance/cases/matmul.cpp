// matmul: odd sizes, batches that broadcast, operands of any strides, every float dtype.
#include "wick/tensor/ops/matmul.h"

#include <fmt/format.h>

#include "conformance/case.h"

namespace wick::conformance {
namespace {

void add(CaseList& list, DType dtype, const Shape& left, View left_view, const Shape& right, View right_view) {
  const std::string name = fmt::format("{} {}/{} {}", left.to_string(), to_string(left_view), right.to_string(), to_string(right_view));
  list.add(OpId::matmul, dtype, name, [=](Trial& trial) {
    const Tensor lhs = trial.input(left, dtype, left_view, {-1, 1});
    const Tensor rhs = trial.input(right, dtype, right_view, {-1, 1});
    const Tensor result = matmul(lhs, rhs);
    std::vector<int64_t> batch(result.shape().dims().begin(), result.shape().dims().end() - 2);
    const auto wide = [&](const Tensor& x) {
      std::vector<int64_t> dims = batch;
      dims.insert(dims.end(), {x.dim(-2), x.dim(-1)});
      return x.broadcast_to(Shape(std::span<const int64_t>(dims)));
    };
    const Tensor wide_left = wide(lhs);
    const Tensor wide_right = wide(rhs);
    trial.expect(OpId::matmul, nullptr, {&wide_left, &wide_right}, result, [&](Inputs inputs, const ReferenceTensor& expected) {
      return product_bound(OpId::matmul, nullptr, roundoff(dtype), lhs.dim(-1), inputs, expected.shape);
    });
  });
}

void add_square(CaseList& list, int64_t m, int64_t k, int64_t n) {
  add(list, DType::f32, {m, k}, View::contiguous, {k, n}, View::contiguous);
  add(list, DType::f32, {m, k}, View::contiguous, {k, n}, View::transposed);
}

}  // namespace

void add_matmul_cases(CaseList& list) {
  for (int64_t size = 1; size <= 70; ++size) {
    add_square(list, size, 7, 5);
    add_square(list, 3, size, 17);
    add_square(list, 5, 9, size);
  }
  for (const int64_t size : {127, 128, 129, 255, 256, 257}) {
    add_square(list, 3, 5, size);
    add_square(list, size, 5, 3);
  }
  for (const int64_t k : {255, 257, 511, 512, 513, 1023, 1025}) add_square(list, 5, k, 6);
  add_square(list, 65, 513, 129);
  const std::vector<std::pair<Shape, Shape>> batches = {{{4, 3, 5}, {4, 5, 6}},
                                                        {{1, 3, 5}, {4, 5, 6}},
                                                        {{3, 5}, {4, 5, 6}},
                                                        {{4, 3, 5}, {5, 6}},
                                                        {{2, 1, 3, 5}, {4, 5, 6}},
                                                        {{2, 4, 3, 5}, {2, 1, 5, 6}},
                                                        {{2, 1, 2, 1, 2, 1, 2, 3}, {1, 2, 1, 2, 1, 2, 3, 2}}};
  for (const auto& [left, right] : batches) {
    for (const View view : views_of(left)) add(list, DType::f32, left, view, right, View::contiguous);
    for (const View view : views_of(right)) add(list, DType::f32, left, View::transposed, right, view);
  }
  for (const DType dtype : kFloatDTypes) {
    for (const View view : views_of({9, 17})) {
      add(list, dtype, {9, 17}, view, {17, 5}, View::contiguous);
      add(list, dtype, {9, 17}, View::contiguous, {17, 5}, view);
    }
  }
  // Blocks of every dtype, filled in part; rows of whole vectors, as matrix tiles take them, and others.
  for (const DType dtype : kFloatDTypes) {
    for (const int64_t n : {65, 72}) add(list, dtype, {70, 40}, View::contiguous, {40, n}, View::contiguous);
    add(list, dtype, {2, 3, 33, 104}, View::contiguous, {3, 104, 80}, View::contiguous);
    add(list, dtype, {68, 34}, View::transposed, {34, 66}, View::transposed);
    add(list, dtype, {1, 700}, View::contiguous, {700, 3}, View::contiguous);
  }
  add(list, DType::f16, {130, 80}, View::contiguous, {80, 264}, View::contiguous);
  // No row, no column, no batch, and a sum over nothing.
  const std::vector<std::pair<Shape, Shape>> empty = {
      {{0, 3}, {3, 2}}, {{2, 0}, {0, 3}}, {{2, 3}, {3, 0}}, {{0, 2, 3}, {3, 4}}, {{0, 0}, {0, 0}}};
  for (const auto& [left, right] : empty) add(list, DType::f32, left, View::contiguous, right, View::contiguous);
}

}  // namespace wick::conformance
