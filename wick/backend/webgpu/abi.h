// WebGPU's C interface as wgpu-native 29 has it: of webgpu.h and wgpu.h the types that this backend uses, with the same layout in memory.
// Interfaces of other versions, and Dawn's, differ: load_api() refuses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Opaque types of webgpu.h's handles.
struct WGPUInstanceImpl;
struct WGPUAdapterImpl;
struct WGPUDeviceImpl;
struct WGPUQueueImpl;
struct WGPUBufferImpl;
struct WGPUShaderModuleImpl;
struct WGPUBindGroupImpl;
struct WGPUBindGroupLayoutImpl;
struct WGPUPipelineLayoutImpl;
struct WGPUComputePipelineImpl;
struct WGPUCommandEncoderImpl;
struct WGPUCommandBufferImpl;
struct WGPUComputePassEncoderImpl;

namespace wick::webgpu {

// The major version of wgpu-native that these declarations are of.
inline constexpr uint32_t kAbiVersion = 29;

using Instance = WGPUInstanceImpl*;
using AdapterHandle = WGPUAdapterImpl*;
using DeviceHandle = WGPUDeviceImpl*;
using QueueHandle = WGPUQueueImpl*;
using BufferHandle = WGPUBufferImpl*;
using ShaderModule = WGPUShaderModuleImpl*;
using BindGroup = WGPUBindGroupImpl*;
using BindGroupLayout = WGPUBindGroupLayoutImpl*;
using PipelineLayout = WGPUPipelineLayoutImpl*;
using ComputePipeline = WGPUComputePipelineImpl*;
using CommandEncoder = WGPUCommandEncoderImpl*;
using CommandBuffer = WGPUCommandBufferImpl*;
using ComputePass = WGPUComputePassEncoderImpl*;

using Flags = uint64_t;
using Bool = uint32_t;

inline constexpr size_t kTerminated = SIZE_MAX;  // of a text that ends with a zero

struct Text {
  const char* data = nullptr;
  size_t length = kTerminated;

