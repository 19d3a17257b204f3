// conv2d, conv_transpose2d, pooling and upsample2d: every stride, dilation, padding and group, at sizes around those of tiles.
#include <fmt/format.h>

#include <cmath>

#include "conformance/case.h"
#include "wick/tensor/ops/dispatch.h"

namespace wick::conformance {
namespace {

struct ConvCase {
  Shape x;
  Shape kernel;
  ConvParams params;
};

std::string text_of(const ConvParams& p) {
  return fmt::format("padding {}x{} output {}x{} stride {}x{} dilation {}x{} groups {}", p.padding[0], p.padding[1], p.output_padding[0],
                     p.output_padding[1], p.stride[0], p.stride[1], p.dilation[0], p.dilation[1], p.groups);
}

void add_conv(CaseList& list, OpId op, DType dtype, const ConvCase& entry, View x_view = View::contiguous,
              View kernel_view = View::contiguous) {
  const std::string name = fmt::format("{} {}/{} {}/{}", entry.x.to_string(), to_string(x_view), entry.kernel.to_string(),
                                       to_string(kernel_view), text_of(entry.params));
  list.add(op, dtype, name, [=](Trial& trial) {
    const Range range = is_integer(dtype) ? Range{-3, 4} : Range{-1, 1};
    const Tensor x = trial.input(entry.x, dtype, x_view, range);
    const Tensor kernel = trial.input(entry.kernel, dtype, kernel_view, range);
    const Tensor result = op == OpId::conv2d ? x.conv2d(kernel, entry.params) : x.conv_transpose2d(kernel, entry.params);
    const int64_t terms = kernel.elements() / std::max<int64_t>(1, kernel.dim(op == OpId::conv2d ? 0 : 1));
    const Bound bound = [&](Inputs inputs, const ReferenceTensor& expected) {
      return product_bound(op, &entry.params, roundoff(dtype), terms, inputs, expected.shape);
    };
    trial.expect(op, &entry.params, {&x, &kernel}, result, is_integer(dtype) ? Bound{} : bound);
  });
}

void add_convs(CaseList& list) {
  const std::vector<ConvCase> geometries = {
      {{1, 1, 4, 4}, {1, 1, 3, 3}, {}},
      {{3, 2, 5, 6}, {3, 2, 3, 3}, {.padding = {1, 1}}},
      {{1, 2, 7, 5}, {4, 2, 2, 3}, {.padding = {0, 2}, .stride = {2, 1}}},
      {{3, 4, 6, 7}, {6, 2, 3, 2}, {.padding = {2, 1}, .stride = {3, 2}, .dilation = {1, 2}, .groups = 2}},
      {{2, 3, 5, 9}, {3, 1, 3, 3}, {.padding = {1, 1}, .groups = 3}},
      {{2, 3, 5, 9}, {6, 1, 3, 3}, {.padding = {1, 1}, .stride = {2, 2}, .groups = 3}},
      {{2, 5, 4, 6}, {7, 5, 1, 1}, {}},
      {{2, 4, 4, 6}, {6, 2, 1, 1}, {.stride = {2, 3}, .groups = 2}},
      {{1, 2, 3, 3}, {2, 2, 3, 3}, {.padding = {3, 3}, .dilation = {2, 1}}},
      {{3, 2, 1, 40}, {5, 2, 1, 7}, {.padding = {0, 3}, .dilation = {1, 2}}},
      {{2, 2, 9, 9}, {2, 2, 8, 7}, {}},
      {{1, 2, 12, 50}, {3, 2, 3, 3}, {.padding = {1, 1}}},
  };
  for (const ConvCase& entry : geometries) {
    for (const DType dtype : kFloatDTypes) add_conv(list, OpId::conv2d, dtype, entry);
    for (const DType dtype : {DType::u8, DType::u32, DType::i8, DType::i16, DType::i32, DType::i64})
      add_conv(list, OpId::conv2d, dtype, entry);
    for (const View view : views_of(entry.x)) add_conv(list, OpId::conv2d, DType::f32, entry, view, View::contiguous);
    for (const View view : views_of(entry.kernel)) add_conv(list, OpId::conv2d, DType::f32, entry, View::contiguous, view);
    add_conv(list, OpId::conv2d, DType::f16, entry, View::permuted, View::narrowed);
    add_conv(list, OpId::conv2d, DType::f64, entry, View::broadcast, View::flipped);
  }
  // Sizes that take several tiles of rows and columns, several blocks of the sum and several strips of the image.
  const std::vector<ConvCase> large = {
      {{1, 33, 17, 35}, {31, 33, 3, 3}, {.padding = {1, 1}}},
      {{2, 40, 9, 33}, {17, 40, 3, 3}, {.padding = {1, 0}, .stride = {2, 2}}},
      {{1, 300, 6, 20}, {16, 300, 1, 1}, {}},
      {{3, 8, 20, 20}, {8, 1, 5, 5}, {.padding = {2, 2}, .groups = 8}},
      {{5, 6, 5, 5}, {15, 6, 3, 3}, {}},
      {{16, 4, 11, 11}, {9, 4, 9, 9}, {}},
      {{1, 16, 70, 90}, {16, 16, 3, 3}, {.padding = {1, 1}}},
  };
  for (const ConvCase& entry : large) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) add_conv(list, OpId::conv2d, dtype, entry);
    add_conv(list, OpId::conv2d, DType::f32, entry, View::transposed, View::permuted);
  }
  const std::vector<ConvCase> empty = {
      {{0, 2, 4, 4}, {3, 2, 3, 3}, {}}, {{2, 2, 4, 4}, {0, 2, 3, 3}, {}}, {{2, 0, 4, 4}, {3, 0, 3, 3}, {}}};
  for (const ConvCase& entry : empty) add_conv(list, OpId::conv2d, DType::f32, entry);
}

