// embedding: rows of tables of every dtype, by ids of every dtype and layout.
#include "wick/tensor/ops/embedding.h"

#include <fmt/format.h>

#include <cmath>

#include "conformance/case.h"
#include "wick/base/error.h"
#include "wick/quant/block_format.h"

namespace wick::conformance {
namespace {

// A block's arithmetic in f32 is a product and a sum, which may be fused: one rounding of the largest term either way. The result of
// a number widened is exact.
Bound embedding_bound(DType table) {
  if (!is_quantized(table)) return {};
  return [](Inputs inputs, const ReferenceTensor& expected) {
    double largest = 0;
    for (const double value : inputs[0].values) largest = std::max(largest, std::fabs(value));
    return std::vector<double>(expected.values.size(), 4 * 0x1p-24 * largest);
  };
}

void add(CaseList& list, DType dtype, int64_t rows, int64_t width, DType ids_dtype, const Shape& ids_shape, View view,
         bool prepare = false) {
  const std::string name = fmt::format("[{}, {}]/ids {} {} {}{}", rows, width, to_string(ids_dtype), ids_shape.to_string(), to_string(view),
                                       prepare ? "/prepared" : "");
  list.add(OpId::embedding, dtype, name, [=](Trial& trial) {
    Tensor table = trial.weight(rows, width, dtype);
    if (prepare) table = trial.prepared(table);
    const Tensor ids = trial.input(ids_shape, ids_dtype, view, {0, static_cast<double>(rows)});
    trial.expect(OpId::embedding, nullptr, {&table, &ids}, embedding(table, ids), embedding_bound(dtype));
  });
}

// A table that is a part of a larger one, seen through a view.
void add_view(CaseList& list, DType dtype, View view) {
  list.add(OpId::embedding, dtype, fmt::format("[11, 6]/table {}", to_string(view)), [=](Trial& trial) {
    const Tensor table = trial.input({11, 6}, dtype, view);
    const Tensor ids = trial.input({9}, DType::u32, View::strided, {0, 11});
    trial.expect(OpId::embedding, nullptr, {&table, &ids}, embedding(table, ids));
  });
}

void add_rows_of_table(CaseList& list, DType dtype) {
  list.add(OpId::embedding, dtype, "rows 5 to 25 of 37", [=](Trial& trial) {
    const Tensor table = trial.prepared(trial.weight(37, 256, dtype)).narrow(0, 5, 20);
    const Tensor ids = trial.input_of({0, 19, 7, 11, 12, 13}, {6}, DType::u32);
    trial.expect(OpId::embedding, nullptr, {&table, &ids}, embedding(table, ids), embedding_bound(dtype));
  });
}

void add_refusal(CaseList& list, DType ids_dtype, double id) {
  list.add(OpId::embedding, DType::f32, fmt::format("id {} of {} is refused", id, to_string(ids_dtype)), [=](Trial& trial) {
    if (!trial.has_values()) return;
    const Tensor table = trial.weight(4, 3, DType::f32);
    const Tensor ids = trial.input_of({0, id, 1}, {3}, ids_dtype);
    try {
      (void)embedding(table, ids);
      trial.expect_true(false, "an id outside the table was accepted");
    } catch (const Error& error) {
      trial.expect_true(error.code() == ErrorCode::index_out_of_range, fmt::format("refused with another code: {}", error.what()));
    }
  });
}

}  // namespace

void add_embedding_cases(CaseList& list) {
  const std::vector<DType> id_dtypes = {DType::u32, DType::i32, DType::i64};
  for (const DType dtype : kPlainDTypes) {
    for (const int64_t width : {1, 7, 8, 33, 64, 257}) add(list, dtype, 13, width, DType::u32, {5}, View::contiguous);
    for (const View view : views_of({11, 6})) add_view(list, dtype, view);
  }
  for (const DType ids : id_dtypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{9}, Shape{2, 3}, Shape{2, 0}, Shape{3, 2, 4}}) {
      for (const View view : views_of(shape)) add(list, DType::f32, 10, 6, ids, shape, view);
    }
  }
  for (const BlockFormat& format : block_formats()) {
    for (const bool prepare : {false, true}) {
      for (const int64_t rows : {1, 5, 16, 17, 33, 48}) {
        for (const int64_t width : {256, 768}) add(list, format.dtype, rows, width, DType::u32, {40}, View::contiguous, prepare);
      }
    }
    add_rows_of_table(list, format.dtype);
  }
  for (const int64_t rows : {1, 5, 17}) add(list, DType::i2_s, rows, 384, DType::u32, {40}, View::contiguous);
  for (const DType dtype : {DType::q4_0, DType::q8_0}) add(list, dtype, 5, 32, DType::i64, {3}, View::flipped);
  add(list, DType::f32, 100, 0, DType::u32, {3}, View::contiguous);
  add_refusal(list, DType::u32, 4);
  add_refusal(list, DType::u32, 4294967295);
  add_refusal(list, DType::i32, -1);
  add_refusal(list, DType::i64, 1e15);
}

}  // namespace wick::conformance
