#include "wick/backend/vulkan/spirv.h"

#include <initializer_list>
#include <map>
#include <span>
#include <utility>

namespace wick::vulkan {
namespace {

constexpr size_t kBound = 3, kHeaderWords = 5;  // the bound of ids is word 3 of the header

enum Opcode : uint32_t {
  kEntryPoint = 15,
  kExecutionMode = 16,
  kCapability = 17,
  kTypeVoid = 19,
  kTypeInt = 21,
  kTypeFloat = 22,
  kConstant = 43,
  kTypeCooperativeMatrix = 4456,
};
constexpr uint32_t kFloat16Capability = 9, kDenormPreserve = 4459, kDenormPreserveCapability = 4464;

using Instruction = std::span<const uint32_t>;

Opcode opcode_of(Instruction instruction) { return static_cast<Opcode>(instruction[0] & 0xffff); }

void add(std::vector<uint32_t>& words, Opcode opcode, std::initializer_list<uint32_t> operands) {
  words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
  words.insert(words.end(), operands);
}

// The module's instructions, one after the other.
template <class Visit>
void each(const std::vector<uint32_t>& module, const Visit& visit) {
  for (size_t at = kHeaderWords; at < module.size();) {
    const Instruction instruction = std::span(module).subspan(at, module[at] >> 16);
    at += instruction.size();
    visit(instruction, at);
  }
}

}  // namespace

void ask_for_subnormals(std::vector<uint32_t>& module) {
  uint32_t entry = 0;
  size_t behind_modes = 0;
  each(module, [&](Instruction instruction, size_t end) {
    const Opcode opcode = opcode_of(instruction);
    if (opcode == kEntryPoint) entry = instruction[2];
    if (opcode == kEntryPoint || opcode == kExecutionMode) behind_modes = end;
  });
  std::vector<uint32_t> mode, capability;
  add(mode, kExecutionMode, {entry, kDenormPreserve, 32});
  add(capability, kCapability, {kDenormPreserveCapability});
  module.insert(module.begin() + static_cast<std::ptrdiff_t>(behind_modes), mode.begin(), mode.end());
  module.insert(module.begin() + kHeaderWords, capability.begin(), capability.end());
}

void define_tile_types(std::vector<uint32_t>& module) {
  // The types and constants that tile types are made of stand before all others, and those types only once.
  std::map<uint32_t, uint32_t> floats, constants;  // ids, by bits and by value
  uint32_t word = 0;                               // the id of u32
  bool any = false;
  each(module, [&](Instruction instruction, size_t) {
    const Opcode opcode = opcode_of(instruction);
    if (opcode == kTypeFloat) floats[instruction[2]] = instruction[1];
    if (opcode == kTypeInt && instruction[2] == 32 && instruction[3] == 0) word = instruction[1];
    any = any || opcode == kTypeCooperativeMatrix;
  });
  if (!any) return;
  const bool had_halves = floats.count(16) > 0;
  uint32_t bound = module[kBound];
  if (word == 0) word = bound++;
  each(module, [&](Instruction instruction, size_t) {
    if (opcode_of(instruction) != kTypeCooperativeMatrix) return;
    if (floats.try_emplace(instruction[2], bound).second) ++bound;
    for (const uint32_t literal : instruction.subspan(3)) {
      if (constants.try_emplace(literal, bound).second) ++bound;
    }
  });
  std::vector<uint32_t> result(module.begin(), module.begin() + kHeaderWords);
  if (!had_halves && floats.count(16) > 0) add(result, kCapability, {kFloat16Capability});
  bool defined = false;
  each(module, [&](Instruction instruction, size_t) {
    const Opcode opcode = opcode_of(instruction);
    if (opcode >= kTypeVoid && opcode <= kConstant && !defined) {
      defined = true;
      add(result, kTypeInt, {word, 32, 0});
      for (const auto& [bits, id] : floats) add(result, kTypeFloat, {id, bits});
      for (const auto& [value, id] : constants) add(result, kConstant, {word, id, value});
    }
    if (opcode == kTypeFloat || (opcode == kTypeInt && instruction[1] == word)) return;
    if (opcode == kTypeCooperativeMatrix) {
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
