// The parser makes a Tree of a template's text.
#pragma once

#include <memory>
#include <string_view>

#include "wick/text/jinja/lexer.h"
#include "wick/text/jinja/syntax_tree.h"

namespace wick::jinja {

// Throws SyntaxError, in jinja2's words, for what is no template, and where expressions or blocks are too deep inside each other.
// `source` is valid UTF-8.
[[nodiscard]] std::shared_ptr<const Tree> parse_template(std::string_view source);

}  // namespace wick::jinja
