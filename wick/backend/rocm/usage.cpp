#include "wick/backend/rocm/usage.h"

#include <cstdint>
#include <fstream>
#include <optional>

#include "wick/base/fail.h"

namespace wick::rocm {
namespace {

std::optional<uint64_t> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

uint64_t needed_number_in(const std::filesystem::path& path) {
  const std::optional<uint64_t> number = number_in(path);
  if (!number) fail(ErrorCode::not_found, "{}: no number there: the driver amdgpu of Linux 4.19 or newer writes it", path.string());
  return *number;
}

}  // namespace

// The names: the kernel's documentation, "GPU Power/Thermal Controls and Monitoring" of amdgpu.
DeviceUsage usage_of(const std::string& bus_id, const std::filesystem::path& devices) {
  const std::filesystem::path folder = devices / bus_id;
  DeviceUsage usage{.memory_used = needed_number_in(folder / "mem_info_vram_used"),
                    .memory_total = needed_number_in(folder / "mem_info_vram_total"),
                    .busy = {},
                    .watts = {},
                    .celsius = {}};
  if (const auto percent = number_in(folder / "gpu_busy_percent")) usage.busy = static_cast<double>(*percent) / 100;
  std::error_code none;
  for (const auto& sensors : std::filesystem::directory_iterator(folder / "hwmon", none)) {
    if (const auto microwatts = number_in(sensors.path() / "power1_average")) usage.watts = static_cast<double>(*microwatts) / 1e6;
    if (const auto thousandths = number_in(sensors.path() / "temp1_input")) usage.celsius = static_cast<int>(*thousandths / 1000);
  }
  return usage;
}

}  // namespace wick::rocm
