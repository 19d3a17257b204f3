// GBNF, the grammars of llama.cpp: rules with literals, character classes, groups, repetitions, references and tokens.
#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/utf8.h"
#include "wick/text/grammar/format_grammar.h"

namespace wick {
namespace {

constexpr size_t kLongestGrammar = size_t{1} << 20;
constexpr int kDeepestGroup = 200;
constexpr uint32_t kMaxGbnfRepetitions = 100'000;

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const FindToken& find_token, int32_t vocab_size, Grammar& grammar)
      : text_(text), find_token_(find_token), vocab_size_(vocab_size), grammar_(grammar) {
    if (text.size() > kLongestGrammar) fail(ErrorCode::unsupported, "grammar: more than {} bytes", kLongestGrammar);
  }

  ExpressionId parse() {
    skip_space();
    while (at_ < text_.size()) {
      parse_rule();
      skip_space();
    }
    for (const auto& [name, rule] : rules_) {
      if (grammar_.rules()[rule].defined) continue;
      bad_at(first_use_.at(name), fmt::format("rule '{}' is used and not defined", name));
    }
    const auto root = rules_.find("root");
    if (root == rules_.end()) fail(ErrorCode::invalid_argument, "grammar: no rule named 'root'; the text begins with that one");
    return grammar_.rule(root->second);
  }

 private:
  [[noreturn]] void bad(std::string_view what) const { bad_at(at_, what); }
  [[noreturn]] void bad_at(size_t offset, std::string_view what) const { report(ErrorCode::invalid_argument, offset, what); }
  [[noreturn]] void report(ErrorCode code, size_t offset, std::string_view what) const {
    const std::string_view before = text_.substr(0, offset);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    fail(code, "grammar: line {}, column {}: {}", line, offset - line_begin + 1, what);
  }

  [[nodiscard]] bool looking_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool take(std::string_view what) {
    if (!looking_at(what)) return false;
    at_ += what.size();
    return true;
  }

