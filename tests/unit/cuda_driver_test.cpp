// What only CUDA's driver and compiler have; the rest is stream_driver_test.cpp.
#include "wick/backend/cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/stream_driver.h"
#include "wick/backend/cuda/backend.h"
#include "wick/backend/cuda/cuda.h"
#include "wick/backend/cuda/device.h"
#include "wick/backend/cuda/nvml.h"
#include "wick/device/streams/stream_installation.h"

namespace wick::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Api& own(const OpenedVendor& opened) { return static_cast<const Api&>(*opened.api); }
const Compiler& compiler_of(const OpenedVendor& opened) { return static_cast<const Compiler&>(*opened.compiler); }

OpenedVendor open(const std::filesystem::path& folder) {
  const std::shared_ptr<const Api> api = load_api(folder.empty() ? std::string(kDriverLibrary) : (folder / "libcuda.so.1").string());
  const std::vector<std::string> fake{folder / "libnvrtc.so.12"};
  return {api, std::make_shared<const Compiler>(folder.empty() ? Compiler::libraries_for(api->version) : fake, api->version)};
}

const Vendor kNvidia{
    .fake_driver = "libcuda.so.1",
    .load_driver = [](const std::string& library) -> std::shared_ptr<const StreamApi> { return load_api(library); },
    .open = open,
    .devices =
        [](const OpenedVendor& opened) {
          std::vector<StreamDevice> devices = find_stream_devices(*opened.api);
          describe_devices(devices, own(opened), compiler_of(opened), describe);
          return devices;
        },
    .driver = [](const OpenedVendor& opened, const StreamDevice& device, int index,
                 VendorProducts products) -> std::unique_ptr<ProductDriver> {
      return std::make_unique<CudaDriver>(std::static_pointer_cast<const Api>(opened.api), opened.compiler, device, index, products);
    },
    .matrix_libraries = {"libcublasLt.so.12"},
    .product = "cublasLtMatmul",
    .reset = "cuDevicePrimaryCtxReset_v2",
    .compiler_variable = "FAKE_NVRTC",
    .number = cuda_device,
    .stream = [](const Device& device) -> StreamHandle { return cuda_stream(device); },
    .memory = [](const Tensor& tensor) -> StreamAddress { return cuda_memory(tensor); },
    .wrap = wrap_cuda_memory,
    .open_on_stream = [](int index, StreamHandle stream) { return open_on_cuda_stream(index, static_cast<CUstream_st*>(stream)); },
    .handles = [](const Program& program) { return std::pair<StreamHandle, StreamHandle>(cuda_module(program), cuda_function(program)); }};

class CudaDriverTest : public StreamDriverTest {};

class CudaFaultTest : public StreamDriverTest {
 protected:
  [[nodiscard]] const Compiler& compiler() const { return compiler_of(opened_); }
};

TEST_P(CudaFaultTest, TheKeyOfABinaryNamesCompilerAndProcessor) {
  EXPECT_THAT(driver()->binary_key(),
              AllOf(HasSubstr("NVRTC " + version_text(compiler().version())), HasSubstr("sm_90a"), HasSubstr("--std=c++17")));
  EXPECT_THAT(compiler().key("compute_90"), HasSubstr("\n12.8"));  // the driver compiles the rest
  EXPECT_NE(cuda_context(device()), nullptr);
  EXPECT_DOUBLE_EQ(devices_[0].caps.memory_bandwidth, 2 * 3.201e9 * 6144 / 8);
}

// Of what waits for the work before it: its text says so where it is compiled for 9.0 or newer.
TEST_P(CudaFaultTest, KernelsAreLaunchedEarlyWhereTheirTextWaits) {
  const auto described = [&](int driver, const std::string& architecture, const char* compiler_settings) {
    fake_->version = driver;
    fake_->architecture = architecture;
    const Variable settings("FAKE_NVRTC", compiler_settings);
    const OpenedVendor opened = open(std::filesystem::path(api().library->name()).parent_path());
    std::vector<StreamDevice> devices = find_stream_devices(*opened.api);
    describe(own(opened), compiler_of(opened), devices[0]);
    return devices[0];
  };
  EXPECT_TRUE(described(12080, "90", "").early_launches);
  EXPECT_TRUE(described(12080, "120", "").early_launches);
  EXPECT_FALSE(described(12080, "89", "").early_launches);
  EXPECT_FALSE(described(12020, "90", "").early_launches);
  const StreamDevice older = described(12080, "90", "newest=86");
  EXPECT_EQ(older.target, "compute_86");
  EXPECT_FALSE(older.early_launches);
  fake_->reset();

  const std::unique_ptr<Runtime> device = runtime();
  const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
  const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
  device->launch({device->compile(add_kernel()).get(), {}, buffers, Words{1}});
  EXPECT_EQ(download(*device, *y), counted(64, 1));
  EXPECT_EQ(fake_->count("cuLaunchKernelEx"), 1);
}

