// The types that llama.cpp gives the metadata of models, by the keys without "<architecture>.".
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "wick/formats/gguf.h"

namespace wick {

struct GgufKeyType {
  std::string_view name;
  GgufType type;
};

[[nodiscard]] std::span<const GgufKeyType> gguf_key_types();
// none for a key that llama.cpp has not.
[[nodiscard]] std::optional<GgufType> gguf_type_of_key(std::string_view name);
// The number in the type that its key has; as it is where it has none, is no number, or where the type cannot hold it.
[[nodiscard]] GgufValue in_type_of_key(std::string_view name, const GgufValue& value);

}  // namespace wick
