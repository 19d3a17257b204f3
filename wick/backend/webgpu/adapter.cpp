#include "wick/backend/webgpu/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wick/base/error.h"

namespace wick::webgpu {
namespace {

// The parameters of a launch, as a uniform buffer that every adapter allows.
constexpr uint32_t kParameterBytes = 256;

// In the order of BackendType.
constexpr std::string_view kInterfaces[] = {
    "an unknown interface", "nothing", "WebGPU", "Direct3D 11", "Direct3D 12", "Metal", "Vulkan", "OpenGL", "OpenGL ES"};

// In the order of AdapterType.
constexpr Hardware kHardware[] = {Hardware::other, Hardware::discrete_gpu, Hardware::integrated_gpu, Hardware::processor, Hardware::other};

template <class Name, size_t count, class Number>
Name name_of(const Name (&names)[count], Number number) {
  const auto place = static_cast<size_t>(number);
  return names[place < count ? place : 0];
}

DeviceCaps describe(const Adapter& adapter, const AdapterInfo& info) {
  const auto has = [&](FeatureName feature) {
    return std::find(adapter.features.begin(), adapter.features.end(), feature) != adapter.features.end();
  };
  const Limits& limits = adapter.limits;
  DeviceCaps caps;
  caps.name = info.device.view();
  caps.driver = fmt::format("wgpu {} on {}", adapter.api->version, name_of(kInterfaces, info.backend));
  if (!info.description.view().empty()) caps.driver += fmt::format(", {}", info.description.view());
  caps.max_shared_bytes = limits.max_compute_workgroup_storage_size;
  caps.max_buffer_bytes = std::min(limits.max_storage_buffer_binding_size, limits.max_buffer_size) / 256 * 256;
  caps.buffer_offset_alignment = std::max(16U, limits.min_storage_buffer_offset_alignment);
  caps.max_group_size = std::min(limits.max_compute_invocations_per_workgroup, limits.max_compute_workgroup_size_x);
  caps.max_storage_buffers = limits.max_storage_buffers_per_shader_stage;
  caps.max_parameter_bytes = kParameterBytes;
  caps.max_group_count.fill(limits.max_compute_workgroups_per_dimension);
  // A size of subgroups cannot be asked for: only where there is one alone is it known.
  const bool one_size = info.subgroup_min_size == info.subgroup_max_size && info.subgroup_min_size > 0;
  const uint32_t size = one_size ? info.subgroup_min_size : known_subgroup_size(info.device.view());
  if (has(FeatureName::subgroups) && size > 1) caps.min_subgroup_size = caps.max_subgroup_size = static_cast<int>(size);
  caps.f16_arithmetic = has(FeatureName::shader_f16);
  caps.int8_dot = true;         // part of the language
  caps.f32_subnormals = false;  // the language lets implementations flush them
  return caps;
}

Adapter found(const std::shared_ptr<const Api>& api, AdapterHandle handle) {
  Adapter adapter;
  adapter.api = api;
  adapter.handle = {handle, [api](AdapterHandle gone) { api->adapter_release(gone); }};
  api->adapter_get_limits(handle, &adapter.limits);
  adapter.limits.next = nullptr;
  adapter.limits.max_immediate_size = 0;  // of a feature that is not asked for
  for (const FeatureName feature : {FeatureName::shader_f16, FeatureName::subgroups}) {
    if (api->adapter_has_feature(handle, feature) != 0) adapter.features.push_back(feature);
  }
  AdapterInfo info;
  api->adapter_get_info(handle, &info);
  adapter.hardware = name_of(kHardware, info.type);
  adapter.caps = describe(adapter, info);
  api->adapter_info_free_members(info);
  return adapter;
}

Installation find() {
  Installation result;
  try {
    const auto api = std::make_shared<const Api>();
    const InstanceExtras extras;
    const InstanceDescriptor descriptor{.next = &extras.chain};
    const Instance instance = api->create_instance(&descriptor);  // lives as long as its adapters do: to the end
    const EnumerateOptions options;
    std::vector<AdapterHandle> handles(instance == nullptr ? 0 : api->enumerate_adapters(instance, &options, nullptr));
    if (!handles.empty()) handles.resize(api->enumerate_adapters(instance, &options, handles.data()));
    for (const AdapterHandle handle : handles) result.adapters.push_back(found(api, handle));
    if (handles.empty()) {
      result.missing = fmt::format(
          "wgpu-native {} finds no adapter; install the Vulkan driver of the GPU, and look with vulkaninfo --summary", api->version);
    }
  } catch (const Error& error) {
    result.missing = error.what();
  }
  return result;
}

}  // namespace

const Installation& installation() {
  static const Installation found = find();
  return found;
}

}  // namespace wick::webgpu
