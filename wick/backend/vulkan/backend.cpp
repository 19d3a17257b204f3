// The Vulkan backend: every device whose driver offers Vulkan 1.2, with kernels in GLSL.
#include <fmt/format.h>

#include <span>
#include <utility>

#include "wick/backend/vulkan/instance.h"
#include "wick/backend/vulkan/memory.h"
#include "wick/backend/vulkan/program.h"
#include "wick/backend/vulkan/queue.h"
#include "wick/backend/vulkan/shader_compiler.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/plain_caps.h"
#include "wick/device/registry.h"
#include "wick/device/spirv_module.h"
#include "wick/device/submission_driver.h"
#include "wick/device/variants.h"

namespace wick::vulkan {
namespace {

class Driver final : public SubmissionDriver<Device, Queue> {
 public:
  explicit Driver(std::unique_ptr<const PhysicalDevice> device)
      : SubmissionDriver(std::make_shared<Device>(std::move(device))), memory_(queue_) {}

  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override { return memory_.allocate(bytes); }
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::glsl_dialect(); }
  // SPIR-V is the same for all devices; what drivers make of it they keep themselves.
  [[nodiscard]] std::string binary_key() const override { return compiler_version() + (caps().f32_subnormals ? ", subnormals" : ""); }
  [[nodiscard]] bool takes(SourceLanguage language) const noexcept override {
    return language == SourceLanguage::glsl || language == SourceLanguage::spirv;
  }
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& /*prepared*/, const std::string& text) override {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    return is_spirv(text) ? std::vector(bytes.begin(), bytes.end()) : compile_glsl(text, caps().f32_subnormals);
  }
  [[nodiscard]] std::shared_ptr<const wick::Program> load(ir::Kernel prepared, std::span<const std::byte> binary) override {
    return Program::load(queue_, std::move(prepared), binary);
  }

 private:
  Memory memory_;
};

// Before OpenCL without PTX: a model of 8 B parameters in Q4_K_M decoded 177 tokens/s through Vulkan and 136 through that on one H200.
constexpr int kPreference = 2;

std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> found;
  const std::vector<VkPhysicalDevice> devices = physical_devices();
  for (size_t i = 0; i < devices.size(); ++i) {
    const PhysicalDevice device(devices[i]);
    if (device.unsuitable.empty()) found.push_back({static_cast<int>(i), device.caps, device_score(device.hardware(), kPreference)});
  }
  return found;
}

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  const std::vector<VkPhysicalDevice> devices = physical_devices();
  if (static_cast<size_t>(index) >= devices.size()) return nullptr;
  const bool plain = asks_for_plain(DeviceKind::vulkan, index, options.variant);
  auto device = std::make_unique<PhysicalDevice>(devices[static_cast<size_t>(index)]);
  if (!device->unsuitable.empty()) return nullptr;
  if (plain) {
    device->caps = plain_caps(device->caps);
    device->shares_memory = false;  // plain is also a device whose memory the host does not see
  }
  return std::make_unique<KernelRuntime>(std::make_unique<Driver>(std::move(device)), options);
}

std::string missing(int index) {
  if (instance().handle == VK_NULL_HANDLE) return instance().missing;
  const std::vector<VkPhysicalDevice> devices = physical_devices();
  if (devices.empty()) return "the Vulkan loader finds a driver, but no device; look with vulkaninfo --summary";
  if (index < 0 || static_cast<size_t>(index) >= devices.size()) return "";
  const PhysicalDevice device(devices[static_cast<size_t>(index)]);
  return device.unsuitable.empty() ? "" : fmt::format("{}: {}", device.caps.name, device.unsuitable);
}

}  // namespace

extern const Backend kBackend;
const Backend kBackend = {DeviceKind::vulkan, probe, open, plain_and_native, missing};

}  // namespace wick::vulkan
