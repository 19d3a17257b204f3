// The queue: its order, its waits, and what it is given.
#include <gmock/gmock.h>

#include <numeric>
#include <thread>

#include "unit/vulkan_device.h"
#include "wick/base/error.h"

namespace wick::vulkan {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class VulkanQueue : public OnVulkan {
 protected:
  [[nodiscard]] const Program& program() { return runtime().program({"multiply_add", {}}, multiply_add); }
};

TEST_P(VulkanQueue, ManyLaunchesThatDependOnEachOtherRunInOrder) {
  const auto x = upload(std::vector<uint32_t>(100, 1));
  const auto y = upload(std::vector<uint32_t>(100, 0));
  uint32_t expected = 0;
  for (uint32_t step = 0; step < 1000; ++step) {
    launch(program(), 2, {{x.get()}, {y.get()}}, {100, step % 5});
    expected = expected * (step % 5) + 1;
  }
  EXPECT_THAT(download<uint32_t>(*y), Each(expected));
}

TEST_P(VulkanQueue, AChainThroughManyBuffersRunsInOrder) {
  std::vector<std::unique_ptr<Buffer>> links;
  for (uint32_t i = 0; i < 300; ++i) links.push_back(upload(std::vector<uint32_t>(64, 1)));
  for (size_t i = 1; i < links.size(); ++i) launch(program(), 1, {{links[i - 1].get()}, {links[i].get()}}, {64, 1});
  EXPECT_THAT(download<uint32_t>(*links.back()), Each(300));
}

TEST_P(VulkanQueue, AnUploadComesBehindTheLaunchesBeforeIt) {
  const auto x = upload(std::vector<uint32_t>(64, 1));
  const auto y = upload(std::vector<uint32_t>(64, 0));
  for (uint32_t step = 2; step <= 50; ++step) {
    launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
    const std::vector<uint32_t> next(64, step);
    queue().upload(std::as_bytes(std::span(next)).data(), *x, 0, x->bytes());
  }
  launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
  EXPECT_THAT(download<uint32_t>(*y), Each(50 * 51 / 2));
}

TEST_P(VulkanQueue, CopiesAndFillsComeInTheirOrder) {
  const auto x = upload(std::vector<uint32_t>(64, 3));
  const auto y = upload(std::vector<uint32_t>(64, 7));
  const auto z = allocate(256);
  launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});  // y: 10
  queue().copy(*y, 0, *z, 0, 256);
  queue().fill(*x, 0, 256, std::byte{1});  // x: 0x01010101
  launch(program(), 1, {{x.get()}, {y.get()}}, {64, 0});
  EXPECT_THAT(download<uint32_t>(*z), Each(10));
  EXPECT_THAT(download<uint32_t>(*y), Each(0x01010101));
}

TEST_P(VulkanQueue, AKernelSeesABufferFromAnOffset) {
  const size_t step = runtime().caps().buffer_offset_alignment;
  std::vector<uint32_t> numbers(4 * step);
  std::iota(numbers.begin(), numbers.end(), 0U);
  const auto x = upload(numbers);
  const auto y = upload(std::vector<uint32_t>(4 * step, 0));
  launch(program(), 1, {{x.get(), 2 * step, 16}, {y.get(), 3 * step}}, {4, 1});
  const std::vector<uint32_t> result = download<uint32_t>(*y);
  for (uint32_t i = 0; i < result.size(); ++i) {
    const bool written = i >= 3 * step / 4 && i < 3 * step / 4 + 4;
    EXPECT_EQ(result[i], written ? i - step / 4 : 0) << i;
  }
}

TEST_P(VulkanQueue, EventsAreDoneInTheirOrder) {
  const auto x = upload(std::vector<uint32_t>(64, 1));
  const auto y = upload(std::vector<uint32_t>(64, 0));
  const std::unique_ptr<Event> before = queue().record();
  for (int i = 0; i < 10; ++i) launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
  const std::unique_ptr<Event> behind = queue().record();
  behind->wait();
  EXPECT_TRUE(behind->is_done());
  EXPECT_TRUE(before->is_done());
  const std::optional<double> seconds = behind->seconds_since(*before);
  ASSERT_TRUE(seconds.has_value());
  EXPECT_GE(*seconds, 0);
  EXPECT_LT(*seconds, 60);
}

