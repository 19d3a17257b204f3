#include "wick/text/regex/oniguruma_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/text/unicode/character_set.h"
#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

constexpr int kMaxDepth = 100;  // of groups and classes inside each other
constexpr size_t kMaxTranslation = size_t{1} << 20;
constexpr uint32_t kMaxRepeat = 65535;  // PCRE2's

constexpr char32_t kEnd = UINT32_MAX;

struct Options {
  bool ignore_case = false;
  bool dot_all = false;
  bool extended = false;
};

// PCRE2 text of a part of the pattern, and how many characters it matches if that is always the same number.
struct Part {
  std::string text;
  std::optional<uint32_t> width = 0;

  void append(const Part& next) {
    text += next.text;
    width = width && next.width ? std::optional(*width + *next.width) : std::nullopt;
  }
};

class Translator {
 public:
  Translator(std::string_view pattern, std::string_view place) : pattern_(pattern), place_(place) {}

  std::string translate() {
    if (!is_valid_utf8(pattern_)) corrupt("it is not valid UTF-8");
    // Where groups have names, groups without one do not capture.
    named_ = pattern_.find("(?'") != std::string_view::npos;
    for (size_t at = pattern_.find("(?<"); at != std::string_view::npos && !named_; at = pattern_.find("(?<", at + 3)) {
      named_ = at + 3 < pattern_.size() && pattern_[at + 3] != '=' && pattern_[at + 3] != '!';
    }
    const Part whole = alternatives({});
    if (!at_end()) corrupt("a ')' without a '('");
    return whole.text;
  }

 private:
  [[noreturn]] void corrupt(std::string_view what) const {
    fail(ErrorCode::corrupt_file, "{}: pattern '{}': {} (near offset {})", place_, pattern_, what, at_);
  }
  [[noreturn]] void unsupported(std::string_view what) const {
    fail(ErrorCode::unsupported, "{}: pattern '{}': {} is not supported (near offset {})", place_, pattern_, what, at_);
  }

