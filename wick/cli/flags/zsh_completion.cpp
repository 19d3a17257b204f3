#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "wick/cli/flags/completion.h"

namespace wick {
namespace {

// The text with a backslash before each of these characters.
std::string escape(std::string_view text, std::string_view characters) {
  std::string out;
  for (const char letter : text) {
    if (characters.find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

// What _arguments does for a value: "FILE:_files".
std::string action(const FlagRecord& record) {
  const std::string message = escape(record.value_name.empty() ? record.name : record.value_name, ":\\");
  const std::string choices = fmt::format("{}", fmt::join(record.choices, " "));
  if (!choices.empty() && record.value_name == "LIST") return fmt::format("{}:_sequence compadd - {}", message, choices);
  // Names of mixes are in capitals, and may be typed in small letters.
  const bool capitals = std::any_of(choices.begin(), choices.end(), [](char letter) { return letter >= 'A' && letter <= 'Z'; });
  if (capitals) return fmt::format("{}:{{compadd -M \"m\\:{{a-z}}={{A-Z}}\" - {}}}", message, choices);
  if (!choices.empty()) return fmt::format("{}:({})", message, choices);
  if (record.takes_folder()) return message + ":_files -/";
  return message + (record.takes_path() ? ":_files" : ": ");
}

// One line for _arguments: '(-m --model)'{-m+,--model=}'[what it is]:FILE:_files'.
std::string flag_line(const FlagRecord& record) {
  std::string names;
  std::string specs;
  for (const std::string& name : record.names()) {
    const char* value = record.is_switch() ? "" : (name.starts_with("--") ? "=" : "+");
    names += (names.empty() ? "" : " ") + name;
    specs += (specs.empty() ? "" : ",") + name + value;
  }
  if (record.names().size() > 1) specs = "{" + specs + "}";
  const std::string prefix = record.multiple ? "'*'" : fmt::format("'({})'", names);
  const std::string value = record.is_switch() ? "" : ":" + action(record);
  return prefix + specs + quoted_for_sh("[" + escape(record.description, "[]\\") + "]" + value);
}

std::string argument_line(const FlagRecord& record, size_t place) {
  return quoted_for_sh(record.multiple ? "*:" + action(record) : fmt::format("{}:{}", place, action(record)));
}

std::string arguments_call(const CommandRecord& command) {
  std::string text = "  _arguments -s -S";
  for (const FlagRecord& record : named_flags(command)) text += " \\\n    " + flag_line(record);
  size_t place = 1;
  for (const FlagRecord& record : arguments_of(command)) text += " \\\n    " + argument_line(record, place++);
  return text + "\n";
}

std::string function_of(const CommandRecord& command) {
  const std::string function = function_name(command.name);
  std::string text;
  for (const CommandRecord& subcommand : command.subcommands) text += function_of(subcommand);
  text += function + "() {\n";
  if (!command.subcommands.empty()) {
    text += "  if ((CURRENT == 2)); then\n    local -a subcommands=(\n";
    for (const CommandRecord& subcommand : command.subcommands) {
      text += "      " + quoted_for_sh(subcommand.last_word() + ":" + escape(subcommand.summary, ":\\")) + "\n";
    }
    text += "      'help:print the help of a subcommand'\n    )\n";
    text += fmt::format("    _describe -t subcommands '{} subcommand' subcommands\n  ", command.name);
    text += arguments_call(command);
    // The subcommand becomes the first word, as if it were the program.
    text += "    return\n  fi\n  shift words\n  ((CURRENT--))\n  case $words[1] in\n";
    for (const CommandRecord& subcommand : command.subcommands) {
      text += fmt::format("    {}) {} ;;\n", subcommand.last_word(), function_name(subcommand.name));
    }
    return text + fmt::format("    help) ((CURRENT == 2)) && {} ;;\n  esac\n}}\n\n", function);
  }
  return text + arguments_call(command) + "}\n\n";
}

}  // namespace

std::string zsh_completion(const CommandRecord& program) {
  const std::string function = function_name(program.name);
  return fmt::format("#compdef {}\n# Completions of {} for zsh.\n\n", program.name, program.name) + function_of(program) +
         fmt::format("if [[ $funcstack[1] == {0} ]]; then\n  {0} \"$@\"\nelse\n  compdef {0} {1}\nfi\n", function, program.name);
}

}  // namespace wick
