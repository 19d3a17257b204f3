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

std::string join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ".") + part;
  return joined;
}

}  // namespace

std::vector<ConfigurationEntry> read_configuration_file(const std::filesystem::path& path) {
  std::istringstream text(read_text_file(path));
  CLI::ConfigTOML format;
  format.comment(kNoComment);
  format.maxLayers(8);
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
