#include "wick/cli/text_format.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
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
std::string format_counted(int64_t count, std::string_view noun) { return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s"); }
double decimal_of(float value) {
  const std::string text = fmt::format("{}", value);
  double decimal = value;
  std::from_chars(text.data(), text.data() + text.size(), decimal);
  return decimal;
}
std::string format_count(uint64_t count) { return scale(static_cast<double>(count), 1000, {"", " K", " M", " G", " T"}); }

}  // namespace wick
