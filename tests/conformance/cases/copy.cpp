// copy and fill: every pair of plain dtypes, every layout on both sides, dequantizing, and the numbers that do not fit.
#include "wick/tensor/ops/copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/case.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/ops/fill.h"

namespace wick::conformance {
namespace {

// Numbers at the ends of the dtypes, halfway between two of their values, and not numbers at all.
const std::vector<double> kEdges = {
    0.0,      -0.0,     0.5,        -0.5,       1.5,           2.5,           -1.9999,    127,         127.5,         128,       255,
    255.5,    256,      -1,         -128,       32767,         32768,         -32768,     -32769,      65504,         65519.9,   65520,
    65535,    65536,    2147483647, 2147483648, -2147483648.0, -2147483649.0, 4294967295, 4294967296,  9.3e18,        -9.3e18,   1e30,
    -1e30,    3.4e38,   -3.4e38,    1e39,       -1e39,         kNaN,          kInfinity,  -kInfinity,  448,           449,       464,
    465,      480,      1e-3,       0x1p-9,     0x1p-10,       0x1.8p-10,     0x1p-14,    0x1p-24,     0x1p-25,       0x1.8p-25, 0x1p-126,
    0x1p-133, 0x1p-149, 0x1p-150,   0x1p-1074,  1 + 0x1p-11,   1 + 0x1p-8,    1 + 0x1p-4, 1 + 0x1p-24, 1 + 0x1.8p-10, 1.0625,    1.1875};

// A hair above halfway: rounding to f32 first would lose the hair and then round the tie the wrong way.
const std::vector<double> kAlmostTies = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-4 + 0x1p-40, 1 + 0x3p-11 - 0x1p-40,
                                         1 + 0x3p-8 - 0x1p-40,  1 + 0x3p-4 - 0x1p-40, 0x1p-25 + 0x1p-60,    -1 - 0x1p-8 - 0x1p-40,
                                         65520 - 0x1p-30,       0x1p-10 + 0x1p-50,    16842753 + 0x1p-20};

void add_pair(CaseList& list, DType from, DType to, const Shape& shape, View from_view, View to_view) {
  const std::string name = fmt::format("to {}/{}/{} to {}", to_string(to), shape.to_string(), to_string(from_view), to_string(to_view));
  list.add(OpId::copy, from, name, [=](Trial& trial) {
    const Tensor source = trial.input(shape, from, from_view, {-200, 200});
    const Tensor target = trial.input(shape, to, to_view);
    copy(source, target);
    trial.expect(OpId::copy, nullptr, {&source}, target);
  });
}

void add_values(CaseList& list, DType from, DType to, View view, const std::string& note, const std::vector<double>& values) {
  list.add(OpId::copy, from, fmt::format("to {}/{}/{}", to_string(to), note, to_string(view)), [=](Trial& trial) {
    const Tensor source = trial.input_of(values, {static_cast<int64_t>(values.size())}, from, view);
    trial.expect(OpId::copy, nullptr, {&source}, source.to_dtype(to));
  });
}

// All 65,536 codes of a half: f16 or bf16 to f32 is exact, and back is the same code (read as numbers, so that NaNs count as equal).
void add_all_halves(CaseList& list, DType half) {
  list.add(OpId::copy, half, "to f32/every code", [=](Trial& trial) {
    std::vector<uint16_t> codes(65536);
    for (size_t code = 0; code < codes.size(); ++code) codes[code] = static_cast<uint16_t>(code);
    const Tensor source = Tensor::from_bytes(std::as_bytes(std::span(codes)), {65536}, half, trial.device());
    const Tensor wide = source.to_dtype(DType::f32);
    trial.expect(OpId::copy, nullptr, {&source}, wide);
    trial.expect(OpId::copy, nullptr, {&wide}, wide.to_dtype(half));
  });
}

void add_quantized(CaseList& list, DType from, DType to, const Shape& rows, View to_view) {
  const std::string name = fmt::format("to {}/{}/to {}", to_string(to), rows.to_string(), to_string(to_view));
  list.add(OpId::copy, from, name, [=](Trial& trial) {
    const Tensor source = trial.weight(rows[0], rows[1], from);
    const Tensor target = trial.input(rows, to, to_view);
    copy(source, target);
    trial.expect(OpId::copy, nullptr, {&source}, target);
    // Rows of a larger table.
    if (rows[0] < 3 || from == DType::i2_s) return;
    const Tensor part = source.narrow(0, 1, rows[0] - 2);
    trial.expect(OpId::copy, nullptr, {&part}, part.to_dtype(to));
  });
}

// A code errs by half a step, 1/127 of the block's largest magnitude, whose f16 errs by 2^-11 of itself, 127 codes away from 0.
Bound q8_0_bound() {
  return [](Inputs inputs, const ReferenceTensor& expected) {
    std::vector<double> bounds(expected.values.size());
    for (size_t at = 0; at < bounds.size(); at += 32) {
      double largest = 0;
      for (size_t i = at; i < at + 32; ++i) largest = std::max(largest, std::fabs(inputs[0].values[i]));
      std::fill_n(bounds.begin() + static_cast<std::ptrdiff_t>(at), 32, largest * (0.501 / 127 + 0x1p-11) + 0x1p-25 * 127);
    }
    return bounds;
  };
}

void add_to_q8_0(CaseList& list, const Shape& shape, View from_view, double reach) {
  list.add(OpId::copy, DType::f32, fmt::format("to q8_0/{}/{}/{}", shape.to_string(), to_string(from_view), reach), [=](Trial& trial) {
    const Tensor source = trial.input(shape, DType::f32, from_view, {-reach, reach});
    const Tensor target = trial.weight(shape.elements() / shape.last(), shape.last(), DType::q8_0).reshape(shape);
    copy(source, target);
    trial.expect(OpId::copy, nullptr, {&source}, target, q8_0_bound());
  });
}

void add_fill(CaseList& list, const Shape& shape, DType dtype, View view, double value) {
  list.add(OpId::fill, dtype, fmt::format("{}/{}/{}", shape.to_string(), to_string(view), value), [=](Trial& trial) {
    const Tensor target = trial.input(shape, dtype, view);
    fill(target, value);
    const FillParams params{value};
    trial.expect(OpId::fill, &params, {}, target);
  });
}

void add_plain(CaseList& list) {
  for (const DType from : kPlainDTypes) {
    for (const DType to : kPlainDTypes) {
      for (const int64_t n : {1, 5, 33, 70}) add_pair(list, from, to, {n}, View::contiguous, View::contiguous);
      for (const View view : views_of({3, 2, 5})) add_pair(list, from, to, {3, 2, 5}, view, View::contiguous);
      for (const View view : target_views_of({3, 2, 5})) add_pair(list, from, to, {3, 2, 5}, View::transposed, view);
      if (is_float(from)) add_values(list, from, to, View::contiguous, "edges", kEdges);
      if (is_float(from)) add_values(list, from, to, View::strided, "edges", kEdges);
      if (from == DType::f64) add_values(list, from, to, View::contiguous, "almost ties", kAlmostTies);
      add_values(list, from, to, View::contiguous, "ends",
                 {0, 255, 256, -1, 127, 128, -128, -129, 32767, 32768, -32768, 65535, 2147483647, -2147483648.0, 4294967295});
    }
  }
  for (const DType from : {DType::i32, DType::u32, DType::i64}) {
    for (const DType to : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3}) {
      add_values(list, from, to, View::contiguous, "almost ties",
                 {16842753, 33685505, 33685503, 2049, 2051, 65519, 65521, 16777217, 16777219});
    }
  }
  for (const Shape& shape : shapes_of_every_rank()) {
    for (const View view : views_of(shape)) {
      for (const View target : target_views_of(shape)) add_pair(list, DType::f32, DType::f32, shape, view, target);
    }
  }
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{2, 0, 2}})
    add_pair(list, DType::f32, DType::f16, shape, View::contiguous, View::contiguous);
  for (const DType to : {DType::f32, DType::f16, DType::bf16, DType::u8}) {
    add_pair(list, DType::f32, to, {70001}, View::contiguous, View::contiguous);
    add_pair(list, DType::f32, to, {257, 1023}, View::contiguous, View::narrowed);
  }
  add_pair(list, DType::f16, DType::f32, {1025, 255}, View::contiguous, View::contiguous);
  add_all_halves(list, DType::f16);
  add_all_halves(list, DType::bf16);
}

}  // namespace

