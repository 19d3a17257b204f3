#include "wick/cli/flags/flag_sources.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "wick/base/fail.h"
#include "wick/cli/text_input.h"

namespace wick {
namespace {

// A character that no line has: CLI11 would end a value at its comment character even within quotes.
constexpr char kNoComment = '\x01';

// CLI11 splits a list in time that grows with the square of its length, and keeps all levels of a section at each of its levels.
constexpr size_t kMaxBytes = size_t{64} << 10;
constexpr size_t kMaxLevels = 8;

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const size_t begin = line.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin);
}

size_t dots_in(std::string_view text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '.')); }

// Goes through the lines as CLI11 does, and refuses what it would take too much memory for or leave out. Errors: invalid_argument.
void check_levels(const std::filesystem::path& path, std::string_view text) {
  size_t section_levels = 0;
  size_t number = 0;
  bool in_list = false;  // that began on a line before
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (in_list) {
      in_list = !line.ends_with(']');
      continue;
    }
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    const size_t equals = line.find('=');
    const bool is_section = line.starts_with('[') && line.ends_with(']');
    size_t levels = section_levels + dots_in(line.substr(0, equals));
    if (is_section) levels = section_levels = dots_in(line) + 1;
    if (levels > kMaxLevels) {
      fail(ErrorCode::invalid_argument, "{}: line {}: a section within {} others; the deepest that Wick has are like [gguf.split]",
           path.string(), number, levels - 1);
    }
    if (is_section || equals == std::string_view::npos) continue;
    const std::string_view value = trimmed(line.substr(equals + 1));
    in_list = value.size() > 1 && value.starts_with('[') && !value.ends_with(']');
  }
}

std::string join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ".") + part;
  return joined;
}

}  // namespace

std::vector<ConfigurationEntry> read_configuration_file(const std::filesystem::path& path) {
  std::string content = read_text_file(path);
  if (content.size() > kMaxBytes) {
    fail(ErrorCode::invalid_argument, "{}: {} bytes; a configuration file has at most {}", path.string(), content.size(), kMaxBytes);
  }
  check_levels(path, content);
  std::istringstream text(std::move(content));
  CLI::ConfigTOML format;
  format.comment(kNoComment);
  format.maxLayers(kMaxLevels);
  std::vector<ConfigurationEntry> entries;
  std::set<std::pair<std::string, std::string>> seen;
  for (const CLI::ConfigItem& item : format.from_config(text)) {
    if (item.name == "++" || item.name == "--") continue;  // CLI11's marks of where a section begins and ends
    ConfigurationEntry entry{.section = join(item.parents), .name = item.name, .values = item.inputs};
    if (entry.name.find_first_of(" \t") != std::string::npos) {
      fail(ErrorCode::invalid_argument, "{}: '{}' is not NAME = VALUE; begin a comment with #, a section with [", path.string(),
           entry.name);
    }
    std::replace(entry.name.begin(), entry.name.end(), '_', '-');
    if (!seen.emplace(entry.section, entry.name).second) {
      fail(ErrorCode::invalid_argument, "{}: '{}' is set twice{}; set it once", path.string(), entry.name,
           entry.section.empty() ? "" : " in [" + entry.section + "]");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string section_of(std::string_view command) {
  const size_t space = command.find(' ');
  if (space == std::string_view::npos) return "run";
  std::string section(command.substr(space + 1));
  std::replace(section.begin(), section.end(), ' ', '.');
  return section;
}

}  // namespace wick
