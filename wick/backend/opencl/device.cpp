#include "wick/backend/opencl/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "wick/backend/opencl/quirks.h"
#include "wick/backend/opencl/status.h"
#include "wick/base/log.h"
#include "wick/device/device_score.h"

namespace wick::opencl {
namespace {

// Of extensions whose headers are younger than the oldest that we build with.
constexpr cl_device_info kSubgroupSizes = 0x4108;                                        // CL_DEVICE_SUB_GROUP_SIZES_INTEL
constexpr cl_device_info kComputeCapability = 0x4000, kComputeCapabilityMinor = 0x4001;  // CL_DEVICE_COMPUTE_CAPABILITY_*_NV

// On the same hardware behind Vulkan, but for NVIDIA's driver with PTX: a model of 8 B parameters in Q4_K_M decodes 307 tokens/s there and
// 278 through Vulkan, and reads 7,002 and 6,400 (one H200).
constexpr int kPreference = 1, kPreferenceWithPtx = 3;

// An answer of get_platform_info or get_device_info; empty where there is none.
template <class Function, class Handle>
std::string text_of(Function* get, Handle handle, cl_uint what) {
  size_t bytes = 0;
  if (get(handle, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (get(handle, what, bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find_last_not_of(std::string_view("\0 ", 2)) + 1);
  return text;
}

// The device's answers, each with what holds where it has none.
class Answers {
 public:
  Answers(const Api& api, cl_device_id id) : api_(api), id_(id), extensions_(" " + text(CL_DEVICE_EXTENSIONS) + " ") {}

  template <class T>
  [[nodiscard]] T number(cl_device_info what, T otherwise) const {
    T value{};
    return api_.get_device_info(id_, what, sizeof(value), &value, nullptr) == CL_SUCCESS ? value : otherwise;
  }
  template <class T>
  [[nodiscard]] std::vector<T> numbers(cl_device_info what) const {
    size_t bytes = 0;
    if (api_.get_device_info(id_, what, 0, nullptr, &bytes) != CL_SUCCESS) return {};
    std::vector<T> values(bytes / sizeof(T));
    if (api_.get_device_info(id_, what, bytes, values.data(), nullptr) != CL_SUCCESS) return {};
    return values;
  }
  [[nodiscard]] std::string text(cl_device_info what) const { return text_of(api_.get_device_info, id_, what); }
  [[nodiscard]] bool has(std::string_view extension) const { return extensions_.find(fmt::format(" {} ", extension)) != std::string::npos; }

 private:
  const Api& api_;
  cl_device_id id_;
  std::string extensions_;
};

uint32_t to_u32(uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, std::numeric_limits<uint32_t>::max())); }

bool compiles_version_3(const Answers& device) {
  const std::vector<cl_name_version> versions = device.numbers<cl_name_version>(CL_DEVICE_OPENCL_C_ALL_VERSIONS);
  return std::any_of(versions.begin(), versions.end(), [](const cl_name_version& entry) { return CL_VERSION_MAJOR(entry.version) >= 3; });
}

// The text asks for a size, reduces, shuffles and broadcasts: all of that must be there.
void describe_subgroups(const Answers& device, DeviceCaps& caps) {
  const std::vector<size_t> sizes = device.numbers<size_t>(kSubgroupSizes);
  const bool all = device.has("cl_khr_subgroups") && device.has("cl_khr_subgroup_shuffle") && device.has("cl_intel_required_subgroup_size");
  if (!all || sizes.empty()) return;
  caps.min_subgroup_size = static_cast<int>(*std::min_element(sizes.begin(), sizes.end()));
  caps.max_subgroup_size = static_cast<int>(*std::max_element(sizes.begin(), sizes.end()));
}

void describe_limits(const Answers& device, DeviceCaps& caps) {
  caps.memory_bytes = device.number<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE, 0);
  caps.compute_units = static_cast<int>(device.number<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS, 1));
  caps.max_shared_bytes = device.number<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE, 0);
  caps.max_buffer_bytes = device.number<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE, 128U << 20);
  caps.buffer_offset_alignment = std::max(16U, device.number<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN, 8 * 4096) / 8);
  caps.max_group_size = std::max(1U, to_u32(device.number<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE, 1)));
  const std::vector<size_t> items = device.numbers<size_t>(CL_DEVICE_MAX_WORK_ITEM_SIZES);
  if (!items.empty() && items[0] > 0) caps.max_group_size = std::min(caps.max_group_size, to_u32(items[0]));
  // All arguments share the room: a quarter of it for the addresses of buffers, the rest for the numbers.
  const auto room = to_u32(device.number<size_t>(CL_DEVICE_MAX_PARAMETER_SIZE, 256));
  caps.max_storage_buffers = room / 4 / sizeof(cl_ulong);
  caps.max_parameter_bytes = room / 4 * 3;
  // OpenCL counts lanes in words of an address, and NVIDIA's driver groups as its hardware does.
  const bool narrow = device.number<cl_uint>(CL_DEVICE_ADDRESS_BITS, 64) < 64;
  caps.max_group_count[0] = 0x7fffffffU / (narrow ? caps.max_group_size : 1);
}

