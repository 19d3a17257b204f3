// Text in lines of limited width, for help texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wick {

// The widest line of a help text.
inline constexpr size_t kHelpWidth = 100;

// Columns of a text on a terminal: its characters, each taken for one column wide.
[[nodiscard]] size_t columns_of(std::string_view text);

// Words of the text in lines of at most `width` columns; every line but the first begins with `indent` spaces, and the first is taken to
// begin at column `indent`. A line break in the text is kept, and a line that begins with a space is not wrapped.
[[nodiscard]] std::string wrap(std::string_view text, size_t indent = 0, size_t width = kHelpWidth);

}  // namespace wick