void add_transposed_convs(CaseList& list) {
  const std::vector<ConvCase> geometries = {
      {{1, 1, 3, 3}, {1, 1, 3, 3}, {}},
      {{3, 3, 4, 5}, {3, 2, 3, 3}, {.padding = {1, 1}}},
      {{1, 2, 3, 4}, {2, 4, 2, 3}, {.padding = {0, 2}, .output_padding = {1, 0}, .stride = {2, 1}}},
      {{3, 4, 3, 4}, {4, 3, 3, 2}, {.padding = {2, 1}, .output_padding = {2, 1}, .stride = {3, 2}, .dilation = {1, 2}, .groups = 2}},
      {{2, 3, 5, 9}, {3, 1, 3, 3}, {.padding = {1, 1}, .groups = 3}},
      {{2, 3, 5, 9}, {3, 2, 3, 3}, {.padding = {1, 1}, .output_padding = {1, 1}, .stride = {2, 2}, .groups = 3}},
      {{2, 5, 4, 6}, {5, 7, 1, 1}, {}},
      {{2, 4, 4, 6}, {4, 2, 1, 1}, {.stride = {2, 3}, .groups = 2}},
      {{3, 2, 1, 40}, {2, 5, 1, 7}, {.padding = {0, 3}, .dilation = {1, 2}}},
      {{1, 2, 4, 4}, {2, 3, 3, 3}, {.padding = {1, 1}, .output_padding = {1, 2}, .stride = {1, 2}, .dilation = {2, 3}}},
      {{2, 33, 9, 21}, {33, 17, 3, 3}, {.padding = {1, 1}, .output_padding = {1, 1}, .stride = {2, 2}}},
  };
  for (const ConvCase& entry : geometries) {
    for (const DType dtype : kFloatDTypes) add_conv(list, OpId::conv_transpose2d, dtype, entry);
    for (const DType dtype : {DType::u8, DType::i64}) add_conv(list, OpId::conv_transpose2d, dtype, entry);
    for (const View view : views_of(entry.x)) add_conv(list, OpId::conv_transpose2d, DType::f32, entry, view, View::contiguous);
    for (const View view : views_of(entry.kernel)) add_conv(list, OpId::conv_transpose2d, DType::f32, entry, View::contiguous, view);
  }
  const std::vector<ConvCase> empty = {
      {{0, 2, 4, 4}, {2, 3, 3, 3}, {}}, {{2, 2, 4, 4}, {2, 0, 3, 3}, {}}, {{2, 0, 4, 4}, {0, 3, 3, 3}, {}}};
  for (const ConvCase& entry : empty) add_conv(list, OpId::conv_transpose2d, DType::f32, entry);
}

