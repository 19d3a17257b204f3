#include "wick/cli/console.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <syncstream>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/base/mapped_file.h"
#include "wick/base/process.h"
#include "wick/base/terminal_text.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

// More than any message needs whose parts are printable(); what is behind that is a text from a file.
constexpr size_t kLongestMessage = 4096;

// Messages quote what users and files wrote, newlines too; a message is one line, and nothing in it moves the terminal.
std::string shown(std::string_view message) {
  std::string line = on_one_line(message.substr(0, kLongestMessage));
  if (message.size() > kLongestMessage) line += "…";
  return line;
}

// Memory that somebody asked for without knowing what for.
RemediableError no_memory(const std::string& problem) {
  return {ErrorCode::out_of_memory, problem, {{"use a smaller model"}, {"lower {}", Setting::context}}};
}

int report(Console& console, std::string_view message, int code) {
  console.out.flush();
  console.error(message);
  return code;
}

}  // namespace

// Threads of the library and of a server write lines, too: std::osyncstream keeps each whole.
void Console::error(std::string_view message) const { std::osyncstream(err) << name << ": error: " << shown(message) << std::endl; }

void Console::note(std::string_view message) const {
  if (!quiet) std::osyncstream(err) << name << ": " << shown(message) << std::endl;
}

void Console::detail(std::string_view message) const {
  if (verbose) note(message);
}

void Console::warn(std::string_view message) const { std::osyncstream(err) << name << ": warning: " << shown(message) << std::endl; }

std::string exit_code_help() {
  std::string text;
  for (const ExitCode& exit : kExitCodes) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", exit.code, exit.meaning);
  return text + ".";
}

Console standard_console(std::string name) {
  report_cut_files(name);
  return {.name = std::move(name),
          .executable = executable_path(),
          .in = std::cin,
          .out = std::cout,
          .err = std::cerr,
          .input_is_terminal = is_terminal(0),
          .output_is_terminal = is_terminal(1),
          .errors_are_terminal = is_terminal(2)};
}

int run_guarded(Console& console, const std::function<void()>& body) {
  set_log_hook([&console](LogLevel level, std::string_view message) {
    level == LogLevel::warning ? console.warn(message) : console.detail(message);
  });
  int code = kExitSuccess;
  try {
    body();
    code = console.exit_code;
    if (!console.out.flush()) fail(ErrorCode::io, "standard output: cannot be written to; is the disk full?");
  } catch (const Error& error) {
    const bool lacks_memory = error.code() == ErrorCode::out_of_memory && remedies_of(error).empty();
    const std::string message = lacks_memory ? console.message_of(no_memory(error.what())) : console.message_of(error);
    code = report(console, message, kExitUserError);
  } catch (const std::bad_alloc&) {
    code = report(console, console.message_of(no_memory("no memory: the machine refused an allocation")), kExitUserError);
  } catch (const std::filesystem::filesystem_error& error) {
    // What the system refuses is the world's fault, wherever it is noticed.
    code = report(console, fmt::format("{}: {}", error.path1().string(), error.code().message()), kExitUserError);
  } catch (const std::exception& error) {
    code = report(console, error.what(), kExitInternal);
  }
  set_log_hook({});
  return code;
}

}  // namespace wick
