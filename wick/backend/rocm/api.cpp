#include "wick/backend/rocm/api.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

#include "wick/backend/rocm/rocm.h"
#include "wick/base/fail.h"

namespace wick::rocm {
namespace {

// The newest major version whose library's name we know, and the oldest that we take. Both grow with AMD's releases.
constexpr int kNewestMajor = 8, kOldestMajor = 5;
constexpr std::string_view kToolkit = "/opt/rocm/lib/";

const Api& own(const StreamApi& api) { return static_cast<const Api&>(api); }

template <class... Parameters>
void bind(const DynamicLibrary& library, const char* name, StreamCall<Parameters...>& call) {
  static const std::string needed = fmt::format("HIP {} or newer is needed", version_text(kOldestVersion));
  bind_call(library, name, call, needed);
}

void bind_streams(const DynamicLibrary& library, StreamApi& api) {
  bind(library, "hipMemGetInfo", api.memory_info);
  bind(library, "hipMalloc", api.memory_allocate);
  bind(library, "hipFree", api.memory_free);
  bind(library, "hipHostMalloc", api.host_allocate);
  bind(library, "hipHostFree", api.host_free);
  bind(library, "hipMemcpyHtoDAsync", api.copy_to_device);
  bind(library, "hipMemcpyDtoHAsync", api.copy_to_host);
  bind(library, "hipMemcpyDtoDAsync", api.copy_on_device);
  bind(library, "hipMemsetD8Async", api.fill_bytes);
  bind(library, "hipStreamCreateWithFlags", api.stream_create);
  bind(library, "hipStreamDestroy", api.stream_destroy);
  bind(library, "hipStreamSynchronize", api.stream_wait);
  bind(library, "hipStreamWaitEvent", api.stream_wait_event);
  bind(library, "hipEventCreateWithFlags", api.event_create);
  bind(library, "hipEventDestroy", api.event_destroy);
  bind(library, "hipEventRecord", api.event_record);
  bind(library, "hipEventQuery", api.event_query);
  bind(library, "hipEventSynchronize", api.event_wait);
  bind(library, "hipEventElapsedTime", api.event_elapsed);
  bind(library, "hipModuleLoadData", api.module_load);
  bind(library, "hipModuleUnload", api.module_unload);
  bind(library, "hipModuleGetFunction", api.module_function);
  bind(library, "hipModuleLaunchKernel", api.launch);
  bind(library, "hipStreamBeginCapture", api.capture_begin);
  bind(library, "hipStreamEndCapture", api.capture_end);
  bind(library, "hipGraphInstantiateWithFlags", api.graph_instantiate);
  bind(library, "hipGraphLaunch", api.graph_launch);
  bind(library, "hipGraphExecDestroy", api.graph_executable_destroy);
  bind(library, "hipGraphDestroy", api.graph_destroy);
}

void bind_devices(const DynamicLibrary& library, Api& api) {
  bind(library, "hipGetDeviceCount", api.device_count);
  bind(library, "hipDeviceGet", api.device_get);
  bind(library, "hipDeviceGetName", api.device_name);
  bind(library, "hipDeviceTotalMem", api.device_memory);
  bind(library, "hipDeviceGetAttribute", api.device_attribute);
  bind(library, "hipDeviceGetPCIBusId", api.device_bus_id);
  // From HIP 6 on, the structure is another and the function has a name of its own; the old name keeps the old structure.
  constexpr const char* kFromSix = "hipGetDevicePropertiesR0600";
  const bool is_new = library.find(kFromSix) != nullptr;
  bind(library, is_new ? kFromSix : "hipGetDeviceProperties", api.device_properties);
  api.architecture_at = is_new ? 1160 : 396;
}

// HIP's contexts are deprecated, and each device has but one. Our handle of it is the device's number + 1.
StreamHandle context_of(int device) { return reinterpret_cast<StreamHandle>(static_cast<intptr_t>(device) + 1); }
int device_of(StreamHandle context) { return static_cast<int>(reinterpret_cast<intptr_t>(context) - 1); }

void bind_peers(const DynamicLibrary& library, Api& api) {
  bind(library, "hipMemcpyPeerAsync", api.copy_between_devices);
  bind(library, "hipDeviceEnablePeerAccess", api.device_enable_peer);
  api.copy_from_peer = {
      api.copy_between_devices.name, [](const StreamApi& calls, StreamAddress target, StreamHandle target_context, StreamAddress source,
                                        StreamHandle source_context, size_t bytes, StreamHandle stream) {
        return own(calls).copy_between_devices.address(target, device_of(target_context), source, device_of(source_context), bytes, stream);
      }};
  api.peer_enable = {api.device_enable_peer.name, [](const StreamApi& calls, StreamHandle context) {
                       return own(calls).device_enable_peer.address(device_of(context), 0);
                     }};
}

// The device that the calling thread works on.
void bind_contexts(const DynamicLibrary& library, Api& api) {
  bind(library, "hipSetDevice", api.set_device);
  bind(library, "hipDeviceReset", api.reset_device);
  api.context_open = {api.set_device.name, [](const StreamApi& calls, int device, StreamHandle* context) {
                        *context = context_of(device);
                        return own(calls).set_device.address(device);
                      }};
  api.context_close = {api.set_device.name, [](const StreamApi&, int) { return 0; }};
  api.context_reset = {api.reset_device.name, [](const StreamApi& calls, int device) {
                         const int status = own(calls).set_device.address(device);
                         return status != 0 ? status : own(calls).reset_device.address();
                       }};
  api.context_enter = {api.set_device.name,
                       [](const StreamApi& calls, StreamHandle context) { return own(calls).set_device.address(device_of(context)); }};
}

std::string status_name(const StreamApi& api, int status) {
  const char* const name = own(api).error_name(status);
  return name == nullptr ? fmt::format("status {}", status) : name;
}

}  // namespace

Api::Api()
    : StreamApi(DeviceKind::rocm, {.max_group_size = 56,
                                   .max_grid_x = 29,
                                   .max_grid_y = 30,
                                   .max_grid_z = 31,
                                   .max_shared_bytes = 74,
                                   .processors = 63,
                                   .integrated = 16,
                                   .memory_clock = 60,
                                   .memory_bus = 59}) {}

void raise_rocm_error(ErrorCode code, const std::string& message, DriverFailure failure) {
  throw RocmError(code, message, std::move(failure));
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 10'000'000, version / 100'000 % 100); }

std::vector<std::string> libraries_of(std::string_view name, int newest_major, int oldest_major) {
  std::vector<std::string> names;
  for (int major = newest_major; major >= oldest_major; --major) {
    names.push_back(fmt::format("lib{}.so.{}", name, major));
    names.push_back(fmt::format("{}lib{}.so.{}", kToolkit, name, major));
  }
  return names;
}

std::vector<std::string> hip_libraries() { return libraries_of("amdhip64", kNewestMajor, kOldestMajor); }

std::shared_ptr<const Api> load_api(std::span<const std::string> libraries) {
  auto api = std::make_shared<Api>();
  api->library = open_first(libraries, "HIP, AMD's run-time library", "install ROCm, or Debian's package libamdhip64-5");
  api->status_name = status_name;
  api->raise = raise_rocm_error;
  const DynamicLibrary& library = *api->library;
  bind(library, "hipRuntimeGetVersion", api->runtime_version);
  api->error_name = library.function<const char*(int)>("hipGetErrorName");
  if (api->error_name == nullptr) fail(ErrorCode::unsupported, "library {} has no hipGetErrorName", library.name());
  check_status(*api, api->runtime_version.address(&api->version), api->runtime_version.name, library.name());
  if (api->version < kOldestVersion) {
    fail(ErrorCode::unsupported, "{} is HIP {}, and {} is needed: install a newer ROCm", library.name(), version_text(api->version),
         version_text(kOldestVersion));
  }
  bind_devices(library, *api);
  bind_contexts(library, *api);
  bind_streams(library, *api);
  bind_peers(library, *api);
  return api;
}

}  // namespace wick::rocm
