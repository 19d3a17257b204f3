// Bytes on their way to the host while the queue goes on, on every device of this program that has kernels.
#include "wick/device/readback_queue.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "unit/found_devices.h"
#include "wick/device/device.h"

namespace wick {
namespace {

std::vector<Device> readback_devices() {
  std::vector<Device> found;
  for (const DeviceLocation& location : found_devices()) found.push_back(Device::open(location));
  return found;
}

std::vector<std::byte> pattern(size_t bytes, int first) {
  std::vector<std::byte> values(bytes);
  for (size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::byte>(static_cast<size_t>(first) + i * 7);
  return values;
}

TEST(Readback, GivesWhatWasThereWhenItWasQueued) {
  for (const Device& device : readback_devices()) {
    Queue& queue = device.runtime().queue();
    const auto buffer = device.runtime().allocate(4096, Lifetime::transient);
    // More at once than a queue has memory for, of all sizes up to one that waits.
    const std::vector<size_t> sizes = {4, 128, 1000, 4096, 64, 2048, 4, 0};
    std::vector<std::vector<std::byte>> want, got;
    std::vector<std::unique_ptr<Event>> events;
    for (const size_t bytes : sizes) got.emplace_back(bytes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      want.push_back(pattern(sizes[i], static_cast<int>(i)));
      const size_t offset = 4096 - sizes[i];
      if (sizes[i] > 0) queue.upload(want.back().data(), *buffer, offset, sizes[i]);
      events.push_back(read_back(queue, *buffer, offset, got[i].data(), sizes[i]));
      queue.fill(*buffer, 0, 4096, std::byte{0xFF});
    }
    for (size_t i = sizes.size(); i-- > 0;) {
      events[i]->wait();
      EXPECT_TRUE(events[i]->is_done());
      EXPECT_EQ(got[i], want[i]) << device.location().to_string() << ", " << sizes[i] << " bytes";
    }
  }
}

TEST(Readback, LargeOnesAndThoseThatNobodyWaitsForAreDoneBeforeTheirMemoryGoes) {
  for (const Device& device : readback_devices()) {
    Queue& queue = device.runtime().queue();
    constexpr size_t kBytes = ReadbackQueue::kMaxBytes * 3;
    const auto buffer = device.runtime().allocate(kBytes, Lifetime::transient);
    const std::vector<std::byte> want = pattern(kBytes, 5);
    queue.upload(want.data(), *buffer, 0, kBytes);
    for (int i = 0; i < 20; ++i) {
      std::vector<std::byte> small(ReadbackQueue::kMaxBytes);
      const auto event = read_back(queue, *buffer, 0, small.data(), small.size());
    }
    std::vector<std::byte> all(kBytes);
    read_back(queue, *buffer, 0, all.data(), kBytes)->wait();
    EXPECT_EQ(all, want) << device.location().to_string();
  }
}

}  // namespace
}  // namespace wick
