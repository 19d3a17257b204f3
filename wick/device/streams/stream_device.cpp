#include "wick/device/streams/stream_device.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "wick/base/ascii.h"
#include "wick/device/device_score.h"

namespace wick {
namespace {

// Before Vulkan and OpenCL on the same hardware.
constexpr int kPreference = 4;

std::string place_of(int device) { return fmt::format("device {}", device); }

// A kernel has 4,096 bytes of arguments on every processor: a quarter for the addresses of buffers, the rest for numbers.
void describe_limits(const StreamApi& api, int device, DeviceCaps& caps) {
  const auto number = [&](int attribute) { return device_number(api, device, attribute); };
  const StreamAttributes& numbers = api.attributes;
  size_t bytes = 0;
  check_status(api, api.device_memory.address(&bytes, device), api.device_memory.name, place_of(device));
  caps.memory_bytes = bytes;
  caps.memory_bandwidth = 2e3 * number(numbers.memory_clock) * number(numbers.memory_bus) / 8;
  caps.compute_units = number(numbers.processors);
  caps.max_shared_bytes = static_cast<uint64_t>(number(numbers.max_shared_bytes));
  caps.max_group_size = static_cast<uint32_t>(number(numbers.max_group_size));
  caps.max_group_count = {static_cast<uint32_t>(number(numbers.max_grid_x)), static_cast<uint32_t>(number(numbers.max_grid_y)),
                          static_cast<uint32_t>(number(numbers.max_grid_z))};
  caps.max_storage_buffers = 128;
  caps.max_parameter_bytes = 3072;
  caps.buffer_offset_alignment = 32;  // of matrix tiles; vectors of four words ask for 16
}

// What a driver says that launches nothing; empty: it launches something.
std::string useless_limit(const DeviceCaps& caps) {
  const std::pair<uint32_t, const char*> limits[] = {{caps.max_group_size, "lanes in a group"},
                                                     {caps.max_group_count[0], "groups in a row"},
                                                     {caps.max_group_count[1], "groups in a column"},
                                                     {caps.max_group_count[2], "groups in depth"}};
  for (const auto& [limit, what] : limits) {
    if (const auto most = static_cast<int32_t>(limit); most < 1) return fmt::format("{} {}", most, what);
  }
  return {};
}

}  // namespace

int device_number(const StreamApi& api, int device, int attribute) {
  int value = 0;
  check_status(api, api.device_attribute.address(&value, attribute, device), api.device_attribute.name, place_of(device));
  return value;
}

std::string bus_id_of(const StreamApi& api, int device) {
  std::array<char, 64> text{};
  check_status(api, api.device_bus_id.address(text.data(), static_cast<int>(text.size()) - 1, device), api.device_bus_id.name,
               place_of(device));
  return ascii_lowercase(text.data());
}

std::vector<StreamDevice> find_stream_devices(const StreamApi& api) {
  int count = 0;
  const int status = api.device_count.address(&count);
  if (status == kStatusNoDevice) return {};
  check_status(api, status, api.device_count.name, api.library->name());
  std::vector<StreamDevice> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    StreamDevice device;
    check_status(api, api.device_get.address(&device.id, ordinal), api.device_get.name, place_of(ordinal));
    std::array<char, 256> name{};
    check_status(api, api.device_name.address(name.data(), static_cast<int>(name.size()) - 1, device.id), api.device_name.name,
                 place_of(device.id));
    device.caps.name = name.data();
    describe_limits(api, device.id, device.caps);
    if (const std::string limit = useless_limit(device.caps); !limit.empty()) {
      device.refusal = fmt::format("{} takes {} by what its driver says, which runs no kernel; install another version of the driver",
                                   device.caps.name, limit);
    }
    const bool shares_memory = device_number(api, device.id, api.attributes.integrated) != 0;
    device.score = device_score(shares_memory ? Hardware::integrated_gpu : Hardware::discrete_gpu, kPreference);
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace wick
