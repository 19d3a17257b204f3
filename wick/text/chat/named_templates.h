// The chat templates that Wick brings, for models that come without one.
#pragma once

#include <optional>
#include <string_view>

namespace wick {

[[nodiscard]] std::optional<std::string_view> find_named_template(std::string_view name);

}  // namespace wick
