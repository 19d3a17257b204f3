// What a device opened with DeviceOptions::validate finds, with a driver that writes where a kernel's name says.
#include "wick/device/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "unit/host_block.h"
#include "wick/base/error.h"
#include "wick/device/kernel_runtime.h"
#include "wick/ir/builder.h"

namespace wick {
namespace {

using testing::HasSubstr;

// A launch writes one byte to its last buffer, at the place that its parameter says, wherever that is.
class StrayQueue final : public Queue {
 public:
  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override {
    std::memcpy(address(target, offset), source, bytes);
  }
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override {
    std::memcpy(target, address(source, offset), bytes);
  }
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override {
    std::memcpy(address(target, target_offset), address(source, source_offset), bytes);
  }
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override {
    std::memset(address(target, offset), static_cast<int>(value), bytes);
  }
  void launch(const Launch& launch) override {
    const BufferArgument& last = launch.buffers.back();
    *(address(*last.buffer, last.offset) + static_cast<int32_t>(launch.parameters[0])) = std::byte{7};
  }
  void synchronize() override {}
};

class StrayDriver final : public KernelDriver {
 public:
  StrayDriver() {
    caps_.name = "stray";
    caps_.max_parameter_bytes = 128;
  }
  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return caps_; }
  [[nodiscard]] Queue& queue() noexcept override { return queue_; }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override { return std::make_unique<HostBlock>(bytes); }
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return nullptr; }
  [[nodiscard]] std::string binary_key() const override { return {}; }
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& /*prepared*/, const std::string& /*text*/) override { return {}; }
  [[nodiscard]] std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> /*binary*/) override {
    return std::make_shared<const Program>(std::move(prepared));
  }

 private:
  DeviceCaps caps_;
  StrayQueue queue_;
};

class Validate : public testing::Test {
 protected:
  Validate() : runtime_(std::make_unique<StrayDriver>(), {.cache_directory = {}, .validate = true, .trace_file = {}}) {
    ir::KernelBuilder k("stray", {.group_size = 1});
    const ir::Memory x = k.buffer("x", ir::Element::u32), y = k.output("y", ir::Element::u32);
    y[k.parameter("at", ir::Type::u32)] = x[0];
    program_ = runtime_.compile(k.finish());
  }

  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) { return runtime_.allocate(bytes, Lifetime::transient); }
  void launch(const BufferArgument& x, const BufferArgument& y, int32_t at) {
    const BufferArgument buffers[] = {x, y};
    const auto bits = static_cast<uint32_t>(at);
    runtime_.queue().launch({program_.get(), {}, buffers, {&bits, 1}});
  }
  [[nodiscard]] static std::string message_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  KernelRuntime runtime_;
  std::shared_ptr<const Program> program_;
};

TEST_F(Validate, AWriteIntoABufferIsNoFaultAndOneBesideItIs) {
  const std::unique_ptr<Buffer> x = allocate(64), y = allocate(64);
  EXPECT_NO_THROW(launch({x.get()}, {y.get()}, 0));
  EXPECT_NO_THROW(launch({x.get()}, {y.get()}, 63));
  EXPECT_EQ(message_of([&] { launch({x.get()}, {y.get()}, 64); }),
            "kernel stray: buffer y: byte 0 behind the end of its 64 bytes was overwritten");
  EXPECT_EQ(message_of([&] { launch({x.get()}, {y.get()}, 100); }),
            "kernel stray: buffer y: byte 36 behind the end of its 64 bytes was overwritten");
  EXPECT_EQ(message_of([&] { launch({x.get()}, {y.get()}, -3); }),
            "kernel stray: buffer y: byte 3 before the first of its 64 bytes was overwritten");
  EXPECT_NO_THROW(launch({x.get()}, {y.get()}, 5)) << "a fault is told once";
}

TEST_F(Validate, WhatFollowsABufferToAMultipleOf16IsItsOwn) {
  const std::unique_ptr<Buffer> x = allocate(64), y = allocate(5);
  EXPECT_NO_THROW(launch({x.get()}, {y.get()}, 15));
  EXPECT_THAT(message_of([&] { launch({x.get()}, {y.get()}, 16); }), HasSubstr("byte 11 behind the end of its 5 bytes"));
}

TEST_F(Validate, AnOverwrittenCanaryIsSeenWhenItsBufferIsFreed) {
  const std::unique_ptr<Buffer> x = allocate(64), other = allocate(64);
  {
    const std::unique_ptr<Buffer> y = allocate(64);
    launch({x.get()}, {y.get()}, 0);
    *(address(*y, 0) + 70) = std::byte{1};
  }
  EXPECT_EQ(message_of([&] { launch({x.get()}, {other.get()}, 0); }),
            "a buffer that was freed, last written by kernel stray: buffer y: byte 6 behind the end of its 64 bytes was overwritten");
  EXPECT_NO_THROW(launch({x.get()}, {other.get()}, 0));
}