TEST_P(VulkanQueue, AnEventIsDoneSomeTimeAfterItIsAskedFor) {
  const auto x = upload(std::vector<uint32_t>(64, 1));
  launch(program(), 1, {{x.get()}, {allocate(256).get()}}, {64, 1});
  const std::unique_ptr<Event> event = queue().record();
  while (!event->is_done()) std::this_thread::yield();
}

TEST_P(VulkanQueue, BlocksAndProgramsMayGoWhileTheyAreQueued) {
  const auto y = upload(std::vector<uint32_t>(64, 1));
  for (uint32_t i = 0; i < 20; ++i) {
    const std::shared_ptr<const Program> dropped = runtime().compile(multiply_add());
    const std::unique_ptr<Buffer> block = runtime().driver().allocate(i % 2 == 0 ? 256 : size_t{2} << 20);
    queue().fill(*block, 0, 256, std::byte{0});
    launch(*dropped, 1, {{block.get()}, {y.get()}}, {64, 2});
  }
  EXPECT_THAT(download<uint32_t>(*y), Each(1U << 20));
}

TEST_P(VulkanQueue, TwoThreadsQueueAtOnce) {
  const auto work = [&](std::vector<uint32_t>& result) {
    for (int round = 0; round < 20; ++round) {
      const auto x = upload(std::vector<uint32_t>(500, 1));
      const auto y = upload(std::vector<uint32_t>(500, 0));
      for (int i = 0; i < 30; ++i) launch(program(), 8, {{x.get()}, {y.get()}}, {500, 1});
      const std::vector<uint32_t> numbers = download<uint32_t>(*y);
      result.insert(result.end(), numbers.begin(), numbers.end());
    }
  };
  std::vector<uint32_t> first, second;
  std::thread other([&] { work(second); });
  work(first);
  other.join();
  EXPECT_THAT(first, Each(30));
  EXPECT_THAT(second, Each(30));
}

TEST_P(VulkanQueue, ABufferThatKernelsCannotSeeWholeIsBoundInParts) {
  const uint64_t limit = runtime().caps().max_buffer_bytes;
  if (limit > size_t{1} << 30) GTEST_SKIP() << "the limit is " << limit << " bytes";
  const auto large = allocate(limit + 256);
  const auto y = upload(std::vector<uint32_t>(64, 0));
  queue().fill(*large, 0, 256, std::byte{0});
  queue().fill(*large, 256, limit, std::byte{1});
  launch(program(), 1, {{large.get()}, {y.get()}}, {64, 1});
  EXPECT_THAT(download<uint32_t>(*y), Each(0));
  launch(program(), 1, {{large.get(), 256}, {y.get()}}, {64, 1});  // all of it at once
  EXPECT_THAT(download<uint32_t>(*y), Each(0x01010101U));
}

TEST_P(VulkanQueue, MoreParametersThanTheDeviceTakesAreRefused) {
  ir::KernelBuilder k("parameters", {.group_size = 1});
  const ir::Memory y = k.output("y", ir::Element::u32);
  ir::Value sum = k.constant(0U);
  for (uint32_t i = 0; i <= runtime().caps().max_parameter_bytes / 4; ++i) sum = sum + k.parameter("p" + std::to_string(i), ir::Type::u32);
  y[0U] = sum;
  const ir::Kernel kernel = k.finish();
  EXPECT_THAT([&] { static_cast<void>(runtime().compile(kernel)); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("parameters"), HasSubstr("bytes"))));
}

INSTANTIATE_TEST_SUITE_P(, VulkanQueue, testing::Values("plain", "native"), variant_name);

}  // namespace
}  // namespace wick::vulkan
