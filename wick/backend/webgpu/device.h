// A Device is an opened adapter: its handles, the layouts that programs share, and what went wrong on it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "wick/backend/webgpu/adapter.h"
#include "wick/device/driver_error.h"

namespace wick::webgpu {

// An error caught by an error scope.
struct Fault {
  ErrorType type = ErrorType::none;
  std::string message;
};

// Throws a WebGpuError of the code no_device.
[[noreturn]] void raise_error(std::string_view place, const DriverFailure& failure);

class Device {
 public:
  // `place` names the device in errors: "webgpu:0 (name)". Errors: WebGpuError, with wgpu-native's reason.
  Device(Adapter adapter, std::string place);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const Api& api() const noexcept { return *adapter_.api; }
  [[nodiscard]] const DeviceCaps& caps() const noexcept { return adapter_.caps; }
  [[nodiscard]] const Limits& limits() const noexcept { return adapter_.limits; }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  [[nodiscard]] DeviceHandle handle() const noexcept { return handle_.get(); }
  [[nodiscard]] QueueHandle queue() const noexcept { return queue_.get(); }

  // Where a launch's parameters lie in their uniform buffer: at multiples of so many bytes.
  [[nodiscard]] uint32_t parameter_stride() const noexcept;
  // Layouts of kernels: buffer i is read-only if bit i is set; then the parameters, if there are any, at a dynamic offset.
  struct Layouts {
    BindGroupLayout group = nullptr;
    PipelineLayout pipeline = nullptr;
  };
  [[nodiscard]] Layouts layouts(size_t buffers, uint64_t read_only, bool has_parameters);

  // Runs `body` and gives the first error of these kinds in it; each kind of error is a scope of its own. Errors: device_lost, which is
  // what wgpu-native calls a validation error.
  template <class Body>
  [[nodiscard]] Fault caught(std::initializer_list<ErrorFilter> filters, Body&& body) {
    for (const ErrorFilter filter : filters) api().device_push_error_scope(handle(), filter);
    body();
    Fault first;
    for (size_t i = 0; i < filters.size(); ++i) {
      Fault fault = pop_error_scope();
      if (first.type == ErrorType::none) first = std::move(fault);
    }
    if (first.type != ErrorType::none) throw_if_lost(first.message);
    return first;
  }

  // Errors outside any scope, and why the device was lost; empty: none. wgpu-native reports them from any thread.
  [[nodiscard]] std::string uncaught() const;
  [[nodiscard]] std::string loss() const;

 private:
  struct Reports {
    mutable std::mutex mutex;
    std::string uncaught, loss;
  };

  [[nodiscard]] Fault pop_error_scope();
  void throw_if_lost(const std::string& error) const;

  Adapter adapter_;
  std::string place_;
  std::shared_ptr<Reports> reports_ = std::make_shared<Reports>();
  Owned<DeviceHandle> handle_{nullptr, {}};
  Owned<QueueHandle> queue_{nullptr, {}};

  struct OwnedLayouts {
    Owned<BindGroupLayout> group;
    Owned<PipelineLayout> pipeline;
  };
  std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, OwnedLayouts> layouts_;
};

}  // namespace wick::webgpu
