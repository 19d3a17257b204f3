// A Device is a cheap handle on one opened device; what users hold.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "wick/device/device_kind.h"
#include "wick/device/random_stream.h"
#include "wick/device/runtime.h"

namespace [[gnu::visibility("default")]] wick {

// Which device: kind and ordinal. "cpu", "cuda:1".
struct DeviceLocation {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const DeviceLocation&, const DeviceLocation&) = default;
};

// A device that was found, and its score (device_score.h).
struct ScoredDevice {
  DeviceLocation location;
  int score = 0;
};
// The one with the highest score; of equals that whose kind DeviceKind names first, then the lowest ordinal. None where no score is above
// 0.
[[nodiscard]] std::optional<DeviceLocation> best_of(std::span<const ScoredDevice> devices);

struct FakeProbe;
struct Selection;

class Device {
 public:
  // Opens a device. Errors: backend_not_linked, no_device.
  [[nodiscard]] static Device open(DeviceLocation location, const DeviceOptions& options = {});
  // A handle on a runtime that somebody opened already, such as one behind a decorator.
  [[nodiscard]] static Device adopt(DeviceLocation location, std::shared_ptr<Runtime> runtime) { return {location, std::move(runtime)}; }
  // "cpu", "cuda" (ordinal 0), "vulkan:1". Errors: invalid_argument listing the names; and open's.
  [[nodiscard]] static Device parse(std::string_view text, const DeviceOptions& options = {});
  [[nodiscard]] static DeviceLocation parse_location(std::string_view text);
  // The best of the devices that are linked and detected (best_of). Says what it chose through the logging hook, in one line: requested=
  // detected= selected=. Where a device cannot be opened, it warns and takes the next one; with Selection::strict (selection.h) it throws.
  [[nodiscard]] static Device best(const DeviceOptions& options = {});
  [[nodiscard]] static Device best(const DeviceOptions& options, const Selection& selection);
  // open, with the same line through the logging hook; its `detected` has the devices of that kind only, as no other driver is loaded.
  [[nodiscard]] static Device open_requested(DeviceLocation location, const DeviceOptions& options, const FakeProbe& fake);

  // Whether the backend is linked and lists that device now.
  [[nodiscard]] static bool is_available(DeviceKind kind, int index = 0);
  [[nodiscard]] static bool cpu_is_available() { return is_available(DeviceKind::cpu); }
  [[nodiscard]] static bool cuda_is_available(int index = 0) { return is_available(DeviceKind::cuda, index); }
  [[nodiscard]] static bool rocm_is_available(int index = 0) { return is_available(DeviceKind::rocm, index); }
  [[nodiscard]] static bool metal_is_available(int index = 0) { return is_available(DeviceKind::metal, index); }
  [[nodiscard]] static bool opencl_is_available(int index = 0) { return is_available(DeviceKind::opencl, index); }
  [[nodiscard]] static bool vulkan_is_available(int index = 0) { return is_available(DeviceKind::vulkan, index); }
  [[nodiscard]] static bool oneapi_is_available(int index = 0) { return is_available(DeviceKind::oneapi, index); }
  [[nodiscard]] static bool webgpu_is_available(int index = 0) { return is_available(DeviceKind::webgpu, index); }

  [[nodiscard]] static Device cpu() { return open({DeviceKind::cpu, 0}); }
  [[nodiscard]] static Device cuda(int index = 0) { return open({DeviceKind::cuda, index}); }
  [[nodiscard]] static Device rocm(int index = 0) { return open({DeviceKind::rocm, index}); }
  [[nodiscard]] static Device metal(int index = 0) { return open({DeviceKind::metal, index}); }
  [[nodiscard]] static Device opencl(int index = 0) { return open({DeviceKind::opencl, index}); }
  [[nodiscard]] static Device vulkan(int index = 0) { return open({DeviceKind::vulkan, index}); }
  [[nodiscard]] static Device oneapi(int index = 0) { return open({DeviceKind::oneapi, index}); }
  [[nodiscard]] static Device webgpu(int index = 0) { return open({DeviceKind::webgpu, index}); }
  [[nodiscard]] static Device reference() { return open({DeviceKind::reference, 0}); }
  [[nodiscard]] static Device null() { return open({DeviceKind::null, 0}); }

