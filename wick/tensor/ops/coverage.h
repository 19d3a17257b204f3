// Coverage: which device carries out which op on which dtype, and why not where none does. Read from the table that dispatch uses.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/tensor/ops/dispatch.h"

namespace wick {

struct CoverageEntry {
  OpId op;
  DType dtype;  // of the op's defining operand
  DeviceKind device;
  Support support;
  // Why there is nothing, where that is meant to be so; empty elsewhere. An entry with Support::none and no reason is a mistake.
  std::string_view reason;
  // The op's kinds that the reference loops carry out, although the others have an implementation.
  std::vector<std::string_view> kinds_by_reference = {};
};

// Why no device carries out this op on this dtype; empty if it should.
[[nodiscard]] std::string_view declared_unsupported(OpId op, DType dtype) noexcept;

// One entry for each device, op and dtype, in that order.
[[nodiscard]] std::vector<CoverageEntry> coverage(std::span<const Device> devices);

// A table of dtypes by ops for each device: native, reference (the op's reference loops serve), or the number of the reason why not.
[[nodiscard]] std::string render_markdown(std::span<const CoverageEntry> entries);
// One line an entry: device, op, dtype, support, reason.
[[nodiscard]] std::string render_text(std::span<const CoverageEntry> entries);

[[nodiscard]] constexpr std::string_view to_string(Support support) noexcept {
  switch (support) {
    case Support::none: return "none";
    case Support::native: return "native";
    case Support::kernel: return "kernel";
    case Support::reference: return "reference";
    case Support::cpu_fallback: return "cpu_fallback";
  }
  return "";
}

}  // namespace wick
