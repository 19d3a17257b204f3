// The device interface: names, handles and refusals. The program of these tests links the backends cpu and null.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/device/device.h"
#include "wick/device/registry.h"

namespace wick {
namespace {

TEST(Device, ParsesAllEightNamesWithAndWithoutOrdinal) {
  for (const char* name : {"cpu", "cuda", "rocm", "metal", "opencl", "vulkan", "oneapi", "webgpu"}) {
    EXPECT_EQ(to_string(Device::parse_location(name).kind), name);
    EXPECT_EQ(Device::parse_location(name).index, 0);
    EXPECT_EQ(Device::parse_location(std::string(name) + ":3").index, 3);
  }
  EXPECT_EQ(Device::parse_location("vulkan:1").to_string(), "vulkan:1");
  EXPECT_EQ(Device::cpu().location().to_string(), "cpu");
}

TEST(Device, RefusesUnknownKindsAndOrdinals) {
  EXPECT_NE(message_of(ErrorCode::invalid_argument, [] { (void)Device::parse("tpu"); }).find("cpu, cuda, rocm"), std::string::npos);
  for (const char* text : {"cpu:", "cpu:-1", "cpu:x", "cpu:1x", "cuda:99999999999", ""}) {
    message_of(ErrorCode::invalid_argument, [&] { (void)Device::parse(text); });
  }
}

TEST(Device, AsAnotherKindNamesBoth) {
  const Device cpu = Device::cpu();
  EXPECT_TRUE(cpu.is_cpu());
  EXPECT_FALSE(cpu.is_cuda());
  EXPECT_EQ(&cpu.as_cpu(), &cpu);
  EXPECT_EQ(message_of(ErrorCode::device_mismatch, [&] { (void)cpu.as_rocm(); }), "expected a rocm device, got cpu");
}

TEST(Device, AutoTakesTheFastestHardwareAndThenTheFastestBackendOnIt) {
  // From best to worst; the CPU backend precedes every driver that computes on the processor.
  const std::vector<int> ranks = {device_score(Hardware::discrete_gpu, 2),
                                  device_score(Hardware::discrete_gpu, 1),
                                  device_score(Hardware::integrated_gpu, 9),
                                  device_score(Hardware::integrated_gpu, 0),
                                  device_score(Hardware::virtual_gpu, 9),
                                  device_score(Hardware::virtual_gpu, 0),
                                  kCpuBackendScore,
                                  device_score(Hardware::other, 9),
                                  device_score(Hardware::processor, 9),
                                  device_score(Hardware::processor, 0)};
  for (size_t i = 1; i < ranks.size(); ++i) EXPECT_GT(ranks[i - 1], ranks[i]) << i;
  EXPECT_GT(ranks.back(), 0) << "0 is never chosen";
}

TEST(Device, AutoDoesNotDependOnTheOrderInWhichBackendsAreLinked) {
  std::vector<ScoredDevice> devices = {{{DeviceKind::cpu, 0}, 100},    {{DeviceKind::vulkan, 1}, 502}, {{DeviceKind::opencl, 0}, 501},
                                       {{DeviceKind::vulkan, 0}, 502}, {{DeviceKind::rocm, 0}, 502},   {{DeviceKind::reference, 0}, 0}};
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.location.to_string() < b.location.to_string(); });
  do {
    EXPECT_EQ(best_of(devices), (DeviceLocation{DeviceKind::rocm, 0}));
  } while (std::next_permutation(devices.begin(), devices.end(),
                                 [](const auto& a, const auto& b) { return a.location.to_string() < b.location.to_string(); }));
  EXPECT_EQ(best_of({}), std::nullopt);
  const std::vector<ScoredDevice> unwanted = {{{DeviceKind::reference, 0}, 0}};
  EXPECT_EQ(best_of(unwanted), std::nullopt);
}

TEST(Device, TwoHandlesOnOneDeviceShareItsRuntime) {
  const Device first = Device::cpu();
  const Device second = Device::parse("cpu");
  EXPECT_TRUE(first.same_device(second));
  EXPECT_EQ(&first.runtime(), &second.runtime());
  EXPECT_FALSE(first.same_device(Device::null()));
}

TEST(Device, TheTableHoldsExactlyTheLinkedBackends) {
  ASSERT_EQ(linked_backends().size(), 3U);
  EXPECT_NE(find_backend(DeviceKind::reference), nullptr);
  EXPECT_NE(find_backend(DeviceKind::cpu), nullptr);
  EXPECT_NE(find_backend(DeviceKind::null), nullptr);
  EXPECT_EQ(find_backend(DeviceKind::vulkan), nullptr);
}

TEST(Device, ThreadsBelowOneAreRefused) {
  message_of(ErrorCode::invalid_argument, [] { (void)Device::parse("cpu", {.threads = -1, .variant = ""}); });
}

TEST(Device, AnUnknownVariantIsRefused) {
  message_of(ErrorCode::invalid_argument, [] { (void)Device::parse("cpu", {.threads = 1, .variant = "avx9000"}); });
}

TEST(CpuBackend, TakesAPrefetchDistanceAsPartOfAVariant) {
  for (const char* variant : {"prefetch=0", "prefetch=4096"}) {
    const Device cpu = Device::open({DeviceKind::cpu, 0}, {.threads = 1, .variant = variant});
    EXPECT_EQ(cpu.caps().driver, Device::open({DeviceKind::cpu, 0}, {.threads = 1}).caps().driver);
  }
  const std::string set = find_backend(DeviceKind::cpu)->variants().front().name;
  EXPECT_EQ(Device::open({DeviceKind::cpu, 0}, {.threads = 1, .variant = set + ",prefetch=64"}).caps().driver, set);
  for (const std::string& variant : {std::string("prefetch="), std::string("prefetch=-1"), std::string("prefetch=1048577"),
                                     std::string("prefetch=4k"), std::string("avx9000,prefetch=0"), set + "prefetch=0"}) {
    message_of(ErrorCode::invalid_argument, [&] { (void)Device::open({DeviceKind::cpu, 0}, {.threads = 1, .variant = variant}); });
  }
}

TEST(CpuBackend, GivesAlignedMemoryAndCountsIt) {
  const Device cpu = Device::cpu();
  const size_t before = cpu.runtime().allocated_bytes();
  {
    const auto buffer = cpu.runtime().allocate(1000, Lifetime::transient);
    EXPECT_GE(buffer->bytes(), 1000U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->host_data()) % 64, 0U);
    EXPECT_GE(cpu.runtime().allocated_bytes(), before + 1000);
  }
  EXPECT_EQ(cpu.runtime().allocated_bytes(), before);
}

TEST(CpuBackend, MemoryThatTheMachineHasNotGotIsAnError) {
  const std::string message =
      message_of(ErrorCode::out_of_memory, [] { (void)Device::cpu().runtime().allocate(size_t{1} << 60, Lifetime::transient); });
  EXPECT_NE(message.find("cpu"), std::string::npos) << message;
}

TEST(NullBackend, PlansMoreMemoryThanAnyMachineHas) {
  const Device planner = Device::null();
  const size_t before = planner.runtime().allocated_bytes();
  const auto buffer = planner.runtime().allocate(size_t{1} << 60, Lifetime::transient);
  EXPECT_EQ(buffer->host_data(), nullptr);
  EXPECT_EQ(planner.runtime().allocated_bytes(), before + (size_t{1} << 60));
  EXPECT_GE(planner.runtime().peak_allocated_bytes(), size_t{1} << 60);
}

}  // namespace
}  // namespace wick
