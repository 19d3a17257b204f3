// How JSON writes characters, strings and values, as expressions of a Grammar.
#pragma once

#include <string>
#include <string_view>

#include "wick/text/grammar/code_points.h"
#include "wick/text/grammar/grammar.h"

namespace wick {

// Each character in one way only: itself, or the shortest escape. So two languages of strings can be compared.
[[nodiscard]] ExpressionId json_characters(const CodePointSet& set, Grammar& grammar);
[[nodiscard]] std::string json_escaped(std::string_view text);

// The rules that all JSON formats share, made once for a grammar.
class JsonRules {
 public:
  // `whitespace`: between tokens may stand nothing, a space, or a line break and its indentation; without it, nothing.
  JsonRules(Grammar& grammar, bool whitespace);

  [[nodiscard]] ExpressionId space() const noexcept { return space_; }
  // One character of a string in any of its spellings, and a whole string.
  [[nodiscard]] ExpressionId character() const noexcept { return character_; }
  [[nodiscard]] ExpressionId string();
  [[nodiscard]] ExpressionId number();
  [[nodiscard]] ExpressionId value();
  [[nodiscard]] ExpressionId object();
  [[nodiscard]] ExpressionId array();
  // `open`, elements with commas between them, `close`; `elements` is what is between them, maybe nothing.
  [[nodiscard]] ExpressionId enclosed(char open, ExpressionId elements, char close);
  // The separator of two elements.
  [[nodiscard]] ExpressionId comma();
  [[nodiscard]] ExpressionId colon();

 private:
  ExpressionId kept(const char* name, ExpressionId body);

  Grammar& grammar_;
  ExpressionId space_;
  ExpressionId character_;
  ExpressionId string_ = 0;
  ExpressionId number_ = 0;
  ExpressionId value_ = 0;
  ExpressionId object_ = 0;
  ExpressionId array_ = 0;
};

}  // namespace wick