  [[nodiscard]] bool at_end() const noexcept { return at_ >= pattern_.size(); }
  [[nodiscard]] bool sees(std::string_view text) const noexcept { return pattern_.substr(at_).starts_with(text); }
  bool take(std::string_view text) noexcept {
    if (!sees(text)) return false;
    at_ += text.size();
    return true;
  }
  char32_t peek() const noexcept { return at_end() ? kEnd : decode_character(pattern_, at_).code; }
  char32_t next() {
    if (at_end()) corrupt("it ends too early");
    const DecodedCharacter character = decode_character(pattern_, at_);
    at_ += character.length;
    return character.code;
  }
  // The text up to `close`, which is consumed.
  std::string_view until(char close) {
    const size_t end = pattern_.find(close, at_);
    if (end == std::string_view::npos) corrupt(fmt::format("no '{}' after this", close));
    const std::string_view text = pattern_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

  Part alternatives(Options options);
  Part sequence(Options options, bool& rest_of_group);
  void skip_comments(const Options& options);
  std::optional<Part> atom(Options options, bool& rest_of_group);
  void repeat(Part& part, const Options& options);
  bool read_interval(std::string& interval, bool& exact, uint32_t& count);
  Part group(Options options, bool& rest_of_group);
  Part special_group(Options options, bool& rest_of_group);
  Part enclosed(std::string_view open, Options options);
  Part assertion(std::string_view open, Options options);
  Part absent(Options options);
  Part condition(Options options);
  Part option_group(Options options, bool& rest_of_group);
  Part escape(const Options& options);
  std::string_view group_after(char letter);
  Part code_list();
  Part reference();
  Part call();
  std::string group_name(std::string_view name);
  std::optional<CharacterSet> class_escape(char32_t letter, bool in_brackets);
  CharacterSet property(bool negated, bool in_brackets);
  char32_t escaped_code(char32_t letter);
  char32_t hex_code(size_t least, size_t most);
  char32_t raw_bytes(uint32_t first);
  CharacterSet bracket();
  CharacterSet bracket_operand();
  std::optional<CharacterSet> posix_bracket();
  char32_t bracket_code();
  static Part literal(char32_t code);
  static Part one(const CharacterSet& set) { return {set.expression(), 1}; }

  std::string_view pattern_;
  std::string_view place_;
  size_t at_ = 0;
  int depth_ = 0;
  bool named_ = false;
  bool ignore_case_ = false;  // in the brackets that are being read
  std::vector<std::string> names_;
};

Part Translator::literal(char32_t code) {
  Part part{{}, 1};
  if (code >= kFirstSurrogate && code <= kLastSurrogate) {  // matches nothing, but is as long as a character in a lookbehind
    part.text = "[^\\x{0}-\\x{10FFFF}]";
    return part;
  }
  const bool plain = code >= 0x80 || (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
  if (code < 0x20) {
    part.text = fmt::format("\\x{:02x}", static_cast<uint32_t>(code));
  } else {
    if (!plain) part.text = '\\';
    append_character(part.text, code);
  }
  return part;
}

Part Translator::alternatives(Options options) {
  if (++depth_ > kMaxDepth) unsupported(fmt::format("nesting deeper than {} groups", kMaxDepth));
  bool rest_of_group = false;
  Part result = sequence(options, rest_of_group);
  while (!rest_of_group && take("|")) {
    const Part next = sequence(options, rest_of_group);
    result.text += "|" + next.text;
    if (result.width != next.width) result.width.reset();
  }
  --depth_;
  return result;
}

// `rest_of_group` becomes true where options that are set in the middle took the rest of the group, with its alternatives.
Part Translator::sequence(Options options, bool& rest_of_group) {
  Part result;
  while (!rest_of_group) {
    skip_comments(options);
    if (at_end() || sees("|") || sees(")")) break;
    std::optional<Part> part = atom(options, rest_of_group);
    if (part && !rest_of_group) repeat(*part, options);
    if (part) result.append(*part);
    if (result.text.size() > kMaxTranslation) unsupported("a pattern of this size");
  }
  return result;
}

void Translator::skip_comments(const Options& options) {
  while (!at_end()) {
    if (take("(?#")) {
      while (next() != ')') {}
    } else if (options.extended && std::u32string_view(U" \t\n\r\f").find(peek()) != std::u32string_view::npos) {
      next();
    } else if (options.extended && sees("#")) {
      while (!at_end() && next() != '\n') {}
    } else {
      return;
    }
  }
}

std::optional<Part> Translator::atom(Options options, bool& rest_of_group) {
  if (take("(")) return group(options, rest_of_group);
  if (take("[")) {
    ignore_case_ = options.ignore_case;
    return one(bracket());
  }
  if (take("\\")) return escape(options);
  if (take(".")) return Part{options.dot_all ? "(?s:.)" : ".", 1};
  if (take("^")) return Part{"^", 0};
  if (take("$")) return Part{"$", 0};
  if (sees("*") || sees("+") || sees("?")) corrupt("nothing to repeat");
  return literal(next());
}

// "{n}", "{n,}", "{,m}" or "{n,m}"; anything else is text.
bool Translator::read_interval(std::string& interval, bool& exact, uint32_t& count) {
  const size_t begin = at_;
  const auto number = [&]() -> std::optional<uint32_t> {
    const size_t first = at_;
    uint32_t value = 0;
    while (!at_end() && pattern_[at_] >= '0' && pattern_[at_] <= '9') {
      value = std::min(value * 10 + static_cast<uint32_t>(pattern_[at_++] - '0'), 10 * kMaxRepeat);
    }
    return at_ == first ? std::nullopt : std::optional(value);
  };
  if (!take("{")) return false;
  std::optional<uint32_t> low = number();
  const bool comma = take(",");
  std::optional<uint32_t> high = comma ? number() : low;
  if (!take("}") || (!low && !high)) {
    at_ = begin;
    return false;
  }
  if (low.value_or(0) > kMaxRepeat || high.value_or(0) > kMaxRepeat) unsupported(fmt::format("repeating more than {} times", kMaxRepeat));
  exact = !comma;
  const bool swapped = low && high && *low > *high;
  if (swapped) std::swap(*low, *high);
  count = low.value_or(0);
  interval = exact ? fmt::format("{{{}}}", count) : fmt::format("{{{},{}}}", count, high ? fmt::format("{}", *high) : "");
  if (swapped) interval += '+';  // Ruby's possessive interval
  return true;
}

void Translator::repeat(Part& part, const Options& options) {
  bool repeated = false;
  while (true) {
    skip_comments(options);
    std::string quantifier;
    bool exact = false;
    bool interval = false;
    uint32_t count = 0;
    if (take("*")) {
      quantifier = "*";
    } else if (take("+")) {
      quantifier = "+";
    } else if (take("?")) {
      quantifier = "?";
    } else if (read_interval(quantifier, exact, count)) {
      interval = true;
    } else {
      return;
    }
    // Intervals have no possessive form, and "{n}?" is optional, not lazy.
    if (!exact && take("?")) {
      quantifier += '?';
    } else if (!interval && take("+")) {
      quantifier += '+';
    }
    if (repeated) part.text = "(?:" + part.text + ")";
    part.text += quantifier;
    part.width = exact && part.width ? std::optional(*part.width * count) : std::nullopt;
    if (part.text.size() > kMaxTranslation) unsupported("a pattern of this size");
    repeated = true;
  }
}

Part Translator::enclosed(std::string_view open, Options options) {
  Part part = alternatives(options);
  if (!take(")")) corrupt("a '(' without a ')'");
  part.text = std::string(open) + part.text + ")";
  return part;
}

Part Translator::assertion(std::string_view open, Options options) {
  Part part = enclosed(open, options);
  part.width = 0;
  return part;
}

Part Translator::group(Options options, bool& rest_of_group) {
  if (sees("*")) unsupported("a callout");
  if (take("?")) return special_group(options, rest_of_group);
  return enclosed(named_ ? "(?:" : "(", options);
}

Part Translator::special_group(Options options, bool& rest_of_group) {
  if (take(":")) return enclosed("(?:", options);
  if (take("=")) return assertion("(?=", options);
  if (take("!")) return assertion("(?!", options);
  if (take("<=")) return assertion("(?<=", options);
  if (take("<!")) return assertion("(?<!", options);
  if (take(">")) return enclosed("(?>", options);
  if (take("~")) return absent(options);
  if (take("<")) return enclosed("(?<" + group_name(until('>')) + ">", options);
  if (take("'")) return enclosed("(?<" + group_name(until('\'')) + ">", options);
  if (take("(")) return condition(options);
  if (sees("{")) unsupported("a callout");
  return option_group(options, rest_of_group);
}

// (?~X) matches everything up to the first X, or less.
Part Translator::absent(Options options) {
  if (sees("|")) unsupported("an absent stopper or expression (?~|…)");
  const Part inner = alternatives(options);
  if (!take(")")) corrupt("a '(' without a ')'");
  return {"(?:(?:(?!" + inner.text + ")(?s:.))*)", std::nullopt};
}

// (?(1)yes|no) or (?(<name>)yes|no).
Part Translator::condition(Options options) {
  std::string_view name = until(')');
  if (name.size() > 2 && (name.front() == '<' || name.front() == '\'')) name = name.substr(1, name.size() - 2);
  const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number && std::find(names_.begin(), names_.end(), name) == names_.end()) unsupported("a condition that is not a group");
  const std::string open = number ? fmt::format("(?({})", name) : fmt::format("(?(<{}>)", group_name(name));
  Part part = enclosed(open, options);
  part.width.reset();
  return part;
}

Part Translator::option_group(Options options, bool& rest_of_group) {
  const bool ignored_case = options.ignore_case;
  bool on = true;
  while (true) {
    const char32_t letter = next();
    if (letter == ')' || letter == ':') {
      const bool whole_rest = letter == ')';
      const std::string open = options.ignore_case == ignored_case ? "(?:" : options.ignore_case ? "(?i:" : "(?-i:";
      if (!whole_rest) return enclosed(open, options);
      // Options set in the middle hold to the end of the group, over its alternatives.
      Part part = alternatives(options);
      part.text = open + part.text + ")";
      rest_of_group = true;
      return part;
    }
    switch (letter) {
      case '-': on = false; break;
      case 'i': options.ignore_case = on; break;
      case 'm': options.dot_all = on; break;
      case 'x': options.extended = on; break;
      default: unsupported(fmt::format("the group option '{}'", letter < 0x80 ? static_cast<char>(letter) : '?'));
    }
  }
}

// PCRE2 allows fewer characters in names.
std::string Translator::group_name(std::string_view name) {
  if (name.empty()) corrupt("a group with an empty name");
  auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) found = names_.insert(names_.end(), std::string(name));
  return fmt::format("n{}", found - names_.begin());
}

