#include "wick/cli/commands/subcommands.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/suggest.h"

namespace wick {
namespace {

// The subcommand's own record comes from its body: each asks the console for it before it does anything.
CommandRecord describe(Console& console, const std::string& group, const Subcommand& subcommand) {
  CommandRecord record;
  auto outer_name = std::exchange(console.name, fmt::format("{} {}", group, subcommand.name));
  auto outer_take = std::exchange(console.on_record, [&record](const CommandRecord& own) { record = own; });
  subcommand.body(console, {});
  console.name = std::move(outer_name);
  console.on_record = std::move(outer_take);
  record.summary = subcommand.summary;
  return record;
}

// Without what only the subcommands know.
CommandRecord outline(const CommandGroup& group) {
  CommandRecord record{.name = group.name,
                       .summary = {},
                       .description = group.description,
                       .notes = {},
                       .examples = group.examples,
                       .flags = group.flags,
                       .subcommands = {}};
  for (const Subcommand& subcommand : group.subcommands) {
    record.subcommands.push_back({.name = fmt::format("{} {}", group.name, subcommand.name),
                                  .summary = std::string(subcommand.summary),
                                  .description = {},
                                  .notes = {},
                                  .examples = {},
                                  .flags = {},
                                  .subcommands = {}});
  }
  return record;
}

const Subcommand& find(const CommandGroup& group, const std::string& name) {
  const auto found = std::find_if(group.subcommands.begin(), group.subcommands.end(),
                                  [&](const Subcommand& subcommand) { return subcommand.name == name; });
  if (found != group.subcommands.end()) return *found;
  const bool flag = name.starts_with('-');
  std::vector<std::string> known;
  if (flag) {
    known.emplace_back("--help");
    for (const FlagRecord& record : group.flags) known.push_back(record.name);
  } else {
    for (const Subcommand& subcommand : group.subcommands) known.emplace_back(subcommand.name);
  }
  fail(ErrorCode::invalid_argument, "no {} '{}'{}; {} --help lists them", flag ? "flag" : "subcommand", name, did_you_mean(name, known),
       group.name);
}

}  // namespace

CommandRecord describe(Console& console, const CommandGroup& group) {
  CommandRecord record = outline(group);
  for (size_t index = 0; index < group.subcommands.size(); ++index) {
    record.subcommands[index] = describe(console, group.name, group.subcommands[index]);
  }
  return record;
}

void run_group(Console& console, const CommandGroup& group, const Arguments& arguments) {
  if (console.on_record) return console.on_record(describe(console, group));
  const std::string first = arguments.empty() ? "" : arguments.front();
  const bool help = first == "--help" || first == "-h" || first == "help";
  if (arguments.empty() || (help && arguments.size() == 1)) {
    console.out << help_text(outline(group));
    // Whoever types the name alone wants to know what there is, and a script that does has forgotten something.
    if (arguments.empty()) console.exit_code = kExitUserError;
    return;
  }
  // `wick help gguf set` is `wick gguf set --help`.
  Arguments rest(arguments.begin() + (help ? 2 : 1), arguments.end());
  if (help) rest.emplace_back("--help");
  const Subcommand& subcommand = find(group, help ? arguments[1] : first);
  console.name = fmt::format("{} {}", group.name, subcommand.name);
  subcommand.body(console, rest);
}

}  // namespace wick
