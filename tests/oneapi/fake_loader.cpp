// Level Zero's loader with one device, which is an OpenCL driver's (PoCL): calls are checked as the specification has them, kernels and
// copies are executed. What Level Zero leaves unordered, the commands between two barriers, runs in the reverse of its order.
// FAKE_ZE="gpu=1,shared=64,zeMemAllocDevice=1879048195" makes it what a test needs (number()); calls by name give a status from the first
// on, or from the one after so many with "after=5".
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "fault_setting.h"
#include "oneapi/fake_loader.h"
#include "oneapi/fake_module.h"
#include "wick/backend/oneapi/abi.h"

using namespace wick::oneapi;

namespace {

constexpr int kInvalidArgument = 0x78000004, kInvalidNullPointer = 0x78000007, kInvalidNativeBinary = 0x7800000f;
constexpr int kInvalidKernelName = 0x78000011, kInvalidArgumentIndex = 0x78000015, kInvalidStructure = 0x7800000c;

struct FakeEvent {
  bool signalled = false, queued = false;
  uint64_t ticks = 0;
};
struct FakeModule {
  cl_program program = nullptr;
  size_t addresses = 0;  // among the arguments of its kernel: the first ones
};
struct FakeArgument {
  std::vector<std::byte> bytes;
  bool is_set = false, is_address = false;
};
struct FakeKernel {
  cl_kernel handle = nullptr;
  std::array<size_t, 3> lanes{};
  std::vector<FakeArgument> arguments;
};
struct FakeCommand {
  std::function<void()> run;
  FakeEvent* signals = nullptr;
};
struct FakeLog {
  std::string text;
};

// All of it, under one lock: the driver is one, and so is its device.
struct Machine {
  std::recursive_mutex mutex;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  std::map<std::byte*, size_t> blocks;  // addresses and sizes of device memory
  std::map<std::byte*, size_t> host_blocks;
  std::vector<FakeCommand> unordered;  // since the last barrier
  std::vector<FakeEvent*> running;     // signalled when the OpenCL queue is done
  std::map<std::string, int, std::less<>> failures;
  std::map<std::string, unsigned, std::less<>> calls;
};

Machine& machine() {
  static Machine instance;
  return instance;
}

// One driver, device, context and list: their handles are addresses that nobody looks at.
std::array<char, 4> places;
template <class Handle>
Handle place(size_t number) {
  return reinterpret_cast<Handle>(&places[number]);
}

uint64_t now() { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }

long number(const std::string& name, long otherwise) { return wick::fault_setting("FAKE_ZE", name, otherwise); }

// Counts the call; its status, if a test wants one.
int begin(const char* call, bool is_work = false) {
  Machine& m = machine();
  ++m.calls[call];
  if (const long status = number(call, 0); status != 0 && m.calls[call] > number("after", 0)) return static_cast<int>(status);
  if (const auto found = m.failures.find(call); found != m.failures.end()) return found->second;
  const auto all = m.failures.find("*");
  return is_work && all != m.failures.end() ? all->second : kSuccess;
}

// The memory that this byte belongs to, up to its end; 0 where it is none of ours.
size_t room_at(const std::map<std::byte*, size_t>& blocks, const void* address) {
  auto* const byte = static_cast<std::byte*>(const_cast<void*>(address));
  auto next = blocks.upper_bound(byte);
  if (next == blocks.begin()) return 0;
  --next;
  return byte < next->first + next->second ? static_cast<size_t>(next->first + next->second - byte) : 0;
}
bool is_memory_of(const void* address, size_t bytes) {
  return std::max(room_at(machine().blocks, address), room_at(machine().host_blocks, address)) >= bytes;
}

// Hands the unordered commands over, the last one first.
void hand_over() {
  Machine& m = machine();
  for (auto command = m.unordered.rbegin(); command != m.unordered.rend(); ++command) {
    command->run();
    if (command->signals != nullptr) m.running.push_back(command->signals);
  }
  m.unordered.clear();
}

void complete() {
  Machine& m = machine();
  hand_over();
  clFinish(m.queue);
  for (FakeEvent* event : m.running) {
    event->signalled = true;
    event->ticks = now();
  }
  m.running.clear();
}

int append(EventHandle signal, uint32_t waits, std::function<void()> run) {
  if (waits != 0) return kInvalidArgument;  // this backend waits for nothing
  auto* const event = reinterpret_cast<FakeEvent*>(signal);
  if (event != nullptr && (event->signalled || event->queued)) return kInvalidArgument;  // it was not reset
  if (event != nullptr) event->queued = true;
  machine().unordered.push_back({std::move(run), event});
  return kSuccess;
}

std::string build_log(cl_program program) {
  size_t bytes = 0;
  clGetProgramBuildInfo(program, machine().device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  clGetProgramBuildInfo(program, machine().device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  return log;
}

bool open_machine() {
  Machine& m = machine();
  if (m.context != nullptr) return true;
  cl_platform_id platforms[8];
  cl_uint count = 0;
  if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) return false;
  for (cl_uint i = 0; i < count && m.device == nullptr; ++i) {
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &m.device, nullptr) != CL_SUCCESS) m.device = nullptr;
  }
  if (m.device == nullptr) return false;
  cl_int status = CL_SUCCESS;
  m.context = clCreateContext(nullptr, 1, &m.device, nullptr, nullptr, &status);
  if (status == CL_SUCCESS) m.queue = clCreateCommandQueueWithProperties(m.context, m.device, nullptr, &status);
  return status == CL_SUCCESS;
}

