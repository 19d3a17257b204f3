// Ops that a device lacks run on the CPU: DeviceOptions::cpu_fallback. Here a runtime before the interpreter lacks them.
#include "wick/device/op_fallback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forwarding_runtime.h"
#include "unit/message_of.h"
#include "wick/device/device.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/rope.h"
#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The interpreter without that op, or without any: "all".
Device lacking(const std::string& lacked, bool fallback = true) {
  const auto lacks = [lacked](OpId op, DType) { return lacked == "all" || to_string(op) == lacked; };
  return open_lacking({DeviceKind::reference, 0}, {.threads = 1}, lacks, fallback);
}
const Device& cpu() {
  static const Device device = Device::open({DeviceKind::cpu, 0}, {.threads = 1});
  return device;
}

// The names and numbers of what fell back.
std::vector<std::pair<std::string, int64_t>> counts(const Device& device) {
  std::vector<std::pair<std::string, int64_t>> found;
  for (const OpFallback::Row& row : device.runtime().op_fallback()->rows()) found.emplace_back(to_string(row.op), row.calls);
  std::sort(found.begin(), found.end());
  return found;
}

using Body = std::function<std::vector<float>(const Device&)>;

// Numbers of a fixed sequence.
Tensor numbers(const Shape& shape, const Device& device) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 37 + 11) % 64) / 16.0F - 2.0F;
  return Tensor::from_vector(values, shape, device);
}

// The same in blocks.
Tensor packed(const Shape& shape, DType dtype, const Device& device) {
  const std::vector<float> values = numbers(shape, cpu()).to_vector<float>();
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(dtype, shape.elements())));
  const auto block = static_cast<size_t>(info(dtype).block_elements);
  for (size_t at = 0; at < values.size(); at += block) {
    find_block_format(dtype)->pack(std::span(values).subspan(at, block), bytes.data() + storage_bytes(dtype, static_cast<int64_t>(at)));
  }
  return Tensor::from_bytes(bytes, shape, dtype, device);
}

// Bit by bit what the CPU computes, and by nothing else than this op.
void expect_the_cpus(const std::string& op, const Body& body) {
  const Device device = lacking(op);
  EXPECT_EQ(body(device), body(cpu())) << op;
  const auto ran = counts(device);
  ASSERT_FALSE(ran.empty()) << op << " never fell back";
  for (const auto& [name, calls] : ran) EXPECT_EQ(name, op);
}

TEST(OpFallback, OffByDefaultAHoleIsAnError) {
  const Device device = lacking("softmax", false);
  EXPECT_EQ(device.runtime().op_fallback(), nullptr);
  const Tensor x = numbers({2, 3}, device);
  EXPECT_EQ(message_of([&] { (void)softmax(x, 1); }), "softmax: reference:0 has no implementation for dtype f32");
  EXPECT_EQ(support(device, OpId::softmax, DType::f32), Support::none);
  EXPECT_EQ(support(lacking("softmax"), OpId::softmax, DType::f32), Support::cpu_fallback);
}

TEST(OpFallback, ReadsViewsWithAnyStridesAndOffsets) {
  expect_the_cpus("softmax",
                  [](const Device& device) { return softmax(numbers({5, 7}, device).t().narrow(0, 2, 3), 1).to_vector<float>(); });
  expect_the_cpus("binary", [](const Device& device) {
    const Tensor x = numbers({4, 6, 3}, device);
    return (x.narrow(1, 1, 4).flip({0, 2}) + numbers({1, 4, 1}, device)).to_vector<float>();
  });
  expect_the_cpus("matmul", [](const Device& device) {
    return numbers({9, 4}, device).narrow(0, 3, 5).matmul(numbers({6, 4}, device).t()).to_vector<float>();
  });
  expect_the_cpus("reduce", [](const Device& device) { return numbers({3, 5}, device).t().sum(0).to_vector<float>(); });
}

