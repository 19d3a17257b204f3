#include <fmt/format.h>
#include <fmt/ranges.h>

#include "wick/cli/flags/completion.h"

namespace wick {
namespace {

// Behind the tables. `command` and `at` are set: the subcommand, and where the words behind it begin.
constexpr std::string_view kComplete = R"script(
  # Which flag's value is due, and how many arguments are before the cursor. bash makes three words of --flag=value.
  local due='' place=0 word
  [[ $cur == = ]] && cur=''
  for ((; at < COMP_CWORD; at++)); do
    word=${COMP_WORDS[at]}
    if [[ -n $due ]]; then
      [[ $word == = ]] || due=''
    elif [[ $values == *" $word "* ]]; then
      due=$word
    elif [[ $word != -* ]]; then
      ((place++))
    fi
  done

  local offered=''
  if [[ -n $due ]]; then
    @FUNCTION@_values
  elif [[ -n $subcommands ]] && ((place)); then
    : # a word that is no subcommand
  elif [[ $cur == -* ]]; then
    offered=$flags
    [[ -n $(compgen -W "$flags" -- "$cur") ]] || offered=$aliases
  elif [[ -n $subcommands ]]; then
    offered=$subcommands
  else
    due=$place
    @FUNCTION@_values
  fi
  case $offered in
    '') ;;
    @files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      ;;
    @folders)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      ;;
    *)
      # The last element of a list; names of types are in capitals, and may be typed in small letters.
      local last=${cur##*,}
      local before=${cur%"$last"}
      mapfile -t COMPREPLY < <(compgen -P "$before" -W "$offered" -- "$last")
      ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -P "$before" -W "$offered" -- "${last^^}")
      ;;
  esac
}
)script";

std::string offered(const FlagRecord& record) {
  if (!record.choices.empty()) return fmt::format("{}", fmt::join(record.choices, " "));
  if (record.takes_folder()) return "@folders";
  return record.takes_path() ? "@files" : "";
}

// What follows the program's own name: "gguf set"; empty for the program itself.
std::string path_of(const CommandRecord& command, const CommandRecord& program) {
  return command.name == program.name ? "" : command.name.substr(program.name.size() + 1);
}

class BashScript {
 public:
  explicit BashScript(const CommandRecord& program) : program_(program) { visit(program); }

  [[nodiscard]] std::string text() const {
    const std::string function = function_name(program_.name);
    std::string complete(kComplete);
    for (size_t at = complete.find("@FUNCTION@"); at != std::string::npos; at = complete.find("@FUNCTION@"))
      complete.replace(at, 10, function);
    std::string text = fmt::format("# Completions of {} for bash.\n\n", program_.name);
    text += fmt::format("# Sets what the value of `due`, a flag or an argument's number, is completed with.\n{}_values() {{\n", function);
    text += "  case $command:$due in\n" + values_ + "    *) offered='' ;;\n  esac\n}\n\n";
    text += fmt::format("{}() {{\n  local cur=${{COMP_WORDS[COMP_CWORD]}} command='' at=1 flags aliases values subcommands\n", function);
    text += "  COMPREPLY=()\n";
    if (!program_.subcommands.empty()) {
      text += "  while ((at < COMP_CWORD)); do\n    case $command:${COMP_WORDS[at]} in\n      *:help) ;;\n" + words_ +
              "      *) break ;;\n    esac\n    ((at++))\n  done\n";
    }
    text += "  case $command in\n" + tables_ + "    *) return ;;\n  esac\n" + complete;
    return text + fmt::format("\ncomplete -F {} {}\n", function, program_.name);
  }

 private:
  void visit(const CommandRecord& command) {
    const std::string path = path_of(command, program_);
    std::string flags;
    std::string aliases;
    std::string values = " ";
    for (const FlagRecord& record : named_flags(command)) {
      flags += (flags.empty() ? "" : " ") + record.name;
      if (!record.short_name.empty()) flags += " " + record.short_name;
      for (const std::string& alias : record.aliases) aliases += (aliases.empty() ? "" : " ") + alias;
      if (record.is_switch()) continue;
      std::string patterns;
      for (const std::string& name : record.names()) {
        values += name + " ";
        patterns += fmt::format("{}'{}:{}'", patterns.empty() ? "" : " | ", path, name);
      }
      add_values(patterns, offered(record));
    }
    size_t place = 0;
    for (const FlagRecord& record : arguments_of(command)) {
      add_values(record.multiple ? fmt::format("'{}:'[0-9]*", path) : fmt::format("'{}:{}'", path, place++), offered(record));
    }
    std::string subcommands;
    for (const CommandRecord& subcommand : command.subcommands) {
      const std::string word = subcommand.last_word();
      subcommands += (subcommands.empty() ? "" : " ") + word;
      words_ += fmt::format("      '{}:{}') command='{}' ;;\n", path, word, path_of(subcommand, program_));
    }
    if (!subcommands.empty()) subcommands += " help";
    tables_ += fmt::format("    '{}')\n      flags='{}'\n      aliases='{}'\n      values='{}'\n      subcommands='{}'\n      ;;\n", path,
                           flags, aliases, values, subcommands);
    for (const CommandRecord& subcommand : command.subcommands) visit(subcommand);
  }

  void add_values(const std::string& patterns, const std::string& what) {
    if (!what.empty()) values_ += fmt::format("    {}) offered='{}' ;;\n", patterns, what);
  }

  const CommandRecord& program_;
  std::string words_;   // cases that walk from a command to its subcommand
  std::string tables_;  // cases that set what a command has
  std::string values_;  // cases that set what a value is completed with
};

}  // namespace

std::string bash_completion(const CommandRecord& program) { return BashScript(program).text(); }

}  // namespace wick
