// index_select, gather, scatter, index_add: every dtype of elements and ids, every layout of each operand, repeated ids, and refusals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/case.h"
#include "wick/base/error.h"

namespace wick::conformance {
namespace {

constexpr DType kIdDTypes[] = {DType::u8, DType::u32, DType::i32, DType::i64};

Shape with_extent(const Shape& shape, int dim, int64_t extent) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<size_t>(dim)] = extent;
  return Shape(std::span<const int64_t>(dims));
}

// Which views the operands have.
struct Views {
  View x = View::contiguous;
  View ids = View::contiguous;
  View source = View::contiguous;
};

std::string text(const Shape& shape, int dim, const Shape& ids, DType ids_dtype, const Views& views) {
  return fmt::format("{} dim {}/ids {} {}/{} {} {}", shape.to_string(), dim, to_string(ids_dtype), ids.to_string(), to_string(views.x),
                     to_string(views.ids), to_string(views.source));
}

Tensor ids_for(Trial& trial, const Shape& shape, DType dtype, View view, int64_t extent) {
  return trial.input(shape, dtype, view, {0, static_cast<double>(extent)});
}

// What an op that updates makes of `before`, and the error allowed: each of at most n additions rounds a sum that is at most Σ |terms|.
void expect_update(Trial& trial, OpId op, const void* params, ReferenceTensor before, std::initializer_list<const Tensor*> inputs,
                   const Tensor& result, bool sums) {
  if (!trial.has_values()) return;
  std::vector<ReferenceTensor> operands;
  for (const Tensor* input : inputs) operands.push_back(trial.values_of(*input));
  std::vector<ReferenceTensor> magnitudes = {before};
  std::vector<ReferenceTensor> expected = {std::move(before)};
  rule(op).reference(params, operands, expected);
  std::vector<double> allowed;
  if (sums && is_float(result.dtype())) {
    for (double& value : magnitudes[0].values) value = std::fabs(value);
    for (double& value : operands[1].values) value = std::fabs(value);
    rule(op).reference(params, operands, magnitudes);
    const auto terms = static_cast<double>(operands[1].values.size());
    for (const double value : magnitudes[0].values) allowed.push_back(terms * roundoff(result.dtype()) * value);
  }
  trial.expect_values(expected[0], result, allowed);
}

void add_select(CaseList& list, DType dtype, const Shape& shape, int dim, int64_t count, DType ids_dtype, const Views& views) {
  list.add(OpId::index_select, dtype, text(shape, dim, {count}, ids_dtype, views), [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, views.x);
    const Tensor ids = ids_for(trial, {count}, ids_dtype, views.ids, shape[dim]);
    const IndexParams params{dim};
    trial.expect(OpId::index_select, &params, {&x, &ids}, x.index_select(ids, dim));
  });
}

void add_gather(CaseList& list, DType dtype, const Shape& shape, int dim, const Shape& ids_shape, DType ids_dtype, const Views& views) {
  list.add(OpId::gather, dtype, text(shape, dim, ids_shape, ids_dtype, views), [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, views.x);
    const Tensor ids = ids_for(trial, ids_shape, ids_dtype, views.ids, shape[dim]);
    const IndexParams params{dim};
    trial.expect(OpId::gather, &params, {&x, &ids}, x.gather(ids, dim));
  });
}

void add_scatter(CaseList& list, DType dtype, const Shape& shape, int dim, const Shape& ids_shape, DType ids_dtype, const Views& views) {
  for (const bool sums : {false, true}) {
    list.add(OpId::scatter, dtype, text(shape, dim, ids_shape, ids_dtype, views) + (sums ? "/add" : "/set"), [=](Trial& trial) {
      const Tensor target = trial.input(shape, dtype, views.x);
      const Tensor ids = ids_for(trial, ids_shape, ids_dtype, views.ids, shape[dim]);
      const Tensor source = trial.input(ids_shape, dtype, views.source);
      const ScatterParams params{dim, sums};
      ReferenceTensor before = trial.has_values() ? trial.values_of(target) : ReferenceTensor();
      const Tensor copied = sums ? target.scatter_add(ids, source, dim) : target.scatter(ids, source, dim);
      expect_update(trial, OpId::scatter, &params, before, {&ids, &source}, copied, sums);
      if (sums) target.scatter_add_set(ids, source, dim);
      if (!sums) target.scatter_set(ids, source, dim);
      expect_update(trial, OpId::scatter, &params, std::move(before), {&ids, &source}, target, sums);
    });
  }
}

void add_index_add(CaseList& list, DType dtype, const Shape& shape, int dim, int64_t count, DType ids_dtype, const Views& views) {
  list.add(OpId::index_add, dtype, text(shape, dim, {count}, ids_dtype, views), [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, views.x);
    const Tensor ids = ids_for(trial, {count}, ids_dtype, views.ids, shape[dim]);
    const Tensor source = trial.input(with_extent(shape, dim, count), dtype, views.source);
    const IndexParams params{dim};
    ReferenceTensor before = trial.has_values() ? trial.values_of(x) : ReferenceTensor();
    expect_update(trial, OpId::index_add, &params, std::move(before), {&ids, &source}, x.index_add(ids, source, dim), true);
  });
}

