#include "wick/backend/cuda/device.h"

#include <fmt/format.h>

#include "wick/ir/kernel.h"

namespace wick::cuda {
namespace {

// What instructions a processor has: PTX ISA, "Target ISA Notes" of each.
void describe_instructions(int capability, DeviceCaps& caps) {
  caps.min_subgroup_size = caps.max_subgroup_size = 32;
  caps.int64 = caps.f64_arithmetic = true;
  caps.storage_8bit = caps.storage_16bit = true;
  caps.f32_atomic_add = true;
  caps.f16_arithmetic = capability >= 53;
  caps.int8_dot = capability >= 61;
  caps.bf16_arithmetic = capability >= 80;
  if (capability >= 70) caps.tiles = {{16, 16, 16}};
  if (capability >= 80) caps.tiles.push_back(ir::kLaneTile);
}

}  // namespace

int architecture_of(const std::string& target) {
  int number = 0;
  for (const char c : target.substr(target.find('_') + 1)) number = c >= '0' && c <= '9' ? number * 10 + (c - '0') : number;
  return number;
}

void describe(const Api& api, const Compiler& compiler, StreamDevice& device) {
  const int capability = 10 * device_number(api, device.id, kMajor) + device_number(api, device.id, kMinor);
  describe_instructions(capability, device.caps);
  device.caps.driver = fmt::format("CUDA {} sm_{}", version_text(api.version), capability);
  device.refusal = compiler.refusal(capability);
  if (!device.refusal.empty()) return;
  device.target = compiler.target(capability);
  // What the text is compiled for decides whether it waits, not what runs it.
  device.early_launches = api.launch_early.address != nullptr && architecture_of(device.target) >= 90;
}

}  // namespace wick::cuda
