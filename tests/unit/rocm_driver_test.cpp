// What only HIP and its compiler have; the rest is stream_driver_test.cpp.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "unit/stream_driver.h"
#include "unit/temporary_folder.h"
#include "wick/backend/rocm/architectures.h"
#include "wick/backend/rocm/device.h"
#include "wick/backend/rocm/driver.h"
#include "wick/backend/rocm/rocm.h"
#include "wick/backend/rocm/usage.h"
#include "wick/device/streams/stream_installation.h"
#include "wick/tensor/ops/matmul.h"

namespace wick::rocm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Api& own(const OpenedVendor& opened) { return static_cast<const Api&>(*opened.api); }
const Compiler& compiler_of(const OpenedVendor& opened) { return static_cast<const Compiler&>(*opened.compiler); }

std::shared_ptr<const Api> load(const std::string& library) { return load_api(std::vector<std::string>{library}); }

OpenedVendor open(const std::filesystem::path& folder) {
  const std::shared_ptr<const Api> api = folder.empty() ? load_api(hip_libraries()) : load(folder / "libamdhip64.so.7");
  const std::shared_ptr<const DynamicLibrary> library =
      folder.empty() ? Compiler::open_library(api->library, api->version) : std::make_shared<DynamicLibrary>(folder / "libhiprtc.so.7");
  return {api, std::make_shared<const Compiler>(library, api->version)};
}

const Vendor kAmd{
    .fake_driver = "libamdhip64.so.7",
    .load_driver = [](const std::string& library) -> std::shared_ptr<const StreamApi> { return load(library); },
    .open = open,
    .devices =
        [](const OpenedVendor& opened) {
          std::vector<StreamDevice> devices = find_stream_devices(*opened.api);
          describe_devices(devices, own(opened), compiler_of(opened), describe);
          return devices;
        },
    .driver = [](const OpenedVendor& opened, const StreamDevice& device, int index,
                 VendorProducts products) -> std::unique_ptr<ProductDriver> {
      return std::make_unique<RocmDriver>(std::static_pointer_cast<const Api>(opened.api), opened.compiler, device, index, products);
    },
    .matrix_libraries = {"libhipblaslt.so.1", "librocblas.so.5"},
    .product = "hipblasLtMatmul",
    .reset = "hipDeviceReset",
    .compiler_variable = "FAKE_HIPRTC",
    .number = hip_device,
    .stream = [](const Device& device) -> StreamHandle { return hip_stream(device); },
    .memory = [](const Tensor& tensor) { return reinterpret_cast<StreamAddress>(hip_memory(tensor)); },
    .wrap = [](StreamAddress address, size_t bytes,
               std::shared_ptr<const void> owner) { return wrap_hip_memory(reinterpret_cast<void*>(address), bytes, std::move(owner)); },
    .open_on_stream = [](int index, StreamHandle stream) { return open_on_hip_stream(index, static_cast<ihipStream_t*>(stream)); },
    .handles = [](const Program& program) { return std::pair<StreamHandle, StreamHandle>(hip_module(program), hip_function(program)); }};

class RocmProductsTest : public StreamProductsTest {};

class RocmFaultTest : public StreamDriverTest {
 protected:
  [[nodiscard]] const Compiler& compiler() const { return compiler_of(opened_); }
};

TEST_P(RocmFaultTest, TheKeyOfABinaryNamesCompilerOptionsAndProcessor) {
  EXPECT_THAT(driver()->binary_key(), AllOf(HasSubstr("of HIP 70100000"), HasSubstr("--std=c++17 -DWICK_SDOT4=1"), HasSubstr("\ngfx942")));
  EXPECT_EQ(devices_[0].caps.driver, "HIP 7.1 gfx942:sramecc+:xnack- MFMA");
  EXPECT_DOUBLE_EQ(devices_[0].caps.memory_bandwidth, 2 * 2.6e9 * 8192 / 8);
}

