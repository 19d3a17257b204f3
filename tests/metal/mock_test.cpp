// What the backend does with Metal, and what it says when Metal fails, by the mock's counts and faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include "mock.h"
#include "wick/base/error.h"
#include "wick/device/device.h"
#include "wick/device/registry.h"
#include "wick/tensor/tensor.h"

namespace wick::metal {
namespace {

using metal_mock::state;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr long kDeviceRemoved = 11, kOutOfMemory = 8, kPageFault = 3;

Error thrown_by(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::invalid_argument, "nothing failed"};
}

// Each test begins with what the process was told by METAL_MOCK, on a device of its own.
class MetalMock : public testing::Test {
 protected:
  void TearDown() override { static_cast<metal_mock::State&>(state()) = before_; }

  [[nodiscard]] static Device open(const DeviceOptions& options = {}) { return Device::open({DeviceKind::metal, 0}, options); }
  // Counts stay, and so does what is alive.
  void keep_counts() {
    before_.allocated = state().allocated;
    before_.imported = state().imported;
    before_.resident = state().resident;
    before_.calls = state().calls;
  }
  [[nodiscard]] static std::string missing() {
    return thrown_by([] { static_cast<void>(open_device(require_backend(DeviceKind::metal), 0, {})); }).what();
  }

 private:
  metal_mock::State before_ = state();
};

TEST_F(MetalMock, WithoutAGpuTheErrorSaysWhy) {
  state().devices = 0;
  EXPECT_THAT(missing(), HasSubstr("metal:0: no metal device was found: Metal finds no GPU"));
  EXPECT_FALSE(Device::metal_is_available());
  state().devices = 1;
  state().unified = 0;
  EXPECT_THAT(missing(), HasSubstr("Mock GPU 0 has memory of its own"));
  state().unified = 1;
  state().metal3 = 0;
  EXPECT_THAT(missing(), HasSubstr("Mock GPU 0 has no Metal 3, which needs macOS 13"));
}

TEST_F(MetalMock, ASecondGpuIsAnotherDevice) {
  state().devices = 2;
  const Device second = Device::open({DeviceKind::metal, 1}, {});
  EXPECT_EQ(second.caps().name, "Mock GPU 1");
}

TEST_F(MetalMock, CapabilitiesAreThoseOfTheFamily) {
  {
    const DeviceCaps caps = open({.variant = "native"}).caps();
    EXPECT_EQ(caps.min_subgroup_size, 32);
    EXPECT_EQ(caps.tiles, (std::vector<TileShape>{{8, 8, 8}}));
    EXPECT_TRUE(caps.f16_arithmetic && caps.f32_atomic_add && caps.storage_8bit);
    EXPECT_FALSE(caps.f64_arithmetic || caps.host_memory);
    EXPECT_EQ(caps.max_storage_buffers, 30);
  }
  state().apple7 = 0;
  const std::vector<DeviceInfo> found = require_backend(DeviceKind::metal).probe();
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].caps.max_subgroup_size, 1);
  EXPECT_TRUE(found[0].caps.tiles.empty());
  EXPECT_GT(found[0].score, kCpuBackendScore);
}

TEST_F(MetalMock, ADeviceThatIsRemovedIsLost) {
  {
    const Device device = open();
    const Tensor x = Tensor::ones({1000}, DType::f32, device);
    state().error = kDeviceRemoved;
    const Tensor y = x.exp();
    for (int i = 0; i < 2; ++i) {
      const Error error = thrown_by([&] { static_cast<void>(y.to_vector<float>()); });
      EXPECT_EQ(error.code(), ErrorCode::device_lost);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("metal:0 (Mock GPU 0) is lost (device removed: Told to fail)"), HasSubstr("exp")));
    }
    EXPECT_TRUE(device.runtime().is_lost());
    state().error = 0;
    // Opened again, it works.
    EXPECT_THAT(Tensor::ones({4}, DType::f32, open()).to_vector<float>(), Each(1));
  }
}

TEST_F(MetalMock, WorkThatFindsNoMemoryIsAnErrorOfMemory) {
  const Device device = open();
  const Tensor x = Tensor::ones({1000}, DType::f32, device);
  state().error = kOutOfMemory;
  const Error error = thrown_by([&] { static_cast<void>((x + x).to_vector<float>()); });
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("metal:0 (Mock GPU 0): out of memory for the work that was queued"), HasSubstr("add")));
}

