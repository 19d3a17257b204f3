// The help text of a command, made from what is known of its flags.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "wick/cli/flags.h"
#include "wick/cli/wrap.h"

namespace wick {
namespace {

// Where descriptions begin.
constexpr size_t kColumn = 32;

std::string usage_line(const std::string& name, const std::vector<FlagRecord>& records) {
  std::string usage = fmt::format("Usage: {} [FLAGS]", name);
  for (const FlagRecord& record : records) {
    if (record.hidden) continue;
    if (record.positional) {
      const std::string argument = record.name + (record.multiple ? "..." : "");
      usage += record.required ? " " + argument : " [" + argument + "]";
    } else if (record.required) {
      usage += fmt::format(" {} {}", record.name, record.value_name);
    }
  }
  return usage;
}

std::string entry(const FlagRecord& record) {
  std::string left = "  ";
  if (!record.positional) left += record.short_name.empty() ? "    " : record.short_name + ", ";
  left += record.name;
  if (!record.value_name.empty()) left += " " + record.value_name;
  std::string description = record.description;
  if (!record.aliases.empty()) description += fmt::format(" [also {}]", fmt::join(record.aliases, ", "));
  if (columns_of(left) + 2 > kColumn) {
    left += '\n';
    left += std::string(kColumn, ' ');
  } else {
    left += std::string(kColumn - columns_of(left), ' ');
  }
  return left + wrap(description, kColumn) + '\n';
}

}  // namespace

std::string Flags::help() const {
  const std::vector<FlagRecord> all = records();
  std::string text = wrap(description_) + "\n\n" + wrap(usage_line(console_.name, all), 0) + "\n";
  std::string arguments;
  std::vector<std::string> groups;
  for (const FlagRecord& record : all) {
    if (record.hidden) continue;
    if (record.positional) {
      arguments += entry(record);
    } else if (std::find(groups.begin(), groups.end(), record.group) == groups.end()) {
      groups.push_back(record.group);
    }
  }
  // What every command has is last.
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group != "General"; });
  if (!arguments.empty()) text += "\nArguments:\n" + arguments;
  for (const std::string& group : groups) {
    text += "\n" + group + ":\n";
    for (const FlagRecord& record : all) {
      if (!record.hidden && !record.positional && record.group == group) text += entry(record);
    }
  }
  return text + "\n" + wrap(footer_) + "\n";
}

}  // namespace wick
