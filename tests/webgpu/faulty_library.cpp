// wgpu-native, but for what WGPU_FAULTS asks for: "shared=1024,largest=65536,storage_buffers=2" are limits of its adapters, "discrete=1"
// calls them discrete GPUs, "device=0" opens none of them, "memory=1000000" makes larger buffers fail, "refuse=1" breaks each text,
// "lost=3" destroys the device when its third submission is begun. What is not here is the library's own, which this one is linked with.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "fault_setting.h"
#include "wick/backend/webgpu/abi.h"

using namespace wick::webgpu;

#define FAULTY extern "C" [[gnu::visibility("default")]]

namespace {

uint64_t setting(const std::string& name, uint64_t otherwise) {
  return static_cast<uint64_t>(wick::fault_setting("WGPU_FAULTS", name, static_cast<long>(otherwise)));
}

// wgpu-native's own function.
template <class Signature>
Signature* original(const char* name) {
  return reinterpret_cast<Signature*>(::dlsym(RTLD_NEXT, name));
}

bool out_of_memory = false;  // until somebody asks for it

}  // namespace

FAULTY uint32_t wgpuAdapterGetLimits(AdapterHandle adapter, Limits* limits) {
  const uint32_t status = original<uint32_t(AdapterHandle, Limits*)>("wgpuAdapterGetLimits")(adapter, limits);
  const auto lower = [](auto& limit, const char* name) { limit = std::min<uint64_t>(limit, setting(name, limit)); };
  lower(limits->max_compute_workgroup_storage_size, "shared");
  lower(limits->max_buffer_size, "largest");
  lower(limits->max_storage_buffers_per_shader_stage, "storage_buffers");
  return status;
}

FAULTY uint32_t wgpuAdapterGetInfo(AdapterHandle adapter, AdapterInfo* info) {
  const uint32_t status = original<uint32_t(AdapterHandle, AdapterInfo*)>("wgpuAdapterGetInfo")(adapter, info);
  if (setting("discrete", 0) != 0) info->type = AdapterType::discrete_gpu;
  return status;
}

FAULTY Future wgpuAdapterRequestDevice(AdapterHandle adapter, const DeviceDescriptor* descriptor,
                                       Callback<RequestDeviceFunction> callback) {
  if (setting("device", 1) != 0) {
    using Request = Future(AdapterHandle, const DeviceDescriptor*, Callback<RequestDeviceFunction>);
    return original<Request>("wgpuAdapterRequestDevice")(adapter, descriptor, callback);
  }
  callback.function(kSuccess + 1, nullptr, std::string_view("told to open none"), callback.data, callback.more);
  return {};
}

FAULTY BufferHandle wgpuDeviceCreateBuffer(DeviceHandle device, const BufferDescriptor* descriptor) {
  if (descriptor->size <= setting("memory", UINT64_MAX)) {
    return original<BufferHandle(DeviceHandle, const BufferDescriptor*)>("wgpuDeviceCreateBuffer")(device, descriptor);
  }
  out_of_memory = true;
  return nullptr;
}

FAULTY Future wgpuDevicePopErrorScope(DeviceHandle device, Callback<PopErrorFunction> callback) {
  const Callback<PopErrorFunction> wanted = callback;
  if (out_of_memory) {
    callback.function = [](uint32_t, ErrorType, Text, void*, void*) {};
  }
  const Future future = original<Future(DeviceHandle, Callback<PopErrorFunction>)>("wgpuDevicePopErrorScope")(device, callback);
  if (out_of_memory) {
    wanted.function(kSuccess, ErrorType::out_of_memory, std::string_view("told to have no memory"), wanted.data, wanted.more);
  }
  out_of_memory = false;
  return future;
}

FAULTY ShaderModule wgpuDeviceCreateShaderModuleTrusted(DeviceHandle device, const LabelDescriptor* descriptor, Flags checks) {
  WgslSource broken;
  broken.code = std::string_view("fn broken() { no_such_function(); }");
  LabelDescriptor changed = *descriptor;
  if (setting("refuse", 0) != 0) changed.next = &broken.chain;
  using Create = ShaderModule(DeviceHandle, const LabelDescriptor*, Flags);
  return original<Create>("wgpuDeviceCreateShaderModuleTrusted")(device, &changed, checks);
}

FAULTY CommandEncoder wgpuDeviceCreateCommandEncoder(DeviceHandle device, const LabelDescriptor* descriptor) {
  static uint64_t encoders = 0;
  if (++encoders == setting("lost", 0)) original<void(DeviceHandle)>("wgpuDeviceDestroy")(device);
  return original<CommandEncoder(DeviceHandle, const LabelDescriptor*)>("wgpuDeviceCreateCommandEncoder")(device, descriptor);
}