TEST_F(MetalMock, AFaultOfAKernelNamesIt) {
  const Device device = open();
  const Tensor x = Tensor::ones({10}, DType::f32, device);
  state().error = kPageFault;
  static_cast<void>(x.sqrt());
  const Error error = thrown_by([&] { device.synchronize(); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("is lost (page fault:"), HasSubstr("sqrt")));
}

TEST_F(MetalMock, MemoryThatIsNotThereIsAnError) {
  const Device device = open();
  state().memory = state().allocated + 100000;
  const Error error = thrown_by([&] { static_cast<void>(Tensor::empty({200000}, DType::u8, device)); });
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("Mock GPU 0: out of memory: requested "), HasSubstr(" free")));
}

TEST_F(MetalMock, ATextThatTheCompilerRefusesIsSaved) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "wick_metal_refused";
  std::filesystem::remove_all(folder);
  {
    const Device device = open({.cache_directory = folder.string()});
    const Tensor x = Tensor::ones({10}, DType::f32, device);
    state().refuse = 1;
    const Error error = thrown_by([&] { static_cast<void>(x.tanh()); });
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    const std::string words = error.what();
    EXPECT_THAT(words, AllOf(HasSubstr("the MSL compiler of Mock GPU 0 refused it; its text is in "), HasSubstr(": told to refuse")));
    const size_t begin = words.find(folder.string());
    ASSERT_NE(begin, std::string::npos) << words;
    std::ifstream file(words.substr(begin, words.find(": told", begin) - begin));
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_THAT(text, HasSubstr("kernel void"));
  }
  std::filesystem::remove_all(folder);
}

TEST_F(MetalMock, GroupsThatAreTooLargeForAKernelAreRefused) {
  const Device device = open();
  const Tensor x = Tensor::ones({10}, DType::f32, device);
  state().lanes = 2;
  const Error error = thrown_by([&] { static_cast<void>(x.cos()); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("has groups of "), HasSubstr("runs it in groups of 2 at most")));
}

TEST_F(MetalMock, BlocksAreResidentWhereTheSystemHasSets) {
  for (const long residency : {1, 0}) {
    state().residency = residency;
    const long before = state().resident;
    {
      const Device device = open({.threads = 1 + static_cast<int>(residency)});  // another device than the last
      const Tensor x = Tensor::ones({100}, DType::f32, device);
      device.synchronize();
      EXPECT_EQ(state().resident > before, residency == 1);
    }
    EXPECT_EQ(state().resident, before);
  }
  keep_counts();
}

TEST_F(MetalMock, NothingStaysWhenADeviceGoes) {
  const long allocated = state().allocated, imported = state().imported;
  {
    const Device device = open({.threads = 3});
    const auto numbers = std::make_shared<std::vector<float>>(5000, 1.0F);
    const Tensor x = Tensor::import_host(std::as_bytes(std::span(*numbers)), {5000}, DType::f32, device, numbers);
    EXPECT_GT(state().imported, imported);
    EXPECT_THAT((x + x).to_vector<float>(), Each(2));
  }
  EXPECT_EQ(state().allocated, allocated);
  EXPECT_EQ(state().imported, imported);
  keep_counts();
}

// One command buffer and one encoder for hundreds of launches, and of what is bound only what changes.
TEST_F(MetalMock, LaunchesShareAnEncoder) {
  const Device device = open();
  Tensor x = Tensor::ones({64}, DType::f32, device);
  static_cast<void>((x + x).to_vector<float>());  // so that the kernel is compiled
  const std::map<std::string, long> before = state().calls;
  const auto made = [&](const char* call) {
    const auto found = before.find(call);
    return state().calls[call] - (found == before.end() ? 0 : found->second);
  };
  for (int i = 0; i < 200; ++i) x = x + x;
  static_cast<void>(x.to_vector<float>());
  EXPECT_EQ(made("dispatchThreadgroups:threadsPerThreadgroup:"), 200);
  EXPECT_LE(made("computeCommandEncoder"), 2);
  EXPECT_EQ(made("commandBuffer"), made("computeCommandEncoder"));
  EXPECT_EQ(made("setComputePipelineState:"), made("computeCommandEncoder"));
  EXPECT_LE(made("setBuffer:offset:atIndex:") + made("setBufferOffset:atIndex:"), 3 * 200);
  keep_counts();
}

}  // namespace
}  // namespace wick::metal
