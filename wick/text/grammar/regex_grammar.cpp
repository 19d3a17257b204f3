// Patterns as ECMAScript and JSON Schema write them. What a regular expression cannot say, or an automaton not check, is refused by name.
#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/utf8.h"
#include "wick/text/grammar/format_grammar.h"
#include "wick/text/grammar/json_text.h"

namespace wick {
namespace {

constexpr size_t kLongestGrammarPattern = 65536;
constexpr int kDeepestPattern = 200;
constexpr uint32_t kMaxRepetitions = 100'000;
constexpr size_t kMaxVariants = 1000;

struct Node {
  enum class Kind { set, sequence, choice, repeat, begin, end };
  Kind kind = Kind::sequence;
  size_t offset = 0;
  CodePointSet set = {};
  uint32_t smallest = 0;
  uint32_t largest = 0;
  std::vector<Node> children = {};
};

class RegexParser {
 public:
  RegexParser(std::string_view pattern, std::string_view place) : text_(pattern), place_(place) {
    if (pattern.size() > kLongestGrammarPattern)
      fail(ErrorCode::unsupported, "{}: the pattern has more than {} bytes", place, kLongestGrammarPattern);
  }

  Node parse() {
    Node result = parse_choice();
    if (at_ < text_.size()) bad("')' without '('");
    return result;
  }

  [[noreturn]] void bad(std::string_view what) const { bad_at(at_, what); }
  [[noreturn]] void bad_at(size_t offset, std::string_view what) const {
    fail(ErrorCode::invalid_argument, "{}: byte {} of the pattern: {}", place_, offset, what);
  }
  [[noreturn]] void refuse_at(size_t offset, std::string_view what) const {
    fail(ErrorCode::unsupported, "{}: byte {} of the pattern: {} cannot be enforced; write it another way", place_, offset, what);
  }

 private:
  [[nodiscard]] bool looking_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool take(std::string_view what) {
    if (!looking_at(what)) return false;
    at_ += what.size();
    return true;
  }

  Node parse_choice() {
    if (++depth_ > kDeepestPattern) bad("groups are nested too deeply");
    Node result{.kind = Node::Kind::choice, .offset = at_};
    do result.children.push_back(parse_sequence());
    while (take("|"));
    --depth_;
    if (result.children.size() == 1) return Node(std::move(result.children.front()));
    return result;
  }

  Node parse_sequence() {
    Node result{.kind = Node::Kind::sequence, .offset = at_};
    while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') {
      Node atom = parse_atom();
      result.children.push_back(parse_quantifiers(std::move(atom)));
    }
    return result;
  }

  Node parse_atom() {
    const size_t offset = at_;
    if (take("(")) return parse_group(offset);
    if (take("^")) return {.kind = Node::Kind::begin, .offset = offset};
    if (take("$")) return {.kind = Node::Kind::end, .offset = offset};
    if (take(".")) return set_node(offset, CodePointSet::dot());
    if (take("[")) return set_node(offset, parse_class(offset));
    if (text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '?') bad("nothing to repeat");
    if (take("\\")) return parse_escape(offset);
    const char32_t code = next_character();
    return set_node(offset, {{code, code}});
  }

  static Node set_node(size_t offset, CodePointSet set) { return {.kind = Node::Kind::set, .offset = offset, .set = std::move(set)}; }

  Node parse_group(size_t offset) {
    if (looking_at("?=") || looking_at("?!")) refuse_at(offset, "a lookahead (?=…) or (?!…)");
    if (looking_at("?<=") || looking_at("?<!")) refuse_at(offset, "a lookbehind (?<=…) or (?<!…)");
    if (take("?P<") || take("?<")) {
      const size_t end = text_.find('>', at_);
      if (end == std::string_view::npos) bad("the name of a group without '>'");
      at_ = end + 1;
    } else if (looking_at("?") && !take("?:")) {
      refuse_at(offset, "a group of this kind");
    }
    Node inner = parse_choice();
    if (!take(")")) bad_at(offset, "'(' without ')'");
    return inner;
  }

