// A StreamApi holds the calls of a driver whose queues are streams: what several vendors' drivers have alike, each under its own name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "wick/base/dynlib.h"
#include "wick/base/fail.h"
#include "wick/device/device_kind.h"
#include "wick/device/driver_error.h"

namespace wick {

// A call of the driver; it gives a status, 0 where it succeeded.
template <class... Parameters>
struct StreamCall {
  const char* name = "";
  int (*address)(Parameters...) = nullptr;
};

using StreamAddress = uint64_t;  // of a byte in the device's memory
using StreamHandle = void*;      // a context, stream, event, module, function or graph

// The statuses that the vendors number alike.
inline constexpr int kStatusOutOfMemory = 2, kStatusNoDevice = 100, kStatusNotReady = 600, kStatusContextIsDestroyed = 709;

// How the driver numbers what it tells of a device.
struct StreamAttributes {
  int max_group_size = 0, max_grid_x = 0, max_grid_y = 0, max_grid_z = 0;
  int max_shared_bytes = 0, processors = 0, integrated = 0;
  int memory_clock = 0, memory_bus = 0;  // kHz, bits
};

// A kernel as a stream is given it; the bytes of shared memory are the kernel's own.
struct StreamLaunch {
  StreamHandle function = nullptr;
  unsigned groups_x = 1, groups_y = 1, groups_z = 1, lanes = 1;
  StreamHandle stream = nullptr;
  void** arguments = nullptr;  // their addresses
};

struct OpenContext;

struct StreamApi {
  StreamApi(DeviceKind kind_of_devices, const StreamAttributes& numbers) : kind(kind_of_devices), attributes(numbers) {}

  DeviceKind kind;
  StreamAttributes attributes;
  StreamCall<int*> device_count;
  StreamCall<int*, int> device_get;         // the driver's number of an ordinal
  StreamCall<char*, int, int> device_name;  // bytes, device
  StreamCall<size_t*, int> device_memory;
  StreamCall<char*, int, int> device_bus_id;    // where it is on the PCI bus; bytes, device
  StreamCall<int*, int, int> device_attribute;  // attribute, device
  // The context of a device; functions of the backend, as vendors have different things for it.
  StreamCall<const StreamApi&, int, StreamHandle*> context_open;
  StreamCall<const StreamApi&, int> context_close;
  StreamCall<const StreamApi&, int> context_reset;           // loses everything that is in it
  StreamCall<const StreamApi&, StreamHandle> context_enter;  // by the calling thread
  StreamCall<size_t*, size_t*> memory_info;                  // bytes that are free, and all
  StreamCall<StreamAddress*, size_t> memory_allocate;
  StreamCall<StreamAddress> memory_free;
  StreamCall<void**, size_t, unsigned> host_allocate;  // pinned; flags
  StreamCall<void*> host_free;
  StreamCall<StreamAddress, const void*, size_t, StreamHandle> copy_to_device;
  StreamCall<void*, StreamAddress, size_t, StreamHandle> copy_to_host;
  StreamCall<StreamAddress, StreamAddress, size_t, StreamHandle> copy_on_device;
  StreamCall<StreamAddress, unsigned char, size_t, StreamHandle> fill_bytes;
  // From the memory of another device: target and its context, source and its context, bytes, a stream of the target's; and what lets the
  // current context reach that one's memory itself, which fails where it cannot, or already does. Functions of the backend.
  StreamCall<const StreamApi&, StreamAddress, StreamHandle, StreamAddress, StreamHandle, size_t, StreamHandle> copy_from_peer;
  StreamCall<const StreamApi&, StreamHandle> peer_enable;
  StreamCall<StreamHandle*, unsigned> stream_create;  // flags: 1 for one that does not wait for the legacy stream
  StreamCall<StreamHandle> stream_destroy;
  StreamCall<StreamHandle> stream_wait;
  StreamCall<StreamHandle, StreamHandle, unsigned> stream_wait_event;  // what the stream does next waits for the event; flags: 0
  StreamCall<StreamHandle*, unsigned> event_create;
  StreamCall<StreamHandle> event_destroy;
  StreamCall<StreamHandle, StreamHandle> event_record;  // of a stream
  StreamCall<StreamHandle> event_query;
  StreamCall<StreamHandle> event_wait;
  StreamCall<float*, StreamHandle, StreamHandle> event_elapsed;  // milliseconds
  StreamCall<StreamHandle*, const void*> module_load;
  StreamCall<StreamHandle> module_unload;
  StreamCall<StreamHandle*, StreamHandle, const char*> module_function;
  // function, groups and lanes in x, y and z, bytes of shared memory beside the kernel's own, stream, addresses of the arguments, nullptr
  StreamCall<StreamHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle, void**, void**> launch;
  // Launches a kernel that begins by waiting for the work before it: its groups may be scheduled while that work still runs. No
  // address where the driver has no such call.
  StreamCall<const StreamApi&, const StreamLaunch&> launch_early;
  // Graph functions; null if the driver has none.
  StreamCall<StreamHandle, int> capture_begin;  // mode: 2 lets other threads do as they like
  StreamCall<StreamHandle, StreamHandle*> capture_end;
  StreamCall<StreamHandle*, StreamHandle, unsigned long long> graph_instantiate;
  StreamCall<StreamHandle, StreamHandle> graph_launch;
  StreamCall<StreamHandle> graph_executable_destroy;
  StreamCall<StreamHandle> graph_destroy;

  std::string (*status_name)(const StreamApi& api, int status) = nullptr;
  // Throws the vendor's own DriverError.
  void (*raise)(ErrorCode code, const std::string& message, DriverFailure failure) = nullptr;

  std::shared_ptr<const DynamicLibrary> library;  // where the calls come from

  // The contexts that are open, by device (stream_context.h).
  mutable std::mutex contexts_mutex;
  mutable std::multimap<int, std::weak_ptr<OpenContext>> contexts;
};

// Finds a call in the driver's library. Errors: unsupported, naming what it lacks and what is `needed`.
template <class... Parameters>
void bind_call(const DynamicLibrary& library, const char* name, StreamCall<Parameters...>& call, std::string_view needed) {
  call = {name, library.function<int(Parameters...)>(name)};
  if (call.address == nullptr) fail(ErrorCode::unsupported, "library {} has no {}: {}", library.name(), name, needed);
}

// Whether a status says that the call cannot be, rather than that the device failed: numbers below 700, where the device's begin; but not
// 214, an uncorrectable error of memory.
[[nodiscard]] constexpr bool is_call_status(int status) noexcept { return status < 700 && status != 214; }

// Throws unless the status is 0: out_of_memory or no_device, "<place>: <call>: <status>".
inline void check_status(const StreamApi& api, int status, const char* call, const std::string& place) {
  if (status == 0) return;
  const std::string name = api.status_name(api, status);
  api.raise(status == kStatusOutOfMemory ? ErrorCode::out_of_memory : ErrorCode::no_device, place + ": " + call + ": " + name,
            {call, status, name});
}

}  // namespace wick
