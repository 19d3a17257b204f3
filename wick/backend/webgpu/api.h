// The functions of wgpu-native, found when the program runs: nothing is linked.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "wick/backend/webgpu/abi.h"
#include "wick/base/dynlib.h"
#include "wick/device/owned_handle.h"

namespace wick::webgpu {

// The first wgpu-native that is there.
struct Library {
  // Errors: not_found where there is none; unsupported for one of another version than abi.h is of.
  Library();
  // wgpuPopErrorScope for "PopErrorScope". Errors: unsupported if the library has no such function.
  [[nodiscard]] void* find(std::string_view name) const;

  std::shared_ptr<const DynamicLibrary> library;
  std::string version;  // "29.0.1.1"
};

// A function of a library, which is there.
template <class Signature>
class Call {
 public:
  Call(const Library& from, std::string_view name) : address_(reinterpret_cast<Signature*>(from.find(name))) {}
  operator Signature*() const noexcept { return address_; }  // NOLINT

 private:
  Signature* address_;
};

// Errors: Library's.
struct Api : Library {
  Call<Instance(const InstanceDescriptor*)> create_instance{*this, "CreateInstance"};
  Call<size_t(Instance, const EnumerateOptions*, AdapterHandle*)> enumerate_adapters{*this, "InstanceEnumerateAdapters"};
  Call<uint32_t(AdapterHandle, AdapterInfo*)> adapter_get_info{*this, "AdapterGetInfo"};
  Call<void(AdapterInfo)> adapter_info_free_members{*this, "AdapterInfoFreeMembers"};
  Call<uint32_t(AdapterHandle, Limits*)> adapter_get_limits{*this, "AdapterGetLimits"};
  Call<Bool(AdapterHandle, FeatureName)> adapter_has_feature{*this, "AdapterHasFeature"};
  Call<Future(AdapterHandle, const DeviceDescriptor*, Callback<RequestDeviceFunction>)> request_device{*this, "AdapterRequestDevice"};
  Call<void(AdapterHandle)> adapter_release{*this, "AdapterRelease"};
  Call<QueueHandle(DeviceHandle)> device_get_queue{*this, "DeviceGetQueue"};
  Call<void(DeviceHandle, ErrorFilter)> device_push_error_scope{*this, "DevicePushErrorScope"};
  Call<Future(DeviceHandle, Callback<PopErrorFunction>)> device_pop_error_scope{*this, "DevicePopErrorScope"};
  Call<Bool(DeviceHandle, Bool wait, const uint64_t* submission)> device_poll{*this, "DevicePoll"};
  Call<BufferHandle(DeviceHandle, const BufferDescriptor*)> create_buffer{*this, "DeviceCreateBuffer"};
  Call<BindGroup(DeviceHandle, const BindGroupDescriptor*)> create_bind_group{*this, "DeviceCreateBindGroup"};
  Call<BindGroupLayout(DeviceHandle, const BindGroupLayoutDescriptor*)> create_bind_group_layout{*this, "DeviceCreateBindGroupLayout"};
  Call<PipelineLayout(DeviceHandle, const PipelineLayoutDescriptor*)> create_pipeline_layout{*this, "DeviceCreatePipelineLayout"};
  Call<ShaderModule(DeviceHandle, const LabelDescriptor*, Flags checks)> create_trusted_module{*this, "DeviceCreateShaderModuleTrusted"};
  Call<ComputePipeline(DeviceHandle, const ComputePipelineDescriptor*)> create_compute_pipeline{*this, "DeviceCreateComputePipeline"};
  Call<CommandEncoder(DeviceHandle, const LabelDescriptor*)> create_command_encoder{*this, "DeviceCreateCommandEncoder"};
  Call<void(DeviceHandle)> device_destroy{*this, "DeviceDestroy"};
  Call<void(DeviceHandle)> device_release{*this, "DeviceRelease"};
  Call<uint64_t(QueueHandle, size_t, const CommandBuffer*)> queue_submit{*this, "QueueSubmitForIndex"};
  Call<Future(QueueHandle, Callback<StatusFunction>)> queue_on_submitted_work_done{*this, "QueueOnSubmittedWorkDone"};
  Call<void(QueueHandle, BufferHandle, uint64_t offset, const void* data, size_t bytes)> queue_write_buffer{*this, "QueueWriteBuffer"};
  Call<void(QueueHandle)> queue_release{*this, "QueueRelease"};
  Call<Future(BufferHandle, Flags mode, size_t offset, size_t bytes, Callback<StatusFunction>)> buffer_map_async{*this, "BufferMapAsync"};
  Call<const void*(BufferHandle, size_t offset, size_t bytes)> buffer_get_const_mapped_range{*this, "BufferGetConstMappedRange"};
  Call<void(BufferHandle)> buffer_unmap{*this, "BufferUnmap"};
  Call<void(BufferHandle)> buffer_release{*this, "BufferRelease"};
  Call<void(ShaderModule)> shader_module_release{*this, "ShaderModuleRelease"};
  Call<void(BindGroup)> bind_group_release{*this, "BindGroupRelease"};
  Call<void(BindGroupLayout)> bind_group_layout_release{*this, "BindGroupLayoutRelease"};
  Call<void(PipelineLayout)> pipeline_layout_release{*this, "PipelineLayoutRelease"};
  Call<void(ComputePipeline)> compute_pipeline_release{*this, "ComputePipelineRelease"};
  Call<ComputePass(CommandEncoder, const ComputePassDescriptor*)> encoder_begin_compute_pass{*this, "CommandEncoderBeginComputePass"};
  Call<void(CommandEncoder, BufferHandle, uint64_t offset, uint64_t bytes)> encoder_clear_buffer{*this, "CommandEncoderClearBuffer"};
  Call<void(CommandEncoder, BufferHandle, uint64_t, BufferHandle, uint64_t, uint64_t bytes)> encoder_copy_buffer{
      *this, "CommandEncoderCopyBufferToBuffer"};
  Call<CommandBuffer(CommandEncoder, const LabelDescriptor*)> encoder_finish{*this, "CommandEncoderFinish"};
  Call<void(CommandEncoder)> encoder_release{*this, "CommandEncoderRelease"};
  Call<void(CommandBuffer)> command_buffer_release{*this, "CommandBufferRelease"};
  Call<void(ComputePass, ComputePipeline)> pass_set_pipeline{*this, "ComputePassEncoderSetPipeline"};
  Call<void(ComputePass, uint32_t group, BindGroup, size_t count, const uint32_t* dynamic_offsets)> pass_set_bind_group{
      *this, "ComputePassEncoderSetBindGroup"};
  Call<void(ComputePass, uint32_t x, uint32_t y, uint32_t z)> pass_dispatch{*this, "ComputePassEncoderDispatchWorkgroups"};
  Call<void(ComputePass)> pass_end{*this, "ComputePassEncoderEnd"};
  Call<void(ComputePass)> pass_release{*this, "ComputePassEncoderRelease"};
};

// Owned<BindGroup> group(handle, {api.bind_group_release}).
template <class Handle>
using Owned = OwnedHandle<Handle>;

}  // namespace wick::webgpu