  Node parse_quantifiers(Node atom) {
    for (;;) {
      const size_t offset = at_;
      uint32_t smallest = 0;
      uint32_t largest = kUnlimited;
      if (take("*")) {
      } else if (take("+")) {
        smallest = 1;
      } else if (take("?")) {
        largest = 1;
      } else if (!parse_braces(smallest, largest)) {
        return atom;
      }
      // A lazy quantifier matches the same texts.
      if (!take("?") && looking_at("+")) refuse_at(offset, "a possessive quantifier");
      Node repeat{.kind = Node::Kind::repeat, .offset = offset, .smallest = smallest, .largest = largest};
      repeat.children.push_back(std::move(atom));
      atom = std::move(repeat);
      if (++quantifiers_ > kLongestGrammarPattern) bad("too many quantifiers");
      if (looking_at("*") || looking_at("+") || looking_at("?")) bad("a quantifier behind a quantifier");
      return atom;
    }
  }

  // {m}, {m,} or {m,n}; a brace that begins nothing of that is a character.
  bool parse_braces(uint32_t& smallest, uint32_t& largest) {
    if (!looking_at("{")) return false;
    const size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) return false;
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    const size_t comma = inner.find(',');
    const std::string_view first = inner.substr(0, comma);
    const std::string_view last = comma == std::string_view::npos ? first : inner.substr(comma + 1);
    const auto is_number = [](std::string_view text) {
      return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) { return letter >= '0' && letter <= '9'; });
    };
    if (!is_number(first) || !(is_number(last) || (last.empty() && comma != std::string_view::npos))) return false;
    smallest = parse_count(first);
    largest = last.empty() ? kUnlimited : parse_count(last);
    if (smallest > largest) bad("{m,n} with m above n");
    at_ = end + 1;
    return true;
  }

  uint32_t parse_count(std::string_view digits) const {
    uint32_t value = kMaxRepetitions + 1;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.size() > 6 || value > kMaxRepetitions) bad("more repetitions than 100000");
    return value;
  }

  char32_t next_character() {
    const DecodedCharacter character = decode_character(text_, at_);
    if (!character.valid) bad("not valid UTF-8");
    at_ += character.length;
    return character.code;
  }

  Node parse_escape(size_t offset) {
    if (at_ == text_.size()) bad("'\\' at the end");
    if (take("A")) return {.kind = Node::Kind::begin, .offset = offset};
    if (take("z")) return {.kind = Node::Kind::end, .offset = offset};
    if (looking_at("b") || looking_at("B")) refuse_at(offset, "a word boundary");
    if (text_[at_] >= '1' && text_[at_] <= '9') refuse_at(offset, "a reference to a group");
    if (looking_at("k<")) refuse_at(offset, "a reference to a group");
    return set_node(offset, parse_escaped_set(offset));
  }

  // Behind '\': a set of characters, often of one.
  CodePointSet parse_escaped_set(size_t offset) {
    const char32_t code = next_character();
    const auto one = [](char32_t value) { return CodePointSet{{value, value}}; };
    switch (code) {
      case 'd': return CodePointSet::digits();
      case 'D': return CodePointSet::digits().complement();
      case 'w': return CodePointSet::word();
      case 'W': return CodePointSet::word().complement();
      case 's': return CodePointSet::space();
      case 'S': return CodePointSet::space().complement();
      case 't': return one('\t');
      case 'n': return one('\n');
      case 'v': return one('\v');
      case 'f': return one('\f');
      case 'r': return one('\r');
      case '0': return one(0);
      case 'x': return one(parse_hex(2));
      case 'u': return one(parse_unicode());
      case 'c': return one(parse_control());
      case 'p':
      case 'P': return parse_property(offset, code == 'P');
      default: break;
    }
    const bool letter = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9');
    if (letter) bad_at(offset, "an escape that means nothing");
    return one(code);
  }

  char32_t parse_hex(size_t digits) {
    uint32_t value = 0;
    const std::string_view text = text_.substr(at_, digits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || text.size() != digits || end != text.data() + digits) bad("hexadecimal digits are missing");
    at_ += digits;
    return value;
  }

  char32_t parse_unicode() {
    if (take("{")) {
      const size_t end = text_.find('}', at_);
      if (end == std::string_view::npos || end == at_ || end - at_ > 6) bad("\\u{…} needs one to six hexadecimal digits");
      const char32_t code = parse_hex(end - at_);
      ++at_;
      if (code > kLastCodePoint) bad("beyond U+10FFFF");
      return code;
    }
    const char32_t code = parse_hex(4);
    if (code < 0xD800 || code > 0xDBFF || !looking_at("\\u")) return code;
    at_ += 2;
    const char32_t low = parse_hex(4);
    if (low < 0xDC00 || low > 0xDFFF) bad("the second half of a surrogate pair is missing");
    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }

  char32_t parse_control() {
    const char letter = at_ < text_.size() ? text_[at_] : '\0';
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'))) bad("\\c needs a letter");
    ++at_;
    return static_cast<char32_t>(letter & 0x1F);
  }

  CodePointSet parse_property(size_t offset, bool negated) {
    const size_t end = text_.find('}', at_);
    if (!take("{") || end == std::string_view::npos) bad("\\p needs {a category}");
    std::string_view name = text_.substr(at_, end - at_);
    at_ = end + 1;
    for (const std::string_view prefix : {"General_Category=", "gc="}) {
      if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    }
    const std::optional<CodePointSet> set = CodePointSet::category(name);
    if (!set) refuse_at(offset, fmt::format("\\p{{{}}}, which is not a general category,", name));
    return negated ? set->complement() : *set;
  }

  CodePointSet parse_class(size_t offset) {
    const bool negated = take("^");
    CodePointSet set;
    while (!take("]")) {
      if (at_ >= text_.size()) bad_at(offset, "'[' without ']'");
      const auto [first, first_single] = parse_class_item();
      if (!looking_at("-") || looking_at("-]")) {
        set.add(first);
        continue;
      }
      take("-");
      if (at_ >= text_.size()) bad_at(offset, "'[' without ']'");
      const auto [last, last_single] = parse_class_item();
      if (!first_single || !last_single) {
        set.add(first);
        set.add(last);
        set.add('-', '-');
        continue;
      }
      if (*first_single > *last_single) bad("a range that ends before it begins");
      set.add(*first_single, *last_single);
    }
    return negated ? set.complement() : set;
  }

  // The set, and its character if it is one that may begin or end a range.
  std::pair<CodePointSet, std::optional<char32_t>> parse_class_item() {
    const size_t offset = at_;
    if (!take("\\")) {
      const char32_t code = next_character();
      return {{{code, code}}, code};
    }
    if (at_ == text_.size()) bad("'\\' at the end");
    if (take("b")) return {{{'\b', '\b'}}, '\b'};
    const CodePointSet set = parse_escaped_set(offset);
    const bool single = set.ranges().size() == 1 && set.ranges().front().first == set.ranges().front().second;
    return {set, single ? std::optional(set.ranges().front().first) : std::nullopt};
  }

  std::string_view text_;
  std::string_view place_;
  size_t at_ = 0;
  int depth_ = 0;
  size_t quantifiers_ = 0;
};

