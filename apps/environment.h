// Environment variables that the programs read; nothing below apps/ reads the environment.
#pragma once

#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/dynlib.h"
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

// Where drivers' libraries are looked for before the system's own places: the folders of WICK_LIBRARY_PATH, with colons between them.
inline std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  std::istringstream all(environment_variable("WICK_LIBRARY_PATH"));
  for (std::string folder; std::getline(all, folder, ':');) {
    if (!folder.empty()) folders.push_back(folder);
  }
  return folders;
}

// The variables that stand for flags: WICK_MODEL for --model; and those of a hub of models and of an index of packages.
inline std::map<std::string, std::string> flag_variables() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    const bool ours = text.starts_with("WICK_") || text.starts_with("HF_ENDPOINT=") || text.starts_with("HF_TOKEN=") ||
                      text.starts_with("PIP_INDEX_URL=");
    if (ours && equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

// A terminal that knows no escape sequences.
inline bool is_plain_terminal() {
  const char* kind = std::getenv("TERM");
  return kind == nullptr || std::string_view(kind).empty() || std::string_view(kind) == "dumb";
}

// The console of this process, with what its environment says.
inline Console console_of_process(std::string name) {
  set_library_folders(library_folders());
  std::setlocale(LC_CTYPE, "");  // the line editor must know how characters are encoded
  Console console = standard_console(std::move(name));
  console.cache_directory = cache_directory();
  console.environment = flag_variables();
  console.fake_probe = environment_variable("WICK_FAKE_PROBE");
  console.plain_terminal = is_plain_terminal();
  return console;
}

}  // namespace wick
