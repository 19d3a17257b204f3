// Reads every kind of OutputFormat into one Grammar, and compiles it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/grammar/automaton.h"
#include "wick/text/grammar/grammar.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {

using FindToken = std::function<std::optional<TokenId>(std::string_view text)>;

// `find_token`: by any spelling, for grammars; `find_mark`: among the tokens that marks are. Errors: ConstraintCompiler::compile's.
[[nodiscard]] Automaton compile_format(const OutputFormat& format, const FindToken& find_token, const FindToken& find_mark,
                                       int32_t vocab_size);

// Each adds the rules of one format to `grammar` and returns the expression of the whole.
// A GBNF grammar (llama.cpp's): `name` is used in errors, with line and column.
[[nodiscard]] ExpressionId read_gbnf(std::string_view text, const FindToken& find_token, int32_t vocab_size, Grammar& grammar);

// Whether all of the text must match, or any part of it.
enum class RegexMatch { whole, part };
// How a character of a pattern is written: in UTF-8, or as part of a JSON string.
enum class RegexSpelling { utf8, json_string };
// `place` names the pattern in errors.
[[nodiscard]] ExpressionId read_regex(std::string_view pattern, RegexMatch match, RegexSpelling spelling, std::string_view place,
                                      Grammar& grammar);

struct JsonOptions {
  bool any_spelling = false;
  bool any_order = false;
  bool whitespace = true;
  bool enforce_formats = true;
  // Strings alone, written without quotes and escapes.
  bool bare_strings = false;
};
[[nodiscard]] ExpressionId read_json_schema(std::string_view text, const JsonOptions& options, Grammar& grammar);
// The strings of a schema, each written as it is, without those that hold one of `marks`.
[[nodiscard]] ExpressionId read_bare_string(std::string_view schema, const std::vector<std::string>& marks, const JsonOptions& options,
                                            Grammar& grammar);
[[nodiscard]] ExpressionId any_json_object(const JsonOptions& options, Grammar& grammar);

}  // namespace wick
