#include "wick/backend/webgpu/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "wick/backend/webgpu/webgpu.h"
#include "wick/device/device_lost.h"
#include "wick/device/kernel_driver.h"

namespace wick::webgpu {
namespace {

struct Requested {
  DeviceHandle handle = nullptr;
  int status = 0;
  std::string message;
};

}  // namespace

void raise_error(std::string_view place, const DriverFailure& failure) {
  throw WebGpuError(ErrorCode::no_device, fmt::format("{}: {}: {}", place, failure.call, failure.status_name), failure);
}

Device::Device(Adapter adapter, std::string place) : adapter_(std::move(adapter)), place_(std::move(place)) {
  DeviceDescriptor descriptor;
  descriptor.feature_count = adapter_.features.size();
  descriptor.features = adapter_.features.data();
  descriptor.limits = &adapter_.limits;
  descriptor.lost.data = reports_.get();
  descriptor.lost.function = [](const DeviceHandle* /*device*/, uint32_t /*reason*/, Text message, void* data, void* /*more*/) {
    auto& reports = *static_cast<Reports*>(data);
    const std::lock_guard lock(reports.mutex);
    if (reports.loss.empty()) reports.loss = message.view().empty() ? "wgpu-native gives no reason" : joined_lines(message.view());
  };
  descriptor.error.data = reports_.get();
  descriptor.error.function = [](const DeviceHandle* /*device*/, ErrorType /*type*/, Text message, void* data, void* /*more*/) {
    auto& reports = *static_cast<Reports*>(data);
    const std::lock_guard lock(reports.mutex);
    if (reports.uncaught.empty()) reports.uncaught = joined_lines(message.view());
  };
  Requested requested;
  const auto take = [](uint32_t status, DeviceHandle device, Text message, void* data, void* /*more*/) {
    *static_cast<Requested*>(data) = {status == kSuccess ? device : nullptr, static_cast<int>(status), joined_lines(message.view())};
  };
  api().request_device(adapter_.handle.get(), &descriptor, {.function = take, .data = &requested});
  if (requested.handle == nullptr) raise_error(place_, {"wgpuAdapterRequestDevice", requested.status, requested.message});
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
  const auto take = [](uint32_t /*status*/, ErrorType type, Text message, void* data, void* /*more*/) {
    *static_cast<Fault*>(data) = {type, type == ErrorType::none ? "" : std::string(message.view())};
  };
  api().device_pop_error_scope(handle(), {.function = take, .data = &fault});
  return fault;
}

// wgpu-native calls the device-lost callback only after queued work; until then calls fail with this message of wgpu-core.
void Device::throw_if_lost(const std::string& error) const {
  std::string cause = loss();
  if (cause.empty() && error.find("device is lost") != std::string::npos) cause = joined_lines(error);
  if (!cause.empty()) throw device_lost(place_, cause, "");
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
