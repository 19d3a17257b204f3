// A driver of NVIDIA's interface or AMD's (hip_names.h) without a GPU: memory of the host, streams that work when somebody waits, and
// kernels that fake_compiler.cpp compiled for the host. FAKE_CUDA="devices=2,version=11000,architecture=70,memory=1000000,cuInit=100" makes
// it what a test needs, FAKE_HIP that of HIP.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>

#include "fake_gpu.h"
#include "fake_module.h"
#include "fake_stream.h"

namespace {

using fake_gpu::Fault;
using fake_gpu::State;
using Address = unsigned long long;

#ifdef FAKE_HIP
constexpr const char* kSettings = "FAKE_HIP";
constexpr const char* kArchitecture = "gfx942:sramecc+:xnack-";
constexpr int kVersion = 70'100'000;
#else
constexpr const char* kSettings = "FAKE_CUDA";
constexpr const char* kArchitecture = "90";
constexpr int kVersion = 12080;
#endif

enum : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600
};

State& state() {
  static State* const instance = [] {
    auto* made = new State;  // lives as long as the process, as a driver does
    const char* text = std::getenv(kSettings);
    std::istringstream entries(text != nullptr ? text : "");
    for (std::string entry; std::getline(entries, entry, ',');) {
      const std::size_t equals = entry.find('=');
      const std::string name = entry.substr(0, equals);
      const std::string text_of_value = equals == std::string::npos ? "" : entry.substr(equals + 1);
      const long long value = std::atoll(text_of_value.c_str());
      if (name == "devices")
        made->devices = static_cast<int>(value);
      else if (name == "version")
        made->version = static_cast<int>(value);
      else if (name == "architecture")
        made->architecture = text_of_value;
      else if (name == "memory")
        made->memory = static_cast<std::size_t>(value);
      else
        made->faults[name] = {.status = static_cast<int>(value)};
    }
    return made;
  }();
  return *instance;
}

std::string architecture() { return state().architecture.empty() ? kArchitecture : state().architecture; }
// What code is compiled for: "90", "gfx942".
std::string processor() { return architecture().substr(0, architecture().find(':')); }

std::recursive_mutex& mutex() {
  static auto* const instance = new std::recursive_mutex;
  return *instance;
}
std::map<Address, std::size_t> blocks;
std::map<char*, std::size_t> pinned;
thread_local void* current_context = nullptr;

struct Stream {
  std::deque<std::function<int()>> work;
  std::size_t done = 0, queued = 0;  // numbers of pieces of work
  bool capturing = false;
  std::vector<std::function<int()>> captured;
};
std::set<Stream*> streams;
struct Event {
  Stream* stream = nullptr;
  std::size_t at = 0;
};
struct Graph {
  std::vector<std::function<int()>> work;
};

// Begins a call: the status that it is made to return, or 0.
int enter(const char* name) {
  State& s = state();
  s.calls.emplace_back(name);
  if (s.lost != 0) return s.lost;
  const auto found = s.faults.find(name);
  if (found == s.faults.end() || found->second.after-- > 0) return 0;
  found->second.after = 0;
  if (found->second.sticky) s.lost = found->second.status;
  return found->second.status;
}

bool is_inside(Address address, std::size_t bytes) {
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return false;
  const auto& [begin, size] = *--after;
  return address + bytes <= begin + size;
}
bool is_pinned(const void* address) {
  auto after = pinned.upper_bound(static_cast<char*>(const_cast<void*>(address)));
  if (after == pinned.begin()) return false;
  --after;
  return address < after->first + after->second;
}

int run_until(Stream& stream, std::size_t number) {
  while (stream.done < number && !stream.work.empty()) {
    const int status = stream.work.front()();
    stream.work.pop_front();
    ++stream.done;
    if (status == 0) continue;
    stream.work.clear();
    return state().lost = status;
  }
  return state().lost;
}
int push(void* handle, std::function<int()> work) {
  auto* stream = static_cast<Stream*>(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (stream->capturing) {
    stream->captured.push_back(std::move(work));
    return kSuccess;
  }
  stream->work.push_back(std::move(work));
  ++stream->queued;
  return kSuccess;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))