template <class T>
T info(cl_device_info what) {
  T value{};
  clGetDeviceInfo(machine().device, what, sizeof(value), &value, nullptr);
  return value;
}

// Sets the arguments that a launch was given, as later ones may set others before it runs.
void run_kernel(cl_kernel kernel, const std::vector<FakeArgument>& arguments, const std::array<size_t, 3>& all, const size_t* lanes) {
  cl_uint index = 0;
  for (const FakeArgument& argument : arguments) {
    if (argument.is_address) {
      void* address = nullptr;
      std::memcpy(&address, argument.bytes.data(), sizeof(address));
      clSetKernelArgSVMPointer(kernel, index++, address);
    } else {
      clSetKernelArg(kernel, index++, argument.bytes.size(), argument.bytes.data());
    }
  }
  if (clEnqueueNDRangeKernel(machine().queue, kernel, 3, nullptr, all.data(), lanes, 0, nullptr, nullptr) != CL_SUCCESS) std::abort();
}

// Level Zero's own options are none of OpenCL's.
std::string opencl_options(const std::string& given) {
  std::istringstream words(given);
  std::string options, word;
  while (words >> word) {
    if (!word.starts_with("-ze-opt-")) options += " " + word;
  }
  return options;
}

// How many arguments of a text's one kernel are addresses: a driver's binary does not tell.
size_t count_addresses(const std::string& text) {
  const size_t begin = text.find("__kernel"), end = text.find('{', begin);
  size_t count = 0;
  for (size_t at = text.find("__global", begin); at < end; at = text.find("__global", at + 1)) ++count;
  return count;
}

cl_program program_of(const ModuleDescription& description, size_t& addresses, cl_int& status) {
  Machine& m = machine();
  const std::string_view bytes(reinterpret_cast<const char*>(description.module), description.bytes);
  if (description.format == ModuleFormat::native) {
    if (!bytes.starts_with(kFakeNative) || bytes.size() == kFakeNative.size()) {
      status = CL_INVALID_BINARY;
      return nullptr;
    }
    addresses = static_cast<unsigned char>(bytes[kFakeNative.size()]);
    const std::string_view binary = bytes.substr(kFakeNative.size() + 1);
    const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
    const size_t size = binary.size();
    return clCreateProgramWithBinary(m.context, 1, &m.device, &size, &data, nullptr, &status);
  }
  const std::string text = fake_module_text(bytes);
  const char* source = text.c_str();
  addresses = count_addresses(text);
  return clCreateProgramWithSource(m.context, 1, &source, nullptr, &status);
}

}  // namespace

#define FAKE extern "C" [[gnu::visibility("default")]] int
#define BEGIN(is_work)                         \
  const std::lock_guard lock(machine().mutex); \
  if (const int wanted = begin(__func__, is_work); wanted != kSuccess) return wanted

