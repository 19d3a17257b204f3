// The names of a split GGUF's parts, as llama-gguf-split writes them: "model-00002-of-00003.gguf".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wick {

struct SplitName {
  std::string stem;     // "model"; may have folders, or be empty
  uint64_t number = 1;  // of the part, from 1
  uint64_t count = 1;   // of the parts

  [[nodiscard]] std::string to_string() const;
  // None for a name of any other form. to_string() of the result is `name`.
  [[nodiscard]] static std::optional<SplitName> parse(std::string_view name);
};

}  // namespace wick