#define ENTER                               \
  const std::lock_guard fake_lock(mutex()); \
  if (const int fake_status = enter(__func__); fake_status != 0) return fake_status
#define NEEDS_CONTEXT \
  if (current_context == nullptr) return kInvalidContext

FAKE State* fake_gpu_state() { return &state(); }
FAKE int fake_gpu_push(void* stream, const std::function<int()>& work) {
  const std::lock_guard lock(mutex());
  return push(stream, work);
}

FAKE int cuDriverGetVersion(int* version) {
  ENTER;
  *version = state().version != 0 ? state().version : kVersion;
  return kSuccess;
}
#ifdef FAKE_HIP
FAKE const char* hipGetErrorName(int status) {
  static const std::map<int, const char*> names{{0, "hipSuccess"},
                                                {1, "hipErrorInvalidValue"},
                                                {2, "hipErrorOutOfMemory"},
                                                {100, "hipErrorNoDevice"},
                                                {200, "hipErrorInvalidImage"},
                                                {201, "hipErrorInvalidContext"},
                                                {700, "hipErrorIllegalAddress"},
                                                {701, "hipErrorLaunchOutOfResources"},
                                                {719, "hipErrorLaunchFailure"},
                                                {803, "hipErrorSystemDriverMismatch"}};
  const auto found = names.find(status);
  return found == names.end() ? "hipErrorUnknown" : found->second;
}
// As HIP 6 and newer write it.
FAKE int hipGetDevicePropertiesR0600(void* properties, int device) {
  ENTER;
  std::memset(properties, 0, 1472);
  std::strcpy(static_cast<char*>(properties), ("Fake GPU " + std::to_string(device)).c_str());
  std::strncpy(static_cast<char*>(properties) + 1160, architecture().c_str(), 255);
  return kSuccess;
}
FAKE int hipSetDevice(int device) {
  ENTER;
  if (device < 0 || device >= state().devices) return kInvalidDevice;
  current_context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
  return kSuccess;
}
FAKE int hipDeviceReset() {
  const std::lock_guard lock(mutex());
  state().calls.emplace_back(__func__);
  state().lost = 0;
  return kSuccess;
}
#else
FAKE int cuInit(unsigned) {
  ENTER;
  return state().devices == 0 ? kNoDevice : kSuccess;
}
FAKE int cuGetErrorName(int status, const char** name) {
  static const std::map<int, const char*> names{{0, "CUDA_SUCCESS"},
                                                {1, "CUDA_ERROR_INVALID_VALUE"},
                                                {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                {100, "CUDA_ERROR_NO_DEVICE"},
                                                {200, "CUDA_ERROR_INVALID_IMAGE"},
                                                {201, "CUDA_ERROR_INVALID_CONTEXT"},
                                                {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                                                {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
                                                {719, "CUDA_ERROR_LAUNCH_FAILED"},
                                                {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}};
  const auto found = names.find(status);
  if (found == names.end()) return kInvalidValue;
  *name = found->second;
  return kSuccess;
}
FAKE int cuDevicePrimaryCtxRetain(void** context, int device) {
  ENTER;
  ++state().contexts;
  *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
  return kSuccess;
}
FAKE int cuDevicePrimaryCtxRelease_v2(int) {
  const std::lock_guard lock(mutex());
  state().calls.emplace_back(__func__);
  --state().contexts;
  return kSuccess;
}
FAKE int cuDevicePrimaryCtxReset_v2(int) {
  const std::lock_guard lock(mutex());
  state().calls.emplace_back(__func__);
  state().lost = 0;
  return kSuccess;
}
FAKE int cuCtxSetCurrent(void* context) {
  ENTER;
  current_context = context;
  return kSuccess;
}
#endif
FAKE int cuDeviceGetCount(int* count) {
  ENTER;
  *count = state().devices;
  return state().devices == 0 ? kNoDevice : kSuccess;
}
FAKE int cuDeviceGet(int* device, int ordinal) {
  ENTER;
  if (ordinal < 0 || ordinal >= state().devices) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}
FAKE int cuDeviceGetName(char* name, int length, int device) {
  ENTER;
  std::strncpy(name, ("Fake GPU " + std::to_string(device)).c_str(), static_cast<std::size_t>(length));
  return kSuccess;
}
FAKE int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  ENTER;
  *bytes = state().memory;
  return kSuccess;
}
FAKE int cuDeviceGetPCIBusId(char* text, int length, int device) {
  ENTER;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:4%d:00.0", device);
  return kSuccess;
}
FAKE int cuDeviceGetAttribute(int* value, int attribute, int) {
  ENTER;
#ifdef FAKE_HIP
  const int wave = architecture().starts_with("gfx9") ? 64 : 32;
  const std::map<int, int> values{{56, 1024}, {29, 0x7fffffff}, {30, 65536}, {31, 65536},   {74, 65536},
                                  {63, 304},  {16, 0},          {87, wave},  {60, 2600000}, {59, 8192}};
#else
  const int capability = std::atoi(architecture().c_str());
  const std::map<int, int> values{
      {1, 1024},     {10, 32},   {5, 0x7fffffff},       {6, 65535},           {7, 65535}, {8, 49152}, {16, 132}, {18, 0},
      {36, 3201000}, {37, 6144}, {75, capability / 10}, {76, capability % 10}};
#endif
  const auto found = values.find(attribute);
  if (found == values.end()) return kInvalidValue;
  const auto other = state().attributes.find(attribute);
  *value = other == state().attributes.end() ? found->second : other->second;
  return kSuccess;
}
FAKE int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  ENTER;
  NEEDS_CONTEXT;
  *total = state().memory;
  *free = state().memory - state().allocated;
  return kSuccess;
}
FAKE int cuMemAlloc_v2(Address* address, std::size_t bytes) {
  ENTER;
  NEEDS_CONTEXT;
  if (bytes == 0) return kInvalidValue;
  if (state().allocated + bytes > state().memory) return kOutOfMemory;
  void* block = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  std::memset(block, 0xa5, bytes);
  *address = reinterpret_cast<Address>(block);
  blocks[*address] = bytes;
  state().allocated += bytes;
  return kSuccess;
}
FAKE int cuMemFree_v2(Address address) {
  const std::lock_guard lock(mutex());
  state().calls.emplace_back(__func__);
  const auto found = blocks.find(address);
  if (found == blocks.end()) return kInvalidValue;
  // Drivers wait for what may still use it.
  for (Stream* stream : streams) run_until(*stream, stream->queued);
  state().allocated -= found->second;
  blocks.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
FAKE int cuMemHostAlloc(void** host, std::size_t bytes, unsigned) {
  ENTER;
  NEEDS_CONTEXT;
  *host = std::malloc(bytes);
  pinned[static_cast<char*>(*host)] = bytes;
  state().pinned += bytes;
  return kSuccess;
}
FAKE int cuMemFreeHost(void* host) {
  const std::lock_guard lock(mutex());
  state().calls.emplace_back(__func__);
  const auto found = pinned.find(static_cast<char*>(host));
  if (found == pinned.end()) return kInvalidValue;
  state().pinned -= found->second;
  pinned.erase(found);
  std::free(host);
  return kSuccess;
}
FAKE int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void* stream) {
  ENTER;
  NEEDS_CONTEXT;
  if (!is_inside(to, bytes)) return kInvalidValue;
  // What is not pinned is read before the call returns; what is, when the copy's turn comes.
  std::shared_ptr<std::vector<char>> kept;
  if (!is_pinned(from)) {
    kept = std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    from = kept->data();
  }
  return push(stream, [=] {
    static_cast<void>(kept);
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return 0;
  });
}
FAKE int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void* stream) {
  ENTER;
  NEEDS_CONTEXT;
  if (!is_inside(from, bytes)) return kInvalidValue;
  return push(stream, [=] {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return 0;
  });
}
FAKE int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, void* stream) {
  ENTER;
  NEEDS_CONTEXT;
  if (!is_inside(from, bytes) || !is_inside(to, bytes)) return kInvalidValue;
  return push(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return 0;
  });
}
#ifdef FAKE_HIP
FAKE int hipDeviceEnablePeerAccess(int peer, unsigned) {
  ENTER;
  NEEDS_CONTEXT;
  return peer < state().devices ? kSuccess : kInvalidDevice;
}
FAKE int hipMemcpyPeerAsync(Address to, int, Address from, int, std::size_t bytes, void* stream) {
#else
FAKE int cuCtxEnablePeerAccess(void* context, unsigned) {
  ENTER;
  NEEDS_CONTEXT;
  return context == current_context ? kInvalidDevice : kSuccess;
}
FAKE int cuMemcpyPeerAsync(Address to, void*, Address from, void*, std::size_t bytes, void* stream) {
#endif
  ENTER;
  NEEDS_CONTEXT;
  if (!is_inside(from, bytes) || !is_inside(to, bytes)) return kInvalidValue;
  return push(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return 0;
  });
}
FAKE int cuMemsetD8Async(Address to, unsigned char value, std::size_t bytes, void* stream) {
  ENTER;
  NEEDS_CONTEXT;
  if (!is_inside(to, bytes)) return kInvalidValue;
  return push(stream, [=] {
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    return 0;
  });
}
FAKE int cuStreamCreate(void** stream, unsigned) {
  ENTER;
  NEEDS_CONTEXT;
  *stream = *streams.insert(new Stream).first;
  ++state().streams;
  return kSuccess;
}
FAKE int cuStreamDestroy_v2(void* stream) {
  const std::lock_guard lock(mutex());
  state().calls.emplace_back(__func__);
  streams.erase(static_cast<Stream*>(stream));
  delete static_cast<Stream*>(stream);
  --state().streams;
  return kSuccess;
}
FAKE int cuStreamSynchronize(void* handle) {
  ENTER;
  NEEDS_CONTEXT;
  auto* stream = static_cast<Stream*>(handle);
  return run_until(*stream, stream->queued);
}
FAKE int cuStreamWaitEvent(void* stream, void* handle, unsigned) {
  ENTER;
  NEEDS_CONTEXT;
  Stream* const other = static_cast<Event*>(handle)->stream;
  const std::size_t at = static_cast<Event*>(handle)->at;
  return other == nullptr ? kInvalidHandle : push(stream, [=] { return run_until(*other, at); });
}
FAKE int cuEventCreate(void** event, unsigned) {
  ENTER;
  NEEDS_CONTEXT;
  *event = new Event;
  ++state().events;
  return kSuccess;
}
FAKE int cuEventDestroy_v2(void* event) {
  const std::lock_guard lock(mutex());
  state().calls.emplace_back(__func__);
  delete static_cast<Event*>(event);
  --state().events;
  return kSuccess;
}
FAKE int cuEventRecord(void* handle, void* stream) {
  ENTER;
  auto* event = static_cast<Event*>(handle);
  event->stream = static_cast<Stream*>(stream);
  event->at = event->stream->queued;
  return kSuccess;
}
FAKE int cuEventQuery(void* handle) {
  ENTER;
  const auto* event = static_cast<Event*>(handle);
  return event->stream == nullptr || event->stream->done >= event->at ? kSuccess : kNotReady;
}
FAKE int cuEventSynchronize(void* handle) {
  ENTER;
  const auto* event = static_cast<Event*>(handle);
  return event->stream == nullptr ? kSuccess : run_until(*event->stream, event->at);
}
FAKE int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  ENTER;
  *milliseconds = static_cast<float>(static_cast<Event*>(to)->at - static_cast<Event*>(from)->at);
  return kSuccess;
}
FAKE int cuModuleLoadData(void** module, const void* image) {
  ENTER;
  NEEDS_CONTEXT;
  fake_gpu::ImageHeader header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.magic, fake_gpu::kImageMagic, sizeof header.magic) != 0) return kInvalidImage;
  if (header.target[0] != 0 && header.target != processor()) return kInvalidImage;
  std::string file = (std::filesystem::temp_directory_path() / "fake-gpu-XXXXXX").string();
  const int descriptor = mkstemp(file.data());
  if (descriptor < 0) return kOutOfMemory;
  close(descriptor);
  std::ofstream(file, std::ios::binary).write(static_cast<const char*>(image) + sizeof header, static_cast<std::streamsize>(header.bytes));
  *module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);  // queued work may be of it
  unlink(file.c_str());
  if (*module == nullptr) return kInvalidImage;
  ++state().modules;
  return kSuccess;
}
FAKE int cuModuleUnload(void* module) {
  const std::lock_guard lock(mutex());
  state().calls.emplace_back(__func__);
  --state().modules;
  return dlclose(module) == 0 ? kSuccess : kInvalidHandle;
}
FAKE int cuModuleGetFunction(void** function, void* module, const char* name) {
  ENTER;
  *function = dlsym(module, (std::string("fake_bind_") + name).c_str());
  return *function != nullptr ? kSuccess : kNotFound;
}
FAKE int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned,
                        void* stream, void** parameters, void**) {
  ENTER;
  NEEDS_CONTEXT;
  if (gx == 0 || gy == 0 || gz == 0 || by != 1 || bz != 1 || bx > 1024) return kInvalidValue;
  std::unique_ptr<std::function<void(const unsigned*, unsigned)>> bound(reinterpret_cast<fake_gpu::Bind>(function)(parameters));
  std::shared_ptr<std::function<void(const unsigned*, unsigned)>> kernel = std::move(bound);
  return push(stream, [=] {
    if (const auto found = state().faults.find("kernel"); found != state().faults.end() && found->second.after-- <= 0) {
      return found->second.status;
    }
    const unsigned grid[3] = {gx, gy, gz};
    (*kernel)(grid, bx);
    return 0;
  });
}
#ifndef FAKE_HIP
namespace {
// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int id, padding, value[16];
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  const LaunchAttribute* attributes;
  unsigned count;
};
}  // namespace
FAKE int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** parameters, void** extra) {
  {
    const std::lock_guard lock(mutex());
    state().calls.emplace_back(__func__);
  }
  constexpr int kProgrammaticStreamSerialization = 6;
  if (config->count != 1 || config->attributes->id != kProgrammaticStreamSerialization || config->attributes->value[0] != 1 ||
      std::atoi(architecture().c_str()) < 90) {
    return kInvalidValue;
  }
  return cuLaunchKernel(function, config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1], config->block[2],
                        config->shared_bytes, config->stream, parameters, extra);
}
#endif
FAKE int cuStreamBeginCapture_v2(void* handle, int) {
  ENTER;
  static_cast<Stream*>(handle)->capturing = true;
  return kSuccess;
}
FAKE int cuStreamEndCapture(void* handle, void** graph) {
  ENTER;
  auto* stream = static_cast<Stream*>(handle);
  stream->capturing = false;
  *graph = new Graph{std::move(stream->captured)};
  stream->captured.clear();
  ++state().graphs;
  return kSuccess;
}
FAKE int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  ENTER;
  *executable = new Graph(*static_cast<Graph*>(graph));
  ++state().graphs;
  return kSuccess;
}
FAKE int cuGraphLaunch(void* executable, void* stream) {
  ENTER;
  for (const auto& work : static_cast<Graph*>(executable)->work) {
    if (const int status = push(stream, work)) return status;
  }
  return kSuccess;
}
FAKE int cuGraphExecDestroy(void* graph) {
  const std::lock_guard lock(mutex());
  state().calls.emplace_back(__func__);
  delete static_cast<Graph*>(graph);
  --state().graphs;
  return kSuccess;
}
FAKE int cuGraphDestroy(void* graph) { return cuGraphExecDestroy(graph); }