// <name> or 'name', after \k and \g.
std::string_view Translator::group_after(char letter) {
  if (take("<")) return until('>');
  if (take("'")) return until('\'');
  corrupt(fmt::format("no group after \\{}", letter));
}

// \k<name>, \k<1>, \k<-1>.
Part Translator::reference() {
  const std::string_view name = group_after('k');
  const bool number = name.find_first_not_of("0123456789-") == std::string_view::npos;
  return {number ? fmt::format("\\g{{{}}}", name) : fmt::format("\\k{{{}}}", group_name(name)), std::nullopt};
}

// \g<name>, \g<1>, \g<-1>, \g<0>: the group's pattern again.
Part Translator::call() {
  const std::string_view name = group_after('g');
  const bool number = name.find_first_not_of("0123456789-+") == std::string_view::npos;
  return {number ? fmt::format("(?{})", name) : fmt::format("(?&{})", group_name(name)), std::nullopt};
}

CharacterSet Translator::property(bool negated, bool in_brackets) {
  std::string_view name = until('}');
  if (name.starts_with('^')) {
    negated = !negated;
    name.remove_prefix(1);
  }
  std::string items = find_property(name);
  if (in_brackets && items == kWordItems) items = kBracketWordItems;
  if (items.empty()) unsupported(fmt::format("the character property '{}'", name));
  // Brackets take the other case of their members too.
  const auto is = [&](auto... sets) { return ((items == sets) || ...); };
  const bool upper = is("\\p{Lu}", "\\p{Uppercase}", "\\p{Lt}");
  const bool folds = in_brackets && ignore_case_ && (upper || is("\\p{Ll}", "\\p{Lowercase}"));
  CharacterSet set(items);
  if (negated) set.complement();
  if (folds) set.add(CharacterSet(upper != negated ? "\\p{CWU}" : "\\p{CWL}"));
  return set;
}

