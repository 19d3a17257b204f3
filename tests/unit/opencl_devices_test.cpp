// Which devices are found where loaders and drivers are missing, empty or broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "wick/backend/opencl/device.h"
#include "wick/base/error.h"
#include "wick/base/log.h"
#include "wick/device/device.h"
#include "wick/device/registry.h"

namespace wick::opencl {
namespace {

using testing::HasSubstr;

// Handles are addresses that nobody looks at.
std::array<char, 4> places;
cl_platform_id platform(size_t number) { return reinterpret_cast<cl_platform_id>(&places[number]); }

// Platforms 0 and 1 have no device and an error; a device of platform 2 answers nothing but what it must to be usable.
Api broken_api() {
  Api api;
  api.get_platform_ids = [](cl_uint room, cl_platform_id* ids, cl_uint* count) {
    for (cl_uint i = 0; ids != nullptr && i < room; ++i) ids[i] = platform(i);
    if (count != nullptr) *count = 3;
    return CL_SUCCESS;
  };
  api.get_platform_info = [](cl_platform_id, cl_platform_info, size_t, void*, size_t*) { return CL_OUT_OF_HOST_MEMORY; };
  api.get_device_ids = [](cl_platform_id id, cl_device_type, cl_uint, cl_device_id* ids, cl_uint* count) {
    if (id == platform(0)) return CL_DEVICE_NOT_FOUND;
    if (id == platform(1)) return CL_OUT_OF_RESOURCES;
    if (ids != nullptr) *ids = reinterpret_cast<cl_device_id>(&places[3]);
    if (count != nullptr) *count = 1;
    return CL_SUCCESS;
  };
  api.get_device_info = [](cl_device_id, cl_device_info what, size_t bytes, void* value, size_t*) {
    if (what != CL_DEVICE_AVAILABLE && what != CL_DEVICE_COMPILER_AVAILABLE) return CL_INVALID_VALUE;
    const cl_bool yes = CL_TRUE;
    std::memcpy(value, &yes, bytes);
    return CL_SUCCESS;
  };
  return api;
}

TEST(OpenClDevices, AreFoundBehindPlatformsThatAreEmptyOrFail) {
  std::string warning;
  set_log_hook([&](LogLevel, std::string_view message) { warning = message; });
  const std::vector<FoundDevice> devices = find_devices(broken_api());
  set_log_hook({});
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_THAT(warning, HasSubstr("CL_OUT_OF_RESOURCES"));
}

TEST(OpenClDevices, OneThatAnswersNothingCanDoTheLeast) {
  const std::vector<FoundDevice> devices = find_devices(broken_api());
  ASSERT_EQ(devices.size(), 1U);
  const DeviceCaps& caps = devices[0].caps;
  EXPECT_FALSE(caps.f16_arithmetic || caps.f64_arithmetic || caps.int64 || caps.int8_dot);
  EXPECT_EQ(caps.max_subgroup_size, 1);
  EXPECT_EQ(caps.max_group_size, 1U);
  EXPECT_FALSE(caps.f32_subnormals);
  EXPECT_LT(devices[0].score, kCpuBackendScore) << "Wick's own backend for the processor comes first";
}

TEST(OpenClDevices, OneOf32BitsThatSaysZeroHasGroupsOfALane) {
  Api api = broken_api();
  api.get_device_info = [](cl_device_id, cl_device_info what, size_t bytes, void* value, size_t* needed) {
    constexpr size_t kMax = 64;
    const cl_uint number = what == CL_DEVICE_ADDRESS_BITS ? 32 : what == CL_DEVICE_AVAILABLE || what == CL_DEVICE_COMPILER_AVAILABLE;
    if (needed != nullptr) *needed = 3 * sizeof(size_t);
    if (value != nullptr) std::memset(value, 0, std::min(bytes, kMax));
    if (value != nullptr && bytes >= sizeof number) std::memcpy(value, &number, sizeof number);
    return CL_SUCCESS;
  };
  const std::vector<FoundDevice> devices = find_devices(api);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].caps.max_group_size, 1U);
  EXPECT_EQ(devices[0].caps.max_group_count[0], 0x7fffffffU);
}

