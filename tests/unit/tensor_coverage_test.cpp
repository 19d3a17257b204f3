#include <fmt/format.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "unit/shared_data.h"
#include "wick/base/error.h"
#include "wick/base/half.h"
#include "wick/device/linked_kernels.h"
#include "wick/device/registry.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/binary.h"
#include "wick/tensor/ops/causal_conv.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/coverage.h"
#include "wick/tensor/ops/embedding.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/matmul.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/recurrent_step.h"
#include "wick/tensor/ops/rope.h"
#include "wick/tensor/ops/sample.h"
#include "wick/tensor/ops/unary.h"

namespace wick {
namespace {

// Every code path of every linked device that has memory.
std::vector<Device> all_devices() {
  std::vector<Device> devices;
  for (const Backend* backend : linked_backends()) {
    if (backend->kind == DeviceKind::null) continue;
    for (const DeviceInfo& device : backend->probe()) {
      const DeviceLocation location{backend->kind, device.index};
      if (backend->variants == nullptr) devices.push_back(Device::open(location));
      for (const VariantInfo& variant : backend->variants != nullptr ? backend->variants() : std::vector<VariantInfo>()) {
        if (variant.usable) devices.push_back(Device::open(location, {1, variant.name}));
      }
    }
  }
  return devices;
}

// Calls the op once with its defining operand of that dtype, all elements zero.
void call(OpId op, DType dtype, const Device& device) {
  const int64_t width = 256;
  const Shape matrix{2, width};
  const std::vector<std::byte> zeros(static_cast<size_t>(tensor_bytes(dtype, matrix.elements())));
  const Tensor x = Tensor::from_bytes(zeros, matrix, dtype, device);
  const Tensor floats = Tensor::zeros(matrix, DType::f32, device);
  const auto whole = [&](const Shape& shape) { return is_quantized(dtype) ? x : x.reshape(shape); };
  const Tensor cache = is_cache_dtype(dtype) ? x.reshape({1, 2, width}) : x;
  switch (op) {
    case OpId::fill: return fill(x, 1);
    case OpId::copy: return (void)x.to_dtype(DType::f32);
    case OpId::unary: return (void)x.neg();
    case OpId::binary: return (void)x.add(x);
    case OpId::softmax: return (void)softmax_last_dim(x);
    case OpId::compare: return (void)x.eq(x);
    case OpId::where_cond: return (void)Tensor::zeros(matrix, DType::u8, device).where_cond(x, x);
    case OpId::reduce: return (void)x.sum(-1);
    case OpId::layer_norm:
      return (void)layer_norm(x, Tensor::zeros({width}, DType::f32, device), Tensor::zeros({width}, DType::f32, device), 1);
    case OpId::rms_norm: return (void)rms_norm(x, Tensor::zeros({width}, DType::f32, device), 1);
    case OpId::add_rms_norm: return (void)add_rms_norm(x, x, Tensor::zeros({width}, DType::f32, device), 1);
    case OpId::rope: return (void)rope(whole({2, 1, width}), Tensor::zeros({2, 4, 2}, DType::f32, device), RopeStyle::interleaved);
    case OpId::rope_into_cache: {
      const Tensor heads = floats.reshape({2, 1, width});
      const Tensor places = Tensor::from_vector(std::vector<int32_t>{0, 1}, {2}, device);
      return (void)rope_into_cache(heads, heads, heads, {places, places}, Tensor::zeros({2, 4, 2}, DType::f32, device),
                                   RopeStyle::interleaved, cache, cache);
    }
    case OpId::recurrent_step: {
      const Tensor heads = floats.reshape({2, 1, width}), ones = Tensor::ones({2, 1}, DType::f32, device);
      const StateSlots slots{Tensor::from_vector(std::vector<int32_t>{0, 1}, {2}, device),
                             Tensor::from_vector(std::vector<int32_t>{0, 1}, {2}, device)};
      return (void)recurrent_step({ones.unsqueeze(-1), ones.unsqueeze(-1), heads, ones.unsqueeze(-1), ones}, slots, x, {});
    }
    case OpId::causal_conv: {
      const StateSlots slots{Tensor::from_vector(std::vector<int32_t>{0, 1}, {2}, device),
                             Tensor::from_vector(std::vector<int32_t>{0, 1}, {2}, device)};
      const ColumnTaps taps{Tensor::ones({2, width}, DType::f32, device), Tensor::ones({width}, DType::f32, device)};
      return (void)causal_conv(floats, taps, slots, x, {});
    }
    case OpId::embedding: return (void)embedding(x, Tensor::zeros({3}, DType::u32, device));
    case OpId::matmul: return (void)matmul(x, is_quantized(dtype) ? x : x.transpose(0, 1));
    case OpId::linear: return (void)linear(floats, x);
    case OpId::gated_linear: return (void)gated_linear(floats, x, x);
    case OpId::linear_experts:
    case OpId::gated_linear_experts: {
      // Two experts of one row.
      const std::vector<std::byte> bytes(static_cast<size_t>(tensor_bytes(dtype, 2 * width)));
      const Tensor experts = Tensor::from_bytes(bytes, {2, 1, width}, dtype, device), ids = Tensor::zeros({2, 1}, DType::i32, device);
      return (void)(op == OpId::linear_experts ? linear_experts(floats, experts, ids)
                                               : gated_linear_experts(floats, experts, experts, ids));
    }
    case OpId::sample: return (void)sample(x, Tensor::zeros({2, 4}, DType::f32, device), Tensor::zeros({2, 4}, DType::u32, device));
    case OpId::attention: return (void)attention(Tensor::zeros({2, 1, width}, DType::f32, device), cache, cache, {1, 0});
    case OpId::index_select: return (void)x.index_select(Tensor::zeros({1}, DType::u32, device), 0);
    case OpId::gather: return (void)x.gather(Tensor::zeros(matrix, DType::u32, device), 1);
    case OpId::scatter: return (void)x.scatter_add(Tensor::zeros(matrix, DType::u32, device), x, 1);
    case OpId::index_add: return (void)x.index_add(Tensor::zeros({2}, DType::u32, device), x, 0);
    case OpId::conv2d: return (void)whole({1, 1, 2, width}).conv2d(whole({1, 1, 2, width}), ConvParams());
    case OpId::conv_transpose2d: return (void)whole({1, 1, 2, width}).conv_transpose2d(whole({1, 1, 2, width}), ConvParams());
    case OpId::avg_pool2d: return (void)whole({1, 1, 2, width}).avg_pool2d({2, 2});
    case OpId::max_pool2d: return (void)whole({1, 1, 2, width}).max_pool2d({2, 2});
    case OpId::upsample2d: return (void)whole({1, 1, 2, width}).upsample_nearest2d(3, 3);
    case OpId::cumsum: return (void)x.cumsum(1);
    case OpId::sort: return (void)x.sort_last_dim(true);
    case OpId::random: return (void)Tensor::rand(0, 1, matrix, dtype, device);
  }
}

TEST(Coverage, EveryHoleIsDeclared) {
  for (const Device& device : all_devices()) {
    const std::vector<Device> devices = {device};
    for (const CoverageEntry& entry : coverage(devices)) {
      EXPECT_TRUE(entry.support != Support::none || !entry.reason.empty())
          << to_string(entry.op) << " of " << to_string(entry.dtype) << " on " << device.caps().driver
          << ": implement it or declare it unsupported";
    }
  }
}

// The table is true: what it lists runs, and what it declares unsupported is refused with an error.
TEST(Coverage, WhatIsListedRunsAndHolesAreRefused) {
  for (const Device& device : all_devices()) {
    const std::vector<Device> devices = {device};
    for (const CoverageEntry& entry : coverage(devices)) {
      const std::string what = fmt::format("{} of {} on {}", to_string(entry.op), to_string(entry.dtype), device.caps().driver);
      if (entry.support != Support::none) {
        EXPECT_NO_THROW(call(entry.op, entry.dtype, device)) << what;
      } else {
        EXPECT_THROW(call(entry.op, entry.dtype, device), Error) << what;
      }
    }
  }
}

TEST(Coverage, HasOneEntryForEachDeviceOpAndStoredDType) {
  const std::vector<Device> devices = {Device::cpu(), Device::null()};
  const std::vector<CoverageEntry> entries = coverage(devices);
  EXPECT_EQ(entries.size(), static_cast<size_t>(2 * kDTypeCount * kOpCount));
  EXPECT_EQ(entries.front().device, DeviceKind::cpu);
  EXPECT_EQ(entries.back().device, DeviceKind::null);
}

// A kind that no loop was written for, here one that no row has, must not be looked for behind the end of a table of loops.
TEST(Kinds, WithoutALoopRunByTheReferenceLoops) {
  for (const Device& device : all_devices()) {
    if (device.kind() != DeviceKind::cpu) continue;
    for (const OpId op : {OpId::unary, OpId::binary, OpId::compare}) {
      const int none = info(op).kinds;
      EXPECT_NE(device.runtime().override_for(op, 0, DType::f32), nullptr);
      EXPECT_EQ(device.runtime().override_for(op, none, DType::f32), nullptr);
      EXPECT_EQ(support(device, op, DType::f32, none), Support::reference);
    }
    const Tensor x = Tensor::full({5}, 2.5, DType::f32, device), y = Tensor::full({5}, 7, DType::f32, device);
    const UnaryParams params{static_cast<UnaryKind>(kUnaryKindCount)};
    dispatch(OpId::unary, &params, {&x}, {&y});
    EXPECT_EQ(y.to_vec1<float>(), std::vector<float>(5, 0)) << "the reference loops know no such function";
  }
}

TEST(Launchers, AreThereForEveryOp) {
  ASSERT_NE(linked_launchers(), nullptr);
  for (const OpInfo& row : kOps) EXPECT_NE((*linked_launchers())[static_cast<size_t>(row.id)], nullptr) << row.name;
}

TEST(Coverage, MarkdownNamesEveryOpAndReason) {
  const std::vector<Device> devices = {Device::cpu()};
  const std::vector<CoverageEntry> entries = coverage(devices);
  const std::string text = render_markdown(entries);
  EXPECT_EQ(text.find("MISSING"), std::string::npos);
  for (const CoverageEntry& entry : entries) {
    EXPECT_NE(text.find(to_string(entry.op)), std::string::npos);
    const bool shown = entry.reason.empty() || find_block_format(entry.dtype) != nullptr || !is_quantized(entry.dtype);
    if (shown) {
      EXPECT_NE(text.find(entry.reason), std::string::npos) << entry.reason;
    }
  }
}

TEST(Coverage, TheDocumentIsCurrent) {
  const std::vector<Device> devices = {Device::cpu(), Device::reference()};
  std::ifstream file(source_file("docs/coverage.md"));
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), render_markdown(coverage(devices))) << "write it again: wick coverage --markdown cpu reference > docs/coverage.md";
}

}  // namespace
}  // namespace wick