TEST_P(CudaFaultTest, AnOldDriverIsNamedWithItsVersion) {
  fake_->version = 10020;
  const Error error = error_of([&] { static_cast<void>(load_api(api().library->name())); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_STREQ(error.what(), "the NVIDIA driver knows CUDA 10.2, and 11.4 is needed: install a newer driver");
}

TEST_P(CudaFaultTest, ADriverThatDoesNotStartSaysItsStatus) {
  fake_->faults["cuInit"] = {.status = 803};
  const auto error = error_of<CudaError>([&] { static_cast<void>(load_api(api().library->name())); });
  EXPECT_EQ(error.code(), ErrorCode::no_device);
  EXPECT_EQ(error.status(), 803);
  EXPECT_EQ(error.call(), "cuInit");
  EXPECT_EQ(error.status_name(), "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
}

TEST_P(CudaFaultTest, AMissingCompilerIsNamedWithWhatToInstall) {
  const std::vector<std::string> names{"libno-such-nvrtc.so.13", "libno-such-nvrtc.so.12"};
  const Error error = error_of([&] { const Compiler compiler(names, 13000); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("libno-such-nvrtc.so.13"), HasSubstr("cuda-nvrtc"), HasSubstr("libno-such-nvrtc.so.12")));
}

TEST_P(CudaFaultTest, ACompilerNewerThanTheDriverIsNotTaken) {
  for (const std::string& name : Compiler::libraries_for(12040)) EXPECT_THAT(name, testing::Not(HasSubstr(".so.13")));
  EXPECT_EQ(Compiler::libraries_for(13000).front(), "libnvrtc.so.13");
}

TEST_P(CudaFaultTest, AProcessorNewerThanTheCompilerIsReachedThroughTheDriversOwn) {
  EXPECT_EQ(compiler().target(80), "sm_80");
  EXPECT_EQ(compiler().target(90), "sm_90a");
  EXPECT_EQ(compiler().target(121), "compute_120");
  EXPECT_EQ(compiler().target(87), "compute_86");
  EXPECT_EQ(compiler().refusal(90), "");
  EXPECT_THAT(compiler().refusal(35), AllOf(HasSubstr("NVRTC 12.8"), HasSubstr("35")));
}

TEST_P(CudaDriverTest, NvmlTellsWhatIsInUse) {
  if (!is_fake()) {
    const Nvml library;
    const DeviceUsage usage = library.usage(bus_id_of(api(), devices_[0].id));
    EXPECT_GT(usage.memory_used, 0U);
    EXPECT_GE(usage.memory_total, devices_[0].caps.memory_bytes);
    EXPECT_LT(usage.memory_used, usage.memory_total);
    return;
  }
  const std::string name = fakes() / "libnvidia-ml.so.1";
  EXPECT_EQ(bus_id_of(api(), devices_[0].id), "0000:40:00.0");
  const DeviceUsage usage = Nvml(name).usage("0000:40:00.0");
  EXPECT_EQ(usage.memory_used, uint64_t{1} << 30U);
  EXPECT_EQ(usage.memory_total, uint64_t{4} << 30U);
  EXPECT_EQ(usage.busy, 0.25);
  EXPECT_EQ(usage.watts, 123.456);
  EXPECT_EQ(usage.celsius, 45);
  {
    const Variable fails("FAKE_NVML", "busy=3,temperature=3");
    const DeviceUsage less = Nvml(name).usage("0000:40:00.0");
    EXPECT_EQ(less.memory_used, uint64_t{1} << 30U);
    EXPECT_EQ(less.busy, std::nullopt);
    EXPECT_EQ(less.celsius, std::nullopt);
  }
  EXPECT_THAT(error_of<CudaError>([&] { static_cast<void>(Nvml(name).usage("0000:99:00.0")); }).what(),
              HasSubstr("nvmlDeviceGetHandleByPciBusId_v2: Not Found"));
  const Variable fails("FAKE_NVML", "init=9");
  EXPECT_THAT(error_of<CudaError>([&] { const Nvml library(name); }).what(), HasSubstr("nvmlInit_v2: Driver Not Loaded"));
}

TEST(Nvml, WithoutTheLibraryTheErrorNamesIt) {
  const Error missing = error_of([&] { const Nvml library("libno-such-nvml.so.1"); });
  EXPECT_EQ(missing.code(), ErrorCode::not_found);
  EXPECT_THAT(missing.what(), HasSubstr("libno-such-nvml.so.1"));
  EXPECT_THAT(error_of([&] { const Nvml library("libm.so.6"); }).what(), HasSubstr("library libm.so.6 has no nvmlInit_v2"));
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(On, CudaDriverTest,
                         testing::Values(VendorParameter{&kNvidia, "fake", true, ""}, VendorParameter{&kNvidia, "machine", false, ""}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(On, StreamProductsTest,
                         testing::Values(VendorParameter{&kNvidia, "fake", true, ""}, VendorParameter{&kNvidia, "machine", false, ""}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(On, CudaFaultTest, testing::Values(VendorParameter{&kNvidia, "fake", true, ""}), name_of);
INSTANTIATE_TEST_SUITE_P(On, StreamFaultsTest, testing::Values(VendorParameter{&kNvidia, "fake", true, ""}), name_of);
INSTANTIATE_TEST_SUITE_P(On, StreamFaultTest, testing::Values(VendorParameter{&kNvidia, "fake", true, ""}), name_of);
INSTANTIATE_TEST_SUITE_P(On, StreamDriverTest,
                         testing::Values(VendorParameter{&kNvidia, "fake", true, ""}, VendorParameter{&kNvidia, "machine", false, ""}),
                         name_of);

}  // namespace wick::cuda
