#include "wick/formats/split_name.h"

#include <fmt/format.h>

#include <charconv>

namespace wick {
namespace {

constexpr std::string_view kOf = "-of-";
constexpr std::string_view kEnding = ".gguf";

std::optional<uint64_t> whole_number_of(std::string_view digits) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string SplitName::to_string() const { return fmt::format("{}-{:05}{}{:05}{}", stem, number, kOf, count, kEnding); }

std::optional<SplitName> SplitName::parse(std::string_view name) {
  const size_t of = name.rfind(kOf);
  if (of == std::string_view::npos || !name.ends_with(kEnding) || of + kOf.size() + kEnding.size() > name.size()) return std::nullopt;
  const size_t dash = name.substr(0, of).rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const size_t count_at = of + kOf.size();
  const std::optional<uint64_t> number = whole_number_of(name.substr(dash + 1, of - dash - 1));
  const std::optional<uint64_t> count = whole_number_of(name.substr(count_at, name.size() - kEnding.size() - count_at));
  if (!number || !count) return std::nullopt;
  SplitName result{.stem = std::string(name.substr(0, dash)), .number = *number, .count = *count};
  if (result.to_string() != name) return std::nullopt;
  return result;
}

}  // namespace wick