// A way to match without alternatives that differ in what they are anchored to.
struct Variant {
  std::vector<const Node*> parts;
  bool begin = false;
  bool end = false;
};

class RegexBuilder {
 public:
  RegexBuilder(const RegexParser& parser, RegexMatch match, RegexSpelling spelling, Grammar& grammar)
      : parser_(parser), match_(match), spelling_(spelling), grammar_(grammar) {}

  ExpressionId build(const Node& root) {
    std::vector<ExpressionId> choices;
    for (const Variant& variant : variants(root)) {
      std::vector<ExpressionId> parts;
      const bool part = match_ == RegexMatch::part;
      const ExpressionId anything = part ? grammar_.repeat(characters(CodePointSet::all()), 0, kUnlimited) : grammar_.empty();
      if (!variant.begin) parts.push_back(anything);
      for (const Node* node : variant.parts) parts.push_back(expression(*node));
      if (!variant.end) parts.push_back(anything);
      choices.push_back(grammar_.sequence(std::move(parts)));
    }
    return grammar_.choice(std::move(choices));
  }

 private:
  static bool has_anchor(const Node& node) {
    return node.kind == Node::Kind::begin || node.kind == Node::Kind::end ||
           std::any_of(node.children.begin(), node.children.end(), has_anchor);
  }