TEST(OpFallback, WritesViewsAndLeavesTheirNeighboursAlone) {
  for (const char* op : {"copy", "fill"}) {
    expect_the_cpus(op, [&](const Device& device) {
      const Tensor x = numbers({6, 8}, device);
      if (std::string_view(op) == "fill") x.narrow(0, 1, 4).narrow(1, 3, 2).const_set(9);
      if (std::string_view(op) == "copy") x.narrow(1, 5, 3).slice_set(numbers({3, 4}, device).t().narrow(1, 0, 3), 0, 1);
      return x.to_vector<float>();
    });
  }
}

TEST(OpFallback, UpdatesInPlace) {
  const auto ids = [](const Device& device) { return Tensor::of<uint32_t>({{2, 0}, {1, 2}, {0, 0}}, device); };
  expect_the_cpus("scatter", [&](const Device& device) {
    const Tensor x = numbers({3, 9}, device);
    x.narrow(1, 4, 3).scatter_add_set(ids(device), numbers({3, 2}, device), 1);
    return x.to_vector<float>();
  });
  expect_the_cpus("index_add", [&](const Device& device) {
    return numbers({3, 4}, device).index_add(Tensor::of<uint32_t>({2, 2}, device), numbers({2, 4}, device), 0).to_vector<float>();
  });
}

// An output that shares its buffer with an input.
TEST(OpFallback, OperandsOfOneBufferShareItsCopy) {
  expect_the_cpus("copy", [](const Device& device) {
    const Tensor x = numbers({8, 4}, device);
    const Tensor from = x.narrow(0, 0, 3);
    const Tensor to = x.narrow(0, 5, 3);
    dispatch(OpId::copy, nullptr, {&from}, {&to});
    return x.to_vector<float>();
  });
}

TEST(OpFallback, QuantizedWeightsAndRowsOfThem) {
  expect_the_cpus("linear", [](const Device& device) {
    const Tensor weight = packed({6, 64}, DType::q8_0, device);
    return linear(numbers({4, 64}, device), weight, {.precise = true}).to_vector<float>();
  });
  expect_the_cpus("copy", [](const Device& device) {
    return packed({7, 32}, DType::q4_0, device).narrow(0, 3, 4).to_dtype(DType::f32).to_vector<float>();
  });
}

TEST(OpFallback, SeveralOutputsAndAKvCache) {
  const Shape cache_shape = {2, 8, 32};
  for (const DType cache_dtype : {DType::bf16, DType::q8_0}) {
    expect_the_cpus("rope_into_cache", [&](const Device& device) {
      const Tensor keys = packed(cache_shape, cache_dtype, device);
      const Tensor values = packed(cache_shape, cache_dtype, device);
      const Tensor query = numbers({2, 4, 32}, device);
      const Tensor key = numbers({2, 2, 32}, device);
      const Tensor positions = Tensor::from_vector(std::vector<int32_t>{1, 0}, {2}, device);
      const Tensor slots = Tensor::from_vector(std::vector<int32_t>{6, 3}, {2}, device);
      const Tensor turned =
          rope_into_cache(query, key, key, {positions, slots}, numbers({2, 16, 2}, device), RopeStyle::half_split, keys, values);
      std::vector<float> all = turned.to_vector<float>();
      for (const Tensor& cache : {keys, values}) {
        const std::vector<float> more = cache.to_device(cpu()).to_dtype(DType::f32).to_vector<float>();
        all.insert(all.end(), more.begin(), more.end());
      }
      return all;
    });
  }
  expect_the_cpus("attention", [&](const Device& device) {
    const Tensor cache = numbers({2, 16, 32}, device);
    return attention(numbers({3, 4, 32}, device), cache.narrow(1, 0, 8), cache.narrow(1, 8, 8), {.scale = 0.2F, .past = 5, .precise = true})
        .to_vector<float>();
  });
}

TEST(OpFallback, EmptyOperandsAndBroadcasts) {
  EXPECT_THAT(Tensor::zeros({2, 0}, DType::f32, lacking("all")).sum(1).to_vector<float>(), ElementsAre(0, 0));
  expect_the_cpus("unary", [](const Device& device) { return numbers({1, 3}, device).broadcast_as({4, 3}).exp().to_vector<float>(); });
}

