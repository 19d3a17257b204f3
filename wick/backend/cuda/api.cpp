#include "wick/backend/cuda/api.h"

#include <fmt/format.h>

#include <array>

#include "wick/backend/cuda/cuda.h"
#include "wick/base/fail.h"

namespace wick::cuda {
namespace {

const Api& own(const StreamApi& api) { return static_cast<const Api&>(api); }

template <class... Parameters>
void bind(const DynamicLibrary& library, const char* name, StreamCall<Parameters...>& call) {
  static const std::string needed = fmt::format("a driver of CUDA {} or newer is needed", version_text(kOldestDriver));
  bind_call(library, name, call, needed);
}

void bind_streams(const DynamicLibrary& library, StreamApi& api) {
  bind(library, "cuMemGetInfo_v2", api.memory_info);
  bind(library, "cuMemAlloc_v2", api.memory_allocate);
  bind(library, "cuMemFree_v2", api.memory_free);
  bind(library, "cuMemHostAlloc", api.host_allocate);
  bind(library, "cuMemFreeHost", api.host_free);
  bind(library, "cuMemcpyHtoDAsync_v2", api.copy_to_device);
  bind(library, "cuMemcpyDtoHAsync_v2", api.copy_to_host);
  bind(library, "cuMemcpyDtoDAsync_v2", api.copy_on_device);
  bind(library, "cuMemsetD8Async", api.fill_bytes);
  bind(library, "cuStreamCreate", api.stream_create);
  bind(library, "cuStreamDestroy_v2", api.stream_destroy);
  bind(library, "cuStreamSynchronize", api.stream_wait);
  bind(library, "cuStreamWaitEvent", api.stream_wait_event);
  bind(library, "cuEventCreate", api.event_create);
  bind(library, "cuEventDestroy_v2", api.event_destroy);
  bind(library, "cuEventRecord", api.event_record);
  bind(library, "cuEventQuery", api.event_query);
  bind(library, "cuEventSynchronize", api.event_wait);
  bind(library, "cuEventElapsedTime", api.event_elapsed);
  bind(library, "cuModuleLoadData", api.module_load);
  bind(library, "cuModuleUnload", api.module_unload);
  bind(library, "cuModuleGetFunction", api.module_function);
  bind(library, "cuLaunchKernel", api.launch);
  bind(library, "cuStreamBeginCapture_v2", api.capture_begin);
  bind(library, "cuStreamEndCapture", api.capture_end);
  bind(library, "cuGraphInstantiateWithFlags", api.graph_instantiate);
  bind(library, "cuGraphLaunch", api.graph_launch);
  bind(library, "cuGraphExecDestroy", api.graph_executable_destroy);
  bind(library, "cuGraphDestroy", api.graph_destroy);
}

// "Programmatic dependent launch". Graphs record it since CUDA 12.3.
void bind_early_launches(const DynamicLibrary& library, Api& api) {
  constexpr int kOldest = 12030;
  if (api.version < kOldest) return;
  bind(library, "cuLaunchKernelEx", api.launch_with);
  api.launch_early = {api.launch_with.name, [](const StreamApi& calls, const StreamLaunch& launch) {
                        constexpr int kProgrammaticStreamSerialization = 6;
                        const LaunchAttribute attribute{.id = kProgrammaticStreamSerialization, .value = {1}};
                        const LaunchConfig config{.groups = {launch.groups_x, launch.groups_y, launch.groups_z},
                                                  .lanes = {launch.lanes, 1, 1},
                                                  .stream = launch.stream,
                                                  .attributes = &attribute,
                                                  .attribute_count = 1};
                        return own(calls).launch_with.address(&config, launch.function, launch.arguments, nullptr);
                      }};
}

void bind_devices(const DynamicLibrary& library, Api& api) {
  bind(library, "cuDeviceGetCount", api.device_count);
  bind(library, "cuDeviceGet", api.device_get);
  bind(library, "cuDeviceGetName", api.device_name);
  bind(library, "cuDeviceTotalMem_v2", api.device_memory);
  bind(library, "cuDeviceGetAttribute", api.device_attribute);
  bind(library, "cuDeviceGetPCIBusId", api.device_bus_id);
}

void bind_peers(const DynamicLibrary& library, Api& api) {
  bind(library, "cuMemcpyPeerAsync", api.copy_between_contexts);
  bind(library, "cuCtxEnablePeerAccess", api.context_enable_peer);
  api.copy_from_peer = {api.copy_between_contexts.name,
                        [](const StreamApi& calls, StreamAddress target, StreamHandle target_context, StreamAddress source,
                           StreamHandle source_context, size_t bytes, StreamHandle stream) {
                          return own(calls).copy_between_contexts.address(target, target_context, source, source_context, bytes, stream);
                        }};
  api.peer_enable = {api.context_enable_peer.name,
                     [](const StreamApi& calls, StreamHandle context) { return own(calls).context_enable_peer.address(context, 0); }};
}

// The device's primary context, which NVIDIA's other libraries use too.
void bind_contexts(const DynamicLibrary& library, Api& api) {
  bind(library, "cuDevicePrimaryCtxRetain", api.primary_context_retain);
  bind(library, "cuDevicePrimaryCtxRelease_v2", api.primary_context_release);
  bind(library, "cuDevicePrimaryCtxReset_v2", api.primary_context_reset);
  bind(library, "cuCtxSetCurrent", api.context_set_current);
  api.context_open = {api.primary_context_retain.name, [](const StreamApi& calls, int device, StreamHandle* context) {
                        return own(calls).primary_context_retain.address(context, device);
                      }};
  api.context_close = {api.primary_context_release.name,
                       [](const StreamApi& calls, int device) { return own(calls).primary_context_release.address(device); }};
  api.context_reset = {api.primary_context_reset.name,
                       [](const StreamApi& calls, int device) { return own(calls).primary_context_reset.address(device); }};
  api.context_enter = {api.context_set_current.name,
                       [](const StreamApi& calls, StreamHandle context) { return own(calls).context_set_current.address(context); }};
}

std::string status_name(const StreamApi& api, int status) {
  const char* name = nullptr;
  if (own(api).error_name.address(status, &name) != 0 || name == nullptr) return fmt::format("status {}", status);
  return name;
}

}  // namespace

Api::Api()
    : StreamApi(DeviceKind::cuda, {.max_group_size = 1,
                                   .max_grid_x = 5,
                                   .max_grid_y = 6,
                                   .max_grid_z = 7,
                                   .max_shared_bytes = 8,
                                   .processors = 16,
                                   .integrated = 18,
                                   .memory_clock = 36,
                                   .memory_bus = 37}) {}

void raise_cuda_error(ErrorCode code, const std::string& message, DriverFailure failure) {
  throw CudaError(code, message, std::move(failure));
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::shared_ptr<const Api> load_api(const std::string& name) {
  auto api = std::make_shared<Api>();
  api->library = open_first(std::array{name}, "the NVIDIA driver", "install it, where the machine has a GPU of NVIDIA");
  api->status_name = status_name;
  api->raise = raise_cuda_error;
  const DynamicLibrary& library = *api->library;
  bind(library, "cuInit", api->init);
  bind(library, "cuGetErrorName", api->error_name);
  bind(library, "cuDriverGetVersion", api->driver_version);
  check_status(*api, api->driver_version.address(&api->version), api->driver_version.name, name);
  if (api->version < kOldestDriver) {
    fail(ErrorCode::unsupported, "the NVIDIA driver knows CUDA {}, and {} is needed: install a newer driver", version_text(api->version),
         version_text(kOldestDriver));
  }
  bind_devices(library, *api);
  bind_contexts(library, *api);
  bind_streams(library, *api);
  bind_peers(library, *api);
  bind_early_launches(library, *api);
  check_status(*api, api->init.address(0), api->init.name, name);
  return api;
}

}  // namespace wick::cuda
