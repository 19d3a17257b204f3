// The functions of HIP, AMD's run-time library, found when the program runs: nothing is linked, and no header of theirs is needed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/device/streams/stream_api.h"

namespace wick::rocm {

struct Api : StreamApi {
  Api();

  StreamCall<int*> runtime_version;  // 10,000,000 · major + 100,000 · minor + patch
  StreamCall<int> set_device;        // of the calling thread
  StreamCall<> reset_device;         // that of the calling thread
  StreamCall<void*, int> device_properties;
  StreamCall<StreamAddress, int, StreamAddress, int, size_t, StreamHandle> copy_between_devices;
  StreamCall<int, unsigned> device_enable_peer;  // flags: 0
  size_t architecture_at = 0;                    // in what device_properties writes
  const char* (*error_name)(int) = nullptr;
  int version = 0;  // what runtime_version said
};

inline constexpr int kOldestVersion = 50'200'000;

// Where a library of ROCm ("amdhip64") may be: of the newest version first, beside the system's own folders in /opt/rocm.
[[nodiscard]] std::vector<std::string> libraries_of(std::string_view name, int newest_major, int oldest_major);
[[nodiscard]] std::vector<std::string> hip_libraries();

// Opens the first of these libraries that is there. Errors: not_found, saying what to install; unsupported for a library that is too old or
// lacks a function, which is named; RocmError where it does not answer.
[[nodiscard]] std::shared_ptr<const Api> load_api(std::span<const std::string> libraries);

// Throws a RocmError.
[[noreturn]] void raise_rocm_error(ErrorCode code, const std::string& message, DriverFailure failure);

// "6.4" of 60,443,484.
[[nodiscard]] std::string version_text(int version);

}  // namespace wick::rocm
