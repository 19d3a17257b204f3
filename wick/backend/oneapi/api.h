// The functions of Level Zero's loader, found when the program runs: nothing is linked, and no header of Intel's is needed.
#pragma once

#include <memory>
#include <string>

#include "wick/backend/oneapi/abi.h"
#include "wick/device/streams/stream_api.h"

namespace wick::oneapi {

struct Api {
  StreamCall<uint32_t> init;
  StreamCall<uint32_t*, DriverHandle*> driver_get;
  StreamCall<DriverHandle, DriverProperties*> driver_get_properties;
  StreamCall<DriverHandle, uint32_t*> driver_get_api_version;
  StreamCall<DriverHandle, uint32_t*, DeviceHandle*> device_get;
  StreamCall<DeviceHandle, DeviceProperties*> device_get_properties;
  StreamCall<DeviceHandle, ComputeProperties*> device_get_compute_properties;
  StreamCall<DeviceHandle, ModuleProperties*> device_get_module_properties;
  StreamCall<DeviceHandle, uint32_t*, MemoryProperties*> device_get_memory_properties;
  StreamCall<DeviceHandle, uint32_t*, QueueGroupProperties*> device_get_queue_groups;
  StreamCall<DriverHandle, const ContextDescription*, ContextHandle*> context_create;
  StreamCall<ContextHandle> context_destroy;
  StreamCall<ContextHandle, DeviceHandle, const QueueDescription*, ListHandle*> list_create_immediate;
  StreamCall<ListHandle> list_destroy;
  // Each signals an event, if one is given, and waits for so many others.
  StreamCall<ListHandle, EventHandle, uint32_t, EventHandle*> append_barrier;
  StreamCall<ListHandle, void*, const void*, size_t, EventHandle, uint32_t, EventHandle*> append_copy;
  StreamCall<ListHandle, void*, const void*, size_t, size_t, EventHandle, uint32_t, EventHandle*> append_fill;
  StreamCall<ListHandle, KernelHandle, const GroupCount*, EventHandle, uint32_t, EventHandle*> append_launch;
  StreamCall<ContextHandle, const DeviceMemoryDescription*, size_t, size_t, DeviceHandle, void**> device_allocate;  // bytes, alignment
  StreamCall<ContextHandle, const HostMemoryDescription*, size_t, size_t, void**> host_allocate;
  StreamCall<ContextHandle, void*> memory_free;
  StreamCall<ContextHandle, DeviceHandle, const ModuleDescription*, ModuleHandle*, LogHandle*> module_create;
  StreamCall<ModuleHandle> module_destroy;
  StreamCall<ModuleHandle, size_t*, uint8_t*> module_get_native;
  StreamCall<LogHandle, size_t*, char*> log_get_text;
  StreamCall<LogHandle> log_destroy;
  StreamCall<ModuleHandle, const KernelDescription*, KernelHandle*> kernel_create;
  StreamCall<KernelHandle> kernel_destroy;
  StreamCall<KernelHandle, uint32_t, uint32_t, uint32_t> kernel_set_group_size;
  StreamCall<KernelHandle, uint32_t, size_t, const void*> kernel_set_argument;
  StreamCall<ContextHandle, const EventPoolDescription*, uint32_t, DeviceHandle*, EventPoolHandle*> event_pool_create;
  StreamCall<EventPoolHandle> event_pool_destroy;
  StreamCall<EventPoolHandle, const EventDescription*, EventHandle*> event_create;
  StreamCall<EventHandle> event_destroy;
  StreamCall<EventHandle, uint64_t> event_wait;  // nanoseconds at most
  StreamCall<EventHandle> event_query;
  StreamCall<EventHandle> event_reset;
  StreamCall<EventHandle, KernelTimestamps*> event_get_timestamps;

  // Where the functions come from.
  std::shared_ptr<const DynamicLibrary> library;
};

// Opens the loader. Errors: not_found, saying what to install; unsupported for a library that lacks a function, which is named.
[[nodiscard]] std::shared_ptr<const Api> load_api();

// "ZE_RESULT_ERROR_DEVICE_LOST"; a number without a name as "status 0x7ff00009".
[[nodiscard]] std::string status_name(int status);
[[nodiscard]] constexpr bool is_memory(int status) noexcept { return status == kOutOfHostMemory || status == kOutOfDeviceMemory; }
// Whether it says that the call cannot be, rather than that the device failed.
[[nodiscard]] constexpr bool is_invalid_call(int status) noexcept { return status >= kUninitialized && status != kUnknown; }

// Throws a OneApiError unless the status is 0: out_of_memory or no_device, "<place>: <call>: <status>".
void check(int status, const char* call, const std::string& place);

template <class... Parameters, class... Arguments>
void checked(const std::string& place, const StreamCall<Parameters...>& call, Arguments... arguments) {
  check(call.address(arguments...), call.name, place);
}

}  // namespace wick::oneapi
