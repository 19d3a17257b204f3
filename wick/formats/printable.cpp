#include "wick/formats/printable.h"

#include "wick/base/terminal_text.h"

namespace wick {
namespace {

constexpr size_t kMaxShown = 80;

}  // namespace

std::string printable(std::string_view text) {
  std::string shown = "'";
  size_t at = 0;
  while (at < text.size() && at < kMaxShown) at += append_shown(text.substr(at), shown);
  if (at < text.size()) shown += "…";
  shown += '\'';
  return shown;
}

std::string printable_name(std::string_view text) {
  std::string quoted = printable(text);
  return std::string_view(quoted).substr(1, quoted.size() - 2) == text ? std::string(text) : quoted;
}

std::string printable(std::span<const std::byte> bytes) {
  return printable(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace wick