TEST_F(Validate, FreshMemoryIsFilledAlsoWhenItWasUsedBefore) {
  for (int i = 0; i < 2; ++i) {
    const std::unique_ptr<Buffer> x = allocate(64);
    std::vector<std::byte> found(64);
    runtime_.queue().download(*x, 0, found.data(), 64);
    EXPECT_EQ(found, std::vector<std::byte>(64, std::byte{0xff}));
    runtime_.queue().fill(*x, 0, 64, std::byte{0});
  }
}

TEST_F(Validate, AFreedBufferAndOneOfAnotherDeviceAreRefused) {
  const std::unique_ptr<Buffer> x = allocate(64);
  std::unique_ptr<Buffer> y = allocate(64);
  Buffer* const freed = y.get();
  y.reset();
  EXPECT_EQ(message_of([&] { launch({x.get()}, {freed}, 0); }),
            "kernel stray: buffer y: the buffer was freed, or is another device's than stray");
  HostBlock foreign(64);
  EXPECT_THAT(message_of([&] { launch({&foreign}, {x.get()}, 0); }), HasSubstr("kernel stray: buffer x: the buffer was freed, or is"));
  EXPECT_THAT(message_of([&] { runtime_.queue().fill(*freed, 0, 4, {}); }), HasSubstr("fill: the buffer was freed"));
}

TEST_F(Validate, RangesOutsideTheirBufferAreRefused) {
  const std::unique_ptr<Buffer> x = allocate(512), y = allocate(512);
  std::vector<std::byte> host(600);
  EXPECT_EQ(message_of([&] { launch({x.get(), 256, 300}, {y.get()}, 0); }),
            "kernel stray: buffer x: 300 bytes from 256 on leave a buffer of 512");
  EXPECT_EQ(message_of([&] { launch({x.get(), 100}, {y.get()}, 0); }),
            "kernel stray: buffer x: begins at byte 100, which is not a multiple of 256");
  EXPECT_EQ(message_of([&] { runtime_.queue().upload(host.data(), *x, 0, 600); }), "upload: 600 bytes from 0 on leave a buffer of 512");
  EXPECT_EQ(message_of([&] { runtime_.queue().download(*x, 513, host.data(), 0); }), "download: 0 bytes from 513 on leave a buffer of 512");
  EXPECT_EQ(message_of([&] { runtime_.queue().copy(*x, 0, *y, 8, 508); }), "copy, its target: 508 bytes from 8 on leave a buffer of 512");
  EXPECT_THAT(message_of([&] { runtime_.queue().copy(*x, 0, *x, 8, 16); }), HasSubstr("copy: 16 bytes from 0 on overlap"));
  EXPECT_EQ(message_of([&] { runtime_.queue().copy(*x, 0, *x, 16, 16); }), "nothing was thrown");
}

// Runtime::launch looks at buffers too, and must not do so before it is known that they are alive.
TEST_F(Validate, ALaunchThroughTheRuntimeIsLookedAtBeforeItsBuffersAreTouched) {
  const std::unique_ptr<Buffer> x = allocate(512);
  std::unique_ptr<Buffer> y = allocate(512);
  const uint32_t at = 0;
  const auto launch_by_runtime = [&](const BufferArgument& first, const BufferArgument& second) {
    const BufferArgument buffers[] = {first, second};
    return message_of([&] { runtime_.launch({program_.get(), {}, buffers, {&at, 1}}); });
  };
  EXPECT_EQ(launch_by_runtime({x.get()}, {y.get()}), "nothing was thrown");
  EXPECT_EQ(launch_by_runtime({x.get(), 256, 300}, {y.get()}), "kernel stray: buffer x: 300 bytes from 256 on leave a buffer of 512");
  EXPECT_EQ(launch_by_runtime({x.get()}, {x.get()}), "kernel stray: buffer y overlaps x, and one of them is written");
  Buffer* const freed = y.get();
  y.reset();
  EXPECT_EQ(launch_by_runtime({x.get()}, {freed}), "kernel stray: buffer y: the buffer was freed, or is another device's than stray");
}

TEST_F(Validate, ArgumentsThatOverlapAreRefusedWhereOneIsWritten) {
  const std::unique_ptr<Buffer> x = allocate(512);
  EXPECT_EQ(message_of([&] { launch({x.get()}, {x.get(), 256}, 0); }), "kernel stray: buffer y overlaps x, and one of them is written");
  EXPECT_EQ(message_of([&] { launch({x.get(), 0, 256}, {x.get(), 256}, 0); }), "nothing was thrown");
}

}  // namespace
}  // namespace wick
