#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "wick/cli/flags/completion.h"

namespace wick {
namespace {

// Within single quotes, where a backslash escapes itself and the quote.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + "'";
}

class FishScript {
 public:
  explicit FishScript(const CommandRecord& program) : program_(program), at_("_" + function_name(program.name) + "_at") {
    text_ = fmt::format("# Completions of {} for fish.\n\n", program.name);
    text_ += fmt::format("# Whether the command line begins with this subcommand, or has none where none is named.\nfunction {}\n", at_);
    text_ +=
        "  set -l words (commandline -opc)\n"
        "  set -l last (math 1 + (count $argv))\n"
        "  if test (count $argv) -eq 0\n"
        "    test (count $words) -eq 1\n"
        "    return\n"
        "  end\n"
        "  test (count $words) -ge $last; or return 1\n"
        "  test \"$words[2..$last]\" = \"$argv\"\n"
        "end\n\n";
    visit(program, "");
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void visit(const CommandRecord& command, const std::string& path) {
    const bool leaf_program = program_.subcommands.empty();
    std::string condition = at_ + (path.empty() ? "" : " " + path);
    // A group's own words and flags come right behind it.
    if (!command.subcommands.empty() && !path.empty()) {
      condition += fmt::format("; and test (count (commandline -opc)) -eq {}", 2 + std::count(path.begin(), path.end(), ' '));
    }
    const std::string start =
        fmt::format("complete -c {}{}", program_.name, leaf_program ? "" : fmt::format(" -n {}", fish_quoted(condition)));
    bool files = false;
    for (const FlagRecord& record : arguments_of(command)) {
      files = files || record.takes_path();
      if (!record.choices.empty())
        text_ += fmt::format("{} -a {}\n", start, fish_quoted(fmt::format("{}", fmt::join(record.choices, " "))));
    }
    if (!files) text_ += start + " -f\n";
    for (const CommandRecord& subcommand : command.subcommands) {
      text_ += fmt::format("{} -a {} -d {}\n", start, subcommand.last_word(), fish_quoted(subcommand.summary));
    }
    for (const FlagRecord& record : named_flags(command)) text_ += start + flag(record) + "\n";
    text_ += "\n";
    for (const CommandRecord& subcommand : command.subcommands)
      visit(subcommand, (path.empty() ? "" : path + " ") + subcommand.last_word());
  }

  static std::string flag(const FlagRecord& record) {
    std::string text;
    for (const std::string& name : record.names()) text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!record.choices.empty()) {
      const bool list = record.value_name == "LIST";
      const std::string words = fmt::format("{}", fmt::join(record.choices, " "));
      text += " -x -a " + fish_quoted(list ? fmt::format("(__fish_append , {})", words) : words);
    } else if (record.takes_folder()) {
      text += " -x -a '(__fish_complete_directories)'";
    } else if (record.takes_path()) {
      text += " -r -F";
    } else if (!record.is_switch()) {
      text += " -x";
    }
    return text + " -d " + fish_quoted(record.description);
  }

  const CommandRecord& program_;
  std::string at_;
  std::string text_;
};

}  // namespace

std::string fish_completion(const CommandRecord& program) { return FishScript(program).text(); }

}  // namespace wick