struct PoolCase {
  Shape x;
  PoolParams params;
};

const std::vector<PoolCase>& pool_cases() {
  static const std::vector<PoolCase> cases = {
      {{1, 1, 4, 4}, {{2, 2}, {2, 2}}},   {{3, 2, 5, 7}, {{2, 3}, {1, 2}}}, {{2, 3, 6, 5}, {{3, 2}, {2, 1}}},
      {{1, 2, 3, 3}, {{3, 3}, {1, 1}}},   {{2, 1, 6, 6}, {{1, 1}, {2, 3}}}, {{1, 3, 1, 40}, {{1, 4}, {1, 3}}},
      {{2, 2, 34, 70}, {{2, 2}, {2, 2}}}, {{0, 2, 4, 4}, {{2, 2}, {2, 2}}},
  };
  return cases;
}

void add_avg_pool(CaseList& list, const PoolCase& entry, DType dtype, View view) {
  const PoolParams p = entry.params;
  const std::string name = fmt::format("{} {}/window {}x{} stride {}x{}", entry.x.to_string(), to_string(view), p.kernel[0], p.kernel[1],
                                       p.stride[0], p.stride[1]);
  list.add(OpId::avg_pool2d, dtype, name, [=](Trial& trial) {
    const Tensor x = trial.input(entry.x, dtype, view);
    trial.expect(OpId::avg_pool2d, &p, {&x}, x.avg_pool2d(p.kernel, p.stride), [&](Inputs inputs, const ReferenceTensor& expected) {
      return product_bound(OpId::avg_pool2d, &p, roundoff(dtype), p.kernel[0] * p.kernel[1], inputs, expected.shape);
    });
  });
}

void expect_max_pool(Trial& trial, const Tensor& x, const PoolParams& params) {
  const Tensor values = x.max_pool2d(params.kernel, params.stride);
  const Tensor places = Tensor::empty(values.shape(), DType::u32, trial.device());
  const Tensor again = values.empty_like();
  dispatch(OpId::max_pool2d, &params, {&x}, {&again, &places});
  if (!trial.has_values() || values.elements() == 0) return;
  const ReferenceTensor input = trial.values_of(x);
  std::vector<ReferenceTensor> expected = {{values.shape(), std::vector<double>(static_cast<size_t>(values.elements())), x.dtype()},
                                           {values.shape(), std::vector<double>(static_cast<size_t>(values.elements())), DType::u32}};
  rule(OpId::max_pool2d).reference(&params, std::span(&input, 1), expected);
  trial.expect_values(expected[0], values, {});
  trial.expect_values(expected[0], again, {});
  trial.expect_values(expected[1], places, {});
}

void add_max_pool(CaseList& list, const PoolCase& entry, DType dtype, View view) {
  const PoolParams p = entry.params;
  const std::string name = fmt::format("{} {}/window {}x{} stride {}x{}", entry.x.to_string(), to_string(view), p.kernel[0], p.kernel[1],
                                       p.stride[0], p.stride[1]);
  list.add(OpId::max_pool2d, dtype, name, [=](Trial& trial) { expect_max_pool(trial, trial.input(entry.x, dtype, view), p); });
}

