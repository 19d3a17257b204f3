// The WebGPU backend: every adapter that wgpu-native finds, with kernels in WGSL.
#include "wick/backend/webgpu/backend.h"

#include <fmt/format.h>

#include <utility>

#include "wick/device/kernel_runtime.h"
#include "wick/device/plain_caps.h"
#include "wick/device/variants.h"

namespace wick::webgpu {
namespace {

// Behind every other backend on the same hardware: what its portable interface does not offer, it cannot use.
constexpr int kPreference = 0;

std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> list;
  for (const Adapter& adapter : installation().adapters) {
    list.push_back({static_cast<int>(list.size()), adapter.caps, device_score(adapter.hardware, kPreference)});
  }
  return list;
}

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  const std::vector<Adapter>& adapters = installation().adapters;
  if (index < 0 || static_cast<size_t>(index) >= adapters.size()) return nullptr;
  Adapter adapter = adapters[static_cast<size_t>(index)];
  if (asks_for_plain(DeviceKind::webgpu, index, options.variant)) adapter.caps = plain_caps(std::move(adapter.caps));
  std::string place = fmt::format("webgpu:{} ({})", index, adapter.caps.name);
  auto device = std::make_shared<Device>(std::move(adapter), std::move(place));
  return std::make_unique<KernelRuntime>(std::make_unique<Driver>(std::move(device)), options);
}

std::string missing(int /*index*/) { return installation().missing; }

}  // namespace

std::vector<std::byte> Driver::compile(const ir::Kernel& prepared, const std::string& text) {
  return compiled_.keep(text, compile_pipeline(queue_->device(), prepared, text));
}

std::shared_ptr<const wick::Program> Driver::load(ir::Kernel prepared, std::span<const std::byte> binary) {
  const std::string text(reinterpret_cast<const char*>(binary.data()), binary.size());
  std::optional<Pipeline> pipeline = compiled_.take(text);
  try {
    if (!pipeline) pipeline = compile_pipeline(queue_->device(), prepared, text);
  } catch (const CompilerError&) {
    return nullptr;
  }
  return std::make_shared<const Program>(device_, std::move(prepared), std::move(*pipeline));
}

const Backend kBackend = {DeviceKind::webgpu, probe, open, plain_and_native, missing};

}  // namespace wick::webgpu
