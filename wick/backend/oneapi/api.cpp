#include "wick/backend/oneapi/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wick/backend/oneapi/oneapi.h"

namespace wick::oneapi {
namespace {

constexpr const char* kLoader = "libze_loader.so.1";
constexpr std::string_view kRemedy =
    "install it (Debian's package libze1) and the driver for Intel's GPUs (intel-level-zero-gpu, libze-intel-gpu1 or, in Debian 12, "
    "intel-opencl-icd)";

struct StatusName {
  int status;
  const char* name;
};

constexpr std::array kStatusNames{
    StatusName{kNotReady, "ZE_RESULT_NOT_READY"},
    StatusName{kDeviceLost, "ZE_RESULT_ERROR_DEVICE_LOST"},
    StatusName{kOutOfHostMemory, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
    StatusName{kOutOfDeviceMemory, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
    StatusName{kModuleBuildFailure, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"},
    StatusName{kModuleLinkFailure, "ZE_RESULT_ERROR_MODULE_LINK_FAILURE"},
    StatusName{0x70000006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"},
    StatusName{0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"},
    StatusName{0x70010001, "ZE_RESULT_ERROR_NOT_AVAILABLE"},
    StatusName{0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"},
    StatusName{kUninitialized, "ZE_RESULT_ERROR_UNINITIALIZED"},
    StatusName{0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"},
    StatusName{0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
    StatusName{0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT"},
    StatusName{0x78000005, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"},
    StatusName{0x78000007, "ZE_RESULT_ERROR_INVALID_NULL_POINTER"},
    StatusName{0x78000008, "ZE_RESULT_ERROR_INVALID_SIZE"},
    StatusName{0x7800000a, "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT"},
    StatusName{0x7800000b, "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"},
    StatusName{0x7800000f, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY"},
    StatusName{0x78000011, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME"},
    StatusName{kInvalidGroupSize, "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION"},
    StatusName{0x78000015, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX"},
    StatusName{0x78000016, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE"},
    StatusName{kUnknown, "ZE_RESULT_ERROR_UNKNOWN"},
};

template <class... Parameters>
void bind(const Api& api, const char* name, StreamCall<Parameters...>& call) {
  bind_call(*api.library, name, call, "Level Zero's loader, version 1.0 or newer, is needed");
}

void bind_devices(Api& api) {
  bind(api, "zeInit", api.init);
  bind(api, "zeDriverGet", api.driver_get);
  bind(api, "zeDriverGetProperties", api.driver_get_properties);
  bind(api, "zeDriverGetApiVersion", api.driver_get_api_version);
  bind(api, "zeDeviceGet", api.device_get);
  bind(api, "zeDeviceGetProperties", api.device_get_properties);
  bind(api, "zeDeviceGetComputeProperties", api.device_get_compute_properties);
  bind(api, "zeDeviceGetModuleProperties", api.device_get_module_properties);
  bind(api, "zeDeviceGetMemoryProperties", api.device_get_memory_properties);
  bind(api, "zeDeviceGetCommandQueueGroupProperties", api.device_get_queue_groups);
  bind(api, "zeContextCreate", api.context_create);
  bind(api, "zeContextDestroy", api.context_destroy);
}

void bind_commands(Api& api) {
  bind(api, "zeCommandListCreateImmediate", api.list_create_immediate);
  bind(api, "zeCommandListDestroy", api.list_destroy);
  bind(api, "zeCommandListAppendBarrier", api.append_barrier);
  bind(api, "zeCommandListAppendMemoryCopy", api.append_copy);
  bind(api, "zeCommandListAppendMemoryFill", api.append_fill);
  bind(api, "zeCommandListAppendLaunchKernel", api.append_launch);
  bind(api, "zeMemAllocDevice", api.device_allocate);
  bind(api, "zeMemAllocHost", api.host_allocate);
  bind(api, "zeMemFree", api.memory_free);
}

void bind_programs(Api& api) {
  bind(api, "zeModuleCreate", api.module_create);
  bind(api, "zeModuleDestroy", api.module_destroy);
  bind(api, "zeModuleGetNativeBinary", api.module_get_native);
  bind(api, "zeModuleBuildLogGetString", api.log_get_text);
  bind(api, "zeModuleBuildLogDestroy", api.log_destroy);
  bind(api, "zeKernelCreate", api.kernel_create);
  bind(api, "zeKernelDestroy", api.kernel_destroy);
  bind(api, "zeKernelSetGroupSize", api.kernel_set_group_size);
  bind(api, "zeKernelSetArgumentValue", api.kernel_set_argument);
}

void bind_events(Api& api) {
  bind(api, "zeEventPoolCreate", api.event_pool_create);
  bind(api, "zeEventPoolDestroy", api.event_pool_destroy);
  bind(api, "zeEventCreate", api.event_create);
  bind(api, "zeEventDestroy", api.event_destroy);
  bind(api, "zeEventHostSynchronize", api.event_wait);
  bind(api, "zeEventQueryStatus", api.event_query);
  bind(api, "zeEventHostReset", api.event_reset);
  bind(api, "zeEventQueryKernelTimestamp", api.event_get_timestamps);
}

}  // namespace

std::shared_ptr<const Api> load_api() {
  auto api = std::make_shared<Api>();
  try {
    api->library = std::make_shared<const DynamicLibrary>(kLoader);
  } catch (const Error& error) {
    fail(ErrorCode::not_found, "{}; it is Level Zero's loader: {}", error.what(), kRemedy);
  }
  bind_devices(*api);
  bind_commands(*api);
  bind_programs(*api);
  bind_events(*api);
  return api;
}

std::string status_name(int status) {
  const auto* const found =
      std::find_if(kStatusNames.begin(), kStatusNames.end(), [&](const StatusName& entry) { return entry.status == status; });
  return found != kStatusNames.end() ? found->name : fmt::format("status {:#x}", status);
}

void check(int status, const char* call, const std::string& place) {
  if (status == kSuccess) return;
  const std::string name = status_name(status);
  throw OneApiError(is_memory(status) ? ErrorCode::out_of_memory : ErrorCode::no_device, fmt::format("{}: {}: {}", place, call, name),
                    {call, status, name});
}

}  // namespace wick::oneapi
