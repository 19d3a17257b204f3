#include "wick/text/grammar/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "wick/base/utf8.h"

namespace wick {
namespace {

// A model that is not held back writes line breaks and spaces without end.
constexpr uint32_t kMaxIndentation = 40;

// Empty for a character that is written as it is.
const std::string& escape_of(char32_t code) {
  static const auto kEscapes = [] {
    std::array<std::string, 0x80> escapes;
    for (uint32_t control = 0; control < 0x20; ++control) escapes[control] = fmt::format("\\u{:04x}", control);
    for (const auto& [letter, escape] : {std::pair('"', "\\\""), std::pair('\\', "\\\\"), std::pair('\b', "\\b"), std::pair('\f', "\\f"),
                                         std::pair('\n', "\\n"), std::pair('\r', "\\r"), std::pair('\t', "\\t")}) {
      escapes[static_cast<unsigned char>(letter)] = escape;
    }
    return escapes;
  }();
  return kEscapes[std::min<size_t>(code, kEscapes.size() - 1)];
}

const CodePointSet& escaped_characters() {
  static const CodePointSet kSet = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  return kSet;
}

const CodePointSet& plain_characters() {
  static const CodePointSet kSet = escaped_characters().complement();
  return kSet;
}

ExpressionId hex_digit(Grammar& grammar) {
  return grammar.choice({grammar.bytes('0', '9'), grammar.bytes('A', 'F'), grammar.bytes('a', 'f')});
}

// \uXXXX of a character, or two of them for one beyond U+FFFF.
ExpressionId unicode_escape(Grammar& grammar) {
  const ExpressionId hex = hex_digit(grammar);
  const ExpressionId d = grammar.choice({grammar.literal("d"), grammar.literal("D")});
  const ExpressionId low = grammar.bytes('0', '7');
  const ExpressionId not_d = grammar.choice(
      {grammar.bytes('0', '9'), grammar.bytes('A', 'C'), grammar.bytes('a', 'c'), grammar.bytes('E', 'F'), grammar.bytes('e', 'f')});
  const auto high_surrogate = grammar.choice({grammar.bytes('8', '9'), grammar.bytes('A', 'B'), grammar.bytes('a', 'b')});
  const auto low_surrogate = grammar.choice({grammar.bytes('C', 'F'), grammar.bytes('c', 'f')});
  return grammar.sequence(
      {grammar.literal("u"),
       grammar.choice({grammar.sequence({not_d, hex, hex, hex}), grammar.sequence({d, low, hex, hex}),
                       grammar.sequence({d, high_surrogate, hex, hex, grammar.literal("\\u"), d, low_surrogate, hex, hex})})});
}

}  // namespace

ExpressionId json_characters(const CodePointSet& set, Grammar& grammar) {
  const CodePointSet escaped = set.intersection(escaped_characters());
  if (escaped.empty()) return grammar.characters(set);
  std::vector<ExpressionId> choices = {grammar.characters(set.intersection(plain_characters()))};
  for (const auto& [first, last] : escaped.ranges()) {
    for (char32_t code = first; code <= last; ++code) choices.push_back(grammar.literal(escape_of(code)));
  }
  return grammar.choice(std::move(choices));
}

std::string json_escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    const std::string& escape = escape_of(static_cast<unsigned char>(letter));
    if (escape.empty()) {
      result += letter;
    } else {
      result += escape;
    }
  }
  return result;
}

JsonRules::JsonRules(Grammar& grammar, bool whitespace) : grammar_(grammar), space_(grammar.empty()) {
  if (whitespace) {
    const ExpressionId indentation = grammar.choice(
        {grammar.repeat(grammar.literal(" "), 0, kMaxIndentation), grammar.repeat(grammar.literal("\t"), 1, kMaxIndentation / 2)});
    space_ = kept("space", grammar.choice({grammar.empty(), grammar.literal(" "), grammar.sequence({grammar.literal("\n"), indentation})}));
  }
  const ExpressionId escape =
      grammar.choice({grammar.literal("\""), grammar.literal("\\"), grammar.literal("/"), grammar.literal("b"), grammar.literal("f"),
                      grammar.literal("n"), grammar.literal("r"), grammar.literal("t"), unicode_escape(grammar)});
  character_ = grammar.choice({grammar.characters(plain_characters()), grammar.sequence({grammar.literal("\\"), escape})});
}

