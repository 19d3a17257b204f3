#include "wick/backend/cuda/nvml.h"

#include <fmt/format.h>

#include "wick/backend/cuda/cuda.h"

namespace wick::cuda {

Nvml::Nvml(const std::string& library) : library_(library) {
  const auto bind = [this]<class Function>(const char* name, Function*& function) {
    library_.bind(name, function, "install a newer NVIDIA driver");
  };
  bind("nvmlInit_v2", functions_.init);
  bind("nvmlShutdown", functions_.shutdown);
  bind("nvmlDeviceGetHandleByPciBusId_v2", functions_.find);
  bind("nvmlDeviceGetMemoryInfo", functions_.memory);
  bind("nvmlDeviceGetUtilizationRates", functions_.busy);
  bind("nvmlDeviceGetPowerUsage", functions_.power);
  bind("nvmlDeviceGetTemperature", functions_.temperature);
  bind("nvmlErrorString", functions_.status_text);
  check(functions_.init(), "nvmlInit_v2");
}

Nvml::~Nvml() { functions_.shutdown(); }

void Nvml::check(int status, const char* call) const {
  if (status == 0) return;
  const std::string text = functions_.status_text(status);
  throw CudaError(ErrorCode::unsupported, fmt::format("{}: {}: {}", library_.name(), call, text), {call, status, text});
}

DeviceUsage Nvml::usage(const std::string& bus_id) const {
  constexpr int kOfTheProcessors = 0;
  void* device = nullptr;
  Memory memory{};
  check(functions_.find(bus_id.c_str(), &device), "nvmlDeviceGetHandleByPciBusId_v2");
  check(functions_.memory(device, &memory), "nvmlDeviceGetMemoryInfo");
  DeviceUsage usage{.memory_used = memory.used, .memory_total = memory.total, .busy = {}, .watts = {}, .celsius = {}};
  Busy busy{};
  unsigned number = 0;
  if (functions_.busy(device, &busy) == 0) usage.busy = busy.processors / 100.0;
  if (functions_.power(device, &number) == 0) usage.watts = number / 1000.0;
  if (functions_.temperature(device, kOfTheProcessors, &number) == 0) usage.celsius = static_cast<int>(number);
  return usage;
}

}  // namespace wick::cuda