extern "C" [[gnu::visibility("default")]] void fake_ze_fail(const char* call, int status) {
  const std::lock_guard lock(machine().mutex);
  if (status == kSuccess) {
    machine().failures.erase(call);
  } else {
    machine().failures[call] = status;
  }
}
extern "C" [[gnu::visibility("default")]] unsigned fake_ze_calls(const char* call) {
  const std::lock_guard lock(machine().mutex);
  return machine().calls[call];
}

FAKE zeInit(uint32_t flags) {
  BEGIN(false);
  if (flags > 1) return kInvalidStructure;
  return number("drivers", 1) > 0 && open_machine() ? kSuccess : kUninitialized;
}

FAKE zeDriverGet(uint32_t* count, DriverHandle* drivers) {
  BEGIN(false);
  if (count == nullptr) return kInvalidNullPointer;
  if (drivers != nullptr && *count > 0) drivers[0] = place<DriverHandle>(0);
  *count = 1;
  return kSuccess;
}

FAKE zeDriverGetProperties(DriverHandle, DriverProperties* properties) {
  BEGIN(false);
  if (properties->type != StructureType::driver_properties) return kInvalidStructure;
  properties->version = 0x01030000;
  return kSuccess;
}

FAKE zeDriverGetApiVersion(DriverHandle, uint32_t* version) {
  BEGIN(false);
  *version = static_cast<uint32_t>(number("version", 1)) << 16U | 3U;
  return kSuccess;
}

FAKE zeDeviceGet(DriverHandle, uint32_t* count, DeviceHandle* devices) {
  BEGIN(false);
  const uint32_t there = number("devices", 1) > 0 ? 1 : 0;
  if (devices != nullptr && *count > 0 && there > 0) devices[0] = place<DeviceHandle>(1);
  *count = there;
  return kSuccess;
}

FAKE zeDeviceGetProperties(DeviceHandle, DeviceProperties* properties) {
  BEGIN(false);
  if (properties->structure != StructureType::device_properties) return kInvalidStructure;
  properties->type = number("gpu", 0) > 0 ? DeviceType::gpu : DeviceType::cpu;
  properties->vendor_id = 0x8086;
  properties->device_id = kFakeDeviceId;
  properties->max_allocation_bytes = number("largest", static_cast<long>(info<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE)));
  properties->slices = 1;
  properties->subslices_per_slice = info<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS);
  properties->timer_resolution = 1;
  properties->kernel_timestamp_bits = 32;
  std::strcpy(properties->name.data(), "fake Level Zero over OpenCL");
  return kSuccess;
}

FAKE zeDeviceGetComputeProperties(DeviceHandle, ComputeProperties* properties) {
  BEGIN(false);
  if (properties->type != StructureType::device_compute_properties) return kInvalidStructure;
  properties->max_group_size = static_cast<uint32_t>(info<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE));
  properties->max_group_sizes.fill(properties->max_group_size);
  properties->max_group_counts.fill(0x7fffffff);
  properties->max_shared_bytes = static_cast<uint32_t>(number("shared", static_cast<long>(info<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE))));
  return kSuccess;
}

FAKE zeDeviceGetModuleProperties(DeviceHandle, ModuleProperties* properties) {
  BEGIN(false);
  if (properties->type != StructureType::device_module_properties) return kInvalidStructure;
  const auto floats = info<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG);
  properties->spirv_version = 0x10002;
  properties->flags = kHasF64;
  properties->f32_flags =
      ((floats & CL_FP_DENORM) != 0 ? kSubnormals : 0U) | ((floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0 ? kRoundedDivideSqrt : 0U);
  properties->max_arguments_bytes = 1024;
  return kSuccess;
}

FAKE zeDeviceGetMemoryProperties(DeviceHandle, uint32_t* count, MemoryProperties* properties) {
  BEGIN(false);
  if (properties != nullptr && *count > 0) {
    if (properties->type != StructureType::device_memory_properties) return kInvalidStructure;
    properties->total_bytes = info<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE);
  }
  *count = 1;
  return kSuccess;
}

// A group that copies alone, then one that runs kernels.
FAKE zeDeviceGetCommandQueueGroupProperties(DeviceHandle, uint32_t* count, QueueGroupProperties* properties) {
  BEGIN(false);
  for (uint32_t i = 0; properties != nullptr && i < *count && i < 2; ++i) {
    if (properties[i].type != StructureType::queue_group_properties) return kInvalidStructure;
    properties[i].flags = i == 0 ? 2 : 3;
    properties[i].queues = 1;
    properties[i].max_fill_pattern_bytes = 16;
  }
  *count = 2;
  return kSuccess;
}

