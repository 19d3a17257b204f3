// The program wick: the arguments, the streams and the exit code; wick/cli does the rest.
#include <iostream>

#include "environment.h"
#include "wick/cli/commands/wick_command.h"

int main(int argument_count, char** arguments) {
  std::ios::sync_with_stdio(false);
  wick::Console console = wick::console_of_process("wick");
  return wick::run_wick(console, wick::Arguments(arguments + 1, arguments + argument_count));
}
