// The functions of NVIDIA's driver, found when the program runs: nothing is linked, and no header of theirs is needed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "wick/device/stream_queue.h"

namespace wick::cuda {

// The driver's numbers that we use, as its interface fixes them.
namespace attribute {
inline constexpr int kMaxThreadsPerBlock = 1, kMaxGridX = 5, kMaxGridY = 6, kMaxGridZ = 7, kMaxSharedPerBlock = 8, kProcessors = 16,
                     kIntegrated = 18, kMemoryClockKhz = 36, kMemoryBusBits = 37, kMajor = 75, kMinor = 76;
}
inline constexpr int kStatusNoDevice = 100;

struct Api : StreamApi {
  StreamCall<unsigned> init;
  StreamCall<int*> driver_version;  // 1000 · major + 10 · minor of the newest CUDA that it knows
  StreamCall<int*> device_count;
  StreamCall<int*, int> device_get;
  StreamCall<char*, int, int> device_name;
  StreamCall<size_t*, int> device_memory;
  StreamCall<int*, int, int> device_attribute;
  StreamCall<StreamHandle*, int> primary_context_retain;
  StreamCall<int> primary_context_release;
  StreamCall<int> primary_context_reset;
  StreamCall<int, const char**> error_name;
  int version = 0;  // what driver_version said

  // The contexts that are open, by device.
  mutable std::mutex mutex;
  mutable std::multimap<int, std::weak_ptr<OpenContext>> contexts;
};

inline constexpr const char* kDriverLibrary = "libcuda.so.1";
inline constexpr int kOldestDriver = 11040;

// Opens and starts the driver. Errors: not_found for a library that is not there; unsupported for a driver that is too old or lacks a
// function, which is named; no_device, with its status, for one that does not start.
[[nodiscard]] std::shared_ptr<const Api> load_api(const std::string& library);

// "12.4" of 12040.
[[nodiscard]] std::string version_text(int version);

}  // namespace wick::cuda