DeviceCaps describe(const Answers& device, const std::string& platform, bool version_3) {
  DeviceCaps caps;
  caps.name = device.text(CL_DEVICE_NAME);
  caps.driver = fmt::format("{} {}", platform, device.text(CL_DRIVER_VERSION));
  describe_limits(device, caps);
  caps.f16_arithmetic = device.has("cl_khr_fp16");
  caps.f64_arithmetic = device.number<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG, 0) != 0;
  caps.int64 = device.text(CL_DEVICE_PROFILE) == "FULL_PROFILE" || device.has("cles_khr_int64");
  caps.storage_8bit = caps.storage_16bit = true;  // of every device since OpenCL 1.1
  // What the language has since its version 3 only.
  caps.int8_dot = version_3 && device.has("cl_khr_integer_dot_product");
  if (version_3) describe_subgroups(device, caps);
  return caps;
}

Hardware hardware_of(const Answers& device) {
  const auto type = device.number<cl_device_type>(CL_DEVICE_TYPE, CL_DEVICE_TYPE_CPU);
  if ((type & CL_DEVICE_TYPE_CPU) != 0) return Hardware::processor;
  if ((type & CL_DEVICE_TYPE_GPU) == 0) return Hardware::other;
  const bool shares_memory = device.number<cl_bool>(CL_DEVICE_HOST_UNIFIED_MEMORY, CL_TRUE) == CL_TRUE;
  return shares_memory ? Hardware::integrated_gpu : Hardware::discrete_gpu;
}

// What the text may use as assembler, by the first processors that have it.
void describe_nvidia(const Answers& answers, FoundDevice& device) {
  const cl_uint capability = 10 * answers.number<cl_uint>(kComputeCapability, 0) + answers.number<cl_uint>(kComputeCapabilityMinor, 0);
  if (!answers.has("cl_nv_device_attribute_query") || capability < 50) return;
  device.dialect = &ir::opencl_nvidia_dialect();
  device.score = device_score(hardware_of(answers), kPreferenceWithPtx);
  device.caps.min_subgroup_size = device.caps.max_subgroup_size = 32;
  device.caps.int8_dot = capability >= 61;
  if (capability >= 70) device.caps.tiles = {{16, 16, 16}};
}

FoundDevice found(const Api& api, cl_device_id id, const std::string& platform) {
  const Answers device(api, id);
  const bool version_3 = compiles_version_3(device);
  FoundDevice result{.id = id,
                     .caps = describe(device, platform, version_3),
                     .score = device_score(hardware_of(device), kPreference),
                     .build_options = {}};
  const bool needs_3 = result.caps.int8_dot || result.caps.max_subgroup_size > 1;
  describe_nvidia(device, result);
  apply_quirks(result);
  result.build_options = needs_3 ? "-cl-std=CL3.0" : "-cl-std=CL1.2";
  const auto floats = device.number<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG, 0);
  result.caps.f32_subnormals = (floats & CL_FP_DENORM) != 0;
  if ((floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0) result.build_options += " -cl-fp32-correctly-rounded-divide-sqrt";
  // What has no such instruction would emulate it with hundreds of others.
  if ((floats & CL_FP_FMA) == 0) result.build_options += " -Dfma=mad";
  return result;
}

void add_devices(const Api& api, cl_platform_id platform, std::vector<FoundDevice>& devices) {
  const std::string name = text_of(api.get_platform_info, platform, CL_PLATFORM_NAME);
  cl_uint count = 0;
  cl_int status = api.get_device_ids(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  std::vector<cl_device_id> ids(status == CL_SUCCESS ? count : 0);
  if (!ids.empty()) status = api.get_device_ids(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr);
  if (status != CL_SUCCESS) {
    if (status != CL_DEVICE_NOT_FOUND) log_warning("OpenCL platform {} does not name its devices: {}", name, status_name(status));
    return;
  }
  for (cl_device_id id : ids) {
    const Answers device(api, id);
    const bool usable = device.number<cl_bool>(CL_DEVICE_AVAILABLE, CL_FALSE) == CL_TRUE &&
                        device.number<cl_bool>(CL_DEVICE_COMPILER_AVAILABLE, CL_FALSE) == CL_TRUE;
    if (usable) devices.push_back(found(api, id, name));
  }
}

}  // namespace

std::vector<FoundDevice> find_devices(const Api& api) {
  std::vector<FoundDevice> devices;
  cl_uint count = 0;
  if (api.get_platform_ids(0, nullptr, &count) != CL_SUCCESS || count == 0) return devices;
  std::vector<cl_platform_id> platforms(count);
  if (api.get_platform_ids(count, platforms.data(), nullptr) != CL_SUCCESS) return devices;
  for (cl_platform_id platform : platforms) add_devices(api, platform, devices);
  return devices;
}

}  // namespace wick::opencl