// The escapes that mean a set, inside and outside of brackets.
std::optional<CharacterSet> Translator::class_escape(char32_t letter, bool in_brackets) {
  const auto set = [](std::string_view items, bool negated) {
    CharacterSet result(items);
    if (negated) result.complement();
    return result;
  };
  switch (letter) {
    case 's':
    case 'S': return set(kSpaceItems, letter == 'S');
    case 'w':
    case 'W': return set(in_brackets ? kBracketWordItems : kWordItems, letter == 'W');
    case 'd':
    case 'D': return set(kDigitItems, letter == 'D');
    case 'h':
    case 'H': return set(kHexItems, letter == 'H');
    case 'p':
    case 'P':
      if (take("{")) return property(letter == 'P', in_brackets);
      return std::nullopt;
    default: return std::nullopt;
  }
}

char32_t Translator::hex_code(size_t least, size_t most) {
  char32_t code = 0;
  size_t digits = 0;
  for (; digits < most && !at_end(); ++digits) {
    const char letter = pattern_[at_];
    const char lower = static_cast<char>(letter | 0x20);
    if (letter >= '0' && letter <= '9') {
      code = code * 16 + static_cast<char32_t>(letter - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      code = code * 16 + static_cast<char32_t>(lower - 'a' + 10);
    } else {
      break;
    }
    ++at_;
  }
  if (digits < least) corrupt("too few hexadecimal digits");
  if (code > 0x10FFFF) corrupt("a code that is no Unicode character");
  return code;
}

// \xE3\x81\x82: the bytes of one character.
char32_t Translator::raw_bytes(uint32_t first) {
  std::string bytes(1, static_cast<char>(first));
  const uint32_t length = sequence_length(static_cast<unsigned char>(first));
  while (bytes.size() < length && take("\\x")) bytes += static_cast<char>(hex_code(2, 2));
  const DecodedCharacter character = decode_character(bytes, 0);
  if (!character.valid || character.length != bytes.size()) corrupt("bytes that are not valid UTF-8");
  return character.code;
}

// The character that `letter` after a backslash means.
char32_t Translator::escaped_code(char32_t letter) {
  switch (letter) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'r': return '\r';
    case 'f': return '\f';
    case 'v': return '\v';
    case 'a': return '\a';
    case 'e': return 0x1B;
    case 'u': return hex_code(4, 4);
    case 'x': {
      if (take("{")) {
        const char32_t code = hex_code(1, 8);
        if (!take("}")) unsupported("a list of codes in \\x{…}");
        return code;
      }
      const char32_t code = hex_code(0, 2);
      return code < 0x80 ? code : raw_bytes(code);
    }
    case 'c': return next() & 0x1F;
    case 'C':
    case 'M':
      if (sees("-")) unsupported("a control or meta escape");
      return letter;
    default: break;
  }
  if (letter < '0' || letter > '7') return letter;
  char32_t code = letter - '0';
  for (int digit = 0; digit < 2 && !at_end() && pattern_[at_] >= '0' && pattern_[at_] <= '7'; ++digit) code = code * 8 + (next() - '0');
  return code;
}

