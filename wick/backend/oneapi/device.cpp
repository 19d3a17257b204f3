#include "wick/backend/oneapi/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/device/device_score.h"

namespace wick::oneapi {
namespace {

// Before OpenCL on the same hardware: Intel's own interface, and the only one that keeps its code between runs by itself. Not measured yet.
constexpr int kPreference = 2;
constexpr const char* kPlace = "Level Zero";
constexpr uint32_t kMajorVersion = 1;  // of the interface that a driver offers
constexpr uint64_t kFourGiB = uint64_t{4} << 30;

Hardware hardware_of(const DeviceProperties& properties) {
  if (properties.type != DeviceType::gpu) return Hardware::processor;
  return (properties.flags & kIntegrated) != 0 ? Hardware::integrated_gpu : Hardware::discrete_gpu;
}

// The list that a call gives in two steps: how many, then these.
template <class Item, class Handle>
std::vector<Item> list_of(const StreamCall<Handle, uint32_t*, Item*>& call, Handle handle) {
  uint32_t count = 0;
  checked(kPlace, call, handle, &count, nullptr);
  std::vector<Item> items(count);
  if (count > 0) checked(kPlace, call, handle, &count, items.data());
  items.resize(count);
  return items;
}

void describe_limits(const Api& api, const FoundDevice& device, DeviceCaps& caps) {
  for (const MemoryProperties& memory : list_of<MemoryProperties>(api.device_get_memory_properties, device.handle)) {
    caps.memory_bytes += memory.total_bytes;
  }
  ComputeProperties compute;
  checked(kPlace, api.device_get_compute_properties, device.handle, &compute);
  caps.max_shared_bytes = compute.max_shared_bytes;
  caps.max_group_size = std::max(1U, std::min(compute.max_group_size, compute.max_group_sizes[0]));
  caps.max_group_count = compute.max_group_counts;
  const size_t count = std::min<size_t>(compute.subgroup_size_count, compute.subgroup_sizes.size());
  const std::span sizes = std::span(compute.subgroup_sizes).first(count);
  if (sizes.empty()) return;
  caps.min_subgroup_size = static_cast<int>(*std::min_element(sizes.begin(), sizes.end()));
  caps.max_subgroup_size = static_cast<int>(*std::max_element(sizes.begin(), sizes.end()));
}

void describe_instructions(const ModuleProperties& module, FoundDevice& device) {
  DeviceCaps& caps = device.caps;
  caps.f16_arithmetic = (module.flags & kHasF16) != 0;
  caps.f64_arithmetic = (module.flags & kHasF64) != 0;
  caps.int8_dot = (module.flags & kHasDp4a) != 0;
  caps.int64 = caps.storage_8bit = caps.storage_16bit = true;  // of every device: SPIR-V's kernels ask for them
  caps.f32_subnormals = (module.f32_flags & kSubnormals) != 0;
  // All arguments share the room: a quarter of it for the addresses of buffers, the rest for the numbers.
  caps.max_storage_buffers = static_cast<uint32_t>(module.max_arguments_bytes / 4 / sizeof(void*));
  caps.max_parameter_bytes = module.max_arguments_bytes / 4 * 3;
  device.source_options = caps.max_subgroup_size > 1 ? "-cl-std=CL3.0" : "-cl-std=CL1.2";
  if ((module.f32_flags & kRoundedDivideSqrt) != 0) device.module_options = "-cl-fp32-correctly-rounded-divide-sqrt";
}

uint32_t queue_group(const Api& api, DeviceHandle handle) {
  const std::vector<QueueGroupProperties> groups = list_of<QueueGroupProperties>(api.device_get_queue_groups, handle);
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [](const QueueGroupProperties& group) { return (group.flags & kRunsKernels) != 0 && group.queues > 0; });
  if (found == groups.end()) fail(ErrorCode::no_device, "{}: none of its {} groups of queues runs kernels", kPlace, groups.size());
  return static_cast<uint32_t>(found - groups.begin());
}

FoundDevice describe(const Api& api, DriverHandle driver, DeviceHandle handle, const DeviceProperties& properties) {
  FoundDevice device{.driver = driver, .handle = handle, .caps = {}, .source_options = {}, .module_options = {}};
  DriverProperties version;
  uint32_t interface = 0;
  checked(kPlace, api.driver_get_properties, driver, &version);
  checked(kPlace, api.driver_get_api_version, driver, &interface);
  if (interface >> 16U != kMajorVersion) {
    fail(ErrorCode::unsupported, "{}: the driver is of version {}.{}, and this backend calls version {}; install another one", kPlace,
         interface >> 16U, interface & 0xffffU, kMajorVersion);
  }
  device.caps.name = properties.name.data();
  device.caps.driver = fmt::format("Level Zero {}.{}, driver {:#x}", interface >> 16U, interface & 0xffffU, version.version);
  device.caps.max_buffer_bytes = properties.max_allocation_bytes;
  device.caps.buffer_offset_alignment = 64;  // a cache line
  device.caps.compute_units = static_cast<int>(std::max(1U, properties.slices * properties.subslices_per_slice));
  describe_limits(api, device, device.caps);
  ModuleProperties module;
  checked(kPlace, api.device_get_module_properties, handle, &module);
  describe_instructions(module, device);
  if (properties.max_allocation_bytes > kFourGiB) device.module_options += " -ze-opt-greater-than-4GB-buffer-required";
  device.score = device_score(hardware_of(properties), kPreference);
  device.device_id = properties.device_id;
  device.queue_group = queue_group(api, handle);
  device.seconds_per_tick = static_cast<double>(properties.timer_resolution) * 1e-9;
  if (properties.kernel_timestamp_bits > 0) device.tick_bits = properties.kernel_timestamp_bits;
  return device;
}

}  // namespace

std::vector<FoundDevice> find_devices(const Api& api) {
  uint32_t count = 0;
  checked(kPlace, api.driver_get, &count, nullptr);
  std::vector<DriverHandle> drivers(count);
  if (count > 0) checked(kPlace, api.driver_get, &count, drivers.data());
  std::vector<FoundDevice> devices;
  for (DriverHandle driver : drivers) {
    for (DeviceHandle handle : list_of<DeviceHandle>(api.device_get, driver)) {
      DeviceProperties properties;
      checked(kPlace, api.device_get_properties, handle, &properties);
      if (properties.type == DeviceType::gpu || properties.type == DeviceType::cpu) {
        devices.push_back(describe(api, driver, handle, properties));
      }
    }
  }
  return devices;
}

const Installation& installation() {
  static const Installation instance = [] {
    Installation found;
    try {
      found.api = load_api();
      const int status = found.api->init.address(kGpusOnly);
      if (status == kUninitialized) {
        found.missing =
            "Level Zero's loader finds no driver; install intel-level-zero-gpu or libze-intel-gpu1 (in Debian 12 "
            "intel-opencl-icd), and look whether the user may open /dev/dri/renderD*";
        return found;
      }
      check(status, found.api->init.name, kPlace);
      std::vector<FoundDevice> devices = find_devices(*found.api);
      if (devices.empty()) {
        found.missing = "Level Zero's drivers list no GPU; look whether the user may open /dev/dri/renderD*";
        return found;
      }
      found.compiler = std::make_shared<const Compiler>();
      found.devices = std::move(devices);
    } catch (const Error& error) {
      found.missing = error.what();
    }
    return found;
  }();
  return instance;
}

}  // namespace wick::oneapi
