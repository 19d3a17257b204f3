// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wick {

// "21.3 MiB"
[[nodiscard]] std::string format_bytes(uint64_t bytes);
// "20.1 M"
[[nodiscard]] std::string format_count(uint64_t count);
// "1 chunk", "12 chunks"
[[nodiscard]] std::string format_counted(int64_t count, std::string_view noun);
// The double that is written as the float is: 0.8, not 0.800000011920929.
[[nodiscard]] double decimal_of(float value);

}  // namespace wick
