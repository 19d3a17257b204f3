// The declarations of wick/backend/oneapi/abi.h beside those of Level Zero's own header: sizes, places of members, and numbers.
#include "wick/backend/oneapi/abi.h"

#include <gtest/gtest.h>
#include <level_zero/ze_api.h>

#include <cstddef>

namespace wick::oneapi {
namespace {

#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs))
#define SAME_PLACE(ours, our_member, theirs, their_member) static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member))

SAME_SIZE(DriverProperties, ze_driver_properties_t);
SAME_PLACE(DriverProperties, version, ze_driver_properties_t, driverVersion);
SAME_SIZE(DeviceProperties, ze_device_properties_t);
SAME_PLACE(DeviceProperties, type, ze_device_properties_t, type);
SAME_PLACE(DeviceProperties, device_id, ze_device_properties_t, deviceId);
SAME_PLACE(DeviceProperties, flags, ze_device_properties_t, flags);
SAME_PLACE(DeviceProperties, max_allocation_bytes, ze_device_properties_t, maxMemAllocSize);
SAME_PLACE(DeviceProperties, subslices_per_slice, ze_device_properties_t, numSubslicesPerSlice);
SAME_PLACE(DeviceProperties, slices, ze_device_properties_t, numSlices);
SAME_PLACE(DeviceProperties, timer_resolution, ze_device_properties_t, timerResolution);
SAME_PLACE(DeviceProperties, kernel_timestamp_bits, ze_device_properties_t, kernelTimestampValidBits);
SAME_PLACE(DeviceProperties, name, ze_device_properties_t, name);
SAME_SIZE(ComputeProperties, ze_device_compute_properties_t);
SAME_PLACE(ComputeProperties, max_group_size, ze_device_compute_properties_t, maxTotalGroupSize);
SAME_PLACE(ComputeProperties, max_group_sizes, ze_device_compute_properties_t, maxGroupSizeX);
SAME_PLACE(ComputeProperties, max_group_counts, ze_device_compute_properties_t, maxGroupCountX);
SAME_PLACE(ComputeProperties, max_shared_bytes, ze_device_compute_properties_t, maxSharedLocalMemory);
SAME_PLACE(ComputeProperties, subgroup_size_count, ze_device_compute_properties_t, numSubGroupSizes);
SAME_PLACE(ComputeProperties, subgroup_sizes, ze_device_compute_properties_t, subGroupSizes);
SAME_SIZE(ModuleProperties, ze_device_module_properties_t);
SAME_PLACE(ModuleProperties, flags, ze_device_module_properties_t, flags);
SAME_PLACE(ModuleProperties, f32_flags, ze_device_module_properties_t, fp32flags);
SAME_PLACE(ModuleProperties, max_arguments_bytes, ze_device_module_properties_t, maxArgumentsSize);
SAME_SIZE(MemoryProperties, ze_device_memory_properties_t);
SAME_PLACE(MemoryProperties, total_bytes, ze_device_memory_properties_t, totalSize);
SAME_SIZE(QueueGroupProperties, ze_command_queue_group_properties_t);
SAME_PLACE(QueueGroupProperties, flags, ze_command_queue_group_properties_t, flags);
SAME_PLACE(QueueGroupProperties, queues, ze_command_queue_group_properties_t, numQueues);
SAME_SIZE(ContextDescription, ze_context_desc_t);
SAME_SIZE(QueueDescription, ze_command_queue_desc_t);
SAME_PLACE(QueueDescription, group, ze_command_queue_desc_t, ordinal);
SAME_PLACE(QueueDescription, mode, ze_command_queue_desc_t, mode);
SAME_SIZE(DeviceMemoryDescription, ze_device_mem_alloc_desc_t);
SAME_SIZE(HostMemoryDescription, ze_host_mem_alloc_desc_t);
SAME_SIZE(EventPoolDescription, ze_event_pool_desc_t);
SAME_PLACE(EventPoolDescription, flags, ze_event_pool_desc_t, flags);
SAME_PLACE(EventPoolDescription, count, ze_event_pool_desc_t, count);
SAME_SIZE(EventDescription, ze_event_desc_t);
SAME_PLACE(EventDescription, index, ze_event_desc_t, index);
SAME_PLACE(EventDescription, signal, ze_event_desc_t, signal);
SAME_SIZE(KernelTimestamps, ze_kernel_timestamp_result_t);
SAME_PLACE(KernelTimestamps, context, ze_kernel_timestamp_result_t, context);
SAME_SIZE(ModuleDescription, ze_module_desc_t);
SAME_PLACE(ModuleDescription, format, ze_module_desc_t, format);
SAME_PLACE(ModuleDescription, bytes, ze_module_desc_t, inputSize);
SAME_PLACE(ModuleDescription, module, ze_module_desc_t, pInputModule);
SAME_PLACE(ModuleDescription, options, ze_module_desc_t, pBuildFlags);
SAME_SIZE(KernelDescription, ze_kernel_desc_t);
SAME_PLACE(KernelDescription, name, ze_kernel_desc_t, pKernelName);
SAME_SIZE(GroupCount, ze_group_count_t);

template <class Number>
constexpr uint32_t number(Number value) {
  return static_cast<uint32_t>(value);
}

static_assert(number(StructureType::driver_properties) == ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
static_assert(number(StructureType::device_properties) == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
static_assert(number(StructureType::device_compute_properties) == ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
static_assert(number(StructureType::device_module_properties) == ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
static_assert(number(StructureType::queue_group_properties) == ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
static_assert(number(StructureType::device_memory_properties) == ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
static_assert(number(StructureType::context_description) == ZE_STRUCTURE_TYPE_CONTEXT_DESC);
static_assert(number(StructureType::queue_description) == ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
static_assert(number(StructureType::event_pool_description) == ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
static_assert(number(StructureType::event_description) == ZE_STRUCTURE_TYPE_EVENT_DESC);
static_assert(number(StructureType::device_memory_description) == ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
static_assert(number(StructureType::host_memory_description) == ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
static_assert(number(StructureType::module_description) == ZE_STRUCTURE_TYPE_MODULE_DESC);
static_assert(number(StructureType::kernel_description) == ZE_STRUCTURE_TYPE_KERNEL_DESC);
static_assert(number(kNotReady) == ZE_RESULT_NOT_READY);
static_assert(number(kDeviceLost) == ZE_RESULT_ERROR_DEVICE_LOST);
static_assert(number(kOutOfHostMemory) == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
static_assert(number(kOutOfDeviceMemory) == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
static_assert(number(kModuleBuildFailure) == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
static_assert(number(kModuleLinkFailure) == ZE_RESULT_ERROR_MODULE_LINK_FAILURE);
static_assert(number(kUninitialized) == ZE_RESULT_ERROR_UNINITIALIZED);
static_assert(number(kInvalidGroupSize) == ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
static_assert(number(kUnknown) == ZE_RESULT_ERROR_UNKNOWN);
static_assert(kGpusOnly == ZE_INIT_FLAG_GPU_ONLY);
static_assert(number(DeviceType::gpu) == ZE_DEVICE_TYPE_GPU);
static_assert(number(DeviceType::cpu) == ZE_DEVICE_TYPE_CPU);
static_assert(kIntegrated == ZE_DEVICE_PROPERTY_FLAG_INTEGRATED);
static_assert(kHasF16 == ZE_DEVICE_MODULE_FLAG_FP16);
static_assert(kHasF64 == ZE_DEVICE_MODULE_FLAG_FP64);
static_assert(kHasDp4a == ZE_DEVICE_MODULE_FLAG_DP4A);
static_assert(kSubnormals == ZE_DEVICE_FP_FLAG_DENORM);
static_assert(kRoundedDivideSqrt == ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT);
static_assert(kRunsKernels == ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
static_assert(QueueDescription().mode == ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
static_assert(EventPoolDescription().flags == (ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP));
static_assert(EventDescription().signal == ZE_EVENT_SCOPE_FLAG_HOST);
static_assert(number(ModuleFormat::spirv) == ZE_MODULE_FORMAT_IL_SPIRV);
static_assert(number(ModuleFormat::native) == ZE_MODULE_FORMAT_NATIVE);

TEST(OneApiAbi, IsThatOfLevelZerosHeader) { SUCCEED() << "checked when this was compiled"; }

}  // namespace
}  // namespace wick::oneapi
