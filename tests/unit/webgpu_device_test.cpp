// The driver's memory, handles, limits and compiler, on the first adapter of this machine, by each of its variants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "unit/on_device.h"
#include "wick/backend/webgpu/adapter.h"
#include "wick/backend/webgpu/backend.h"
#include "wick/backend/webgpu/webgpu.h"
#include "wick/ir/builder.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/tensor.h"

namespace wick::webgpu {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using Bytes = std::vector<uint8_t>;
using Words = std::vector<uint32_t>;

class WebGpuDevice : public OnDevice<testing::TestWithParam<const char*>> {
 protected:
  void SetUp() override {
    if (installation().adapters.empty()) GTEST_SKIP() << installation().missing;
    open({DeviceKind::webgpu, 0}, {.variant = GetParam()});
  }

  [[nodiscard]] Driver& driver() { return static_cast<Driver&>(runtime().driver()); }
};

TEST_P(WebGpuDevice, NativeHandlesAreThoseOfTheDevice) {
  const Tensor tensor = Tensor::zeros({8}, DType::f32, device());
  EXPECT_NE(webgpu_device(device()), nullptr);
  EXPECT_NE(webgpu_queue(device()), nullptr);
  EXPECT_EQ(webgpu_memory(tensor.narrow(0, 3, 2)).buffer, webgpu_memory(tensor).buffer);
  EXPECT_EQ(webgpu_memory(tensor.narrow(0, 3, 2)).offset, 12);
  EXPECT_NE(webgpu_pipeline(program()), nullptr);
}

// As somebody else's, who keeps it.
TEST_P(WebGpuDevice, MemoryOfSomebodyElseIsUsedWhereItLies) {
  const std::shared_ptr<Buffer> other = driver().allocate(1024);
  const std::weak_ptr<Buffer> watched = other;
  {
    const Tensor wrapped(
        std::make_shared<Storage>(device(), DType::f32, wrap_webgpu_memory(device(), webgpu_memory(*other).buffer, 1024, other)),
        Layout(Shape({256})));
    wrapped.zero_set();
    EXPECT_THAT((wrapped + 2.0).to_vector<float>(), Each(2));
    EXPECT_EQ(webgpu_memory(wrapped).buffer, webgpu_memory(*other).buffer);
    EXPECT_GT(watched.use_count(), 1);
  }
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_THAT(download<uint32_t>(*other), Each(0));
  const Error error = error_of([&] { static_cast<void>(wrap_webgpu_memory(device(), nullptr, 16, nullptr)); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(error.what(), "memory of a webgpu device at 0x0: there is none");
}

TEST_P(WebGpuDevice, ARefusedTextGivesTheCompilersWords) {
  try {
    static_cast<void>(driver().compile(multiply_add(), "fn wick_multiply_add() { no_such_function(); }"));
    FAIL() << "compiled";
  } catch (const CompilerError& error) {
    EXPECT_THAT(error.log, HasSubstr("no_such_function"));
  }
}

TEST_P(WebGpuDevice, ATextThatIsNoneIsNotLoaded) {
  const Bytes garbage(100, '*');
  EXPECT_EQ(driver().load(multiply_add(), std::as_bytes(std::span(garbage))), nullptr);
}

TEST_P(WebGpuDevice, ACallThatIsRefusedIsAnErrorWithTheCallAndItsWords) {
  try {
    static_cast<void>(make_buffer(driver().device(), 256, kMapRead | kStorage));  // usages that exclude each other
    FAIL() << "made";
  } catch (const WebGpuError& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_device);
    EXPECT_EQ(error.call(), "wgpuDeviceCreateBuffer");
    EXPECT_EQ(error.status(), static_cast<int>(ErrorType::validation));
    EXPECT_THAT(error.what(), AllOf(HasSubstr("webgpu:0 ("), HasSubstr(error.status_name()), testing::Not(HasSubstr("\n"))));
  }
}

// The names are those that llvmpipe gives itself, by the width of the machine's vectors.
TEST(WebGpuQuirks, ADriverWithOneSizeOfSubgroupsIsKnownByItsName) {
  EXPECT_EQ(known_subgroup_size("llvmpipe (LLVM 15.0.6, 128 bits)"), 4);
  EXPECT_EQ(known_subgroup_size("llvmpipe (LLVM 15.0.6, 256 bits)"), 8);
  EXPECT_EQ(known_subgroup_size("llvmpipe (LLVM 19.1.7, 512 bits)"), 16);
  EXPECT_EQ(known_subgroup_size("NVIDIA H200"), 0);
}

// Every lane of a group, whatever the compiler behind WebGPU made of the kernel: a wrong size would be a wrong sum.
TEST_P(WebGpuDevice, SubgroupsAreAsWideAsTheDeviceSays) {
  const auto lanes = static_cast<uint32_t>(runtime().caps().max_subgroup_size);
  if (lanes < 2) GTEST_SKIP() << "without subgroups";
  ir::KernelBuilder k("subgroup_sums", {.group_size = 128, .subgroup_size = lanes});
  const ir::Memory y = k.output("y", ir::Element::u32);
  y[k.local_id()] = subgroup_reduce(ir::Reduce::add, k.local_id());
  const std::shared_ptr<const wick::Program> sums = runtime().compile(k.finish());
  const auto result = upload(Words(128));
  launch(*sums, 1, {{result.get()}}, {});
  const Words got = download<uint32_t>(*result);
  for (uint32_t i = 0; i < 128; ++i) ASSERT_EQ(got[i], lanes * (i / lanes * lanes) + lanes * (lanes - 1) / 2) << i;
}

TEST_P(WebGpuDevice, ABufferBeyondTheLimitNamesBoth) {
  const uint64_t limit = driver().device().limits().max_buffer_size;
  const Error error = error_of([&] { static_cast<void>(driver().allocate(limit + 1)); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("webgpu:0 ("), HasSubstr(std::to_string(limit + 1)), HasSubstr(std::to_string(limit))));
}

TEST_P(WebGpuDevice, AKernelBeyondTheAdaptersLimitsNamesTheLimitAndBothNumbers) {
  const DeviceCaps& caps = runtime().caps();
  const auto refusal = [&](const std::function<void(ir::KernelBuilder&)>& build, uint32_t lanes) {
    ir::KernelBuilder k("too_much", {.group_size = lanes});
    build(k);
    const ir::Kernel kernel = k.finish();
    const Error error = error_of([&] { static_cast<void>(runtime().compile(kernel)); });
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return std::string(error.what());
  };
  const auto says = [&](uint64_t wanted, const std::string& what, uint64_t most) {
    return "kernel too_much: " + std::to_string(wanted) + " " + what + ", but " + caps.name + " allows " + std::to_string(most);
  };
  const auto writes = [](ir::KernelBuilder& k) { k.output("y", ir::Element::u32)[k.local_id()] = 1; };
  EXPECT_EQ(refusal(writes, caps.max_group_size + 1), says(caps.max_group_size + 1, "lanes of a group", caps.max_group_size));
  const auto shared_words = static_cast<uint32_t>(caps.max_shared_bytes / 4 + 4);
  EXPECT_EQ(refusal(
                [&](ir::KernelBuilder& k) {
                  const ir::Memory shared = k.shared(ir::Element::u32, shared_words), y = k.output("y", ir::Element::u32);
                  shared[k.local_id()] = 1;
                  k.barrier();
                  y[k.local_id()] = shared[k.local_id()];
                },
                1),
            says(uint64_t{shared_words} * 4, "bytes of shared memory", caps.max_shared_bytes));
  EXPECT_EQ(refusal(
                [&](ir::KernelBuilder& k) {
                  writes(k);
                  for (int i = 0; i < 65; ++i) static_cast<void>(k.parameter("p" + std::to_string(i), ir::Type::u32));
                },
                1),
            says(65 * 4, "bytes of parameters", caps.max_parameter_bytes));
}

// wgpu-native itself refuses more than it was asked for.
TEST_P(WebGpuDevice, ATensorBeyondWhatTheAdapterBindsIsBoundInParts) {
  const auto result_on = [](uint64_t binding_bytes) {
    Adapter adapter = installation().adapters[0];
    adapter.limits.max_storage_buffer_binding_size = adapter.caps.max_buffer_bytes = binding_bytes;
    const wick::Device device = wick::Device::adopt(
        {DeviceKind::webgpu, 0},
        std::make_shared<KernelRuntime>(std::make_unique<Driver>(std::make_shared<Device>(std::move(adapter), "webgpu:0 (limited)"))));
    std::vector<float> values(3 * 65536);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 1001) - 500;
    const Tensor weight = Tensor::from_vector(values, {768, 256}, device), x = weight.narrow(0, 5, 2);
    std::vector<float> result = linear(x, weight).flatten_all().to_vector<float>();
    const std::vector<float> sum = (weight + weight.to_dtype(DType::f16).to_dtype(DType::f32)).flatten_all().to_vector<float>();
    result.insert(result.end(), sum.begin(), sum.end());
    return result;
  };
  // The limit that every adapter has, and a quarter of the weight.
  EXPECT_EQ(result_on(256 << 10), result_on(128 << 20));
}

// Whoever holds the native handle may destroy the device, as its driver may.
TEST_P(WebGpuDevice, ADeviceThatIsDestroyedIsLost) {
  const auto x = upload(Words(64, 1)), y = upload(Words(64, 0));
  launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
  queue().synchronize();
  driver().device().api().device_destroy(webgpu_device(device()));
  launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
  for (int i = 0; i < 2; ++i) {
    const Error error = error_of([&] { queue().synchronize(); });
    EXPECT_EQ(error.code(), ErrorCode::device_lost);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("webgpu:0 ("), HasSubstr("is lost"), HasSubstr("multiply_add")));
  }
  EXPECT_TRUE(runtime().is_lost());
  EXPECT_EQ(error_of([&] { static_cast<void>(download<uint32_t>(*y)); }).code(), ErrorCode::device_lost);
  // Opened again, it works.
  const wick::Device again = wick::Device::open({DeviceKind::webgpu, 0}, {.variant = GetParam()});
  EXPECT_THAT(Tensor::ones({4}, DType::f32, again).to_vector<float>(), Each(1));
}

TEST_P(WebGpuDevice, ALossThatAnAllocationOrACompilerMeetsFirstIsALoss) {
  driver().device().api().device_destroy(webgpu_device(device()));
  const Error allocation = error_of([&] { static_cast<void>(driver().allocate(size_t{1} << 20)); });
  const Error compilation = error_of([&] { static_cast<void>(runtime().compile(multiply_add_named("another"))); });
  for (const Error* error : {&allocation, &compilation}) {
    EXPECT_EQ(error->code(), ErrorCode::device_lost) << error->what();
    EXPECT_THAT(error->what(), AllOf(HasSubstr("webgpu:0 ("), HasSubstr("is lost (")));
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, WebGpuDevice, testing::Values("plain", "native"),
                         [](const auto& variant) { return std::string(variant.param); });

}  // namespace
}  // namespace wick::webgpu
