// Values of flags from a configuration file.
#pragma once

#include <array>
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

// The sections that a configuration file may have: those of wick's commands, which a worker knows by name alone.
inline constexpr auto kConfigurationSections =
    std::to_array<std::string_view>({"run",        "chat",           "serve",     "batch",      "pull",         "list",
                                     "rm",         "inspect",        "tokenize",  "detokenize", "logits",       "grammar",
                                     "perplexity", "score",          "embed",     "rerank",     "classify",     "bench",
                                     "load-test",  "imatrix",        "quantize",  "convert",    "gguf.dump",    "gguf.set",
                                     "gguf.split", "gguf.merge",     "gguf.hash", "validate",   "compat-check", "list-architectures",
                                     "trace-diff", "verify-receipt", "synth",     "devices",    "coverage",     "completion",
                                     "man",        "info",           "route"});

// The long names of a subcommand's flags.
struct SectionFlags {
  std::string section;  // "gguf.set"
  std::vector<std::string> flags;
};

// The section of a command: "run" of "wick run" and of a worker, "gguf.set" of "wick gguf set".
[[nodiscard]] std::string section_of(std::string_view command);

}  // namespace wick
