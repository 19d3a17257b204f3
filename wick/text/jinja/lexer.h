// The lexer cuts a template into text, tags and the tokens inside of tags, with jinja2's rules for white space around tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick::jinja {

enum class TokenKind : uint8_t { data, variable_begin, variable_end, block_begin, block_end, name, string, integer, real, sign, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  // of a string what it says, without quotes and escapes
  int line = 1;

  [[nodiscard]] bool is_name(std::string_view name) const { return kind == TokenKind::name && text == name; }
  [[nodiscard]] bool is_sign(std::string_view sign) const { return kind == TokenKind::sign && text == sign; }
};

// A token's name in syntax errors: "end of statement block", "string", or a name or sign itself.
[[nodiscard]] std::string describe(const Token& token);

// A template that is none. Its message is jinja2's.
struct SyntaxError {
  std::string message;
  int line = 1;
};

// As transformers sets jinja2 up: trim_blocks and lstrip_blocks, and a line break at the end is left out. `source` is valid UTF-8.
[[nodiscard]] std::vector<Token> tokenize(std::string_view source);

}  // namespace wick::jinja
