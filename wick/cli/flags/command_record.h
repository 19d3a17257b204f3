// A CommandRecord describes a command: source of help texts, man pages and shell completions.
#pragma once

#include <string>
#include <vector>

namespace wick {

// Description of a flag or an argument.
struct FlagRecord {
  std::string name;                  // "--model"; of an argument "IN"
  std::string short_name = {};       // "-m", or empty
  std::vector<std::string> aliases;  // other long names
  std::string value_name;            // "FILE"; empty: a switch. FILE, DIR, FOLDER and FILE|DIR are completed as paths
  std::string description;
  std::string group;                      // the heading in the help text
  std::string variable;                   // "WICK_MODEL"; empty: none
  std::vector<std::string> choices = {};  // the allowed values, where they have names; LIST takes several of them
  bool positional = false;
  bool required = false;
  bool multiple = false;
  bool hidden = false;
  bool value_optional = false;
  bool path = false;  // an argument that names a file

  [[nodiscard]] bool is_switch() const { return !positional && value_name.empty() && !value_optional; }
  [[nodiscard]] bool takes_folder() const { return value_name == "DIR" || value_name == "FOLDER"; }
  [[nodiscard]] bool takes_path() const { return path || value_name == "FILE" || value_name == "FILE|DIR" || takes_folder(); }
  // All names that are not hidden, the short one first.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    if (!short_name.empty()) all.push_back(short_name);
    all.push_back(name);
    all.insert(all.end(), aliases.begin(), aliases.end());
    return all;
  }
};

struct CommandRecord {
  std::string name;         // "wick gguf set"
  std::string summary;      // "write a copy with changed metadata"
  std::string description;  // sentences
  std::string notes;        // lines that begin with a space keep their breaks
  std::vector<std::string> examples;
  std::vector<FlagRecord> flags;           // and arguments, in the order of the command line
  std::vector<CommandRecord> subcommands;  // those of `wick` and `wick gguf`

  [[nodiscard]] std::string last_word() const { return name.substr(name.rfind(' ') + 1); }
};

// The flags that are named on the command line, and the arguments, without what is hidden.
[[nodiscard]] std::vector<FlagRecord> named_flags(const CommandRecord& command);
[[nodiscard]] std::vector<FlagRecord> arguments_of(const CommandRecord& command);
// "[FLAGS] IN OUT [TYPE]"
[[nodiscard]] std::string usage_of(const CommandRecord& command);
// The headings of the flags in their order, what every command has last.
[[nodiscard]] std::vector<std::string> groups_of(const CommandRecord& command);
// The text of --help.
[[nodiscard]] std::string help_text(const CommandRecord& command);

}  // namespace wick
