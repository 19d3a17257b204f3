// How busy a device of AMD's is, by what the kernel's driver tells in files.
#pragma once

#include <filesystem>
#include <string>

#include "wick/device/device_usage.h"

namespace wick::rocm {

// Usage of the device at that PCI address ("0000:41:00.0"). Errors: not_found, naming the file.
[[nodiscard]] DeviceUsage usage_of(const std::string& bus_id, const std::filesystem::path& devices = "/sys/bus/pci/devices");

}  // namespace wick::rocm
