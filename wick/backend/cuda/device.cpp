#include "wick/backend/cuda/device.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "wick/device/device_score.h"

namespace wick::cuda {
namespace {

// Before Vulkan and OpenCL on the same hardware.
constexpr int kPreference = 4;

class Answers {
 public:
  Answers(const Api& api, int id) : api_(api), id_(id) {}

  [[nodiscard]] int number(int what) const {
    int value = 0;
    check(api_.device_attribute.address(&value, what, id_), api_.device_attribute.name);
    return value;
  }
  [[nodiscard]] std::string name() const {
    std::array<char, 256> text{};
    check(api_.device_name.address(text.data(), static_cast<int>(text.size()) - 1, id_), api_.device_name.name);
    return text.data();
  }
  [[nodiscard]] size_t memory() const {
    size_t bytes = 0;
    check(api_.device_memory.address(&bytes, id_), api_.device_memory.name);
    return bytes;
  }

 private:
  void check(int status, const char* call) const { check_status(api_, status, call, fmt::format("device {}", id_)); }

  const Api& api_;
  int id_;
};

// A kernel has 4,096 bytes of arguments on every processor: a quarter for the addresses of buffers, the rest for numbers.
void describe_limits(const Answers& device, DeviceCaps& caps) {
  caps.memory_bytes = device.memory();
  caps.memory_bandwidth = 2e3 * device.number(attribute::kMemoryClockKhz) * device.number(attribute::kMemoryBusBits) / 8;
  caps.compute_units = device.number(attribute::kProcessors);
  caps.max_shared_bytes = static_cast<uint64_t>(device.number(attribute::kMaxSharedPerBlock));
  caps.max_group_size = static_cast<uint32_t>(device.number(attribute::kMaxThreadsPerBlock));
  caps.max_group_count = {static_cast<uint32_t>(device.number(attribute::kMaxGridX)),
                          static_cast<uint32_t>(device.number(attribute::kMaxGridY)),
                          static_cast<uint32_t>(device.number(attribute::kMaxGridZ))};
  caps.max_storage_buffers = 128;
  caps.max_parameter_bytes = 3072;
  caps.buffer_offset_alignment = 32;  // of matrix tiles; vectors of four words ask for 16
}

// What instructions a processor has: PTX ISA, "Target ISA Notes" of each.
void describe_instructions(int capability, DeviceCaps& caps) {
  caps.min_subgroup_size = caps.max_subgroup_size = 32;
  caps.int64 = caps.f64_arithmetic = true;
  caps.storage_8bit = caps.storage_16bit = true;
  caps.f32_atomic_add = true;
  caps.f16_arithmetic = capability >= 53;
  caps.int8_dot = capability >= 61;
  caps.bf16_arithmetic = capability >= 80;
  if (capability >= 70) caps.tiles = {{16, 16, 16}};
}

}  // namespace

std::vector<FoundDevice> find_devices(const Api& api) {
  int count = 0;
  const int status = api.device_count.address(&count);
  if (status == kStatusNoDevice) return {};
  check_status(api, status, api.device_count.name, "the NVIDIA driver");
  std::vector<FoundDevice> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    FoundDevice device;
    check_status(api, api.device_get.address(&device.id, ordinal), api.device_get.name, fmt::format("device {}", ordinal));
    const Answers answers(api, device.id);
    device.capability = 10 * answers.number(attribute::kMajor) + answers.number(attribute::kMinor);
    device.caps.name = answers.name();
    device.caps.driver = fmt::format("CUDA {} sm_{}", version_text(api.version), device.capability);
    describe_limits(answers, device.caps);
    describe_instructions(device.capability, device.caps);
    const bool shares_memory = answers.number(attribute::kIntegrated) != 0;
    device.score = device_score(shares_memory ? Hardware::integrated_gpu : Hardware::discrete_gpu, kPreference);
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace wick::cuda
