#include "wick/cli/console.h"

#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <ostream>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/base/process.h"

namespace wick {
namespace {

// Messages quote what users wrote, newlines too; a message is one line.
std::string on_one_line(std::string_view message) {
  std::string line(message);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::replace(line.begin(), line.end(), '\r', ' ');
  return line;
}

int report(Console& console, std::string_view message, int code) {
  console.out.flush();
  console.err << console.name << ": error: " << on_one_line(message) << std::endl;
  return code;
}

}  // namespace

void Console::note(std::string_view message) const {
  if (!quiet) err << name << ": " << on_one_line(message) << std::endl;
}

Console standard_console(std::string name) {
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
    if (level == LogLevel::warning) {
      console.err << console.name << ": warning: " << on_one_line(message) << std::endl;
    } else if (level == LogLevel::info) {
      console.note(message);
    }
  });
  int code = kExitSuccess;
  try {
    body();
    if (!console.out.flush()) fail(ErrorCode::io, "standard output: cannot be written to; is the disk full?");
  } catch (const Error& error) {
    code = report(console, error.what(), error.code() == ErrorCode::device_lost ? kExitInternal : kExitUserError);
  } catch (const std::bad_alloc&) {
    code = report(console, "no memory: the machine refused an allocation; use a smaller model or --context", kExitUserError);
  } catch (const std::exception& error) {
    code = report(console, error.what(), kExitInternal);
  }
  set_log_hook({});
  return code;
}

}  // namespace wick
