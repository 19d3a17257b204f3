// Memory of Vulkan's devices: bytes there and back, and blocks that do not touch each other.
#include <gmock/gmock.h>

#include <random>

#include "unit/vulkan_device.h"
#include "wick/base/error.h"

namespace wick::vulkan {
namespace {

using testing::HasSubstr;

using VulkanBlocks = OnVulkan;

std::vector<uint8_t> random_bytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST_P(VulkanBlocks, BytesOfEverySizeComeBack) {
  for (const size_t bytes : {size_t{1}, size_t{3}, size_t{255}, size_t{4097}, (size_t{1} << 20) + 1, (size_t{9} << 20) + 5}) {
    const std::vector<uint8_t> numbers = random_bytes(bytes, static_cast<uint32_t>(bytes));
    EXPECT_EQ(download<uint8_t>(*upload(numbers)), numbers) << bytes;
  }
}

// Against the same steps on an ordinary vector.
TEST_P(VulkanBlocks, UploadsCopiesAndFillsOfAnyBytesAreThoseOfAVector) {
  constexpr size_t kBytes = 1000;
  std::mt19937 random(11);
  const auto below = [&](size_t end) { return static_cast<size_t>(random()) % end; };
  std::vector<uint8_t> expected[2] = {random_bytes(kBytes, 1), random_bytes(kBytes, 2)};
  const std::unique_ptr<Buffer> buffers[2] = {upload(expected[0]), upload(expected[1])};
  for (int step = 0; step < 300; ++step) {
    const size_t to = below(2), bytes = below(50), offset = below(kBytes - bytes), source = below(kBytes - bytes);
    const auto target = expected[to].begin() + static_cast<std::ptrdiff_t>(offset);
    if (const size_t what = below(3); what == 0) {
      const std::vector<uint8_t> numbers = random_bytes(bytes, static_cast<uint32_t>(step));
      queue().upload(std::as_bytes(std::span(numbers)).data(), *buffers[to], offset, bytes);
      std::copy(numbers.begin(), numbers.end(), target);
    } else if (what == 1) {
      queue().fill(*buffers[to], offset, bytes, std::byte(step));
      std::fill_n(target, bytes, static_cast<uint8_t>(step));
    } else {
      queue().copy(*buffers[1 - to], source, *buffers[to], offset, bytes);
      std::copy_n(expected[1 - to].begin() + static_cast<std::ptrdiff_t>(source), bytes, target);
    }
  }
  EXPECT_EQ(download<uint8_t>(*buffers[0]), expected[0]);
  EXPECT_EQ(download<uint8_t>(*buffers[1]), expected[1]);
}

TEST_P(VulkanBlocks, ManySmallBlocksKeepTheirOwnBytes) {
  std::vector<std::unique_ptr<Buffer>> blocks;
  for (uint32_t i = 0; i < 5000; ++i) blocks.push_back(upload(std::vector<uint32_t>(1 + i % 700, i)));
  for (uint32_t i = 0; i < blocks.size(); i += 97) {
    EXPECT_EQ(download<uint32_t>(*blocks[i]), std::vector<uint32_t>(1 + i % 700, i)) << i;
  }
}

TEST_P(VulkanBlocks, ABlockThatDoesNotFitIsAnErrorWithItsSize) {
  const size_t bytes = size_t{1} << 50;
  EXPECT_THAT([&] { static_cast<void>(allocate(bytes)); }, testing::ThrowsMessage<Error>(HasSubstr(std::to_string(bytes))));
  EXPECT_EQ(download<uint32_t>(*upload(std::vector<uint32_t>{42})), std::vector<uint32_t>{42});
}

INSTANTIATE_TEST_SUITE_P(, VulkanBlocks, testing::Values("plain", "native"), variant_name);

}  // namespace
}  // namespace wick::vulkan
