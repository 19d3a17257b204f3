// NVML's interface without a GPU. FAKE_NVML="init=9,busy=3" makes functions fail with that status.
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int status_of(const std::string& name) {
  const char* text = std::getenv("FAKE_NVML");
  const std::string all = text != nullptr ? text : "";
  const std::size_t at = all.find(name + "=");
  return at == std::string::npos ? 0 : std::atoi(all.c_str() + at + name.size() + 1);
}

struct Memory {
  unsigned long long total, free, used;
};
struct Busy {
  unsigned processors, memory;
};

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int nvmlInit_v2() { return status_of("init"); }
FAKE int nvmlShutdown() { return 0; }
// The fake driver's devices: 0000:40:00.0, 0000:41:00.0 …
FAKE int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  if (std::strncmp(bus_id, "0000:4", 6) != 0 || std::strlen(bus_id) != 12) return 6;
  *device = const_cast<char*>("device");
  return status_of("find");
}
FAKE int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {4ULL << 30, 3ULL << 30, 1ULL << 30};
  return status_of("memory");
}
FAKE int nvmlDeviceGetUtilizationRates(void*, Busy* busy) {
  *busy = {25, 10};
  return status_of("busy");
}
FAKE int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 123456;
  return status_of("power");
}
FAKE int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) {
  *degrees = 45;
  return status_of("temperature");
}
FAKE const char* nvmlErrorString(int status) { return status == 9 ? "Driver Not Loaded" : "Not Found"; }
