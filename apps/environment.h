// What the programs take from the environment; nothing below apps/ reads it.
#pragma once

#include <cstdlib>
#include <string>

namespace wick {

// Where compiled programs are kept: WICK_CACHE_DIR (empty: nowhere), else $XDG_CACHE_HOME/wick, else ~/.cache/wick, else nowhere.
inline std::string cache_directory() {
  if (const char* own = std::getenv("WICK_CACHE_DIR")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') return std::string(cache) + "/wick";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return std::string(home) + "/.cache/wick";
  return {};
}

}  // namespace wick