FAKE zeContextCreate(DriverHandle, const ContextDescription* description, ContextHandle* context) {
  BEGIN(false);
  if (description->type != StructureType::context_description) return kInvalidStructure;
  *context = place<ContextHandle>(2);
  return kSuccess;
}
FAKE zeContextDestroy(ContextHandle) {
  BEGIN(false);
  return kSuccess;
}

FAKE zeCommandListCreateImmediate(ContextHandle, DeviceHandle, const QueueDescription* description, ListHandle* list) {
  BEGIN(false);
  if (description->type != StructureType::queue_description || description->mode > 2) return kInvalidStructure;
  if (description->group != 1) return kInvalidArgument;  // kernels run in the second group alone
  *list = place<ListHandle>(3);
  return kSuccess;
}
FAKE zeCommandListDestroy(ListHandle) {
  BEGIN(false);
  complete();
  return kSuccess;
}

FAKE zeCommandListAppendBarrier(ListHandle, EventHandle signal, uint32_t waits, EventHandle*) {
  BEGIN(true);
  hand_over();
  if (signal == nullptr) return waits == 0 ? kSuccess : kInvalidArgument;
  const int status = append(signal, waits, [] {});
  hand_over();
  return status;
}

FAKE zeCommandListAppendMemoryCopy(ListHandle, void* target, const void* source, size_t bytes, EventHandle signal, uint32_t waits,
                                   EventHandle*) {
  BEGIN(true);
  if (bytes == 0 || !is_memory_of(target, bytes) || !is_memory_of(source, bytes)) return kInvalidArgument;
  return append(signal, waits, [=] { clEnqueueSVMMemcpy(machine().queue, CL_FALSE, target, source, bytes, 0, nullptr, nullptr); });
}

FAKE zeCommandListAppendMemoryFill(ListHandle, void* target, const void* pattern, size_t pattern_bytes, size_t bytes, EventHandle signal,
                                   uint32_t waits, EventHandle*) {
  BEGIN(true);
  if (pattern_bytes != 1 || bytes == 0 || !is_memory_of(target, bytes)) return kInvalidArgument;
  const auto value = *static_cast<const unsigned char*>(pattern);
  return append(signal, waits, [=] { clEnqueueSVMMemFill(machine().queue, target, &value, 1, bytes, 0, nullptr, nullptr); });
}

FAKE zeCommandListAppendLaunchKernel(ListHandle, KernelHandle handle, const GroupCount* groups, EventHandle signal, uint32_t waits,
                                     EventHandle*) {
  BEGIN(true);
  const auto& kernel = *reinterpret_cast<FakeKernel*>(handle);
  if (kernel.lanes[0] == 0) return kInvalidArgument;
  for (const FakeArgument& argument : kernel.arguments) {
    if (!argument.is_set) return kInvalidArgument;
  }
  const std::array<size_t, 3> all{kernel.lanes[0] * groups->x, kernel.lanes[1] * groups->y, kernel.lanes[2] * groups->z};
  return append(signal, waits, [handle = kernel.handle, arguments = kernel.arguments, all, lanes = kernel.lanes] {
    run_kernel(handle, arguments, all, lanes.data());
  });
}

FAKE zeMemAllocDevice(ContextHandle, const DeviceMemoryDescription* description, size_t bytes, size_t alignment, DeviceHandle,
                      void** address) {
  BEGIN(true);
  if (description->type != StructureType::device_memory_description || alignment > 65536) return kInvalidStructure;
  *address = clSVMAlloc(machine().context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, bytes, 128);
  if (*address == nullptr) return kOutOfDeviceMemory;
  machine().blocks[static_cast<std::byte*>(*address)] = bytes;
  return kSuccess;
}

FAKE zeMemAllocHost(ContextHandle, const HostMemoryDescription* description, size_t bytes, size_t alignment, void** address) {
  BEGIN(false);
  if (description->type != StructureType::host_memory_description) return kInvalidStructure;
  *address = std::aligned_alloc(alignment, bytes);
  if (*address == nullptr) return kOutOfHostMemory;
  machine().host_blocks[static_cast<std::byte*>(*address)] = bytes;
  return kSuccess;
}

