// wick completion and wick man: what shells and man(1) read of wick, from what --help is made from.
#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/base/suggest.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/completion.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/flags/man_page.h"

namespace wick {
namespace {

const CommandRecord& find_command(const CommandRecord& program, const std::vector<std::string>& words) {
  const CommandRecord* command = &program;
  for (const std::string& word : words) {
    const CommandRecord* found = nullptr;
    std::vector<std::string> known;
    for (const CommandRecord& subcommand : command->subcommands) {
      known.push_back(subcommand.last_word());
      if (known.back() == word) found = &subcommand;
    }
    if (found == nullptr) fail(ErrorCode::invalid_argument, "{} has no subcommand '{}'{}", command->name, word, did_you_mean(word, known));
    command = found;
  }
  return *command;
}

std::vector<std::string> above(const CommandRecord& program, const CommandRecord& command) {
  std::vector<std::string> names;
  for (size_t space = program.name.size(); space < command.name.size();
       space = std::min(command.name.find(' ', space + 1), command.name.size())) {
    names.push_back(command.name.substr(0, space));
  }
  return names;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void write_pages(const std::filesystem::path& folder, const CommandRecord& program, const CommandRecord& command) {
  write_text(folder / (man_name(command.name) + ".1"), man_page(command, above(program, command)));
  for (const CommandRecord& subcommand : command.subcommands) write_pages(folder, program, subcommand);
}

}  // namespace

void completion_command(Console& console, const Arguments& arguments) {
  std::string shell;
  Flags flags("Prints a script that completes subcommands, flags and values of wick on the command line. Packages install it.", console);
  flags.add_argument("SHELL", "bash, zsh or fish", shell).required().choices({kShellNames.begin(), kShellNames.end()});
  flags.examples({"source <(wick completion bash)", "wick completion zsh > ~/.zsh/completions/_wick",
                  "wick completion fish > ~/.config/fish/completions/wick.fish"});
  if (!flags.parse(arguments)) return;
  console.out << completion_script(parse_shell("SHELL", shell), describe_wick(console));
}

void man_command(Console& console, const Arguments& arguments) {
  std::vector<std::string> words;
  std::string folder;
  Flags flags("Prints the man page of wick or of a subcommand, or writes all of them into a folder. Packages install them.", console);
  flags.add_arguments("SUBCOMMAND", "the subcommand whose page is printed (wick's own page)", words);
  flags.add_text("-o,--out,--output", "DIR", "write wick.1, wick-run.1 and so on into DIR", folder);
  add_verbosity(flags, console);
  flags.examples({"wick man run | man -l -", "wick man gguf set", "wick man --out ~/.local/share/man/man1"});
  if (!flags.parse(arguments)) return;
  const CommandRecord program = describe_wick(console);
  const CommandRecord& command = find_command(program, words);
  if (folder.empty()) {
    console.out << man_page(command, above(program, command));
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorCode::io, "{}: the folder cannot be made: {}", folder, error.message());
  write_pages(folder, program, command);
}

}  // namespace wick