  std::vector<Variant> variants(const Node& node) {
    if (!has_anchor(node)) return {{.parts = {&node}}};
    switch (node.kind) {
      case Node::Kind::begin: return {{.parts = {}, .begin = true}};
      case Node::Kind::end: return {{.parts = {}, .begin = false, .end = true}};
      case Node::Kind::set: break;
      case Node::Kind::choice: {
        std::vector<Variant> result;
        for (const Node& child : node.children) {
          for (Variant& variant : variants(child)) result.push_back(std::move(variant));
        }
        return limited(node, std::move(result));
      }
      case Node::Kind::repeat: {
        std::vector<Variant> result = variants(node.children.front());
        if (node.largest != 1) parser_.refuse_at(node.offset, "an anchor that is repeated");
        if (node.smallest == 0) result.push_back({});
        return result;
      }
      case Node::Kind::sequence: return sequence_variants(node);
    }
    return {};
  }

  std::vector<Variant> sequence_variants(const Node& node) {
    std::vector<Variant> result = {{}};
    for (const Node& child : node.children) {
      const std::vector<Variant> added = variants(child);
      std::vector<Variant> longer;
      for (Variant& left : result) {
        for (const Variant& right : added) {
          // NOLINTNEXTLINE(bugprone-use-after-move): it is moved for the last one
          if (right.begin && !left.parts.empty()) parser_.refuse_at(child.offset, "'^' behind something");
          if (left.end && !right.parts.empty()) parser_.refuse_at(child.offset, "something behind '$'");
          // Copied for each but the last: a long sequence has one variant, which grows in place.
          Variant both = &right == &added.back() ? std::move(left) : left;
          both.parts.insert(both.parts.end(), right.parts.begin(), right.parts.end());
          both.begin = both.begin || right.begin;
          both.end = both.end || right.end;
          longer.push_back(std::move(both));
        }
      }
      result = limited(node, std::move(longer));
    }
    return result;
  }

  std::vector<Variant> limited(const Node& node, std::vector<Variant> variants) const {
    if (variants.size() > kMaxVariants) parser_.refuse_at(node.offset, "so many alternatives with '^' and '$'");
    return variants;
  }

  ExpressionId characters(const CodePointSet& set) {
    return spelling_ == RegexSpelling::utf8 ? grammar_.characters(set) : json_characters(set, grammar_);
  }

  ExpressionId expression(const Node& node) {
    switch (node.kind) {
      case Node::Kind::set: return characters(node.set);
      case Node::Kind::repeat: return grammar_.repeat(expression(node.children.front()), node.smallest, node.largest);
      case Node::Kind::begin:
      case Node::Kind::end: return grammar_.empty();
      case Node::Kind::sequence:
      case Node::Kind::choice: break;
    }
    std::vector<ExpressionId> children;
    for (const Node& child : node.children) children.push_back(expression(child));
    return node.kind == Node::Kind::sequence ? grammar_.sequence(std::move(children)) : grammar_.choice(std::move(children));
  }

  const RegexParser& parser_;
  RegexMatch match_;
  RegexSpelling spelling_;
  Grammar& grammar_;
};

}  // namespace

ExpressionId read_regex(std::string_view pattern, RegexMatch match, RegexSpelling spelling, std::string_view place, Grammar& grammar) {
  RegexParser parser(pattern, place);
  const Node root = parser.parse();
  return RegexBuilder(parser, match, spelling, grammar).build(root);
}

}  // namespace wick
