// The help text of a command, made from what is known of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "wick/cli/console.h"
#include "wick/cli/flags/command_record.h"
#include "wick/cli/flags/wrap.h"

namespace wick {
namespace {

// Where descriptions begin: those of flags, and those of subcommands.
constexpr size_t kColumn = 32;
constexpr size_t kSubcommandColumn = 22;

std::string entry(std::string left, const std::string& description, size_t column) {
  if (columns_of(left) + 2 > column) {
    left += '\n';
    left += std::string(column, ' ');
  } else {
    left += std::string(column - columns_of(left), ' ');
  }
  return left + wrap(description, column) + '\n';
}

std::string entry(const FlagRecord& record) {
  std::string left = "  ";
  if (!record.positional) left += record.short_name.empty() ? "    " : record.short_name + ", ";
  left += record.name;
  if (!record.value_name.empty()) left += " " + record.value_name;
  std::string description = record.description;
  if (!record.aliases.empty()) description += fmt::format(" [also {}]", fmt::join(record.aliases, ", "));
  return entry(left, description, kColumn);
}

std::vector<FlagRecord> select(const CommandRecord& command, bool positional) {
  std::vector<FlagRecord> selected;
  std::copy_if(command.flags.begin(), command.flags.end(), std::back_inserter(selected),
               [positional](const FlagRecord& record) { return !record.hidden && record.positional == positional; });
  return selected;
}

}  // namespace

std::vector<FlagRecord> named_flags(const CommandRecord& command) { return select(command, false); }

std::vector<FlagRecord> arguments_of(const CommandRecord& command) { return select(command, true); }

std::string usage_of(const CommandRecord& command) {
  if (!command.subcommands.empty()) return "SUBCOMMAND [FLAGS]";
  std::string usage = "[FLAGS]";
  for (const FlagRecord& record : command.flags) {
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

std::vector<std::string> groups_of(const CommandRecord& command) {
  std::vector<std::string> groups;
  for (const FlagRecord& record : named_flags(command)) {
    if (std::find(groups.begin(), groups.end(), record.group) == groups.end()) groups.push_back(record.group);
  }
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group != "General"; });
  return groups;
}

std::string help_text(const CommandRecord& command) {
  std::string usage = fmt::format("Usage: {} {}", command.name, usage_of(command));
  if (!command.subcommands.empty()) usage += fmt::format("; {} help SUBCOMMAND tells more", command.name);
  std::string text = wrap(command.description) + "\n\n" + wrap(usage) + "\n";
  if (!command.subcommands.empty()) text += "\nSubcommands:\n";
  for (const CommandRecord& subcommand : command.subcommands) {
    text += entry("  " + subcommand.last_word(), subcommand.summary, kSubcommandColumn);
  }
  const std::vector<FlagRecord> arguments = arguments_of(command);
  if (!arguments.empty()) text += "\nArguments:\n";
  for (const FlagRecord& record : arguments) text += entry(record);
  for (const std::string& group : groups_of(command)) {
    text += "\n" + group + ":\n";
    for (const FlagRecord& record : named_flags(command)) {
      if (record.group == group) text += entry(record);
    }
  }
  if (!command.notes.empty()) text += "\n" + wrap(command.notes) + (command.notes.ends_with('\n') ? "" : "\n");
  if (!command.examples.empty()) text += fmt::format("\nExamples:\n  {}\n", fmt::join(command.examples, "\n  "));
  return text + "\n" + wrap("Exit codes: " + exit_code_help()) + "\n";
}

}  // namespace wick
