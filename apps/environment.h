// What the programs take from the environment; nothing below apps/ reads it.
#pragma once

#include <cstdlib>
#include <string>

#include "wick/cli/console.h"

namespace wick {

// Empty where it is not set.
inline std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Where compiled programs are kept: WICK_CACHE_DIR (empty: nowhere), else $XDG_CACHE_HOME/wick, else ~/.cache/wick, else nowhere.
inline std::string cache_directory() {
  if (const char* own = std::getenv("WICK_CACHE_DIR")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') return std::string(cache) + "/wick";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return std::string(home) + "/.cache/wick";
  return {};
}

inline void read_environment(Console& console) {
  console.cache_directory = cache_directory();
  console.fake_probe = environment_variable("WICK_FAKE_PROBE");
  console.fake_holes = environment_variable("WICK_FAKE_HOLES");
}

}  // namespace wick