  // The device if it is available, and the CPU otherwise: then a warning through the logging hook names both, and the reason.
  [[nodiscard]] static Device cuda_if_available(int index = 0) { return if_available({DeviceKind::cuda, index}); }
  [[nodiscard]] static Device rocm_if_available(int index = 0) { return if_available({DeviceKind::rocm, index}); }
  [[nodiscard]] static Device metal_if_available(int index = 0) { return if_available({DeviceKind::metal, index}); }
  [[nodiscard]] static Device opencl_if_available(int index = 0) { return if_available({DeviceKind::opencl, index}); }
  [[nodiscard]] static Device vulkan_if_available(int index = 0) { return if_available({DeviceKind::vulkan, index}); }
  [[nodiscard]] static Device oneapi_if_available(int index = 0) { return if_available({DeviceKind::oneapi, index}); }
  [[nodiscard]] static Device webgpu_if_available(int index = 0) { return if_available({DeviceKind::webgpu, index}); }

  [[nodiscard]] DeviceLocation location() const noexcept { return location_; }
  [[nodiscard]] DeviceKind kind() const noexcept { return location_.kind; }
  [[nodiscard]] bool is_cpu() const noexcept { return kind() == DeviceKind::cpu; }
  [[nodiscard]] bool is_cuda() const noexcept { return kind() == DeviceKind::cuda; }
  [[nodiscard]] bool is_rocm() const noexcept { return kind() == DeviceKind::rocm; }
  [[nodiscard]] bool is_metal() const noexcept { return kind() == DeviceKind::metal; }
  [[nodiscard]] bool is_opencl() const noexcept { return kind() == DeviceKind::opencl; }
  [[nodiscard]] bool is_vulkan() const noexcept { return kind() == DeviceKind::vulkan; }
  [[nodiscard]] bool is_oneapi() const noexcept { return kind() == DeviceKind::oneapi; }
  [[nodiscard]] bool is_webgpu() const noexcept { return kind() == DeviceKind::webgpu; }
  // Itself. Errors: device_mismatch, "expected a rocm device, got cuda:0".
  [[nodiscard]] const Device& as_kind(DeviceKind kind) const;
  [[nodiscard]] const Device& as_cpu() const { return as_kind(DeviceKind::cpu); }
  [[nodiscard]] const Device& as_cuda() const { return as_kind(DeviceKind::cuda); }
  [[nodiscard]] const Device& as_rocm() const { return as_kind(DeviceKind::rocm); }
  [[nodiscard]] const Device& as_metal() const { return as_kind(DeviceKind::metal); }
  [[nodiscard]] const Device& as_opencl() const { return as_kind(DeviceKind::opencl); }
  [[nodiscard]] const Device& as_vulkan() const { return as_kind(DeviceKind::vulkan); }
  [[nodiscard]] const Device& as_oneapi() const { return as_kind(DeviceKind::oneapi); }
  [[nodiscard]] const Device& as_webgpu() const { return as_kind(DeviceKind::webgpu); }

  // The same physical device; options may differ.
  [[nodiscard]] bool same_device(const Device& other) const noexcept { return location_ == other.location_; }
  [[nodiscard]] bool supports_bf16() const noexcept { return runtime_->caps().bf16_arithmetic; }
  [[nodiscard]] const DeviceCaps& caps() const noexcept { return runtime_->caps(); }
  // The device's stream of random numbers (philox.h). It belongs to the process (random_stream.h): all handles on the device share it,
  // whatever they were opened with, and it goes on when the last of them is gone and the device is opened again.
  [[nodiscard]] RandomStream& random() const { return random_stream(location_.kind, location_.index); }
  // Restarts the stream with that seed. A device that was given none has the process's (manual_seed), which is random by default.
  void set_seed(uint64_t seed) const { random().set_seed(seed); }
  [[nodiscard]] uint64_t get_current_seed() const { return random().seed(); }
  void synchronize() const { runtime_->queue().synchronize(); }
  // A kernel of the device's own language, for CompiledKernel; compiled once for each source, compiler and driver where there is a cache
  // (DeviceOptions::cache_directory). Errors: those of Runtime::compile_source.
  [[nodiscard]] std::shared_ptr<const Program> compile(const std::string& name, const KernelSource& source, const std::string& entry,
                                                       const KernelSignature& signature) const {
    return runtime_->compile_source(name, source, entry, signature);
  }
  [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }

 private:
  Device(DeviceLocation location, std::shared_ptr<Runtime> runtime) : location_(location), runtime_(std::move(runtime)) {}
  [[nodiscard]] static Device if_available(DeviceLocation location);

  DeviceLocation location_;
  std::shared_ptr<Runtime> runtime_;
};

}  // namespace wick

template <>
struct std::hash<wick::DeviceLocation> {
  [[nodiscard]] size_t operator()(const wick::DeviceLocation& location) const noexcept {
    return std::hash<uint64_t>()(static_cast<uint64_t>(location.kind) << 32U | static_cast<uint32_t>(location.index));
  }
};
