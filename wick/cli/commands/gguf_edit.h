// Copies of GGUF files with other metadata, or in other parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "wick/formats/gguf.h"

namespace wick {

// "KEY=VALUE" or, as llama.cpp's --override-kv writes it, "KEY=TYPE:VALUE" with a type of GGUF (u32, f32, str …), int or float.
struct MetadataChange {
  std::string key;
  std::string type;  // empty: that of the key in the file; of a new key, what the value looks like
  std::string value;
};
// Errors: invalid_argument.
[[nodiscard]] MetadataChange parse_metadata_change(const std::string& text);

// Writes the file with changed, new and removed metadata; a split model becomes one file. Errors: invalid_argument for a value that is not
// of its type, an array, or a key to remove that is absent; GgufWriter's.
void write_with_metadata(const GgufFile& source, const std::filesystem::path& target, const std::vector<MetadataChange>& changes,
                         const std::set<std::string>& removed);

struct SplitLimits {
  uint64_t tensors = 0;  // in a part; 0: any number
  uint64_t bytes = 0;    // of tensors in a part; 0: any number
};

// Writes "PREFIX-00001-of-00003.gguf" and so on, as llama-gguf-split does; the names of the parts. Each part has at least one tensor.
// Errors: invalid_argument for a file without tensors; GgufWriter's.
std::vector<std::filesystem::path> write_parts(const GgufFile& source, const std::filesystem::path& prefix, const SplitLimits& limits);

}  // namespace wick