// What a device of this type scores, whose memory is the processor's or its own.
template <cl_device_type type, cl_bool unified>
int score_of() {
  Api api = broken_api();
  api.get_device_info = [](cl_device_id, cl_device_info what, size_t, void* value, size_t*) {
    const auto answer = [&](auto number) {
      std::memcpy(value, &number, sizeof(number));
      return CL_SUCCESS;
    };
    if (what == CL_DEVICE_AVAILABLE || what == CL_DEVICE_COMPILER_AVAILABLE) return answer(cl_bool{CL_TRUE});
    if (what == CL_DEVICE_TYPE) return answer(cl_device_type{type});
    if (what == CL_DEVICE_HOST_UNIFIED_MEMORY) return answer(cl_bool{unified});
    return CL_INVALID_VALUE;
  };
  return find_devices(api).at(0).score;
}

TEST(OpenClDevices, ScoreByWhatTheyAreMadeOf) {
  const int discrete = score_of<CL_DEVICE_TYPE_GPU, CL_FALSE>(), integrated = score_of<CL_DEVICE_TYPE_GPU, CL_TRUE>();
  EXPECT_GT(discrete, integrated);
  EXPECT_GT(integrated, kCpuBackendScore);
  EXPECT_LT((score_of<CL_DEVICE_TYPE_CPU, CL_TRUE>()), kCpuBackendScore);
  EXPECT_LT((score_of<CL_DEVICE_TYPE_CPU, CL_FALSE>()), kCpuBackendScore);
  EXPECT_LT((score_of<CL_DEVICE_TYPE_ACCELERATOR, CL_FALSE>()), kCpuBackendScore);
  EXPECT_LT((score_of<CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT, CL_TRUE>()), kCpuBackendScore);
}

TEST(OpenClDevices, OfThisMachineThatRunOnItsProcessorComeBehindTheCpuBackend) {
  for (const DeviceInfo& device : require_backend(DeviceKind::opencl).probe()) {
    const bool processor =
        device.caps.name.starts_with("pthread") || device.caps.name.starts_with("cpu") || device.caps.name.starts_with("llvmpipe");
    if (processor) {
      EXPECT_LT(device.score, kCpuBackendScore) << device.caps.name;
    }
  }
}

TEST(OpenClDevices, ThereAreNoneWithoutAPlatform) {
  Api api = broken_api();
  api.get_platform_ids = [](cl_uint, cl_platform_id*, cl_uint*) { return CL_PLATFORM_NOT_FOUND_KHR; };
  EXPECT_TRUE(find_devices(api).empty());
}

TEST(OpenClDevices, ALoaderThatIsNotThereIsNamedWithTheRemedy) {
  try {
    static_cast<void>(load_api("/no/such/libOpenCL.so.1"));
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_THAT(error.what(),
                testing::AllOf(HasSubstr("/no/such/libOpenCL.so.1"), HasSubstr("the loader of OpenCL's drivers: install it")));
  }
}

TEST(OpenClDevices, ALibraryThatIsNoLoaderIsRefusedByItsFirstMissingFunction) {
  try {
    static_cast<void>(load_api("libm.so.6"));
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("libm.so.6 has no clGetPlatformIDs"));
  }
}

TEST(OpenClDevices, OneBeyondTheLastIsRefused) {
  try {
    static_cast<void>(Device::open({DeviceKind::opencl, 99}));
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_device);
    EXPECT_THAT(error.what(), HasSubstr("opencl:99"));
  }
}

TEST(OpenClDevices, AnUnknownVariantIsRefused) {
  const Backend& backend = require_backend(DeviceKind::opencl);
  if (backend.probe().empty()) GTEST_SKIP() << "no OpenCL device";
  try {
    static_cast<void>(backend.open(0, {.threads = 0, .variant = "fancy"}));
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("plain and native"));
  }
}

}  // namespace
}  // namespace wick::opencl