TEST(OpFallback, OnlyTheDtypesThatAreLacking) {
  const auto lacks = [](OpId op, DType dtype) { return op == OpId::unary && dtype == DType::f16; };
  const Device device = open_lacking({DeviceKind::reference, 0}, {.threads = 1}, lacks, true);
  const Tensor x = numbers({4}, device);
  EXPECT_EQ(x.abs().to_vector<float>(), numbers({4}, cpu()).abs().to_vector<float>());
  EXPECT_TRUE(counts(device).empty());
  static_cast<void>(x.to_dtype(DType::f16).abs());
  EXPECT_THAT(counts(device), ElementsAre(testing::Pair("unary", 1)));
}

TEST(OpFallback, GradientsPassThroughIt) {
  const auto gradient = [](const Device& device) {
    const Var x = Var::from_tensor(numbers({3, 4}, device));
    const Tensor y = (softmax(x.tensor(), 1) * numbers({3, 4}, device)).sum_all();
    return backward(y).get(x.tensor())->to_vector<float>();
  };
  EXPECT_EQ(gradient(lacking("all")), gradient(cpu()));
}

TEST(OpFallback, CountsCallsAndTimeOfEachOp) {
  const auto lacks = [](OpId op, DType) { return op == OpId::softmax || op == OpId::unary; };
  const Device device = open_lacking({DeviceKind::reference, 0}, {.threads = 1}, lacks, true);
  const Tensor x = numbers({64, 64}, device);
  for (int i = 0; i < 3; ++i) static_cast<void>(softmax(x, 1));
  static_cast<void>(x.exp());
  static_cast<void>(x + x);
  EXPECT_THAT(counts(device), ElementsAre(testing::Pair("softmax", 3), testing::Pair("unary", 1)));
  const std::vector<OpFallback::Row> rows = device.runtime().op_fallback()->rows();
  for (const OpFallback::Row& row : rows) EXPECT_GT(row.seconds, 0);
  EXPECT_GE(rows[0].seconds, rows[1].seconds) << "the slowest first";
}

TEST(OpFallback, ErrorsOfTheCpuComeThrough) {
  const Device device = lacking("gather");
  const Tensor ids = Tensor::of<uint32_t>({{7}}, device);
  EXPECT_THAT(message_of([&] { (void)numbers({1, 3}, device).gather(ids, 1); }), HasSubstr("gather"));
}

// A device without ops whose graph is being recorded.
class RecordingRuntime final : public ForwardingRuntime {
 public:
  using ForwardingRuntime::ForwardingRuntime;
  [[nodiscard]] OpFunction override_for(OpId /*op*/, int /*kind*/, DType /*dtype*/) const noexcept override { return nullptr; }
  [[nodiscard]] bool runs_kernels() const noexcept override { return false; }
  [[nodiscard]] bool is_recording() const noexcept override { return true; }
};

TEST(OpFallback, AGraphCannotRecordIt) {
  const DeviceLocation location{DeviceKind::reference, 0};
  auto runtime = std::make_shared<RecordingRuntime>(open_runtime(location.kind, location.index, {.threads = 1}));
  runtime->set_op_fallback(std::make_unique<OpFallback>(open_runtime(DeviceKind::cpu, 0, {.threads = 1})));
  const Device device = Device::adopt(location, std::move(runtime));
  const Tensor x = numbers({2, 3}, device);
  EXPECT_EQ(message_of([&] { (void)softmax(x, 1); }),
            "softmax: interpreter of kernels lacks this op and the CPU runs it instead, which a graph cannot record; call the ops without "
            "recording");
  EXPECT_TRUE(counts(device).empty());
}

TEST(OpFallback, TheCpuHasNone) {
  EXPECT_EQ(Device::open({DeviceKind::cpu, 0}, {.threads = 1, .cpu_fallback = true}).runtime().op_fallback(), nullptr);
}

}  // namespace
}  // namespace wick