// Memory that something still uses must not be freed.
FAKE zeMemFree(ContextHandle, void* address) {
  BEGIN(false);
  Machine& m = machine();
  auto* const byte = static_cast<std::byte*>(address);
  if (!m.unordered.empty() || !m.running.empty()) complete();
  if (m.host_blocks.erase(byte) > 0) {
    std::free(address);
  } else if (m.blocks.erase(byte) > 0) {
    clSVMFree(m.context, address);
  } else {
    return kInvalidArgument;
  }
  return kSuccess;
}

FAKE zeModuleCreate(ContextHandle, DeviceHandle, const ModuleDescription* description, ModuleHandle* module, LogHandle* log) {
  BEGIN(false);
  if (description->type != StructureType::module_description) return kInvalidStructure;
  const bool native = description->format == ModuleFormat::native;
  cl_int status = CL_SUCCESS;
  size_t addresses = 0;
  cl_program program = program_of(*description, addresses, status);
  if (status != CL_SUCCESS) return native ? kInvalidNativeBinary : kModuleBuildFailure;
  const std::string options = native ? "" : opencl_options(description->options) + " -cl-std=CL1.2";
  status = clBuildProgram(program, 1, &machine().device, options.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    if (log != nullptr) *log = reinterpret_cast<LogHandle>(new FakeLog{build_log(program)});
    clReleaseProgram(program);
    return native ? kInvalidNativeBinary : kModuleBuildFailure;
  }
  *module = reinterpret_cast<ModuleHandle>(new FakeModule{program, addresses});
  return kSuccess;
}
FAKE zeModuleDestroy(ModuleHandle module) {
  BEGIN(false);
  complete();
  const std::unique_ptr<FakeModule> gone(reinterpret_cast<FakeModule*>(module));
  clReleaseProgram(gone->program);
  return kSuccess;
}

FAKE zeModuleGetNativeBinary(ModuleHandle module, size_t* bytes, uint8_t* code) {
  BEGIN(false);
  const auto& [program, addresses] = *reinterpret_cast<FakeModule*>(module);
  size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) != CL_SUCCESS) return kUnknown;
  if (code != nullptr) {
    if (*bytes < size + kFakeNative.size() + 1) return kInvalidArgument;
    std::memcpy(code, kFakeNative.data(), kFakeNative.size());
    code[kFakeNative.size()] = static_cast<uint8_t>(addresses);
    uint8_t* target = code + kFakeNative.size() + 1;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(target), static_cast<void*>(&target), nullptr) != CL_SUCCESS) return kUnknown;
  }
  *bytes = size + kFakeNative.size() + 1;
  return kSuccess;
}

FAKE zeModuleBuildLogGetString(LogHandle log, size_t* bytes, char* text) {
  BEGIN(false);
  const std::string& words = reinterpret_cast<FakeLog*>(log)->text;
  if (text != nullptr) std::memcpy(text, words.c_str(), std::min(*bytes, words.size() + 1));
  *bytes = words.size() + 1;
  return kSuccess;
}
FAKE zeModuleBuildLogDestroy(LogHandle log) {
  BEGIN(false);
  delete reinterpret_cast<FakeLog*>(log);
  return kSuccess;
}

FAKE zeKernelCreate(ModuleHandle module, const KernelDescription* description, KernelHandle* handle) {
  BEGIN(false);
  if (description->type != StructureType::kernel_description) return kInvalidStructure;
  cl_int status = CL_SUCCESS;
  auto kernel = std::make_unique<FakeKernel>();
  kernel->handle = clCreateKernel(reinterpret_cast<FakeModule*>(module)->program, description->name, &status);
  if (status != CL_SUCCESS) return kInvalidKernelName;
  cl_uint count = 0;
  clGetKernelInfo(kernel->handle, CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr);
  kernel->arguments.resize(count);
  const size_t addresses = reinterpret_cast<FakeModule*>(module)->addresses;
  for (size_t i = 0; i < addresses && i < count; ++i) kernel->arguments[i].is_address = true;
  *handle = reinterpret_cast<KernelHandle>(kernel.release());
  return kSuccess;
}
FAKE zeKernelDestroy(KernelHandle handle) {
  BEGIN(false);
  complete();
  const std::unique_ptr<FakeKernel> gone(reinterpret_cast<FakeKernel*>(handle));
  clReleaseKernel(gone->handle);
  return kSuccess;
}

