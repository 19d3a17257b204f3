// Commands that have subcommands: `wick` and `wick gguf`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/cli/console.h"
#include "wick/cli/flags/command_record.h"

namespace wick {

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  void (*body)(Console& console, const Arguments& arguments);
};

struct CommandGroup {
  std::string name;  // "wick gguf"
  std::string description;
  std::vector<std::string> examples;
  std::vector<FlagRecord> flags = {};
  std::span<const Subcommand> subcommands;
};

// Records of the group and of all commands in it. Leaves the console unchanged.
[[nodiscard]] CommandRecord describe(Console& console, const CommandGroup& group);

// Runs the subcommand that the first argument names, or prints the help text. Errors: invalid_argument where there is none.
void run_group(Console& console, const CommandGroup& group, const Arguments& arguments);

}  // namespace wick
