// Base64 (RFC 4648, with padding), as tokenizer files have it, and embeddings that are sent.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wick {

// The bytes of `text`; none if it is not base64, or is empty.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);
[[nodiscard]] std::string encode_base64(std::string_view bytes);

}  // namespace wick
