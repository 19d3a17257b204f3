// The functions of wgpu-native, found when the program runs: nothing is linked.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "wick/backend/webgpu/abi.h"
#include "wick/base/dynlib.h"

namespace wick::webgpu {

struct Api {
  uint32_t (*get_version)() = nullptr;
  Instance (*create_instance)(const InstanceDescriptor*) = nullptr;
  size_t (*enumerate_adapters)(Instance, const EnumerateOptions*, AdapterHandle*) = nullptr;
  void (*instance_release)(Instance) = nullptr;

  uint32_t (*adapter_get_info)(AdapterHandle, AdapterInfo*) = nullptr;
  void (*adapter_info_free_members)(AdapterInfo) = nullptr;
  uint32_t (*adapter_get_limits)(AdapterHandle, Limits*) = nullptr;
  Bool (*adapter_has_feature)(AdapterHandle, FeatureName) = nullptr;
  Future (*adapter_request_device)(AdapterHandle, const DeviceDescriptor*, Callback<RequestDeviceFunction>) = nullptr;
  void (*adapter_release)(AdapterHandle) = nullptr;

  QueueHandle (*device_get_queue)(DeviceHandle) = nullptr;
  void (*device_push_error_scope)(DeviceHandle, ErrorFilter) = nullptr;
  Future (*device_pop_error_scope)(DeviceHandle, Callback<PopErrorFunction>) = nullptr;
  Bool (*device_poll)(DeviceHandle, Bool wait, const uint64_t* submission) = nullptr;
  BufferHandle (*device_create_buffer)(DeviceHandle, const BufferDescriptor*) = nullptr;
  BindGroup (*device_create_bind_group)(DeviceHandle, const BindGroupDescriptor*) = nullptr;
  BindGroupLayout (*device_create_bind_group_layout)(DeviceHandle, const BindGroupLayoutDescriptor*) = nullptr;
  PipelineLayout (*device_create_pipeline_layout)(DeviceHandle, const PipelineLayoutDescriptor*) = nullptr;
  ShaderModule (*device_create_trusted_module)(DeviceHandle, const LabelDescriptor*, Flags checks) = nullptr;
  ComputePipeline (*device_create_compute_pipeline)(DeviceHandle, const ComputePipelineDescriptor*) = nullptr;
  CommandEncoder (*device_create_command_encoder)(DeviceHandle, const LabelDescriptor*) = nullptr;
  void (*device_destroy)(DeviceHandle) = nullptr;
  void (*device_release)(DeviceHandle) = nullptr;

  uint64_t (*queue_submit)(QueueHandle, size_t, const CommandBuffer*) = nullptr;
  Future (*queue_on_submitted_work_done)(QueueHandle, Callback<StatusFunction>) = nullptr;
  void (*queue_write_buffer)(QueueHandle, BufferHandle, uint64_t offset, const void* data, size_t bytes) = nullptr;
  void (*queue_release)(QueueHandle) = nullptr;

  Future (*buffer_map_async)(BufferHandle, Flags mode, size_t offset, size_t bytes, Callback<StatusFunction>) = nullptr;
  const void* (*buffer_get_const_mapped_range)(BufferHandle, size_t offset, size_t bytes) = nullptr;
  void (*buffer_unmap)(BufferHandle) = nullptr;
  void (*buffer_destroy)(BufferHandle) = nullptr;
  void (*buffer_release)(BufferHandle) = nullptr;

  void (*shader_module_release)(ShaderModule) = nullptr;
  void (*bind_group_release)(BindGroup) = nullptr;
  void (*bind_group_layout_release)(BindGroupLayout) = nullptr;
  void (*pipeline_layout_release)(PipelineLayout) = nullptr;
  void (*compute_pipeline_release)(ComputePipeline) = nullptr;

  ComputePass (*encoder_begin_compute_pass)(CommandEncoder, const ComputePassDescriptor*) = nullptr;
  void (*encoder_clear_buffer)(CommandEncoder, BufferHandle, uint64_t offset, uint64_t bytes) = nullptr;
  void (*encoder_copy_buffer)(CommandEncoder, BufferHandle, uint64_t, BufferHandle, uint64_t, uint64_t bytes) = nullptr;
  CommandBuffer (*encoder_finish)(CommandEncoder, const LabelDescriptor*) = nullptr;
  void (*encoder_release)(CommandEncoder) = nullptr;
  void (*command_buffer_release)(CommandBuffer) = nullptr;

  void (*pass_set_pipeline)(ComputePass, ComputePipeline) = nullptr;
  void (*pass_set_bind_group)(ComputePass, uint32_t group, BindGroup, size_t count, const uint32_t* dynamic_offsets) = nullptr;
  void (*pass_dispatch)(ComputePass, uint32_t x, uint32_t y, uint32_t z) = nullptr;
  void (*pass_end)(ComputePass) = nullptr;
  void (*pass_release)(ComputePass) = nullptr;

  // Where the functions come from, and its version: "29.0.1.1".
  std::shared_ptr<const DynamicLibrary> library;
  std::string version;
};

// Of the first library that is there. Errors: not_found where none is; unsupported for one of another version than abi.h is of, or one
// without a function of it.
[[nodiscard]] std::shared_ptr<const Api> load_api();

template <class Handle>
struct Release {
  void (*release)(Handle) = nullptr;
  void operator()(Handle handle) const noexcept { release(handle); }
};
// A handle that is released when it goes: Owned<BindGroup> group(handle, {api.bind_group_release}).
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release<Handle>>;

}  // namespace wick::webgpu