void add_all(CaseList& list, DType dtype, const Shape& shape, int dim, int64_t count, DType ids_dtype, const Views& views) {
  const Shape ids_shape = with_extent(shape, dim, count);
  Views vector_views = views;
  if (views.ids != View::strided && views.ids != View::flipped && views.ids != View::narrowed) vector_views.ids = View::contiguous;
  add_select(list, dtype, shape, dim, count, ids_dtype, vector_views);
  add_index_add(list, dtype, shape, dim, count, ids_dtype, vector_views);
  add_gather(list, dtype, shape, dim, ids_shape, ids_dtype, views);
  Views target_views = views;
  if (views.x == View::broadcast || views.x == View::broadcast_last) target_views.x = View::permuted;
  add_scatter(list, dtype, shape, dim, ids_shape, ids_dtype, target_views);
}

void add_layouts(CaseList& list, DType dtype) {
  const Shape shape{3, 4, 5};
  for (int dim = 0; dim < 3; ++dim) {
    for (const View view : views_of(shape)) {
      add_all(list, dtype, shape, dim, 4, DType::u32, {view, View::contiguous, View::contiguous});
      add_all(list, dtype, shape, dim, 6, DType::i64, {View::contiguous, view, view});
    }
  }
}

void add_refusal(CaseList& list, OpId op, DType ids_dtype, double id) {
  list.add(op, DType::f32, fmt::format("id {} of {} is refused", id, to_string(ids_dtype)), [=](Trial& trial) {
    if (!trial.has_values()) return;
    const Tensor x = trial.input({4, 3}, DType::f32);
    const std::vector<float> before = x.to_vector<float>();
    const bool vector = op == OpId::index_select || op == OpId::index_add;
    const Tensor ids = trial.input_of({0, id, 1}, vector ? Shape{3} : Shape{3, 1}, ids_dtype);
    const Tensor source = trial.input(vector ? Shape{3, 3} : Shape{3, 1}, DType::f32);
    std::string message;
    try {
      if (op == OpId::index_select) (void)x.index_select(ids, 0);
      if (op == OpId::index_add) (void)x.index_add(ids, source, 0);
      if (op == OpId::gather) (void)x.gather(ids, 0);
      if (op == OpId::scatter) x.scatter_set(ids, source, 0);
    } catch (const Error& error) {
      message = error.what();
      trial.expect_true(error.code() == ErrorCode::index_out_of_range, "refused with another code: " + message);
    }
    const auto named = fmt::format("{}: id {} at [{}] is out of range for dimension 0 of 4 elements; allowed: 0 to 3", to_string(op),
                                   static_cast<int64_t>(id), vector ? "1" : "1, 0");
    trial.expect_true(message == named, fmt::format("'{}' where '{}' is due", message, named));
    trial.expect_true(x.to_vector<float>() == before, "elements were written before the refusal");
  });
}

}  // namespace

void add_indexing_cases(CaseList& list) {
  for (const DType dtype : kPlainDTypes) {
    add_layouts(list, dtype);
    for (const DType ids : kIdDTypes) add_all(list, dtype, {5, 7}, 1, 9, ids, {});
  }
  for (const DType ids : kIdDTypes) {
    for (const Shape& shape : {Shape{7}, Shape{4, 33}, Shape{2, 3, 40}, Shape{2, 1, 3, 2}, Shape{2, 2, 2, 2, 2, 2, 2, 3}}) {
      for (int dim = 0; dim < shape.rank(); ++dim) {
        for (const int64_t count : {0, 1, 5}) add_all(list, DType::f32, shape, dim, count, ids, {});
      }
    }
  }
  // Ids that reach only a part of the other dimensions.
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Shape& ids : {Shape{2, 6, 3}, Shape{3, 1, 5}, Shape{1, 9, 1}}) {
      add_gather(list, dtype, {3, 4, 5}, 1, ids, DType::u32, {});
      add_scatter(list, dtype, {3, 4, 5}, 1, ids, DType::u32, {});
    }
  }
  add_all(list, DType::f32, {0, 3}, 1, 2, DType::u32, {});
  // Sizes that are split over threads.
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (int dim = 0; dim < 2; ++dim) add_all(list, dtype, {300, 257}, dim, 311, DType::u32, {});
    add_all(list, dtype, {70001}, 0, 80001, DType::i64, {});
  }
  for (const OpId op : {OpId::index_select, OpId::gather, OpId::scatter, OpId::index_add}) {
    for (const DType ids : kIdDTypes) add_refusal(list, op, ids, 4);
    add_refusal(list, op, DType::u32, 4294967294);
    add_refusal(list, op, DType::i32, -1);
    add_refusal(list, op, DType::i64, -1);
    add_refusal(list, op, DType::i64, 1e15);
  }
}

}  // namespace wick::conformance
