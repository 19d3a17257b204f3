// HIP's interface, as far as the ROCm backend uses it, over NVIDIA's driver: both have the same calls and, but for those of attributes, the
// same numbers. A device is said to be of the architecture in HIP_ON_CUDA, gfx1100 by itself: waves of 32 lanes, as NVIDIA's are.
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "forward.h"

namespace {

using Address = unsigned long long;
constexpr int kSuccess = 0, kInvalidValue = 1, kInvalidDevice = 101;

void* library() {
  static void* const instance = forward::must_have(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "libcuda.so.1");
  return instance;
}

template <class... Parameters>
int call(const char* name, Parameters... parameters) {
  return reinterpret_cast<int (*)(Parameters...)>(forward::must_have(dlsym(library(), name), name))(parameters...);
}

int start() {
  static const int status = call("cuInit", 0U);
  return status;
}

std::mutex mutex;
std::map<int, void*> contexts;  // the primary one of each device
thread_local int current = 0;

int context_of(int device, void** context) {
  const std::lock_guard lock(mutex);
  void*& kept = contexts[device];
  if (kept == nullptr) {
    if (const int status = call("cuDevicePrimaryCtxRetain", &kept, device); status != kSuccess) return status;
  }
  *context = kept;
  return kSuccess;
}

}  // namespace

EXPORT int hipRuntimeGetVersion(int* version) {
  *version = 70'100'000;
  return start();
}
EXPORT const char* hipGetErrorName(int status) {
  const char* name = nullptr;
  return call("cuGetErrorName", status, &name) == kSuccess ? name : "hipErrorUnknown";
}
EXPORT int hipGetDeviceCount(int* count) {
  const int status = start();
  return status != kSuccess ? status : call("cuDeviceGetCount", count);
}
// As HIP 6 and newer write it: 1,472 bytes, with the name of the architecture at 1,160.
EXPORT int hipGetDevicePropertiesR0600(void* properties, int device) {
  const char* const architecture = std::getenv("HIP_ON_CUDA");
  std::memset(properties, 0, 1472);
  std::strncpy(static_cast<char*>(properties) + 1160, architecture != nullptr ? architecture : "gfx1100", 255);
  return call("cuDeviceGetName", static_cast<char*>(properties), 255, device);
}
EXPORT int hipDeviceGetAttribute(int* value, int attribute, int device) {
  // HIP's number, CUDA's
  static const std::map<int, int> numbers{{56, 1}, {29, 5}, {30, 6}, {31, 7}, {74, 8}, {63, 16}, {16, 18}, {60, 36}, {59, 37}, {87, 10}};
  const auto found = numbers.find(attribute);
  return found == numbers.end() ? kInvalidValue : call("cuDeviceGetAttribute", value, found->second, device);
}
EXPORT int hipSetDevice(int device) {
  void* context = nullptr;
  if (const int status = context_of(device, &context); status != kSuccess) return status;
  current = device;
  return call("cuCtxSetCurrent", context);
}
EXPORT int hipDeviceReset() { return call("cuDevicePrimaryCtxReset_v2", current); }
EXPORT int hipDeviceEnablePeerAccess(int device, unsigned flags) {
  void* context = nullptr;
  const int status = context_of(device, &context);
  return status != kSuccess ? status : call("cuCtxEnablePeerAccess", context, flags);
}
EXPORT int hipMemcpyPeerAsync(Address to, int to_device, Address from, int from_device, size_t bytes, void* stream) {
  void *to_context = nullptr, *from_context = nullptr;
  if (context_of(to_device, &to_context) != kSuccess || context_of(from_device, &from_context) != kSuccess) return kInvalidDevice;
  return call("cuMemcpyPeerAsync", to, to_context, from, from_context, bytes, stream);
}
FORWARD(hipDeviceGet, "cuDeviceGet", (int* device, int ordinal), (device, ordinal))
FORWARD(hipDeviceGetName, "cuDeviceGetName", (char* name, int bytes, int device), (name, bytes, device))
FORWARD(hipDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char* text, int bytes, int device), (text, bytes, device))
FORWARD(hipDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t* bytes, int device), (bytes, device))
FORWARD(hipMemGetInfo, "cuMemGetInfo_v2", (size_t* free, size_t* total), (free, total))
FORWARD(hipMalloc, "cuMemAlloc_v2", (Address * address, size_t bytes), (address, bytes))
FORWARD(hipFree, "cuMemFree_v2", (Address address), (address))
FORWARD(hipHostMalloc, "cuMemHostAlloc", (void** host, size_t bytes, unsigned flags), (host, bytes, flags))
FORWARD(hipHostFree, "cuMemFreeHost", (void* host), (host))
FORWARD(hipMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (Address to, const void* from, size_t bytes, void* stream), (to, from, bytes, stream))
FORWARD(hipMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void* to, Address from, size_t bytes, void* stream), (to, from, bytes, stream))
FORWARD(hipMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (Address to, Address from, size_t bytes, void* stream), (to, from, bytes, stream))
FORWARD(hipMemsetD8Async, "cuMemsetD8Async", (Address to, unsigned char value, size_t bytes, void* stream), (to, value, bytes, stream))
FORWARD(hipStreamCreateWithFlags, "cuStreamCreate", (void** stream, unsigned flags), (stream, flags))
FORWARD(hipStreamDestroy, "cuStreamDestroy_v2", (void* stream), (stream))
FORWARD(hipStreamSynchronize, "cuStreamSynchronize", (void* stream), (stream))
FORWARD(hipStreamWaitEvent, "cuStreamWaitEvent", (void* stream, void* event, unsigned flags), (stream, event, flags))
FORWARD(hipEventCreateWithFlags, "cuEventCreate", (void** event, unsigned flags), (event, flags))
FORWARD(hipEventDestroy, "cuEventDestroy_v2", (void* event), (event))
FORWARD(hipEventRecord, "cuEventRecord", (void* event, void* stream), (event, stream))
FORWARD(hipEventQuery, "cuEventQuery", (void* event), (event))
FORWARD(hipEventSynchronize, "cuEventSynchronize", (void* event), (event))
FORWARD(hipEventElapsedTime, "cuEventElapsedTime", (float* milliseconds, void* from, void* to), (milliseconds, from, to))
FORWARD(hipModuleLoadData, "cuModuleLoadData", (void** module, const void* image), (module, image))
FORWARD(hipModuleUnload, "cuModuleUnload", (void* module), (module))
FORWARD(hipModuleGetFunction, "cuModuleGetFunction", (void** function, void* module, const char* name), (function, module, name))
FORWARD(hipModuleLaunchKernel, "cuLaunchKernel",
        (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream,
         void** arguments, void** extra),
        (function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra))
FORWARD(hipStreamBeginCapture, "cuStreamBeginCapture_v2", (void* stream, int mode), (stream, mode))
FORWARD(hipStreamEndCapture, "cuStreamEndCapture", (void* stream, void** graph), (stream, graph))
FORWARD(hipGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", (void** executable, void* graph, unsigned long long flags),
        (executable, graph, flags))
FORWARD(hipGraphLaunch, "cuGraphLaunch", (void* executable, void* stream), (executable, stream))
FORWARD(hipGraphExecDestroy, "cuGraphExecDestroy", (void* executable), (executable))
FORWARD(hipGraphDestroy, "cuGraphDestroy", (void* graph), (graph))