Part Translator::escape(const Options&) {
  const char32_t letter = next();
  if (const auto set = class_escape(letter, false)) return one(*set);
  const std::string word = CharacterSet(kWordItems).expression();
  switch (letter) {
    case 'b': return {fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word), 0};
    case 'B': return {fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word), 0};
    case 'A': return {"\\A", 0};
    case 'Z': return {"\\Z", 0};
    case 'z': return {"\\z", 0};
    case 'G': return {"\\G", 0};
    case 'K': return {"\\K", 0};
    case 'R': return {"\\R", std::nullopt};
    case 'X': return {fmt::format("(?>(?s:.)(?:(?C{})(?s:.))*)", kNoClusterBoundaryCallout), std::nullopt};
    case 'N': return {"[^\\n]", 1};
    case 'O': return {"(?s:.)", 1};
    case 'y': return {fmt::format("(?C{})", kClusterBoundaryCallout), 0};
    case 'Y': return {fmt::format("(?C{})", kNoClusterBoundaryCallout), 0};
    case 'k': return reference();
    case 'g': return call();
    default: break;
  }
  if (letter >= '1' && letter <= '9' && !(at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9')) {
    return {fmt::format("\\g{{{}}}", static_cast<uint32_t>(letter - '0')), std::nullopt};
  }
  if (letter == 'x' && take("{")) return code_list();
  return literal(escaped_code(letter));
}

// \x{41}, or \x{41 42} for several characters.
Part Translator::code_list() {
  Part part;
  do {
    while (take(" ")) {}
    part.append(literal(hex_code(1, 8)));
  } while (sees(" "));
  if (!take("}")) corrupt("no closing brace after \\x");
  return part;
}

// After "[": operands joined by &&, the whole complemented by a leading ^.
CharacterSet Translator::bracket() {
  if (++depth_ > kMaxDepth) unsupported(fmt::format("nesting deeper than {} classes", kMaxDepth));
  const bool negated = take("^");
  const size_t begin = at_;
  // "[]a]": a first "]" is a member if another one closes the class.
  CharacterSet result;
  if (sees("]")) {
    if (pattern_.find(']', at_ + 1) == std::string_view::npos) corrupt("an empty class");
    ++at_;
    if (sees("-") && !pattern_.substr(at_ + 1).starts_with("]")) {
      at_ = begin;
      unsupported("a range that begins with ']'");
    }
    result.add_range(']', ']');
  }
  result.add(bracket_operand());
  while (take("&&")) result.intersect(bracket_operand());
  if (!take("]")) corrupt("a '[' without a ']'");
  if (negated) result.complement();
  --depth_;
  return result;
}

std::optional<CharacterSet> Translator::posix_bracket() {
  const size_t close = pattern_.find(":]", at_);
  if (!sees("[:") || close == std::string_view::npos) return std::nullopt;
  std::string_view name = pattern_.substr(at_ + 2, close - at_ - 2);
  const bool negated = name.starts_with('^');
  if (negated) name.remove_prefix(1);
  const std::string items = find_posix_bracket(name);
  if (items.empty()) return std::nullopt;
  at_ = close + 2;
  CharacterSet set(items);
  if (negated) set.complement();
  return set;
}

// One character of a class, whichever way it is written.
char32_t Translator::bracket_code() {
  if (!take("\\")) return next();
  const char32_t letter = next();
  return letter == 'b' ? U'\b' : escaped_code(letter);
}

// Members up to && or the closing bracket.
CharacterSet Translator::bracket_operand() {
  CharacterSet set;
  while (!sees("]") && !sees("&&")) {
    if (at_end()) corrupt("a '[' without a ']'");
    if (const auto posix = posix_bracket()) {
      set.add(*posix);
      continue;
    }
    if (take("[")) {
      set.add(bracket());
      continue;
    }
    if (sees("\\")) {
      const size_t begin = at_;
      ++at_;
      if (const auto escaped = class_escape(next(), true)) {
        set.add(*escaped);
        continue;
      }
      at_ = begin;
    }
    const char32_t first = bracket_code();
    // A range, unless the '-' is the last member or is before a set.
    const std::string_view rest = pattern_.substr(at_);
    const bool range = rest.size() > 1 && rest[0] == '-' && rest[1] != ']' && rest[1] != '[' && !rest.starts_with("-&&");
    const bool before_set = rest.size() > 2 && rest[1] == '\\' && std::string_view("sSwWdDhHpP").find(rest[2]) != std::string_view::npos;
    if (!range || before_set) {
      set.add_range(first, first);
      continue;
    }
    ++at_;
    const char32_t last = bracket_code();
    if (last < first) corrupt("a range whose end comes before its beginning");
    set.add_range(first, last);
  }
  return set;
}

}  // namespace

std::string translate_oniguruma(std::string_view pattern, std::string_view place) { return Translator(pattern, place).translate(); }

}  // namespace wick
