// What the fuzz targets do that run whole commands: files in a folder of their own, and commands that end with exit code 0 or 2.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "wick/cli/commands/wick_command.h"

namespace wick::fuzz {

// One folder for all inputs of this process, removed at its end.
inline const std::filesystem::path& folder() {
  static const std::filesystem::path made = [] {
    std::filesystem::path path = std::filesystem::temp_directory_path() / ("wick-fuzz-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path);
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(folder(), ignored);
    });
    return path;
  }();
  return made;
}

inline void write(const std::filesystem::path& path, const void* data, size_t size) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}

// The lines that are no warnings.
inline int error_lines(const std::string& words) {
  std::istringstream lines(words);
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(": warning: ") == std::string::npos;
  return count;
}

// Whether the command succeeded. Exit code 1 says that Wick itself is at fault; an error is one line, whatever was warned of before.
inline bool run(const Arguments& arguments) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Console console{.name = "wick", .executable = {}, .in = in, .out = out, .err = err};
  const int code = run_wick(console, arguments);
  if (code == kExitSuccess) return true;
  if (code != kExitUserError || error_lines(err.str()) != 1) {
    std::fprintf(stderr, "exit code %d: %s\n", code, err.str().c_str());
    std::abort();
  }
  return false;
}

}  // namespace wick::fuzz
