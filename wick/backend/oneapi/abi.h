// Level Zero's C interface, version 1.0 and later: of its types those that this backend uses, with the same layout in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// Opaque types of Level Zero's handles.
struct _ze_driver_handle_t;
struct _ze_device_handle_t;
struct _ze_context_handle_t;
struct _ze_command_list_handle_t;
struct _ze_event_pool_handle_t;
struct _ze_event_handle_t;
struct _ze_module_handle_t;
struct _ze_module_build_log_handle_t;
struct _ze_kernel_handle_t;

namespace wick::oneapi {

using DriverHandle = _ze_driver_handle_t*;
using DeviceHandle = _ze_device_handle_t*;
using ContextHandle = _ze_context_handle_t*;
using ListHandle = _ze_command_list_handle_t*;
using EventPoolHandle = _ze_event_pool_handle_t*;
using EventHandle = _ze_event_handle_t*;
using ModuleHandle = _ze_module_handle_t*;
using LogHandle = _ze_module_build_log_handle_t*;
using KernelHandle = _ze_kernel_handle_t*;

// Statuses that this backend handles; the others only have names (api.cpp).
inline constexpr int kSuccess = 0, kNotReady = 1;
inline constexpr int kDeviceLost = 0x70000001, kOutOfHostMemory = 0x70000002, kOutOfDeviceMemory = 0x70000003;
inline constexpr int kModuleBuildFailure = 0x70000004, kModuleLinkFailure = 0x70000005;
inline constexpr int kUninitialized = 0x78000001;     // the first of those that say that the call cannot be
inline constexpr int kInvalidGroupSize = 0x78000013;  // of a kernel
inline constexpr int kUnknown = 0x7ffffffe;

// The first member of a structure says which one it is; the second is the next of a list of them.
enum class StructureType : uint32_t {
  driver_properties = 1,
  device_properties = 3,
  device_compute_properties = 4,
  device_module_properties = 5,
  queue_group_properties = 6,
  device_memory_properties = 7,
  context_description = 0xd,
  queue_description = 0xe,
  event_pool_description = 0x10,
  event_description = 0x11,
  device_memory_description = 0x15,
  host_memory_description = 0x16,
  module_description = 0x1b,
  kernel_description = 0x1d,
};

inline constexpr uint32_t kGpusOnly = 1;  // of the initialisation

struct DriverProperties {
  StructureType type = StructureType::driver_properties;
  void* next = nullptr;
  std::array<uint8_t, 16> uuid{};
  uint32_t version = 0;
};

enum class DeviceType : uint32_t { gpu = 1, cpu, fpga, memory_copies, vpu };
inline constexpr uint32_t kIntegrated = 1;  // of a device's flags

struct DeviceProperties {
  StructureType structure = StructureType::device_properties;
  void* next = nullptr;
  DeviceType type{};
  uint32_t vendor_id = 0, device_id = 0;
  uint32_t flags = 0;
  uint32_t subdevice_id = 0, core_clock_rate = 0;
  uint64_t max_allocation_bytes = 0;
  uint32_t max_hardware_contexts = 0, max_queue_priority = 0;
  uint32_t threads_per_eu = 0, eu_simd_width = 0, eus_per_subslice = 0, subslices_per_slice = 0, slices = 0;
  uint64_t timer_resolution = 0;  // nanoseconds of one tick
  uint32_t timestamp_bits = 0, kernel_timestamp_bits = 0;
  std::array<uint8_t, 16> uuid{};
  std::array<char, 256> name{};
};

struct ComputeProperties {
  StructureType type = StructureType::device_compute_properties;
  void* next = nullptr;
  uint32_t max_group_size = 0;
  std::array<uint32_t, 3> max_group_sizes{}, max_group_counts{};
  uint32_t max_shared_bytes = 0;
  uint32_t subgroup_size_count = 0;
  std::array<uint32_t, 8> subgroup_sizes{};
};

inline constexpr uint32_t kHasF16 = 1, kHasF64 = 2, kHasDp4a = 8;      // of a device's instructions
inline constexpr uint32_t kSubnormals = 1, kRoundedDivideSqrt = 0x40;  // of its floats

struct ModuleProperties {
  StructureType type = StructureType::device_module_properties;
  void* next = nullptr;
  uint32_t spirv_version = 0;
  uint32_t flags = 0;
  uint32_t f16_flags = 0, f32_flags = 0, f64_flags = 0;
  uint32_t max_arguments_bytes = 0, printf_bytes = 0;
  std::array<uint8_t, 16> native_kernels{};
};

struct MemoryProperties {
  StructureType type = StructureType::device_memory_properties;
  void* next = nullptr;
  uint32_t flags = 0, max_clock_rate = 0, max_bus_width = 0;
  uint64_t total_bytes = 0;
  std::array<char, 256> name{};
};

inline constexpr uint32_t kRunsKernels = 1;  // of a group of queues

struct QueueGroupProperties {
  StructureType type = StructureType::queue_group_properties;
  void* next = nullptr;
  uint32_t flags = 0;
  size_t max_fill_pattern_bytes = 0;
  uint32_t queues = 0;
};

struct ContextDescription {
  StructureType type = StructureType::context_description;
  const void* next = nullptr;
  uint32_t flags = 0;
};

struct QueueDescription {
  StructureType type = StructureType::queue_description;
  const void* next = nullptr;
  uint32_t group = 0, index = 0;
  uint32_t flags = 0;
  uint32_t mode = 2;  // asynchronous
  uint32_t priority = 0;
};

struct DeviceMemoryDescription {
  StructureType type = StructureType::device_memory_description;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t memory = 0;  // the number of its MemoryProperties
};

struct HostMemoryDescription {
  StructureType type = StructureType::host_memory_description;
  const void* next = nullptr;
  uint32_t flags = 0;
};

struct EventPoolDescription {
  StructureType type = StructureType::event_pool_description;
  const void* next = nullptr;
  uint32_t flags = 5;  // the host sees its events, and they have timestamps
  uint32_t count = 0;
};

struct EventDescription {
  StructureType type = StructureType::event_description;
  const void* next = nullptr;
  uint32_t index = 0;
  uint32_t signal = 4;  // what was written is seen by the host
  uint32_t wait = 0;
};

struct Timestamps {
  uint64_t begin = 0, end = 0;
};
struct KernelTimestamps {
  Timestamps global, context;
};

enum class ModuleFormat : uint32_t { spirv, native };

struct ModuleDescription {
  StructureType type = StructureType::module_description;
  const void* next = nullptr;
  ModuleFormat format{};
  size_t bytes = 0;
  const uint8_t* module = nullptr;
  const char* options = nullptr;
  const void* constants = nullptr;
};

struct KernelDescription {
  StructureType type = StructureType::kernel_description;
  const void* next = nullptr;
  uint32_t flags = 0;
  const char* name = nullptr;
};

struct GroupCount {
  uint32_t x = 1, y = 1, z = 1;
};

}  // namespace wick::oneapi
