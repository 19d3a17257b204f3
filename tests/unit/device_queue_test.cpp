// The queue of every device of this program that runs kernels, by each of its variants: bytes at every place, order, events, and lifetimes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "unit/on_device.h"
#include "wick/device/registry.h"

namespace wick {
namespace {

using testing::Each;
using Bytes = std::vector<uint8_t>;
using Words = std::vector<uint32_t>;

class DeviceQueue : public OnDevice<testing::Test> {
 protected:
  void on_each_device(const std::function<void()>& body) {
    for (const Backend* backend : linked_backends()) {
      if (backend->variants == nullptr) continue;
      for (const DeviceInfo& found : backend->probe()) {
        for (const VariantInfo& variant : backend->variants()) {
          if (!variant.usable) continue;
          const DeviceLocation location = {backend->kind, found.index};
          SCOPED_TRACE(location.to_string() + ", " + variant.name);
          open(location, {.variant = variant.name});
          if (dynamic_cast<KernelRuntime*>(&device().runtime()) != nullptr) body();
        }
      }
    }
  }
};

TEST_F(DeviceQueue, BytesGoToEveryPlaceAndComeFromThere) {
  on_each_device([&] {
    Bytes expected = numbered(96, 1);
    const auto buffer = upload(expected);
    for (size_t offset = 0; offset < 9; ++offset) {
      for (size_t count = 0; count < 14; ++count) {
        const Bytes some = numbered(count, static_cast<uint8_t>(offset * 17 + count));
        queue().upload(std::as_bytes(std::span(some)).data(), *buffer, 13 + offset, count);
        std::copy(some.begin(), some.end(), expected.begin() + 13 + static_cast<ptrdiff_t>(offset));
        queue().fill(*buffer, 80 + offset % 3, count, static_cast<std::byte>(count));  // so that work is queued
        std::fill_n(expected.begin() + 80 + static_cast<ptrdiff_t>(offset % 3), count, static_cast<uint8_t>(count));
        Bytes part(count + 5);
        queue().download(*buffer, 11 + offset, std::as_writable_bytes(std::span(part)).data(), part.size());
        ASSERT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + 11 + static_cast<ptrdiff_t>(offset)))
            << offset << ", " << count;
      }
    }
    EXPECT_EQ(download<uint8_t>(*buffer), expected);
  });
}

TEST_F(DeviceQueue, BytesAreCopiedAndFilledAtEveryPlace) {
  on_each_device([&] {
    const Bytes from = numbered(64, 3);
    Bytes expected = numbered(96, 100);
    const auto source = upload(from), target = upload(expected);
    for (size_t source_offset = 0; source_offset < 5; ++source_offset) {
      for (size_t target_offset = 0; target_offset < 18; target_offset += 1 + target_offset % 3) {
        for (const size_t count : {1, 3, 4, 9, 32}) {
          queue().copy(*source, source_offset, *target, target_offset, count);
          std::copy_n(from.begin() + static_cast<ptrdiff_t>(source_offset), count,
                      expected.begin() + static_cast<ptrdiff_t>(target_offset));
          queue().fill(*target, 60 + target_offset, count % 16, static_cast<std::byte>(count));
          std::fill_n(expected.begin() + 60 + static_cast<ptrdiff_t>(target_offset), count % 16, static_cast<uint8_t>(count));
        }
      }
    }
    queue().copy(*target, 33, *target, 1, 11);  // within one buffer
    std::copy_n(expected.begin() + 33, 11, expected.begin() + 1);
    EXPECT_EQ(download<uint8_t>(*target), expected);
  });
}

// More than one launch copies, and more than a driver keeps for uploads.
TEST_F(DeviceQueue, ManyBytesGoAndComeBack) {
  on_each_device([&] {
    Bytes bytes((size_t{41} << 20) + 5);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 131 >> 7U);
    const auto buffer = upload(bytes), copy = allocate(bytes.size() + 3);
    queue().copy(*buffer, 0, *copy, 3, bytes.size());
    Bytes got(bytes.size());
    queue().download(*copy, 3, std::as_writable_bytes(std::span(got)).data(), got.size());
    EXPECT_TRUE(got == bytes);
    EXPECT_TRUE(download<uint8_t>(*buffer) == bytes);
  });
}

TEST_F(DeviceQueue, LaunchesAndUploadsRunInTheirOrder) {
  on_each_device([&] {
    const auto x = upload(Words(64, 1)), y = upload(Words(64, 0));
    uint32_t expected = 0;
    for (uint32_t step = 2; step <= 700; ++step) {
      launch(program(), 1, {{x.get()}, {y.get()}}, {64, step % 3});
      expected = expected * (step % 3) + (step - 1);
      const Words next(64, step);
      queue().upload(std::as_bytes(std::span(next)).data(), *x, 0, 256);
    }
    EXPECT_THAT(download<uint32_t>(*y), Each(expected));
  });
}

