#include "wick/device/submissions/spirv_module.h"

#include <initializer_list>
#include <map>
#include <utility>

namespace wick {
namespace {

constexpr size_t kBound = 3, kHeaderWords = 5;  // the bound of ids is word 3 of the header

// The instructions of the specification that are looked for, and what is added. Tile types are SPV_KHR_cooperative_matrix's.
enum Op : uint32_t {
  kOpEntryPoint = 15,
  kOpExecutionMode = 16,
  kOpCapability = 17,
  kOpTypeVoid = 19,
  kOpTypeInt = 21,
  kOpTypeFloat = 22,
  kOpConstant = 43,
  kOpTypeCooperativeMatrix = 4456,
};
constexpr uint32_t kModeDenormPreserve = 4459, kCapabilityDenormPreserve = 4464, kCapabilityFloat16 = 9;
constexpr uint32_t kOpcodeMask = 0xffff, kWordCountShift = 16;

using Instruction = std::span<const uint32_t>;

uint32_t opcode_of(Instruction instruction) { return instruction[0] & kOpcodeMask; }

void add(std::vector<uint32_t>& words, uint32_t opcode, std::initializer_list<uint32_t> operands) {
  words.push_back(static_cast<uint32_t>(operands.size() + 1) << kWordCountShift | opcode);
  words.insert(words.end(), operands);
}

// The module's instructions, one after the other.
template <class Visit>
void each(const std::vector<uint32_t>& module, const Visit& visit) {
  for (size_t at = kHeaderWords; at < module.size();) {
    const Instruction instruction = std::span(module).subspan(at, module[at] >> kWordCountShift);
    at += instruction.size();
    visit(instruction, at);
  }
}

}  // namespace

std::vector<uint32_t> spirv_words(std::span<const std::byte> bytes) {
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  const bool whole = bytes.size() % sizeof(uint32_t) == 0 && words.size() >= kHeaderWords;
  if (!whole || !is_spirv({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) words.clear();
  return words;
}

void ask_for_subnormals(std::vector<uint32_t>& module) {
  uint32_t entry = 0;
  size_t behind_modes = 0;
  each(module, [&](Instruction instruction, size_t end) {
    const uint32_t opcode = opcode_of(instruction);
    if (opcode == kOpEntryPoint) entry = instruction[2];
    if (opcode == kOpEntryPoint || opcode == kOpExecutionMode) behind_modes = end;
  });
  std::vector<uint32_t> mode, capability;
  add(mode, kOpExecutionMode, {entry, kModeDenormPreserve, 32});
  add(capability, kOpCapability, {kCapabilityDenormPreserve});
  module.insert(module.begin() + static_cast<std::ptrdiff_t>(behind_modes), mode.begin(), mode.end());
  module.insert(module.begin() + kHeaderWords, capability.begin(), capability.end());
}

void define_tile_types(std::vector<uint32_t>& module) {
  // The types and constants that tile types are made of stand before all others, and those types only once.
  std::map<uint32_t, uint32_t> floats, constants;  // ids, by bits and by value
  uint32_t word = 0;                               // the id of u32
  bool any = false;
  each(module, [&](Instruction instruction, size_t) {
    const uint32_t opcode = opcode_of(instruction);
    if (opcode == kOpTypeFloat) floats[instruction[2]] = instruction[1];
    if (opcode == kOpTypeInt && instruction[2] == 32 && instruction[3] == 0) word = instruction[1];
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
  if (!had_halves && floats.count(16) > 0) add(result, kOpCapability, {kCapabilityFloat16});
  bool defined = false;
  each(module, [&](Instruction instruction, size_t) {
    const uint32_t opcode = opcode_of(instruction);
    if (opcode >= kOpTypeVoid && opcode <= kOpConstant && !defined) {
      defined = true;
      add(result, kOpTypeInt, {word, 32, 0});
      for (const auto& [bits, id] : floats) add(result, kOpTypeFloat, {id, bits});
      for (const auto& [value, id] : constants) add(result, kOpConstant, {word, id, value});
    }
    if (opcode == kOpTypeFloat || (opcode == kOpTypeInt && instruction[1] == word)) return;
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

}  // namespace wick
