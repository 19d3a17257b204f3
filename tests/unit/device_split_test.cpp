// Devices that bind less of a buffer at once than it has: ops give the same bits when buffers are bound in parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "unit/found_devices.h"
#include "unit/message_of.h"
#include "wick/device/graph.h"
#include "wick/device/kernel_runtime.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A device's driver, as one that binds at most so many bytes.
class LimitedDriver final : public KernelDriver {
 public:
  LimitedDriver(Device device, uint64_t max_buffer_bytes, uint32_t max_storage_buffers)
      : device_(std::move(device)), caps_(device_.caps()) {
    caps_.max_buffer_bytes = max_buffer_bytes;
    caps_.max_storage_buffers = max_storage_buffers;
    caps_.tiles.clear();  // a tile may lie in two parts
  }
  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return caps_; }
  [[nodiscard]] Queue& queue() noexcept override { return inner().queue(); }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override { return inner().allocate(bytes); }
  [[nodiscard]] bool is_lost() const noexcept override { return inner().is_lost(); }
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return inner().dialect(); }
  [[nodiscard]] std::string binary_key() const override { return inner().binary_key(); }
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& prepared, const std::string& text) override {
    return inner().compile(prepared, text);
  }
  [[nodiscard]] std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> binary) override {
    return inner().load(std::move(prepared), binary);
  }

 private:
  [[nodiscard]] KernelDriver& inner() const noexcept { return static_cast<KernelRuntime&>(device_.runtime()).driver(); }

  Device device_;
  DeviceCaps caps_;
};

Device limited(const Device& device, uint64_t max_buffer_bytes, uint32_t max_storage_buffers) {
  return Device::adopt(device.location(),
                       std::make_shared<KernelRuntime>(std::make_unique<LimitedDriver>(device, max_buffer_bytes, max_storage_buffers)));
}

// Every device of this program whose ops are kernels, the interpreter by both of its variants.
std::vector<Device> kernel_devices() {
  std::vector<Device> found;
  for (const DeviceLocation& location : found_kernel_devices()) {
    found.push_back(Device::open(location));
    if (location.kind == DeviceKind::reference) found.push_back(Device::open(location, {.variant = "plain"}));
  }
  return found;
}

// Numbers between -1 and 1.
std::vector<float> numbers(int64_t count, float step) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i) * step);
  return values;
}

// Blocks of a scale of 2^-7 and 32 bytes.
Tensor bytes_of_q8_0(const Shape& shape, const Device& device) {
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(DType::q8_0, shape.elements())));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t place = i % 34;
    bytes[i] = place == 0 ? std::byte{0} : place == 1 ? std::byte{0x20} : static_cast<std::byte>(i * 37 % 251);
  }
  return Tensor::from_bytes(bytes, shape, DType::q8_0, device);
}

// Rows of 64 columns: a weight has 16 KiB in f32, four times what the limited device binds.
constexpr uint64_t kLimit = 4096;
constexpr int64_t kWeightRows = 64, kWeightColumns = 64;

std::vector<float> results_of(const Device& device) {
  std::vector<float> results;
  const auto keep = [&](const Tensor& tensor) {
    const std::vector<float> values = tensor.to_dtype(DType::f32).flatten_all().to_vector<float>();
    results.insert(results.end(), values.begin(), values.end());
  };
  const Tensor weight = Tensor::from_vector(numbers(kWeightRows * kWeightColumns, 0.37F), {kWeightRows, kWeightColumns}, device);
  const Tensor x = Tensor::from_vector(numbers(3 * kWeightColumns, 0.11F), {3, kWeightColumns}, device);
  keep(linear(x, weight));
  keep(linear(x.narrow(0, 0, 1), weight));
  keep(linear(x, weight.to_dtype(DType::f16)));
  keep(linear(x, bytes_of_q8_0({4 * kWeightRows, kWeightColumns}, device)));
  keep(weight * weight + 1.0);
  keep(weight.softmax(1));
  keep(weight.to_dtype(DType::f16));
  keep(weight.transpose(0, 1).contiguous());
  const Tensor ids = Tensor::from_vector(std::vector<int32_t>{63, 0, 17, 16, 31, 32}, {6}, device);
  keep(weight.index_select(ids, 0));
  keep(weight.index_add(ids, weight.narrow(0, 0, 6), 0));
  return results;
}

TEST(SplitBuffers, OpsGiveTheSameBitsWhenTheirBuffersAreBoundInParts) {
  for (const Device& device : kernel_devices()) {
    SCOPED_TRACE(device.location().to_string() + " " + device.caps().driver);
    EXPECT_EQ(results_of(limited(device, 0, 64)), results_of(limited(device, kLimit, 64)));
  }
}

TEST(SplitBuffers, AGraphReplaysWhatWasBoundInParts) {
  for (const Device& device : kernel_devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Device small = limited(device, kLimit, 64);
    const Tensor x = Tensor::from_vector(numbers(4096, 0.2F), {4096}, small);
    Tensor y;
    const Graph graph = Graph::record(small, [&] { y = x + x; });
    graph.replay();
    EXPECT_EQ(y.to_vector<float>(), (x * 2.0).to_vector<float>());
  }
}

TEST(SplitBuffers, WithoutEnoughBindingsTheErrorNamesBothLimits) {
  for (const Device& device : kernel_devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Device small = limited(device, kLimit, 8);
    const Error error = error_of([&] { static_cast<void>(Tensor::zeros({16384}, DType::f32, small)); });
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("has 65536 bytes, and " + device.caps().name + " takes 4096 at once"),
                                    HasSubstr("in parts of so many it takes "), HasSubstr(" buffers of 8")));
  }
}

}  // namespace
}  // namespace wick
