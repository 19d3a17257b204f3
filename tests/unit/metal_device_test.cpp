// The driver's memory, queue, events and compiler, on the first GPU of this machine, by each of its variants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
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

ir::Kernel scale_and_add() { return multiply_add_named("scale_and_add"); }

class MetalDevice : public OnDevice<testing::TestWithParam<const char*>> {
 protected:
  void SetUp() override {
    if (!wick::Device::metal_is_available()) GTEST_SKIP() << "no metal device";
    open({DeviceKind::metal, 0}, {.variant = GetParam()});
  }

  [[nodiscard]] KernelDriver& driver() { return runtime().driver(); }
  [[nodiscard]] const wick::Program& program() { return runtime().program({"scale_and_add", {}}, scale_and_add); }
};

TEST_P(MetalDevice, BytesAreCopiedAndFilledAtEveryPlace) {
  const Bytes from = numbered(64, 3);
  Bytes expected = numbered(96, 100);
  const auto source = upload(from), target = upload(expected);
  for (size_t source_offset = 0; source_offset < 5; ++source_offset) {
    for (size_t target_offset = 0; target_offset < 18; target_offset += 1 + target_offset % 3) {
      for (const size_t count : {1, 3, 4, 32}) {
        queue().copy(*source, source_offset, *target, target_offset, count);
        std::copy_n(from.begin() + static_cast<ptrdiff_t>(source_offset), count, expected.begin() + static_cast<ptrdiff_t>(target_offset));
        queue().fill(*target, 60 + target_offset, count % 16, static_cast<std::byte>(count));
        std::fill_n(expected.begin() + 60 + static_cast<ptrdiff_t>(target_offset), count % 16, static_cast<uint8_t>(count));
      }
    }
  }
  queue().copy(*target, 33, *target, 1, 11);  // within one buffer
  std::copy_n(expected.begin() + 33, 11, expected.begin() + 1);
  EXPECT_EQ(download<uint8_t>(*target), expected);
}

TEST_P(MetalDevice, UploadsAndDownloadsTakeBytesAtEveryPlace) {
  Bytes expected = numbered(64, 1);
  const auto buffer = upload(expected);
  for (size_t offset = 0; offset < 20; offset += 3) {
    queue().fill(*buffer, 40, 24, std::byte{9});  // so that work is queued
    std::fill(expected.begin() + 40, expected.end(), uint8_t{9});
    const Bytes some = numbered(offset, static_cast<uint8_t>(offset * 17));
    queue().upload(std::as_bytes(std::span(some)).data(), *buffer, 13 + offset, some.size());
    std::copy(some.begin(), some.end(), expected.begin() + 13 + static_cast<ptrdiff_t>(offset));
    Bytes part(31);
    queue().download(*buffer, 11 + offset, std::as_writable_bytes(std::span(part)).data(), part.size());
    ASSERT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + 11 + static_cast<ptrdiff_t>(offset))) << offset;
  }
}

TEST_P(MetalDevice, LaunchesAndUploadsRunInTheirOrder) {
  const auto x = upload(Words(64, 1)), y = upload(Words(64, 0));
  uint32_t expected = 0;
  for (uint32_t step = 2; step <= 700; ++step) {
    launch(program(), 1, {{x.get()}, {y.get()}}, {64, step % 3});
    expected = expected * (step % 3) + (step - 1);
    const Words next(64, step);
    queue().upload(std::as_bytes(std::span(next)).data(), *x, 0, 256);
  }
  EXPECT_THAT(download<uint32_t>(*y), Each(expected));
}

TEST_P(MetalDevice, AKernelReadsOnePartOfABufferAndWritesAnother) {
  const size_t step = runtime().caps().buffer_offset_alignment;
  Words numbers(3 * 64, 5);
  const auto buffer = upload(numbers);
  launch(program(), 1, {{buffer.get(), 0, 64}, {buffer.get(), 2 * step, 64}}, {4, 10});
  for (size_t i = 0; i < 4; ++i) numbers[2 * step / 4 + i] = 55;
  EXPECT_EQ(download<uint32_t>(*buffer), numbers);
}

TEST_P(MetalDevice, EventsAreDoneInTheirOrderAndHaveTimes) {
  const auto x = upload(Words(64, 1)), y = upload(Words(64, 0));
  launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
  const std::unique_ptr<Event> before = queue().record();
  for (int i = 0; i < 300; ++i) launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
  const std::unique_ptr<Event> behind = queue().record();
  behind->wait();
  EXPECT_TRUE(behind->is_done());
  EXPECT_TRUE(before->is_done());
  const std::optional<double> seconds = behind->seconds_since(*before);
  ASSERT_TRUE(seconds);
  EXPECT_GT(*seconds, 0);
  launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
  const std::unique_ptr<Event> last = queue().record();
  while (!last->is_done()) {}
  EXPECT_THAT(download<uint32_t>(*y), Each(302));
}

TEST_P(MetalDevice, BlocksAndProgramsMayGoWhileTheyAreQueued) {
  const auto y = upload(Words(64, 1));
  for (int i = 0; i < 20; ++i) {
    const std::shared_ptr<const wick::Program> dropped = runtime().compile(scale_and_add());
    const std::unique_ptr<Buffer> block = driver().allocate(256);
    queue().fill(*block, 0, 256, std::byte{0});
    const std::vector<BufferArgument> buffers{{block.get()}, {y.get()}};
    runtime().launch({dropped.get(), {1, 1, 1}, buffers, Words{64, 2}});
  }
  EXPECT_THAT(download<uint32_t>(*y), Each(1U << 20));
}

TEST_P(MetalDevice, AGraphIsReplayed) {
  const auto x = upload(Words(64, 1)), y = upload(Words(64, 0));
  launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
  const Graph graph = Graph::record(device(), [&] { launch(program(), 1, {{x.get()}, {y.get()}}, {64, 2}); });
  for (int i = 0; i < 5; ++i) graph.replay();  // recording ran it once
  EXPECT_THAT(download<uint32_t>(*y), Each(127));
}

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
    static_cast<void>(driver().compile(scale_and_add(), "kernel void wick_scale_and_add() { no_such_function(); }"));
    FAIL() << "compiled";
  } catch (const CompilerError& error) {
    EXPECT_THAT(error.log, HasSubstr("no_such_function"));
  }
}

TEST_P(MetalDevice, ATextThatIsNoneIsNotLoaded) {
  const Bytes garbage(100, '*');
  EXPECT_EQ(driver().load(scale_and_add(), std::as_bytes(std::span(garbage))), nullptr);
}

TEST_P(MetalDevice, ABufferBeyondTheLimitNamesBoth) {
  const uint64_t limit = driver().caps().max_buffer_bytes;
  const Error error = error_of([&] { static_cast<void>(driver().allocate(limit + 1)); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("metal:0 ("), HasSubstr(std::to_string(limit + 1)), HasSubstr(std::to_string(limit))));
}

TEST_P(MetalDevice, AnUnknownVariantIsRefused) {
  const Error error = error_of([] { static_cast<void>(wick::Device::open({DeviceKind::metal, 0}, {.variant = "fast"})); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(error.what(), "metal:0: no variant 'fast'; it has plain and native");
}

INSTANTIATE_TEST_SUITE_P(Variants, MetalDevice, testing::Values("plain", "native"),
                         [](const auto& variant) { return std::string(variant.param); });

}  // namespace
}  // namespace wick::metal