void add_copy_cases(CaseList& list) {
  for (const Shape& shape : {Shape{32}, Shape{3, 64}, Shape{5, 2, 96}}) {
    for (const View view : views_of(shape)) {
      for (const double reach : {1e-6, 1.0, 300.0}) add_to_q8_0(list, shape, view, reach);
    }
  }
  add_plain(list);
  for (const BlockFormat& format : block_formats()) {
    if (!is_quantized(format.dtype)) continue;
    for (const DType to : kPlainDTypes) {
      for (const int64_t rows : {0, 1, 3, 16, 17, 35}) add_quantized(list, format.dtype, to, {rows, 512}, View::contiguous);
    }
    for (const View view : target_views_of({3, 256})) add_quantized(list, format.dtype, DType::f32, {3, 256}, view);
  }
  for (const DType to : kPlainDTypes) {
    for (const int64_t width : {128, 384}) add_quantized(list, DType::i2_s, to, {5, width}, View::contiguous);
  }
  for (const View view : target_views_of({3, 256})) add_quantized(list, DType::i2_s, DType::f32, {3, 256}, view);
  for (const DType dtype : kPlainDTypes) {
    for (const Shape& shape : shapes_of_every_rank()) {
      for (const View view : target_views_of(shape)) add_fill(list, shape, dtype, view, 7);
    }
    for (const double value : {0.0, -3.75, 300.0, 1e30, -1e30, kNaN, kInfinity, -kInfinity})
      add_fill(list, {3, 5}, dtype, View::contiguous, value);
    for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{70001}}) add_fill(list, shape, dtype, View::contiguous, 1.5);
  }
}

}  // namespace wick::conformance
