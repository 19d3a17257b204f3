// The functions of NVIDIA's driver, found when the program runs: nothing is linked, and no header of theirs is needed.
#pragma once

#include <memory>
#include <string>

#include "wick/device/streams/stream_api.h"

namespace wick::cuda {

// Attributes that only this driver has, and its encoding of an architecture's version.
inline constexpr int kMajor = 75, kMinor = 76;

// cuLaunchKernelEx's own: CUlaunchConfig, with one CUlaunchAttribute.
struct LaunchAttribute {
  int id = 0;
  int padding = 0;
  int value[16] = {};
};
struct LaunchConfig {
  unsigned groups[3] = {1, 1, 1}, lanes[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  StreamHandle stream = nullptr;
  const LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct Api : StreamApi {
  Api();

  StreamCall<unsigned> init;
  StreamCall<int*> driver_version;  // 1000 · major + 10 · minor of the newest CUDA that it knows
  StreamCall<StreamHandle*, int> primary_context_retain;
  StreamCall<int> primary_context_release, primary_context_reset;
  StreamCall<StreamHandle> context_set_current;
  StreamCall<int, const char**> error_name;
  StreamCall<StreamAddress, StreamHandle, StreamAddress, StreamHandle, size_t, StreamHandle> copy_between_contexts;
  StreamCall<StreamHandle, unsigned> context_enable_peer;                     // flags: 0
  StreamCall<const LaunchConfig*, StreamHandle, void**, void**> launch_with;  // without an address where the driver is older than 12.3
  int version = 0;                                                            // what driver_version said
};

inline constexpr const char* kDriverLibrary = "libcuda.so.1";
inline constexpr int kOldestDriver = 11040;

// Opens and starts the driver. Errors: not_found for a library that is not there; unsupported for a driver that is too old or lacks a
// function, which is named; no_device, with its status, for one that does not start.
[[nodiscard]] std::shared_ptr<const Api> load_api(const std::string& library);

// Throws a CudaError.
[[noreturn]] void raise_cuda_error(ErrorCode code, const std::string& message, DriverFailure failure);

// "12.4" of 12040.
[[nodiscard]] std::string version_text(int version);

}  // namespace wick::cuda
