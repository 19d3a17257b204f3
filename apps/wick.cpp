// The program wick: the arguments, the streams and the exit code; src/cli does the rest.
#include <iostream>

#include "base/process.h"
#include "cli/wick_command.h"
#include "environment.h"

int main(int argument_count, char** arguments) {
  std::ios::sync_with_stdio(false);
  wick::Console console{.name = "wick",
                        .executable = wick::executable_path(),
                        .in = std::cin,
                        .out = std::cout,
                        .err = std::cerr,
                        .input_is_terminal = wick::is_terminal(0),
                        .output_is_terminal = wick::is_terminal(1),
                        .errors_are_terminal = wick::is_terminal(2),
                        .cache_directory = wick::cache_directory()};
  return wick::run_wick(console, wick::Arguments(arguments + 1, arguments + argument_count));
}