FAKE zeKernelSetGroupSize(KernelHandle handle, uint32_t x, uint32_t y, uint32_t z) {
  BEGIN(false);
  auto& kernel = *reinterpret_cast<FakeKernel*>(handle);
  size_t most = 0;
  clGetKernelWorkGroupInfo(kernel.handle, machine().device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(most), &most, nullptr);
  if (x == 0 || y == 0 || z == 0 || size_t{x} * y * z > most) return kInvalidGroupSize;
  kernel.lanes = {x, y, z};
  return kSuccess;
}

FAKE zeKernelSetArgumentValue(KernelHandle handle, uint32_t index, size_t bytes, const void* value) {
  BEGIN(true);
  auto& kernel = *reinterpret_cast<FakeKernel*>(handle);
  if (index >= kernel.arguments.size()) return kInvalidArgumentIndex;
  FakeArgument& argument = kernel.arguments[index];
  if (argument.is_address) {
    void* address = nullptr;
    if (bytes != sizeof(address)) return kInvalidArgument;
    std::memcpy(&address, value, bytes);
    if (room_at(machine().blocks, address) == 0) return kInvalidArgument;
  }
  argument.bytes.assign(static_cast<const std::byte*>(value), static_cast<const std::byte*>(value) + bytes);
  argument.is_set = true;
  return kSuccess;
}

FAKE zeEventPoolCreate(ContextHandle, const EventPoolDescription* description, uint32_t, DeviceHandle*, EventPoolHandle* pool) {
  BEGIN(false);
  if (description->type != StructureType::event_pool_description || description->count == 0) return kInvalidStructure;
  *pool = reinterpret_cast<EventPoolHandle>(new std::vector<bool>(description->count));
  return kSuccess;
}
FAKE zeEventPoolDestroy(EventPoolHandle pool) {
  BEGIN(false);
  delete reinterpret_cast<std::vector<bool>*>(pool);
  return kSuccess;
}

FAKE zeEventCreate(EventPoolHandle pool, const EventDescription* description, EventHandle* event) {
  BEGIN(false);
  auto& used = *reinterpret_cast<std::vector<bool>*>(pool);
  if (description->type != StructureType::event_description) return kInvalidStructure;
  if (description->index >= used.size() || used[description->index]) return kInvalidArgument;
  used[description->index] = true;
  *event = reinterpret_cast<EventHandle>(new FakeEvent);
  return kSuccess;
}
FAKE zeEventDestroy(EventHandle event) {
  BEGIN(false);
  complete();
  delete reinterpret_cast<FakeEvent*>(event);
  return kSuccess;
}

FAKE zeEventHostSynchronize(EventHandle handle, uint64_t) {
  BEGIN(true);
  auto* const event = reinterpret_cast<FakeEvent*>(handle);
  if (!event->queued) return kInvalidArgument;  // it would wait for ever
  if (!event->signalled) complete();
  return kSuccess;
}
FAKE zeEventQueryStatus(EventHandle handle) {
  BEGIN(false);
  auto* const event = reinterpret_cast<FakeEvent*>(handle);
  if (event->queued && !event->signalled) complete();
  return event->signalled ? kSuccess : kNotReady;
}
FAKE zeEventHostReset(EventHandle handle) {
  BEGIN(false);
  auto* const event = reinterpret_cast<FakeEvent*>(handle);
  if (event->queued && !event->signalled) return kInvalidArgument;
  event->queued = event->signalled = false;
  return kSuccess;
}

// Of as many bits as the device says.
FAKE zeEventQueryKernelTimestamp(EventHandle handle, KernelTimestamps* stamps) {
  BEGIN(false);
  const auto* const event = reinterpret_cast<FakeEvent*>(handle);
  if (!event->signalled) return kNotReady;
  stamps->global.begin = stamps->global.end = stamps->context.begin = stamps->context.end = event->ticks & 0xffffffffU;
  return kSuccess;
}
