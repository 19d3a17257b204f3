// The declarations of wick/backend/webgpu/abi.h have the layout and the numbers of wgpu-native's own header.
#include <gtest/gtest.h>
#include <wgpu.h>

#include <cstddef>

#include "wick/backend/webgpu/abi.h"

namespace wick::webgpu {
namespace {

#define WICK_SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs), "sizes of " #theirs)
#define WICK_SAME_PLACE(ours, our_member, theirs, their_member) \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member), "place of " #theirs "." #their_member)

// NOLINTBEGIN(clang-diagnostic-invalid-offsetof)
WICK_SAME_SIZE(InstanceExtras, WGPUInstanceExtras);
WICK_SAME_PLACE(InstanceExtras, chain, WGPUInstanceExtras, chain);
WICK_SAME_PLACE(InstanceExtras, backends, WGPUInstanceExtras, backends);
WICK_SAME_PLACE(InstanceExtras, flags, WGPUInstanceExtras, flags);
WICK_SAME_PLACE(InstanceExtras, dxc_path, WGPUInstanceExtras, dxcPath);
WICK_SAME_PLACE(InstanceExtras, creation_budget, WGPUInstanceExtras, budgetForDeviceCreation);
WICK_SAME_PLACE(InstanceExtras, display, WGPUInstanceExtras, displayHandle);
WICK_SAME_SIZE(InstanceDescriptor, WGPUInstanceDescriptor);
WICK_SAME_PLACE(InstanceDescriptor, next, WGPUInstanceDescriptor, nextInChain);
WICK_SAME_PLACE(InstanceDescriptor, feature_count, WGPUInstanceDescriptor, requiredFeatureCount);
WICK_SAME_PLACE(InstanceDescriptor, features, WGPUInstanceDescriptor, requiredFeatures);
WICK_SAME_PLACE(InstanceDescriptor, limits, WGPUInstanceDescriptor, requiredLimits);
WICK_SAME_SIZE(EnumerateOptions, WGPUInstanceEnumerateAdapterOptions);
WICK_SAME_PLACE(EnumerateOptions, backends, WGPUInstanceEnumerateAdapterOptions, backends);
WICK_SAME_SIZE(AdapterInfo, WGPUAdapterInfo);
WICK_SAME_PLACE(AdapterInfo, vendor, WGPUAdapterInfo, vendor);
WICK_SAME_PLACE(AdapterInfo, device, WGPUAdapterInfo, device);
WICK_SAME_PLACE(AdapterInfo, description, WGPUAdapterInfo, description);
WICK_SAME_PLACE(AdapterInfo, backend, WGPUAdapterInfo, backendType);
WICK_SAME_PLACE(AdapterInfo, type, WGPUAdapterInfo, adapterType);
WICK_SAME_PLACE(AdapterInfo, subgroup_min_size, WGPUAdapterInfo, subgroupMinSize);
WICK_SAME_PLACE(AdapterInfo, subgroup_max_size, WGPUAdapterInfo, subgroupMaxSize);
WICK_SAME_SIZE(Limits, WGPULimits);
WICK_SAME_PLACE(Limits, max_storage_buffers_per_shader_stage, WGPULimits, maxStorageBuffersPerShaderStage);
WICK_SAME_PLACE(Limits, max_storage_buffer_binding_size, WGPULimits, maxStorageBufferBindingSize);
WICK_SAME_PLACE(Limits, min_uniform_buffer_offset_alignment, WGPULimits, minUniformBufferOffsetAlignment);
WICK_SAME_PLACE(Limits, min_storage_buffer_offset_alignment, WGPULimits, minStorageBufferOffsetAlignment);
WICK_SAME_PLACE(Limits, max_buffer_size, WGPULimits, maxBufferSize);
WICK_SAME_PLACE(Limits, max_compute_workgroup_storage_size, WGPULimits, maxComputeWorkgroupStorageSize);
WICK_SAME_PLACE(Limits, max_compute_invocations_per_workgroup, WGPULimits, maxComputeInvocationsPerWorkgroup);
WICK_SAME_PLACE(Limits, max_compute_workgroup_size_x, WGPULimits, maxComputeWorkgroupSizeX);
WICK_SAME_PLACE(Limits, max_compute_workgroups_per_dimension, WGPULimits, maxComputeWorkgroupsPerDimension);
WICK_SAME_PLACE(Limits, max_immediate_size, WGPULimits, maxImmediateSize);
WICK_SAME_SIZE(DeviceDescriptor, WGPUDeviceDescriptor);
WICK_SAME_PLACE(DeviceDescriptor, feature_count, WGPUDeviceDescriptor, requiredFeatureCount);
WICK_SAME_PLACE(DeviceDescriptor, features, WGPUDeviceDescriptor, requiredFeatures);
WICK_SAME_PLACE(DeviceDescriptor, limits, WGPUDeviceDescriptor, requiredLimits);
WICK_SAME_PLACE(DeviceDescriptor, queue, WGPUDeviceDescriptor, defaultQueue);
WICK_SAME_PLACE(DeviceDescriptor, lost, WGPUDeviceDescriptor, deviceLostCallbackInfo);
WICK_SAME_PLACE(DeviceDescriptor, error, WGPUDeviceDescriptor, uncapturedErrorCallbackInfo);
WICK_SAME_SIZE(Callback<RequestDeviceFunction>, WGPURequestDeviceCallbackInfo);
WICK_SAME_PLACE(Callback<RequestDeviceFunction>, mode, WGPURequestDeviceCallbackInfo, mode);
WICK_SAME_PLACE(Callback<RequestDeviceFunction>, function, WGPURequestDeviceCallbackInfo, callback);
WICK_SAME_PLACE(Callback<RequestDeviceFunction>, data, WGPURequestDeviceCallbackInfo, userdata1);
WICK_SAME_PLACE(Callback<RequestDeviceFunction>, more, WGPURequestDeviceCallbackInfo, userdata2);
WICK_SAME_SIZE(Callback<DeviceLostFunction>, WGPUDeviceLostCallbackInfo);
WICK_SAME_PLACE(Callback<DeviceLostFunction>, mode, WGPUDeviceLostCallbackInfo, mode);
WICK_SAME_PLACE(Callback<DeviceLostFunction>, function, WGPUDeviceLostCallbackInfo, callback);
WICK_SAME_PLACE(Callback<DeviceLostFunction>, data, WGPUDeviceLostCallbackInfo, userdata1);
WICK_SAME_PLACE(Callback<DeviceLostFunction>, more, WGPUDeviceLostCallbackInfo, userdata2);
WICK_SAME_SIZE(Callback<PopErrorFunction>, WGPUPopErrorScopeCallbackInfo);
WICK_SAME_PLACE(Callback<PopErrorFunction>, function, WGPUPopErrorScopeCallbackInfo, callback);
WICK_SAME_PLACE(Callback<PopErrorFunction>, more, WGPUPopErrorScopeCallbackInfo, userdata2);
WICK_SAME_SIZE(Callback<StatusFunction>, WGPUBufferMapCallbackInfo);
WICK_SAME_PLACE(Callback<StatusFunction>, mode, WGPUBufferMapCallbackInfo, mode);
WICK_SAME_PLACE(Callback<StatusFunction>, function, WGPUBufferMapCallbackInfo, callback);
WICK_SAME_PLACE(Callback<StatusFunction>, data, WGPUBufferMapCallbackInfo, userdata1);
WICK_SAME_PLACE(Callback<StatusFunction>, more, WGPUBufferMapCallbackInfo, userdata2);
WICK_SAME_SIZE(ErrorCallback, WGPUUncapturedErrorCallbackInfo);
WICK_SAME_PLACE(ErrorCallback, function, WGPUUncapturedErrorCallbackInfo, callback);
WICK_SAME_PLACE(ErrorCallback, data, WGPUUncapturedErrorCallbackInfo, userdata1);
WICK_SAME_PLACE(ErrorCallback, more, WGPUUncapturedErrorCallbackInfo, userdata2);
WICK_SAME_SIZE(BufferDescriptor, WGPUBufferDescriptor);
WICK_SAME_PLACE(BufferDescriptor, label, WGPUBufferDescriptor, label);
WICK_SAME_PLACE(BufferDescriptor, usage, WGPUBufferDescriptor, usage);
WICK_SAME_PLACE(BufferDescriptor, size, WGPUBufferDescriptor, size);
WICK_SAME_PLACE(BufferDescriptor, mapped_at_creation, WGPUBufferDescriptor, mappedAtCreation);
WICK_SAME_SIZE(WgslSource, WGPUShaderSourceWGSL);
WICK_SAME_PLACE(WgslSource, code, WGPUShaderSourceWGSL, code);
WICK_SAME_SIZE(LabelDescriptor, WGPUShaderModuleDescriptor);
WICK_SAME_PLACE(LabelDescriptor, label, WGPUShaderModuleDescriptor, label);
WICK_SAME_SIZE(BindGroupLayoutEntry, WGPUBindGroupLayoutEntry);
WICK_SAME_PLACE(BindGroupLayoutEntry, binding, WGPUBindGroupLayoutEntry, binding);
WICK_SAME_PLACE(BindGroupLayoutEntry, visibility, WGPUBindGroupLayoutEntry, visibility);
WICK_SAME_PLACE(BindGroupLayoutEntry, array_size, WGPUBindGroupLayoutEntry, bindingArraySize);
WICK_SAME_PLACE(BindGroupLayoutEntry, buffer, WGPUBindGroupLayoutEntry, buffer);
WICK_SAME_PLACE(BindGroupLayoutEntry, sampler, WGPUBindGroupLayoutEntry, sampler);
WICK_SAME_PLACE(BindGroupLayoutEntry, texture, WGPUBindGroupLayoutEntry, texture);
WICK_SAME_PLACE(BindGroupLayoutEntry, storage_texture, WGPUBindGroupLayoutEntry, storageTexture);
WICK_SAME_SIZE(BindGroupLayoutDescriptor, WGPUBindGroupLayoutDescriptor);
WICK_SAME_PLACE(BindGroupLayoutDescriptor, count, WGPUBindGroupLayoutDescriptor, entryCount);
WICK_SAME_PLACE(BindGroupLayoutDescriptor, entries, WGPUBindGroupLayoutDescriptor, entries);
WICK_SAME_SIZE(BindGroupEntry, WGPUBindGroupEntry);
WICK_SAME_PLACE(BindGroupEntry, binding, WGPUBindGroupEntry, binding);
WICK_SAME_PLACE(BindGroupEntry, buffer, WGPUBindGroupEntry, buffer);
WICK_SAME_PLACE(BindGroupEntry, offset, WGPUBindGroupEntry, offset);
WICK_SAME_PLACE(BindGroupEntry, size, WGPUBindGroupEntry, size);
WICK_SAME_PLACE(BindGroupEntry, sampler, WGPUBindGroupEntry, sampler);
WICK_SAME_PLACE(BindGroupEntry, texture_view, WGPUBindGroupEntry, textureView);
WICK_SAME_SIZE(BindGroupDescriptor, WGPUBindGroupDescriptor);
WICK_SAME_PLACE(BindGroupDescriptor, layout, WGPUBindGroupDescriptor, layout);
WICK_SAME_PLACE(BindGroupDescriptor, count, WGPUBindGroupDescriptor, entryCount);
WICK_SAME_PLACE(BindGroupDescriptor, entries, WGPUBindGroupDescriptor, entries);
WICK_SAME_SIZE(PipelineLayoutDescriptor, WGPUPipelineLayoutDescriptor);
WICK_SAME_PLACE(PipelineLayoutDescriptor, count, WGPUPipelineLayoutDescriptor, bindGroupLayoutCount);
WICK_SAME_PLACE(PipelineLayoutDescriptor, layouts, WGPUPipelineLayoutDescriptor, bindGroupLayouts);
WICK_SAME_PLACE(PipelineLayoutDescriptor, immediate_size, WGPUPipelineLayoutDescriptor, immediateSize);
WICK_SAME_SIZE(ComputePipelineDescriptor, WGPUComputePipelineDescriptor);
WICK_SAME_PLACE(ComputePipelineDescriptor, layout, WGPUComputePipelineDescriptor, layout);
WICK_SAME_PLACE(ComputePipelineDescriptor, compute, WGPUComputePipelineDescriptor, compute);
WICK_SAME_SIZE(ComputePassDescriptor, WGPUComputePassDescriptor);
WICK_SAME_PLACE(ComputePassDescriptor, label, WGPUComputePassDescriptor, label);
WICK_SAME_PLACE(ComputePassDescriptor, timestamp_writes, WGPUComputePassDescriptor, timestampWrites);
// NOLINTEND(clang-diagnostic-invalid-offsetof)

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<uint64_t>(ours) == static_cast<uint64_t>(theirs);
}
static_assert(same(StructureType::wgsl_source, WGPUSType_ShaderSourceWGSL) &&
              same(StructureType::instance_extras, WGPUSType_InstanceExtras));
static_assert(same(kVulkan, WGPUInstanceBackend_Vulkan) && same(kMetal, WGPUInstanceBackend_Metal) &&
              same(kDirect3D12, WGPUInstanceBackend_DX12));
static_assert(same(AdapterType::discrete_gpu, WGPUAdapterType_DiscreteGPU) && same(AdapterType::unknown, WGPUAdapterType_Unknown));
static_assert(same(BackendType::vulkan_api, WGPUBackendType_Vulkan) && same(BackendType::metal_api, WGPUBackendType_Metal));
static_assert(same(FeatureName::shader_f16, WGPUFeatureName_ShaderF16) && same(FeatureName::subgroups, WGPUNativeFeature_Subgroup));
static_assert(same(CallbackMode::allow_spontaneous, WGPUCallbackMode_AllowSpontaneous));
static_assert(same(ErrorFilter::validation, WGPUErrorFilter_Validation) && same(ErrorFilter::out_of_memory, WGPUErrorFilter_OutOfMemory));
static_assert(same(ErrorType::none, WGPUErrorType_NoError) && same(ErrorType::out_of_memory, WGPUErrorType_OutOfMemory));
static_assert(same(kSuccess, WGPURequestDeviceStatus_Success) && same(kSuccess, WGPUMapAsyncStatus_Success) &&
              same(kSuccess, WGPUQueueWorkDoneStatus_Success) && same(kSuccess, WGPUPopErrorScopeStatus_Success));
static_assert(same(kMapRead, WGPUBufferUsage_MapRead) && same(kCopySource, WGPUBufferUsage_CopySrc) &&
              same(kCopyTarget, WGPUBufferUsage_CopyDst) && same(kUniform, WGPUBufferUsage_Uniform) &&
              same(kStorage, WGPUBufferUsage_Storage));
static_assert(same(kMapModeRead, WGPUMapMode_Read) && same(kComputeStage, WGPUShaderStage_Compute));
static_assert(same(BindingType::uniform, WGPUBufferBindingType_Uniform) && same(BindingType::storage, WGPUBufferBindingType_Storage) &&
              same(BindingType::read_only_storage, WGPUBufferBindingType_ReadOnlyStorage));

TEST(WebGpuAbi, IsThatOfTheHeader) { SUCCEED() << "this file compiles"; }

}  // namespace
}  // namespace wick::webgpu
