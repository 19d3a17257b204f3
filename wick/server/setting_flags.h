// Which flag of the programs is a setting of the library.
#pragma once

#include <string>
#include <string_view>

#include "wick/base/remedy.h"

namespace wick {

// "--kv-type"; empty for none.
[[nodiscard]] std::string_view flag_of(Setting setting) noexcept;
// "--context 512"; "--context" without a value.
[[nodiscard]] std::string with_value(std::string_view flag, const std::string& value);

}  // namespace wick
