// What the queue is given beyond the device's limits.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "unit/vulkan_device.h"
#include "wick/base/error.h"

namespace wick::vulkan {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class VulkanQueue : public OnVulkan {};

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