TEST_P(RocmFaultTest, ADeviceIsAsItsArchitectureSays) {
  struct Expected {
    const char* target;
    int wave;
    bool bytes, bf16;
  };
  for (const auto& [target, wave, bytes, bf16] :
       {Expected{"gfx906:sramecc+:xnack-", 64, true, false}, Expected{"gfx90a:sramecc+:xnack-", 64, true, true},
        Expected{"gfx1010:xnack-", 32, false, false}, Expected{"gfx1030", 32, true, false}, Expected{"gfx1201", 32, true, true}}) {
    fake_->architecture = target;
    const StreamDevice device = vendor().devices(opened_).at(0);
    EXPECT_EQ(device.refusal, "") << target;
    EXPECT_EQ(device.target, processor_of(target));
    EXPECT_EQ(device.caps.max_subgroup_size, wave) << target;
    EXPECT_EQ(device.caps.int8_dot, bytes) << target;
    EXPECT_EQ(device.caps.bf16_arithmetic, bf16) << target;
    EXPECT_LT(uint64_t{device.caps.max_group_count[0]} * device.caps.max_group_size, uint64_t{1} << 32U);
  }
}

TEST_P(RocmFaultTest, AnOldLibraryIsNamedWithItsVersion) {
  fake_->version = 40'321'000;
  const Error error = error_of([&] { static_cast<void>(load(api().library->name())); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_EQ(error.what(), api().library->name() + " is HIP 4.3, and 5.2 is needed: install a newer ROCm");
}

TEST_P(RocmFaultTest, ACallThatFailsSaysItsStatus) {
  fake_->faults["hipGetDeviceCount"] = {.status = 803};
  const auto error = error_of<RocmError>([&] { static_cast<void>(vendor().devices(opened_)); });
  EXPECT_EQ(error.code(), ErrorCode::no_device);
  EXPECT_EQ(error.status(), 803);
  EXPECT_EQ(error.call(), "hipGetDeviceCount");
  EXPECT_EQ(error.status_name(), "hipErrorSystemDriverMismatch");
}

TEST_P(RocmFaultTest, AMissingLibraryIsNamedWithWhatToInstall) {
  const std::vector<std::string> names{"libno-such-hip.so.7", "libno-such-hip.so.6"};
  const Error error = error_of([&] { static_cast<void>(load_api(names)); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("libno-such-hip.so.7"), HasSubstr("install ROCm"), HasSubstr("libno-such-hip.so.6")));
}

TEST_P(RocmFaultTest, WithoutACompilerOfItsOwnTheLibraryMustHoldIt) {
  const Error error = error_of([&] { static_cast<void>(Compiler::open_library(api().library, 390'000'000)); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("libhiprtc.so.39"), HasSubstr("/opt/rocm/lib/libhiprtc.so.39"), HasSubstr("install")));
  const auto holding = std::make_shared<const DynamicLibrary>(fakes() / "libhiprtc.so.7");
  EXPECT_EQ(Compiler::open_library(holding, 390'000'000), holding);
}

// The fake ends the process as an old compiler does; an architecture that is refused never comes to it.
TEST_P(RocmFaultTest, AnArchitectureThatTheCompilerDoesNotKnowIsRefusedBeforeItIsAsked) {
  const Variable ends_the_process("FAKE_HIPRTC", "unknown=gfx1100");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    static_cast<void>(compiler().compile("", "gfx1100"));
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  fake_->version = 50'221'153;
  fake_->architecture = "gfx1100";
  const OpenedVendor old = vendor().open(fakes());
  const StreamDevice device = vendor().devices(old).at(0);
  EXPECT_THAT(device.refusal, AllOf(HasSubstr("the compiler of HIP 5.2"), HasSubstr("does not know gfx1100: install ROCm 5.5 or newer")));
  EXPECT_EQ(error_of([&] { static_cast<void>(old.compiler->compile("", "gfx1100")); }).what(), device.refusal);
  EXPECT_EQ(compiler_of(old).refusal("gfx1030"), "");
  fake_->architecture = "gfx1301";
  EXPECT_THAT(vendor().devices(opened_).at(0).refusal, AllOf(HasSubstr("has no architecture gfx1301; it has gfx906, gfx908")));
}

// What hipBLASLt has no way for, rocBLAS may: here all of it.
TEST_P(RocmProductsTest, WithoutAWayOfTheFirstLibraryTheSecondIsAsked) {
  const Variable none("FAKE_HIPBLASLT", "none");
  constexpr int64_t kSize = 256;
  std::vector<float> values(kSize * kSize);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
  const auto product_on = [&](VendorProducts products, DType dtype) {
    const Device device = with(products);
    const Tensor x = Tensor::from_vector(values, {kSize, kSize}, device).to_dtype(dtype);
    return matmul(x, matmul(x, x.t())).to_dtype(DType::f32).to_vector<float>();
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    EXPECT_EQ(product_on(VendorProducts::exact, dtype), product_on(VendorProducts::none, dtype)) << to_string(dtype);
  }
  expect_products(0);
  expect_products(6, "rocblas_gemm_strided_batched_ex");
}

TEST(RocmUsage, IsWhatTheKernelsDriverWritesIntoFiles) {
  const TemporaryFolder devices;
  const std::filesystem::path folder = devices.path() / "0000:40:00.0", sensors = folder / "hwmon" / "hwmon3";
  std::filesystem::create_directories(sensors);
  const auto write = [](const std::filesystem::path& path, const char* text) { std::ofstream(path) << text; };
  write(folder / "mem_info_vram_used", "1073741824\n");
  const Error error = error_of([&] { static_cast<void>(usage_of("0000:40:00.0", devices.path())); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_THAT(error.what(), AllOf(HasSubstr((folder / "mem_info_vram_total").string()), HasSubstr("amdgpu")));
  write(folder / "mem_info_vram_total", "4294967296\n");
  EXPECT_EQ(usage_of("0000:40:00.0", devices.path()).busy, std::nullopt);
  write(folder / "gpu_busy_percent", "25\n");
  write(sensors / "power1_average", "123456000\n");
  write(sensors / "temp1_input", "45000\n");
  const DeviceUsage usage = usage_of("0000:40:00.0", devices.path());
  EXPECT_EQ(usage.memory_used, uint64_t{1} << 30U);
  EXPECT_EQ(usage.memory_total, uint64_t{4} << 30U);
  EXPECT_EQ(usage.busy, 0.25);
  EXPECT_EQ(usage.watts, 123.456);
  EXPECT_EQ(usage.celsius, 45);
}

TEST(Architectures, AreNamedOnceAndHaveTheInstructionsOfTheirFamily) {
  std::set<std::string_view> names;
  for (const Architecture& a : architectures()) {
    EXPECT_TRUE(names.insert(a.name).second) << a.name;
    const bool is_cdna = a.name.starts_with("gfx9"), is_rdna3 = a.name.starts_with("gfx11"), is_rdna4 = a.name.starts_with("gfx12");
    EXPECT_EQ(a.wave, is_cdna ? 64 : 32) << a.name;
    EXPECT_EQ(a.dot == ByteDot::mixed_bytes, is_rdna3 || is_rdna4) << a.name;
    EXPECT_EQ(a.matrices == MatrixUnits::wmma, is_rdna3) << a.name;
    EXPECT_EQ(a.matrices == MatrixUnits::wmma12, is_rdna4) << a.name;
    EXPECT_EQ(a.bf16, a.matrices != MatrixUnits::none) << a.name;
    EXPECT_FALSE(a.seen_by.empty()) << a.name;
  }
  for (const char* name : {"gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1201"}) {
    EXPECT_NE(find_architecture(name), nullptr) << name;
  }
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(On, RocmProductsTest, testing::Values(VendorParameter{&kAmd, "fake", true, ""}), name_of);
INSTANTIATE_TEST_SUITE_P(On, StreamProductsTest, testing::Values(VendorParameter{&kAmd, "fake", true, ""}), name_of);
INSTANTIATE_TEST_SUITE_P(On, RocmFaultTest, testing::Values(VendorParameter{&kAmd, "fake", true, ""}), name_of);
INSTANTIATE_TEST_SUITE_P(On, StreamFaultsTest, testing::Values(VendorParameter{&kAmd, "fake", true, ""}), name_of);
INSTANTIATE_TEST_SUITE_P(On, StreamFaultTest, testing::Values(VendorParameter{&kAmd, "fake", true, ""}), name_of);
INSTANTIATE_TEST_SUITE_P(On, StreamDriverTest,
                         testing::Values(VendorParameter{&kAmd, "fake", true, ""}, VendorParameter{&kAmd, "fake_32", true, "gfx1100"},
                                         VendorParameter{&kAmd, "machine", false, ""}),
                         name_of);

}  // namespace wick::rocm
