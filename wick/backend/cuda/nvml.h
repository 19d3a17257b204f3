// NVML is NVIDIA's library for watching their devices, opened when it is first asked.
#pragma once

#include <memory>
#include <string>

#include "wick/base/dynlib.h"
#include "wick/device/device_usage.h"

namespace wick::cuda {

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  // Errors: not_found; unsupported for a library without some function; CudaError where it does not start.
  explicit Nvml(const std::string& library = kLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Usage of the device at that PCI address ("0000:41:00.0"): NVML numbers devices differently. Values that it does not report for a
  // device stays empty. Errors: CudaError.
  [[nodiscard]] DeviceUsage usage(const std::string& bus_id) const;

 private:
  struct Memory {
    unsigned long long total, free, used;
  };
  struct Busy {
    unsigned processors, memory;  // percent
  };
  struct Functions {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*find)(const char*, void**) = nullptr;
    int (*memory)(void*, Memory*) = nullptr;
    int (*busy)(void*, Busy*) = nullptr;
    int (*power)(void*, unsigned*) = nullptr;             // milliwatts
    int (*temperature)(void*, int, unsigned*) = nullptr;  // sensor, degrees
    const char* (*status_text)(int) = nullptr;
  };
  void check(int status, const char* call) const;

  DynamicLibrary library_;
  Functions functions_;
};

}  // namespace wick::cuda