  void skip_space() {
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n') {
        ++at_;
      } else {
        return;
      }
    }
  }

  static bool is_name_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') || letter == '-' ||
           letter == '_';
  }

  [[nodiscard]] std::string_view name_here() const {
    size_t end = at_;
    while (end < text_.size() && is_name_letter(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  // Whether a rule begins here: a name and "::=".
  [[nodiscard]] bool at_rule() const {
    const std::string_view name = name_here();
    if (name.empty()) return false;
    size_t end = at_ + name.size();
    while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t')) ++end;
    return text_.substr(end).starts_with("::=");
  }

  RuleId rule_named(std::string_view name) {
    const auto [entry, added] = rules_.try_emplace(std::string(name), 0);
    if (added) {
      entry->second = grammar_.add_rule(std::string(name));
      first_use_.emplace(std::string(name), at_);
    }
    return entry->second;
  }

  void parse_rule() {
    if (!at_rule()) bad("a rule is written  name ::= …");
    const RuleId rule = rule_named(name_here());
    if (grammar_.rules()[rule].defined) bad(fmt::format("rule '{}' is defined twice", name_here()));
    at_ += name_here().size();
    skip_space();
    at_ += 3;
    grammar_.define(rule, parse_choice());
    skip_space();
    if (at_ < text_.size() && !at_rule()) bad("not part of a rule");
  }

  ExpressionId parse_choice() {
    if (++depth_ > kDeepestGroup) bad("groups are nested too deeply");
    std::vector<ExpressionId> choices;
    do choices.push_back(parse_sequence());
    while (take("|"));
    --depth_;
    return grammar_.choice(std::move(choices));
  }

  ExpressionId parse_sequence() {
    std::vector<ExpressionId> parts;
    for (;;) {
      skip_space();
      if (at_ >= text_.size() || looking_at("|") || looking_at(")") || at_rule()) break;
      ExpressionId item = parse_item();
      skip_space();
      while (at_ < text_.size() && std::string_view("*+?{").find(text_[at_]) != std::string_view::npos) {
        item = parse_repetition(item);
        skip_space();
      }
      parts.push_back(item);
    }
    return grammar_.sequence(std::move(parts));
  }

  ExpressionId parse_item() {
    const size_t offset = at_;
    if (take("\"")) return parse_literal(offset);
    if (take("[")) return grammar_.characters(parse_class(offset));
    if (take(".")) return grammar_.characters(CodePointSet::all());
    if (take("(")) {
      const ExpressionId inner = parse_choice();
      if (!take(")")) bad_at(offset, "'(' without ')'");
      return inner;
    }
    if (looking_at("!<"))
      report(ErrorCode::unsupported, offset, "any token but one, !<…>, is not supported; name the tokens that may come");
    if (take("<")) return parse_token(offset);
    const std::string_view name = name_here();
    if (name.empty()) bad("expected a literal, a class, a group or the name of a rule");
    const RuleId rule = rule_named(name);
    at_ += name.size();
    return grammar_.rule(rule);
  }

  ExpressionId parse_repetition(ExpressionId item) {
    if (take("*")) return grammar_.repeat(item, 0, kUnlimited);
    if (take("+")) return grammar_.repeat(item, 1, kUnlimited);
    if (take("?")) return grammar_.optional(item);
    take("{");
    skip_space();
    const uint32_t smallest = looking_at(",") ? 0 : parse_count();
    uint32_t largest = smallest;
    skip_space();
    if (take(",")) {
      skip_space();
      largest = looking_at("}") ? kUnlimited : parse_count();
      skip_space();
    }
    if (!take("}")) bad("expected '}'");
    if (smallest > largest) bad("{m,n} with m above n");
    return grammar_.repeat(item, smallest, largest);
  }

  uint32_t parse_count() {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value > kMaxGbnfRepetitions) bad("expected a number of repetitions up to 100000");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  ExpressionId parse_literal(size_t offset) {
    std::string literal;
    while (!take("\"")) {
      if (at_ >= text_.size() || text_[at_] == '\n') bad_at(offset, "'\"' without a second one");
      append_character(literal, parse_character());
    }
    return grammar_.literal(literal);
  }

  CodePointSet parse_class(size_t offset) {
    const bool negated = take("^");
    CodePointSet set;
    while (!take("]")) {
      if (at_ >= text_.size()) bad_at(offset, "'[' without ']'");
      const char32_t first = parse_character();
      char32_t last = first;
      if (looking_at("-") && !looking_at("-]")) {
        take("-");
        if (at_ >= text_.size()) bad_at(offset, "'[' without ']'");
        last = parse_character();
        if (last < first) bad("a range that ends before it begins");
      }
      set.add(first, last);
    }
    return negated ? set.complement() : set;
  }

  char32_t parse_character() {
    if (take("\\")) return parse_escape();
    const DecodedCharacter character = decode_character(text_, at_);
    if (!character.valid) bad("not valid UTF-8");
    at_ += character.length;
    return character.code;
  }

  char32_t parse_escape() {
    if (at_ >= text_.size()) bad("'\\' at the end");
    const char letter = text_[at_++];
    switch (letter) {
      case 'x': return parse_hex(2);
      case 'u': return parse_hex(4);
      case 'U': return parse_hex(8);
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case '"':
      case '\\':
      case '[':
      case ']':
      case '-':
      case '^':
      case '/': return static_cast<char32_t>(letter);
      default: --at_; bad("an escape that means nothing; there are \\n \\r \\t \\\\ \\\" \\[ \\] \\xHH \\uHHHH \\UHHHHHHHH");
    }
  }

  char32_t parse_hex(size_t digits) {
    uint32_t value = 0;
    const std::string_view text = text_.substr(at_, digits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || text.size() != digits || end != text.data() + digits) bad("hexadecimal digits are missing");
    if (value > kLastCodePoint || (value >= 0xD800 && value <= 0xDFFF)) bad("not a character of Unicode");
    at_ += digits;
    return value;
  }

  // <[1000]> by number, or <think> by the text of one token, brackets and all.
  ExpressionId parse_token(size_t offset) {
    if (take("[")) {
      int64_t id = -1;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), id);
      at_ = static_cast<size_t>(end - text_.data());
      if (error != std::errc() || !take("]>")) bad_at(offset, "a token by its number is written <[1000]>");
      if (id < 0 || id >= vocab_size_) bad_at(offset, fmt::format("token {} is not in the vocabulary of {}", id, vocab_size_));
      return grammar_.token(static_cast<int32_t>(id));
    }
    const size_t end = text_.find('>', at_);
    if (end == std::string_view::npos) bad_at(offset, "'<' without '>'");
    at_ = end + 1;
    const std::string_view name = text_.substr(offset, at_ - offset);
    const std::optional<TokenId> id = find_token_(name);
    if (!id) bad_at(offset, fmt::format("{} is not a token of the vocabulary", name));
    return grammar_.token(*id);
  }

  std::string_view text_;
  const FindToken& find_token_;
  int32_t vocab_size_;
  Grammar& grammar_;
  size_t at_ = 0;
  int depth_ = 0;
  std::map<std::string, RuleId, std::less<>> rules_;
  std::map<std::string, size_t, std::less<>> first_use_;
};

}  // namespace

ExpressionId read_gbnf(std::string_view text, const FindToken& find_token, int32_t vocab_size, Grammar& grammar) {
  return GbnfParser(text, find_token, vocab_size, grammar).parse();
}

}  // namespace wick