TEST_F(DeviceQueue, AChainThroughManyBuffersRunsInOrder) {
  on_each_device([&] {
    std::vector<std::unique_ptr<Buffer>> links;
    for (uint32_t i = 0; i < 300; ++i) links.push_back(upload(Words(64, 1)));
    for (size_t i = 1; i < links.size(); ++i) launch(program(), 1, {{links[i - 1].get()}, {links[i].get()}}, {64, 1});
    EXPECT_THAT(download<uint32_t>(*links.back()), Each(300));
  });
}

TEST_F(DeviceQueue, CopiesAndFillsRunInTheirOrder) {
  on_each_device([&] {
    const auto x = upload(Words(64, 3)), y = upload(Words(64, 7)), z = allocate(256);
    launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});  // y: 10
    queue().copy(*y, 0, *z, 0, 256);
    queue().fill(*x, 0, 256, std::byte{1});  // x: 0x01010101
    launch(program(), 1, {{x.get()}, {y.get()}}, {64, 0});
    EXPECT_THAT(download<uint32_t>(*z), Each(10));
    EXPECT_THAT(download<uint32_t>(*y), Each(0x01010101));
  });
}

// WebGPU itself refuses a buffer that one dispatch reads by one binding and writes by another.
TEST_F(DeviceQueue, AKernelReadsOnePartOfABufferAndWritesAnother) {
  on_each_device([&] {
    const size_t step = runtime().caps().buffer_offset_alignment;
    Words numbers(std::max<size_t>(3 * step / 4, 128) + 16);
    std::iota(numbers.begin(), numbers.end(), 0U);
    const auto buffer = upload(numbers);
    const size_t target = std::max<size_t>(2 * step, 256);
    launch(program(), 1, {{buffer.get(), 0, 64}, {buffer.get(), target, 64}}, {16, 10});
    for (uint32_t i = 0; i < 16; ++i) numbers[target / 4 + i] = static_cast<uint32_t>(target / 4 + i) * 10 + i;
    EXPECT_EQ(download<uint32_t>(*buffer), numbers);
  });
}

TEST_F(DeviceQueue, EventsAreDoneInTheirOrder) {
  on_each_device([&] {
    const auto x = upload(Words(64, 1)), y = upload(Words(64, 0));
    const std::unique_ptr<Event> before = queue().record();
    for (int i = 0; i < 300; ++i) launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
    const std::unique_ptr<Event> behind = queue().record();
    behind->wait();
    EXPECT_TRUE(behind->is_done());
    EXPECT_TRUE(before->is_done());
    const double seconds = behind->seconds_since(*before).value_or(0);  // some devices have no times
    EXPECT_GE(seconds, 0);
    EXPECT_LT(seconds, 60);
    // Those that nobody waits for are used again.
    for (int i = 0; i < 500; ++i) static_cast<void>(queue().record());
    launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
    const std::unique_ptr<Event> last = queue().record();
    while (!last->is_done()) std::this_thread::yield();
    EXPECT_THAT(download<uint32_t>(*y), Each(301));
  });
}

TEST_F(DeviceQueue, BlocksAndProgramsMayGoWhileTheyAreQueued) {
  on_each_device([&] {
    const auto y = upload(Words(64, 1));
    for (uint32_t i = 0; i < 20; ++i) {
      const std::shared_ptr<const Program> dropped = runtime().compile(multiply_add());
      const std::unique_ptr<Buffer> block = runtime().driver().allocate(i % 2 == 0 ? 256 : size_t{2} << 20);
      queue().fill(*block, 0, 256, std::byte{0});
      launch(*dropped, 1, {{block.get()}, {y.get()}}, {64, 2});
    }
    EXPECT_THAT(download<uint32_t>(*y), Each(1U << 20));
  });
}

TEST_F(DeviceQueue, TwoThreadsQueueAtOnce) {
  on_each_device([&] {
    const auto work = [&](Words& result) {
      for (int round = 0; round < 20; ++round) {
        const auto x = upload(Words(500, 1)), y = upload(Words(500, 0));
        for (int i = 0; i < 30; ++i) launch(program(), 8, {{x.get()}, {y.get()}}, {500, 1});
        const Words numbers = download<uint32_t>(*y);
        result.insert(result.end(), numbers.begin(), numbers.end());
      }
    };
    Words first, second;
    std::thread other([&] { work(second); });
    work(first);
    other.join();
    EXPECT_THAT(first, Each(30));
    EXPECT_THAT(second, Each(30));
  });
}

TEST_F(DeviceQueue, AnUnknownVariantIsRefused) {
  on_each_device([&] {
    const std::string place = device().location().to_string();
    try {
      static_cast<void>(Device::open(device().location(), {.variant = "fast"}));
      ADD_FAILURE() << "opened";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_TRUE(std::string(error.what()).starts_with(place + ": no variant 'fast'; it has plain")) << error.what();
    }
  });
}

}  // namespace
}  // namespace wick
