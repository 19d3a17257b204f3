#include "wick/tensor/ops/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "wick/quant/unpack_row.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

constexpr std::string_view kUnreadable = "this version does not read the format";

// Formats that no op takes would only fill the table; they are named in one line below it.
bool has_row(DType dtype) { return is_readable(dtype); }

std::string unreadable_formats() {
  std::string text;
  for (int id = 0; id < kDTypeCount; ++id) {
    const auto dtype = static_cast<DType>(id);
    if (!is_readable(dtype)) text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(dtype));
  }
  return text;
}

std::vector<std::string_view> kinds_by_reference(const Device& device, const OpInfo& row, DType dtype, Support found) {
  std::vector<std::string_view> kinds;
  if (found != Support::native && found != Support::kernel) return kinds;
  for (int kind = 0; kind < row.kinds; ++kind) {
    if (is_integer(dtype) && !takes_integers(row.id, kind)) continue;
    if (support(device, row.id, dtype, kind) == Support::reference) kinds.push_back(kind_name(row.id, kind));
  }
  return kinds;
}

// "unary: tan, asin (f32, f64)": the kinds of an op on a device, one line for each list of kinds.
std::string reference_kinds_text(std::span<const CoverageEntry> entries, DeviceKind device) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const CoverageEntry& entry : entries) {
    if (entry.device != device || entry.kinds_by_reference.empty()) continue;
    const std::string kinds = fmt::format("{}: {}", to_string(entry.op), fmt::join(entry.kinds_by_reference, ", "));
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == kinds; });
    if (found == lines.end()) {
      lines.emplace_back(kinds, to_string(entry.dtype));
    } else {
      found->second += fmt::format(", {}", to_string(entry.dtype));
    }
  }
  std::string text;
  for (const auto& [kinds, dtypes] : lines) text += fmt::format("- {} ({})\n", kinds, dtypes);
  return text;
}

size_t reason_number(std::vector<std::string_view>& reasons, std::string_view reason) {
  const auto found = std::find(reasons.begin(), reasons.end(), reason);
  const auto index = static_cast<size_t>(found - reasons.begin());
  if (found == reasons.end()) reasons.push_back(reason);
  return index + 1;
}

void render_device(std::span<const CoverageEntry> entries, DeviceKind device, std::vector<std::string_view>& reasons, std::string& text) {
  text += fmt::format("\n## {}\n\n| dtype |", to_string(device));
  std::string line = "\n|---|";
  for (const OpInfo& row : kOps) {
    text += fmt::format(" {} |", row.name);
    line += "---|";
  }
  text += line;
  for (int id = 0; id < kDTypeCount; ++id) {
    const auto dtype = static_cast<DType>(id);
    if (!has_row(dtype)) continue;
    text += fmt::format("\n| {} |", to_string(dtype));
    for (const CoverageEntry& entry : entries) {
      if (entry.device != device || entry.dtype != dtype) continue;
      if (entry.support != Support::none) text += fmt::format(" {} |", to_string(entry.support));
      if (entry.support == Support::none)
        text += entry.reason.empty() ? " MISSING |" : fmt::format(" – ({}) |", reason_number(reasons, entry.reason));
    }
  }
  text += "\n";
  if (const std::string kinds = reference_kinds_text(entries, device); !kinds.empty()) {
    text += fmt::format("\nThese kinds of ops have no code of their own here, and run by the reference loops:\n\n{}", kinds);
  }
}

}  // namespace

std::string_view declared_unsupported(OpId op, DType dtype) noexcept {
  if (!is_readable(dtype)) return kUnreadable;
  const UnsupportedReason unsupported = rule(op).unsupported;
  return unsupported == nullptr ? std::string_view() : unsupported(dtype);
}

std::vector<CoverageEntry> coverage(std::span<const Device> devices) {
  std::vector<CoverageEntry> entries;
  for (const Device& device : devices) {
    for (const OpInfo& row : kOps) {
      const OpId op = row.id;
      for (int id = 0; id < kDTypeCount; ++id) {
        const auto dtype = static_cast<DType>(id);
        std::string_view reason = declared_unsupported(op, dtype);
        const Support found = reason.empty() ? support(device, op, dtype) : Support::none;
        if (found == Support::none && reason.empty()) reason = missing_ability(device.caps(), dtype);
        entries.push_back({op, dtype, device.kind(), found, reason, kinds_by_reference(device, row, dtype, found)});
      }
    }
  }
  return entries;
}

std::string render_markdown(std::span<const CoverageEntry> entries) {
  std::string text =
      "# Coverage\n\nWhich device carries out which op on which dtype (that of the weight, the table, the cache or the only operand).\n"
      "`native`: by code of the device's own. `kernel`: by a portable kernel; the device `reference` interprets them, and stands for "
      "every\n"
      "device that has f64 arithmetic and 64-bit integers. `reference`: by the op's reference loops in f64, correct and slow.\n"
      "Written by `wick coverage --markdown cpu reference`; a test compares it with the program's tables.\n";
  std::vector<std::string_view> reasons;
  std::vector<DeviceKind> done;
  for (const CoverageEntry& entry : entries) {
    if (std::find(done.begin(), done.end(), entry.device) != done.end()) continue;
    done.push_back(entry.device);
    render_device(entries, entry.device, reasons, text);
  }
  text += "\n## Not there, and why\n\n";
  for (size_t index = 0; index < reasons.size(); ++index) text += fmt::format("{}. {}\n", index + 1, reasons[index]);
  if (const std::string formats = unreadable_formats(); !formats.empty()) {
    text += fmt::format("\nFormats that this version names but does not read: {}.\n", formats);
  }
  return text;
}

std::string render_text(std::span<const CoverageEntry> entries) {
  std::string text;
  for (const CoverageEntry& entry : entries) {
    text += fmt::format("{:<8} {:<13} {:<8} {:<10}{}{}\n", to_string(entry.device), to_string(entry.op), to_string(entry.dtype),
                        to_string(entry.support), entry.reason.empty() ? "" : " ", entry.reason);
  }
  return text;
}

}  // namespace wick
