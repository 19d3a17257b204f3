#include "wick/backend/webgpu/api.h"

#include <fmt/format.h>

#include <array>

#include "wick/base/fail.h"

namespace wick::webgpu {
namespace {

constexpr std::string_view kRemedy =
    "install wgpu-native 29 from github.com/gfx-rs/wgpu-native, or `pip install wgpu==0.32.0`, and put the folder of its library into "
    "WICK_LIBRARY_PATH";

// As its own releases name it, and as PyPI's package wgpu does.
const std::array<std::string, 2> kLibraries{"libwgpu_native.so", "libwgpu_native-release.so"};

std::string version_text(uint32_t version) {
  return fmt::format("{}.{}.{}.{}", version >> 24, version >> 16 & 0xff, version >> 8 & 0xff, version & 0xff);
}

template <class Result, class... Arguments>
void bind(const Api& api, const char* name, Result (*&function)(Arguments...)) {
  function = api.library->function<Result(Arguments...)>(name);
  if (function != nullptr) return;
  const std::string version = api.version.empty() ? "no wgpu-native" : fmt::format("wgpu-native {}", api.version);
  fail(ErrorCode::unsupported, "library {} has no {}: it is {}, and this backend calls version {}; {}", api.library->name(), name, version,
       kAbiVersion, kRemedy);
}

void bind_instance(Api& api) {
  bind(api, "wgpuCreateInstance", api.create_instance);
  bind(api, "wgpuInstanceEnumerateAdapters", api.enumerate_adapters);
  bind(api, "wgpuInstanceRelease", api.instance_release);
  bind(api, "wgpuAdapterGetInfo", api.adapter_get_info);
  bind(api, "wgpuAdapterInfoFreeMembers", api.adapter_info_free_members);
  bind(api, "wgpuAdapterGetLimits", api.adapter_get_limits);
  bind(api, "wgpuAdapterHasFeature", api.adapter_has_feature);
  bind(api, "wgpuAdapterRequestDevice", api.adapter_request_device);
  bind(api, "wgpuAdapterRelease", api.adapter_release);
}

void bind_device(Api& api) {
  bind(api, "wgpuDeviceGetQueue", api.device_get_queue);
  bind(api, "wgpuDevicePushErrorScope", api.device_push_error_scope);
  bind(api, "wgpuDevicePopErrorScope", api.device_pop_error_scope);
  bind(api, "wgpuDevicePoll", api.device_poll);
  bind(api, "wgpuDeviceCreateBuffer", api.device_create_buffer);
  bind(api, "wgpuDeviceCreateBindGroup", api.device_create_bind_group);
  bind(api, "wgpuDeviceCreateBindGroupLayout", api.device_create_bind_group_layout);
  bind(api, "wgpuDeviceCreatePipelineLayout", api.device_create_pipeline_layout);
  bind(api, "wgpuDeviceCreateShaderModuleTrusted", api.device_create_trusted_module);
  bind(api, "wgpuDeviceCreateComputePipeline", api.device_create_compute_pipeline);
  bind(api, "wgpuDeviceCreateCommandEncoder", api.device_create_command_encoder);
  bind(api, "wgpuDeviceDestroy", api.device_destroy);
  bind(api, "wgpuDeviceRelease", api.device_release);
  bind(api, "wgpuQueueSubmitForIndex", api.queue_submit);
  bind(api, "wgpuQueueOnSubmittedWorkDone", api.queue_on_submitted_work_done);
  bind(api, "wgpuQueueWriteBuffer", api.queue_write_buffer);
  bind(api, "wgpuQueueRelease", api.queue_release);
}

void bind_objects(Api& api) {
  bind(api, "wgpuBufferMapAsync", api.buffer_map_async);
  bind(api, "wgpuBufferGetConstMappedRange", api.buffer_get_const_mapped_range);
  bind(api, "wgpuBufferUnmap", api.buffer_unmap);
  bind(api, "wgpuBufferDestroy", api.buffer_destroy);
  bind(api, "wgpuBufferRelease", api.buffer_release);
  bind(api, "wgpuShaderModuleRelease", api.shader_module_release);
  bind(api, "wgpuBindGroupRelease", api.bind_group_release);
  bind(api, "wgpuBindGroupLayoutRelease", api.bind_group_layout_release);
  bind(api, "wgpuPipelineLayoutRelease", api.pipeline_layout_release);
  bind(api, "wgpuComputePipelineRelease", api.compute_pipeline_release);
  bind(api, "wgpuCommandEncoderBeginComputePass", api.encoder_begin_compute_pass);
  bind(api, "wgpuCommandEncoderClearBuffer", api.encoder_clear_buffer);
  bind(api, "wgpuCommandEncoderCopyBufferToBuffer", api.encoder_copy_buffer);
  bind(api, "wgpuCommandEncoderFinish", api.encoder_finish);
  bind(api, "wgpuCommandEncoderRelease", api.encoder_release);
  bind(api, "wgpuCommandBufferRelease", api.command_buffer_release);
  bind(api, "wgpuComputePassEncoderSetPipeline", api.pass_set_pipeline);
  bind(api, "wgpuComputePassEncoderSetBindGroup", api.pass_set_bind_group);
  bind(api, "wgpuComputePassEncoderDispatchWorkgroups", api.pass_dispatch);
  bind(api, "wgpuComputePassEncoderEnd", api.pass_end);
  bind(api, "wgpuComputePassEncoderRelease", api.pass_release);
}

}  // namespace

std::shared_ptr<const Api> load_api() {
  auto api = std::make_shared<Api>();
  api->library = open_first(kLibraries, "wgpu-native, an implementation of WebGPU", kRemedy);
  // Before anything else is called: of another version, structures would have another layout.
  bind(*api, "wgpuGetVersion", api->get_version);
  const uint32_t version = api->get_version();
  api->version = version_text(version);
  if (version >> 24 != kAbiVersion) {
    fail(ErrorCode::unsupported, "library {} is wgpu-native {}, and this backend calls version {}; {}", api->library->name(), api->version,
         kAbiVersion, kRemedy);
  }
  bind_instance(*api);
  bind_device(*api);
  bind_objects(*api);
  return api;
}

}  // namespace wick::webgpu
