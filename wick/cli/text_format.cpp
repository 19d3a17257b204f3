#include "wick/cli/text_format.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace wick {
namespace {

std::string scale(double value, double step, const std::array<std::string_view, 5>& units) {
  size_t unit = 0;
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, unit == 0 ? 0 : 1, units[unit]);
}

}  // namespace

std::string format_bytes(uint64_t bytes) { return scale(static_cast<double>(bytes), 1024, {" bytes", " KiB", " MiB", " GiB", " TiB"}); }
std::string format_tokens(int64_t count) { return fmt::format("{} {}", count, count == 1 ? "token" : "tokens"); }
std::string format_count(uint64_t count) { return scale(static_cast<double>(count), 1000, {"", " K", " M", " G", " T"}); }

}  // namespace wick
