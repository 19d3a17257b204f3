#include "wick/backend/vulkan/spirv.h"

#include <glslang/SPIRV/spirv.hpp>

#include <initializer_list>
#include <map>
#include <span>
#include <utility>

namespace wick::vulkan {
namespace {

constexpr size_t kBound = 3, kHeaderWords = 5;  // the bound of ids is word 3 of the header

// Debian 12's header is older than OpTypeCooperativeMatrixKHR.
constexpr auto kOpTypeCooperativeMatrix = static_cast<spv::Op>(4456);

using Instruction = std::span<const uint32_t>;

spv::Op opcode_of(Instruction instruction) { return static_cast<spv::Op>(instruction[0] & spv::OpCodeMask); }

void add(std::vector<uint32_t>& words, spv::Op opcode, std::initializer_list<uint32_t> operands) {
  words.push_back(static_cast<uint32_t>(operands.size() + 1) << spv::WordCountShift | static_cast<uint32_t>(opcode));
  words.insert(words.end(), operands);
}

// The module's instructions, one after the other.
template <class Visit>
void each(const std::vector<uint32_t>& module, const Visit& visit) {
  for (size_t at = kHeaderWords; at < module.size();) {
    const Instruction instruction = std::span(module).subspan(at, module[at] >> spv::WordCountShift);
    at += instruction.size();
    visit(instruction, at);
  }
}

}  // namespace

void ask_for_subnormals(std::vector<uint32_t>& module) {
  uint32_t entry = 0;
  size_t behind_modes = 0;
  each(module, [&](Instruction instruction, size_t end) {
    const spv::Op opcode = opcode_of(instruction);
    if (opcode == spv::OpEntryPoint) entry = instruction[2];
    if (opcode == spv::OpEntryPoint || opcode == spv::OpExecutionMode) behind_modes = end;
  });
  std::vector<uint32_t> mode, capability;
  add(mode, spv::OpExecutionMode, {entry, spv::ExecutionModeDenormPreserve, 32});
  add(capability, spv::OpCapability, {spv::CapabilityDenormPreserve});
  module.insert(module.begin() + static_cast<std::ptrdiff_t>(behind_modes), mode.begin(), mode.end());
  module.insert(module.begin() + kHeaderWords, capability.begin(), capability.end());
}

void define_tile_types(std::vector<uint32_t>& module) {
  // The types and constants that tile types are made of stand before all others, and those types only once.
  std::map<uint32_t, uint32_t> floats, constants;  // ids, by bits and by value
  uint32_t word = 0;                               // the id of u32
  bool any = false;
  each(module, [&](Instruction instruction, size_t) {
    const spv::Op opcode = opcode_of(instruction);
    if (opcode == spv::OpTypeFloat) floats[instruction[2]] = instruction[1];
    if (opcode == spv::OpTypeInt && instruction[2] == 32 && instruction[3] == 0) word = instruction[1];
    any = any || opcode == kOpTypeCooperativeMatrix;
  });
  if (!any) return;
  const bool had_halves = floats.count(16) > 0;
  uint32_t bound = module[kBound];
  if (word == 0) word = bound++;
  each(module, [&](Instruction instruction, size_t) {
    if (opcode_of(instruction) != kOpTypeCooperativeMatrix) return;
    if (floats.try_emplace(instruction[2], bound).second) ++bound;
    for (const uint32_t literal : instruction.subspan(3)) {
      if (constants.try_emplace(literal, bound).second) ++bound;
    }
  });
  std::vector<uint32_t> result(module.begin(), module.begin() + kHeaderWords);
  if (!had_halves && floats.count(16) > 0) add(result, spv::OpCapability, {spv::CapabilityFloat16});
  bool defined = false;
  each(module, [&](Instruction instruction, size_t) {
    const spv::Op opcode = opcode_of(instruction);
    if (opcode >= spv::OpTypeVoid && opcode <= spv::OpConstant && !defined) {
      defined = true;
      add(result, spv::OpTypeInt, {word, 32, 0});
      for (const auto& [bits, id] : floats) add(result, spv::OpTypeFloat, {id, bits});
      for (const auto& [value, id] : constants) add(result, spv::OpConstant, {word, id, value});
    }
    if (opcode == spv::OpTypeFloat || (opcode == spv::OpTypeInt && instruction[1] == word)) return;
    if (opcode == kOpTypeCooperativeMatrix) {
      add(result, opcode,
          {instruction[1], floats[instruction[2]], constants[instruction[3]], constants[instruction[4]], constants[instruction[5]],
           constants[instruction[6]]});
    } else {
      result.insert(result.end(), instruction.begin(), instruction.end());
    }
  });
  result[kBound] = bound;
  module = std::move(result);
}

}  // namespace wick::vulkan
