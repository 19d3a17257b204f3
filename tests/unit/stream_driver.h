// What tests of a stream driver have: the vendor's on this machine, or one that is faked, calls and faults and all (tests/fake_gpu).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "fake_gpu/fake_gpu.h"
#include "unit/environment_variable.h"
#include "unit/message_of.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/streams/product_driver.h"
#include "wick/ir/kernel.h"
#include "wick/tensor/tensor.h"

namespace wick {

using Words = std::vector<uint32_t>;

struct OpenedVendor {
  std::shared_ptr<const StreamApi> api;
  std::shared_ptr<const RunTimeCompiler> compiler;
};

struct Vendor {
  const char* fake_driver;  // a file in the folder of the fakes
  std::shared_ptr<const StreamApi> (*load_driver)(const std::string& library);
  // With the fakes of that folder; the machine's where it is empty.
  OpenedVendor (*open)(const std::filesystem::path& folder);
  std::vector<StreamDevice> (*devices)(const OpenedVendor& vendor);
  std::unique_ptr<ProductDriver> (*driver)(const OpenedVendor& vendor, const StreamDevice& device, int index, VendorProducts products);
  std::vector<const char*> matrix_libraries;  // files of fakes, the first to be asked first
  const char* product;                        // the call by which that one multiplies
  const char* reset;                          // the call that makes a lost context anew
  const char* compiler_variable;              // of the environment, which the fake compiler reads
  // The vendor's own header (cuda.h, rocm.h).
  int (*number)(const Device& device);
  StreamHandle (*stream)(const Device& device);
  StreamAddress (*memory)(const Tensor& tensor);
  std::unique_ptr<Buffer> (*wrap)(StreamAddress address, size_t bytes, std::shared_ptr<const void> owner);
  Device (*open_on_stream)(int index, StreamHandle stream);
  std::pair<StreamHandle, StreamHandle> (*handles)(const Program& program);  // module and function
};

struct VendorParameter {
  const Vendor* vendor;
  const char* name;  // of the test
  bool is_fake;
  const char* architecture;  // of the fake; "": its own
};

inline void PrintTo(const VendorParameter& parameter, std::ostream* out) { *out << parameter.name; }

// y[i] = x[i] + add, for 64 elements a group.
[[nodiscard]] ir::Kernel add_kernel();
[[nodiscard]] Words counted(size_t count, uint32_t first = 0);
[[nodiscard]] std::unique_ptr<Buffer> upload(Runtime& runtime, const Words& words);
[[nodiscard]] Words download(Runtime& runtime, const Buffer& buffer);

class StreamDriverTest : public testing::TestWithParam<VendorParameter> {
 protected:
  static const Vendor& vendor() { return *GetParam().vendor; }
  static bool is_fake() { return GetParam().is_fake; }
  static std::filesystem::path fakes() { return WICK_FAKE_GPU_FOLDER; }
  void SetUp() override;

  [[nodiscard]] const StreamApi& api() const { return *opened_.api; }
  [[nodiscard]] std::unique_ptr<ProductDriver> driver(size_t number = 0, VendorProducts products = VendorProducts::none) const {
    return vendor().driver(opened_, devices_.at(number), static_cast<int>(number), products);
  }
  [[nodiscard]] std::unique_ptr<Runtime> runtime(size_t number = 0, const DeviceOptions& options = {}) const {
    return std::make_unique<KernelRuntime>(driver(number), options);
  }
  [[nodiscard]] Device device() const { return Device::adopt({api().kind, 0}, runtime()); }
  [[nodiscard]] std::string status_name(int status) const { return api().status_name(api(), status); }

  fake_gpu::State* fake_ = nullptr;
  OpenedVendor opened_;
  std::vector<StreamDevice> devices_;
};
// With the fake alone.
using StreamFaultTest = StreamDriverTest;

// Something that goes wrong, and what is said then.
struct ExpectedError {
  const char* name;
  std::function<void()> provoke;
  ErrorCode code;
  std::vector<std::string> words;
};
// With the fake alone; stream_faults_test.cpp.
class StreamFaultsTest : public StreamDriverTest {
 protected:
  [[nodiscard]] std::string kind() const { return std::string(to_string(api().kind)); }
  [[nodiscard]] std::string first() const;
  void open_ordinal(int index) const;
  // An op on a device that is opened for it; `between` is called before it.
  void add_and_wait(const std::function<void()>& between) const;
  [[nodiscard]] std::vector<ExpectedError> faults();
};

// With the vendor's libraries of matrix products.
class StreamProductsTest : public StreamDriverTest {
 protected:
  void SetUp() override;
  [[nodiscard]] Device with(VendorProducts products) const {
    return Device::adopt({api().kind, 0}, std::make_shared<KernelRuntime>(driver(0, products)));
  }
  // How many products the library was given, where that can be seen.
  void expect_products(int count, const std::string& call = vendor().product) const {
    if (is_fake()) {
      EXPECT_EQ(fake_->count(call), count) << call;
    }
  }
};

[[nodiscard]] inline std::string name_of(const testing::TestParamInfo<VendorParameter>& info) { return info.param.name; }

}  // namespace wick
