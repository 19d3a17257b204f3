// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace wick {

// "21.3 MiB"
[[nodiscard]] std::string format_bytes(uint64_t bytes);
// "20.1 M"
[[nodiscard]] std::string format_count(uint64_t count);
// "1 token", "12 tokens"
[[nodiscard]] std::string format_tokens(int64_t count);

}  // namespace wick