  Text() = default;
  Text(std::string_view text) : data(text.data()), length(text.size()) {}  // NOLINT: a text is a text
  [[nodiscard]] std::string_view view() const noexcept {
    if (data == nullptr) return {};
    return length == kTerminated ? std::string_view(data) : std::string_view(data, length);
  }
};

enum class StructureType : uint32_t { wgsl_source = 2, instance_extras = 0x00030004 };
struct Chained {
  const Chained* next = nullptr;
  StructureType type{};
};

// --- instances and adapters -----------------------------------------------------------------------------------------------------------

inline constexpr Flags kVulkan = 1, kMetal = 4, kDirect3D12 = 8;  // what an instance looks for

struct InstanceExtras {
  Chained chain{nullptr, StructureType::instance_extras};
  Flags backends = kVulkan | kMetal | kDirect3D12;
  Flags flags = 0;
  uint32_t direct3d_compiler = 0, gles_minor_version = 0, gl_fence_behaviour = 0;
  Text dxc_path = {};
  uint32_t dxc_shader_model = 0, direct3d_swapchain = 0;
  const uint8_t *creation_budget = nullptr, *loss_budget = nullptr;
  struct {
    uint32_t kind = 0;
    void* display = nullptr;
    int screen = 0;
  } display;
};
struct InstanceDescriptor {
  const Chained* next = nullptr;
  size_t feature_count = 0;
  const uint32_t* features = nullptr;
  const void* limits = nullptr;
};
struct EnumerateOptions {
  const Chained* next = nullptr;
  Flags backends = kVulkan | kMetal | kDirect3D12;
};

enum class AdapterType : uint32_t { discrete_gpu = 1, integrated_gpu, cpu, unknown };
enum class BackendType : uint32_t { undefined, null, webgpu, d3d11, d3d12, metal_api, vulkan_api, opengl, opengl_es };

struct AdapterInfo {
  Chained* next = nullptr;
  Text vendor = {}, architecture = {}, device = {}, description = {};
  BackendType backend{};
  AdapterType type{};
  uint32_t vendor_id = 0, device_id = 0;
  uint32_t subgroup_min_size = 0, subgroup_max_size = 0;
};

enum class FeatureName : uint32_t { shader_f16 = 0x0b, subgroups = 0x00030021 };  // the last is wgpu-native's own

// No limit requested: the adapter's default applies.
inline constexpr uint32_t kUndefined32 = UINT32_MAX;
inline constexpr uint64_t kUndefined64 = UINT64_MAX;

struct Limits {
  Chained* next = nullptr;
  uint32_t max_texture_dimension_1d = kUndefined32, max_texture_dimension_2d = kUndefined32, max_texture_dimension_3d = kUndefined32,
           max_texture_array_layers = kUndefined32, max_bind_groups = kUndefined32, max_bind_groups_plus_vertex_buffers = kUndefined32,
           max_bindings_per_bind_group = kUndefined32, max_dynamic_uniform_buffers_per_pipeline_layout = kUndefined32,
           max_dynamic_storage_buffers_per_pipeline_layout = kUndefined32, max_sampled_textures_per_shader_stage = kUndefined32,
           max_samplers_per_shader_stage = kUndefined32, max_storage_buffers_per_shader_stage = kUndefined32,
           max_storage_textures_per_shader_stage = kUndefined32, max_uniform_buffers_per_shader_stage = kUndefined32;
  uint64_t max_uniform_buffer_binding_size = kUndefined64, max_storage_buffer_binding_size = kUndefined64;
  uint32_t min_uniform_buffer_offset_alignment = kUndefined32, min_storage_buffer_offset_alignment = kUndefined32,
           max_vertex_buffers = kUndefined32;
  uint64_t max_buffer_size = kUndefined64;
  uint32_t max_vertex_attributes = kUndefined32, max_vertex_buffer_array_stride = kUndefined32,
           max_inter_stage_shader_variables = kUndefined32, max_color_attachments = kUndefined32,
           max_color_attachment_bytes_per_sample = kUndefined32, max_compute_workgroup_storage_size = kUndefined32,
           max_compute_invocations_per_workgroup = kUndefined32, max_compute_workgroup_size_x = kUndefined32,
           max_compute_workgroup_size_y = kUndefined32, max_compute_workgroup_size_z = kUndefined32,
           max_compute_workgroups_per_dimension = kUndefined32, max_immediate_size = kUndefined32;
};

// --- devices and their errors -----------------------------------------------------------------------------------------------------------

enum class CallbackMode : uint32_t { wait_any_only = 1, allow_process_events, allow_spontaneous };
enum class ErrorFilter : uint32_t { validation = 1, out_of_memory };
enum class ErrorType : uint32_t { none = 1, validation, out_of_memory, internal, unknown };
inline constexpr uint32_t kSuccess = 1;  // of the statuses that callbacks are given

template <class Function>
struct Callback {
  Chained* next = nullptr;
  CallbackMode mode = CallbackMode::allow_spontaneous;
  Function* function = nullptr;
  void *data = nullptr, *more = nullptr;
};
using DeviceLostFunction = void(const DeviceHandle* device, uint32_t reason, Text message, void* data, void* more);
using ErrorFunction = void(const DeviceHandle* device, ErrorType type, Text message, void* data, void* more);
using RequestDeviceFunction = void(uint32_t status, DeviceHandle device, Text message, void* data, void* more);
using PopErrorFunction = void(uint32_t status, ErrorType type, Text message, void* data, void* more);
using StatusFunction = void(uint32_t status, Text message, void* data, void* more);

struct ErrorCallback {
  Chained* next = nullptr;
  ErrorFunction* function = nullptr;
  void *data = nullptr, *more = nullptr;
};
struct Future {
  uint64_t id = 0;
};
// The descriptor of a queue, a shader module, an encoder or a command buffer.
struct LabelDescriptor {
  const Chained* next = nullptr;
  Text label = {};
};
struct DeviceDescriptor {
  const Chained* next = nullptr;
  Text label = {};
  size_t feature_count = 0;
  const FeatureName* features = nullptr;
  const Limits* limits = nullptr;
  LabelDescriptor queue;
  Callback<DeviceLostFunction> lost;
  ErrorCallback error;
};

// --- memory and programs ----------------------------------------------------------------------------------------------------------------

inline constexpr Flags kMapRead = 1, kCopySource = 4, kCopyTarget = 8, kUniform = 0x40, kStorage = 0x80;  // usages of a buffer
inline constexpr Flags kMapModeRead = 1;
inline constexpr Flags kComputeStage = 4;

struct BufferDescriptor {
  const Chained* next = nullptr;
  Text label = {};
  Flags usage = 0;
  uint64_t size = 0;
  Bool mapped_at_creation = 0;
};
struct WgslSource {
  Chained chain{nullptr, StructureType::wgsl_source};
  Text code = {};
};

enum class BindingType : uint32_t { not_used, undefined, uniform, storage, read_only_storage };
// The layout of another kind of binding.
template <int numbers>
struct NotUsed {
  const Chained* next = nullptr;
  uint32_t values[numbers] = {};
};
struct BindGroupLayoutEntry {
  const Chained* next = nullptr;
  uint32_t binding = 0;
  Flags visibility = kComputeStage;
  uint32_t array_size = 0;
  struct {
    const Chained* next = nullptr;
    BindingType type{};
    Bool has_dynamic_offset = 0;
    uint64_t min_binding_size = 0;
  } buffer;
  NotUsed<1> sampler;
  NotUsed<3> texture, storage_texture;
};
struct BindGroupLayoutDescriptor {
  const Chained* next = nullptr;
  Text label = {};
  size_t count = 0;
  const BindGroupLayoutEntry* entries = nullptr;
};
struct BindGroupEntry {
  const Chained* next = nullptr;
  uint32_t binding = 0;
  BufferHandle buffer = nullptr;
  uint64_t offset = 0, size = 0;
  void *sampler = nullptr, *texture_view = nullptr;
};
struct BindGroupDescriptor {
  const Chained* next = nullptr;
  Text label = {};
  BindGroupLayout layout = nullptr;
  size_t count = 0;
  const BindGroupEntry* entries = nullptr;
};
struct PipelineLayoutDescriptor {
  const Chained* next = nullptr;
  Text label = {};
  size_t count = 0;
  const BindGroupLayout* layouts = nullptr;
  uint32_t immediate_size = 0;
};
struct ComputePipelineDescriptor {
  const Chained* next = nullptr;
  Text label = {};
  PipelineLayout layout = nullptr;
  struct {
    const Chained* next = nullptr;
    ShaderModule module = nullptr;
    Text entry_point;
    size_t constant_count = 0;
    const void* constants = nullptr;
  } compute;
};
struct ComputePassDescriptor {
  const Chained* next = nullptr;
  Text label = {};
  const void* timestamp_writes = nullptr;
};

}  // namespace wick::webgpu
