// Values of flags from a configuration file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

struct ConfigurationEntry {
  std::string section;  // "run", "gguf.set"; empty: before the first section
  std::string name;     // "max-tokens": with '-' for '_'
  std::vector<std::string> values;
};

// The entries of a TOML or INI file: name = value, name = [value, value], [section], and comments on lines of their own. Texts with
// spaces, commas or '#' are quoted. Errors: not_found, io; invalid_argument for a name that is in a section twice.
[[nodiscard]] std::vector<ConfigurationEntry> read_configuration_file(const std::filesystem::path& path);

// The section of a command: "run" of "wick run" and of a worker, "gguf.set" of "wick gguf set".
[[nodiscard]] std::string section_of(std::string_view command);

}  // namespace wick