void add_pools(CaseList& list) {
  for (const PoolCase& entry : pool_cases()) {
    for (const DType dtype : kFloatDTypes) add_avg_pool(list, entry, dtype, View::contiguous);
    for (const DType dtype : kPlainDTypes) add_max_pool(list, entry, dtype, View::contiguous);
    if (entry.x.elements() == 0) continue;
    for (const View view : views_of(entry.x)) {
      add_avg_pool(list, entry, DType::f32, view);
      add_avg_pool(list, entry, DType::f16, view);
      add_max_pool(list, entry, DType::f32, view);
      add_max_pool(list, entry, DType::bf16, view);
    }
  }
  // Ties go to the first, and NaN is larger than anything.
  const std::vector<std::pair<std::string, std::vector<double>>> specials = {
      {"ties", {1, 1, 2, 2}}, {"nan", {1, kNaN, 2, 3, 0}}, {"infinity", {-HUGE_VAL, -HUGE_VAL, HUGE_VAL}}};
  for (const auto& [note, values] : specials) {
    list.add(OpId::max_pool2d, DType::f32, note, [values = values](Trial& trial) {
      expect_max_pool(trial, trial.input_of(values, {2, 3, 6, 9}, DType::f32), {{2, 3}, {1, 2}});
    });
  }
}

void add_upsample(CaseList& list, const Shape& shape, int64_t height, int64_t width, DType dtype, View view, const UpsampleParams& params) {
  const std::string name = fmt::format("{} {}/{} x {} {}{} step {:.3} {:.3}", shape.to_string(), to_string(view), height, width,
                                       params.mode == UpsampleMode::nearest ? "nearest" : "bilinear",
                                       params.align_corners ? " corners" : "", params.step[0], params.step[1]);
  list.add(OpId::upsample2d, dtype, name, [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, view);
    Tensor result = Tensor::empty({shape[0], shape[1], height, width}, dtype, trial.device());
    apply(OpId::upsample2d, params, {&x}, {&result});
    // The weight of a pixel comes from a place rounded in f32 at worst: that moves it by some u of the image's extent.
    const double factor = params.mode == UpsampleMode::nearest ? 0 : 8.0 * static_cast<double>(4 + shape[2] + shape[3]) * roundoff(dtype);
    trial.expect(OpId::upsample2d, &params, {&x}, result,
                 [&](Inputs, const ReferenceTensor& expected) { return std::vector<double>(expected.values.size(), 4 * factor); });
  });
}

void add_upsamples(CaseList& list) {
  struct Sizes {
    Shape x;
    int64_t height;
    int64_t width;
  };
  const std::vector<Sizes> sizes = {{{1, 1, 2, 3}, 4, 6},  {{3, 2, 3, 4}, 7, 5},  {{2, 2, 5, 5}, 3, 2}, {{1, 3, 1, 1}, 3, 2},
                                    {{2, 1, 4, 9}, 4, 40}, {{1, 2, 20, 3}, 1, 1}, {{0, 2, 3, 3}, 4, 4}, {{1, 2, 1, 49}, 1, 98}};
  for (const Sizes& entry : sizes) {
    const auto step = [&](int dim, int64_t to, bool corners) {
      if (corners) return to > 1 ? static_cast<double>(entry.x[dim] - 1) / static_cast<double>(to - 1) : 0.0;
      return static_cast<double>(entry.x[dim]) / static_cast<double>(to);
    };
    std::vector<UpsampleParams> variants = {{.mode = UpsampleMode::bilinear, .step = {0.4, 1.7}}};
    for (const bool corners : {false, true}) {
      variants.push_back({.mode = UpsampleMode::bilinear,
                          .align_corners = corners,
                          .step = {step(2, entry.height, corners), step(3, entry.width, corners)}});
    }
    for (const DType dtype : kPlainDTypes) add_upsample(list, entry.x, entry.height, entry.width, dtype, View::contiguous, {});
    for (const UpsampleParams& params : variants) {
      for (const DType dtype : kFloatDTypes) add_upsample(list, entry.x, entry.height, entry.width, dtype, View::contiguous, params);
    }
    if (entry.x.elements() == 0) continue;
    for (const View view : views_of(entry.x)) {
      add_upsample(list, entry.x, entry.height, entry.width, DType::f32, view, {});
      add_upsample(list, entry.x, entry.height, entry.width, DType::f32, view, variants.back());
      add_upsample(list, entry.x, entry.height, entry.width, DType::bf16, view, variants.front());
    }
  }
}

}  // namespace

void add_image_cases(CaseList& list) {
  add_convs(list);
  add_transposed_convs(list);
  add_pools(list);
  add_upsamples(list);
}

}  // namespace wick::conformance
