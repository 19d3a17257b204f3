#include "wick/backend/webgpu/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "wick/base/fail.h"
#include "wick/device/kernel_driver.h"

namespace wick::webgpu {
namespace {

struct Requested {
  DeviceHandle handle = nullptr;
  std::string message;
};

void take_device(uint32_t status, DeviceHandle device, Text message, void* data, void* /*more*/) {
  auto& requested = *static_cast<Requested*>(data);
  if (status == kSuccess) requested.handle = device;
  requested.message = on_one_line(message.view());
}

void take_fault(uint32_t /*status*/, ErrorType type, Text message, void* data, void* /*more*/) {
  *static_cast<Fault*>(data) = {type, std::string(message.view())};
}

}  // namespace

Device::Device(Adapter adapter, std::string place) : adapter_(std::move(adapter)), place_(std::move(place)) {
  DeviceDescriptor descriptor;
  descriptor.feature_count = adapter_.features.size();
  descriptor.features = adapter_.features.data();
  descriptor.limits = &adapter_.limits;
  descriptor.lost.data = reports_.get();
  descriptor.lost.function = [](const DeviceHandle* /*device*/, LossReason /*reason*/, Text message, void* data, void* /*more*/) {
    auto& reports = *static_cast<Reports*>(data);
    const std::lock_guard lock(reports.mutex);
    if (reports.loss.empty()) reports.loss = message.view().empty() ? "wgpu-native gives no reason" : on_one_line(message.view());
  };
  descriptor.error.data = reports_.get();
  descriptor.error.function = [](const DeviceHandle* /*device*/, ErrorType /*type*/, Text message, void* data, void* /*more*/) {
    auto& reports = *static_cast<Reports*>(data);
    const std::lock_guard lock(reports.mutex);
    if (reports.uncaught.empty()) reports.uncaught = on_one_line(message.view());
  };
  Requested requested;
  api().request_device(adapter_.handle.get(), &descriptor, {.function = take_device, .data = &requested});
  if (requested.handle == nullptr) fail(ErrorCode::no_device, "{}: wgpuAdapterRequestDevice: {}", place_, requested.message);
  handle_ = {requested.handle, {api().device_release}};
  queue_ = {api().device_get_queue(requested.handle), {api().queue_release}};
}

Device::~Device() {
  layouts_.clear();
  queue_.reset();
  // wgpu-native calls the device-lost callback when a device is destroyed; poll once so that it runs before the handle goes.
  static_cast<void>(api().device_poll(handle(), 1, nullptr));
  handle_.reset();
}

Fault Device::pop_error_scope() {
  Fault fault;
  api().device_pop_error_scope(handle(), {.function = take_fault, .data = &fault});
  fault.message = fault.type == ErrorType::none ? "" : fault.message;
  return fault;
}

std::string Device::uncaught() const {
  const std::lock_guard lock(reports_->mutex);
  return reports_->uncaught;
}

std::string Device::loss() const {
  const std::lock_guard lock(reports_->mutex);
  return reports_->loss;
}

uint32_t Device::parameter_stride() const noexcept {
  const uint32_t alignment = std::max(1U, limits().min_uniform_buffer_offset_alignment);
  return (caps().max_parameter_bytes + alignment - 1) / alignment * alignment;
}

Device::Layouts Device::layouts(size_t buffers, uint64_t read_only, bool has_parameters) {
  const std::lock_guard lock(mutex_);
  OwnedLayouts& layouts = layouts_[{buffers * 2 + (has_parameters ? 1 : 0), read_only}];
  if (layouts.group == nullptr) {
    std::vector<BindGroupLayoutEntry> entries(buffers + (has_parameters ? 1 : 0));
    for (size_t i = 0; i < entries.size(); ++i) {
      entries[i].binding = static_cast<uint32_t>(i);
      entries[i].buffer.type = (read_only >> i & 1) != 0 ? BindingType::read_only_storage : BindingType::storage;
    }
    if (has_parameters) {
      entries.back().buffer.type = BindingType::uniform;
      entries.back().buffer.has_dynamic_offset = 1;
    }
    const BindGroupLayoutDescriptor group{.label = Text("wick"), .count = entries.size(), .entries = entries.data()};
    layouts.group = {api().create_bind_group_layout(handle(), &group), {api().bind_group_layout_release}};
    const BindGroupLayout handle_of_group = layouts.group.get();
    const PipelineLayoutDescriptor pipeline{.label = Text("wick"), .count = 1, .layouts = &handle_of_group};
    layouts.pipeline = {api().create_pipeline_layout(handle(), &pipeline), {api().pipeline_layout_release}};
  }
  return {layouts.group.get(), layouts.pipeline.get()};
}

}  // namespace wick::webgpu
