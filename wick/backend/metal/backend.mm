// The Metal backend: every GPU of Apple's systems that shares the processor's memory, with kernels in MSL.
#include "wick/backend/metal/backend.h"

#include <fmt/format.h>

#include <utility>

#include "wick/device/kernel_runtime.h"
#include "wick/device/plain_caps.h"
#include "wick/device/variants.h"

namespace wick::metal {
namespace {

// Before every other backend on the same hardware: they are layers over this one.
constexpr int kPreference = 5;

std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> list;
  for (const Gpu& gpu : find_gpus().gpus) {
    list.push_back({static_cast<int>(list.size()), gpu.caps, device_score(gpu.hardware, kPreference)});
  }
  return list;
}

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  std::vector<Gpu> gpus = find_gpus().gpus;
  if (index < 0 || static_cast<size_t>(index) >= gpus.size()) return nullptr;
  Gpu gpu = gpus[static_cast<size_t>(index)];
  if (asks_for_plain(DeviceKind::metal, index, options.variant)) gpu.caps = plain_caps(std::move(gpu.caps));
  std::string place = fmt::format("metal:{} ({})", index, gpu.caps.name);
  auto device = std::make_shared<Device>(std::move(gpu), std::move(place));
  return std::make_unique<KernelRuntime>(std::make_unique<Driver>(std::move(device)), options);
}

std::string missing(int /*index*/) { return find_gpus().missing; }

}  // namespace

std::optional<size_t> Driver::free_bytes() noexcept {
  const size_t most = [device_->handle() recommendedMaxWorkingSetSize], used = [device_->handle() currentAllocatedSize];
  return most > used ? most - used : 0;
}

std::vector<std::byte> Driver::compile(const ir::Kernel& prepared, const std::string& text) {
  Compilation made = compile_pipeline(*device_, prepared, text);
  if (!made.pipeline) throw CompilerError{std::move(made.refusal)};
  return compiled_.keep(text, std::move(made.pipeline));
}

std::shared_ptr<const wick::Program> Driver::load(ir::Kernel prepared, std::span<const std::byte> binary) {
  const std::string text(reinterpret_cast<const char*>(binary.data()), binary.size());
  std::optional<Pipeline> pipeline = compiled_.take(text);
  if (!pipeline) pipeline = compile_pipeline(*device_, prepared, text).pipeline;
  if (!*pipeline) return nullptr;
  return std::make_shared<const Program>(std::move(prepared), std::move(*pipeline));
}

const Backend kBackend = {DeviceKind::metal, probe, open, plain_and_native, missing};

}  // namespace wick::metal