ExpressionId JsonRules::kept(const char* name, ExpressionId body) {
  const RuleId rule = grammar_.add_rule(name, true);
  grammar_.define(rule, body);
  return grammar_.rule(rule);
}

ExpressionId JsonRules::string() {
  if (string_ == 0) {
    string_ =
        kept("string", grammar_.sequence({grammar_.literal("\""), grammar_.repeat(character_, 0, kUnlimited), grammar_.literal("\"")}));
  }
  return string_;
}

ExpressionId JsonRules::number() {
  if (number_ != 0) return number_;
  const ExpressionId digits = grammar_.repeat(grammar_.bytes('0', '9'), 1, kUnlimited);
  const ExpressionId whole = grammar_.choice(
      {grammar_.literal("0"), grammar_.sequence({grammar_.bytes('1', '9'), grammar_.repeat(grammar_.bytes('0', '9'), 0, kUnlimited)})});
  const ExpressionId sign = grammar_.optional(grammar_.choice({grammar_.literal("+"), grammar_.literal("-")}));
  const ExpressionId exponent = grammar_.sequence({grammar_.choice({grammar_.literal("e"), grammar_.literal("E")}), sign, digits});
  return number_ = kept("number", grammar_.sequence({grammar_.optional(grammar_.literal("-")), whole,
                                                     grammar_.optional(grammar_.sequence({grammar_.literal("."), digits})),
                                                     grammar_.optional(exponent)}));
}

ExpressionId JsonRules::value() {
  if (value_ != 0) return value_;
  const RuleId rule = grammar_.add_rule("value", true);
  value_ = grammar_.rule(rule);
  grammar_.define(rule, grammar_.choice({object(), array(), string(), number(), grammar_.literal("true"), grammar_.literal("false"),
                                         grammar_.literal("null")}));
  return value_;
}

ExpressionId JsonRules::object() {
  if (object_ != 0) return object_;
  const RuleId rule = grammar_.add_rule("object", true);
  object_ = grammar_.rule(rule);
  const ExpressionId member = grammar_.sequence({string(), colon(), value()});
  const ExpressionId more = grammar_.repeat(grammar_.sequence({comma(), member}), 0, kUnlimited);
  grammar_.define(rule, enclosed('{', grammar_.optional(grammar_.sequence({member, more})), '}'));
  return object_;
}

ExpressionId JsonRules::array() {
  if (array_ != 0) return array_;
  const RuleId rule = grammar_.add_rule("array", true);
  array_ = grammar_.rule(rule);
  const ExpressionId element = value();
  const ExpressionId more = grammar_.repeat(grammar_.sequence({comma(), element}), 0, kUnlimited);
  grammar_.define(rule, enclosed('[', grammar_.optional(grammar_.sequence({element, more})), ']'));
  return array_;
}

ExpressionId JsonRules::enclosed(char open, ExpressionId elements, char close) {
  const ExpressionId begin = grammar_.literal(std::string_view(&open, 1));
  const ExpressionId end = grammar_.literal(std::string_view(&close, 1));
  if (grammar_.is_never(elements)) return grammar_.never();
  return grammar_.sequence({begin, space_, elements, elements == grammar_.empty() ? grammar_.empty() : space_, end});
}

ExpressionId JsonRules::comma() { return grammar_.sequence({grammar_.literal(","), space_}); }
ExpressionId JsonRules::colon() { return grammar_.sequence({grammar_.literal(":"), space_}); }

}  // namespace wick
