// The driver's memory, handles, limits and compiler, on the first GPU of this machine, by each of its variants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "unit/on_device.h"
#include "wick/backend/metal/metal.h"
#include "wick/device/graph.h"
#include "wick/tensor/tensor.h"

namespace wick::metal {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using Bytes = std::vector<uint8_t>;
using Words = std::vector<uint32_t>;

class MetalDevice : public OnDevice<testing::TestWithParam<const char*>> {
 protected:
  void SetUp() override {
    if (!wick::Device::metal_is_available()) GTEST_SKIP() << "no metal device";
    open({DeviceKind::metal, 0}, {.variant = GetParam()});
  }

  [[nodiscard]] KernelDriver& driver() { return runtime().driver(); }
};

TEST_P(MetalDevice, MemoryOfTheHostIsUsedWhereItLies) {
  const auto words = std::make_shared<Words>(10000, 7);
  const size_t shift = (16 - reinterpret_cast<uintptr_t>(words->data()) % 16) % 16 / 4;
  const std::span<const uint32_t> part = std::span<const uint32_t>(*words).subspan(shift + 4, 8192);
  std::weak_ptr<Words> watched = words;
  {
    const auto bytes = std::as_bytes(part);
    const std::unique_ptr<Buffer> x = runtime().import_host(const_cast<std::byte*>(bytes.data()), bytes.size(), words);  // NOLINT
    const MetalMemory memory = metal_memory(*x);
    EXPECT_NE(memory.buffer, nullptr);
    const auto y = upload(Words(64, 0));
    (*words)[shift + 4] = 9;  // what a copy would not see
    launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
    Words expected(64, 7);
    expected[0] = 9;
    EXPECT_EQ(download<uint32_t>(*y), expected);
    const Graph graph = Graph::record(device(), [&] { launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1}); });
    graph.replay();
    expected[0] = 27;
    std::fill(expected.begin() + 1, expected.end(), 21);
    EXPECT_EQ(download<uint32_t>(*y), expected);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

TEST_P(MetalDevice, MemoryThatKernelsCannotReadWhereItLiesIsCopied) {
  const auto bytes = std::make_shared<Bytes>(numbered(600, 3));
  const auto odd = std::as_bytes(std::span<const uint8_t>(*bytes)).subspan(1, 500);
  const std::unique_ptr<Buffer> buffer = runtime().import_host(const_cast<std::byte*>(odd.data()), odd.size(), bytes);  // NOLINT
  EXPECT_EQ(download<uint8_t>(*buffer), Bytes(bytes->begin() + 1, bytes->begin() + 501));
}

TEST_P(MetalDevice, NativeHandlesAreThoseOfTheDevice) {
  const Tensor tensor = Tensor::zeros({8}, DType::f32, device());
  EXPECT_NE(metal_device(device()), nullptr);
  EXPECT_NE(metal_queue(device()), nullptr);
  EXPECT_EQ(metal_memory(tensor.narrow(0, 3, 2)).buffer, metal_memory(tensor).buffer);
  EXPECT_EQ(metal_memory(tensor.narrow(0, 3, 2)).offset, metal_memory(tensor).offset + 12);
  EXPECT_NE(metal_pipeline(program()), nullptr);
}

// As somebody else's, who keeps it.
TEST_P(MetalDevice, MemoryOfSomebodyElseIsUsedWhereItLies) {
  const std::shared_ptr<Buffer> other = driver().allocate(1024);
  const std::weak_ptr<Buffer> watched = other;
  {
    const Tensor wrapped(std::make_shared<Storage>(device(), DType::f32, wrap_metal_memory(device(), metal_memory(*other), 1024, other)),
                         Layout(Shape({256})));
    wrapped.zero_set();
    EXPECT_THAT((wrapped + 2.0).to_vector<float>(), Each(2));
    EXPECT_EQ(metal_memory(wrapped).buffer, metal_memory(*other).buffer);
    EXPECT_GT(watched.use_count(), 1);
  }
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_THAT(download<uint32_t>(*other), Each(0));
  const Error error = error_of([&] { static_cast<void>(wrap_metal_memory(device(), {}, 16, nullptr)); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(error.what(), "memory of a metal device at 0x0: there is none");
}

TEST_P(MetalDevice, ARefusedTextGivesTheCompilersWords) {
  try {
    static_cast<void>(driver().compile(multiply_add(), "kernel void wick_multiply_add() { no_such_function(); }"));
    FAIL() << "compiled";
  } catch (const CompilerError& error) {
    EXPECT_THAT(error.log, HasSubstr("no_such_function"));
  }
}

TEST_P(MetalDevice, ATextThatIsNoneIsNotLoaded) {
  const Bytes garbage(100, '*');
  EXPECT_EQ(driver().load(multiply_add(), std::as_bytes(std::span(garbage))), nullptr);
}

TEST_P(MetalDevice, ABufferBeyondTheLimitNamesBoth) {
  const uint64_t limit = driver().caps().max_buffer_bytes;
  const Error error = error_of([&] { static_cast<void>(driver().allocate(limit + 1)); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("metal:0 ("), HasSubstr(std::to_string(limit + 1)), HasSubstr(std::to_string(limit))));
}

INSTANTIATE_TEST_SUITE_P(Variants, MetalDevice, testing::Values("plain", "native"),
                         [](const auto& variant) { return std::string(variant.param); });

}  // namespace
}  // namespace wick::metal
