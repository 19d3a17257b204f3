#include "wick/text/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "wick/text/jinja/python_text.h"
#include "wick/text/unicode/unicode.h"

namespace wick::jinja {
namespace {

constexpr auto kSigns = std::to_array<std::string_view>({"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                                         "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"});

// Line breaks of all systems become "\n"; one at the end goes.
std::string with_plain_breaks(std::string_view source) {
  std::string result;
  result.reserve(source.size());
  for (size_t at = 0; at < source.size(); ++at) {
    if (source[at] == '\r') {
      result += '\n';
      if (at + 1 < source.size() && source[at + 1] == '\n') ++at;
    } else {
      result += source[at];
    }
  }
  if (result.ends_with('\n')) result.pop_back();
  return result;
}

bool is_ascii_digit(char letter) { return letter >= '0' && letter <= '9'; }

int hex_value(char letter) {
  if (is_ascii_digit(letter)) return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : text_(with_plain_breaks(source)), source_(text_) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) read_data();
    push(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string message) const { throw SyntaxError{std::move(message), line_}; }
  void push(TokenKind kind, std::string_view text) { tokens_.push_back({kind, std::string(text), line_}); }
  [[nodiscard]] bool looking_at(std::string_view what) const { return source_.substr(at_).starts_with(what); }
  void skip(size_t bytes) {
    line_ += static_cast<int>(
        std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_), source_.begin() + static_cast<std::ptrdiff_t>(at_ + bytes), '\n'));
    at_ += bytes;
    line_starting_ = bytes > 0 && source_[at_ - 1] == '\n';
  }
  [[nodiscard]] size_t space_at(size_t from) const {
    const std::string_view rest = source_.substr(from);
    return rest.size() - strip_left(rest).size();
  }

  void read_data();
  void push_data(std::string_view data, char sign, bool variable);
  void read_comment();
  [[nodiscard]] std::optional<size_t> raw_begin() const;
  void read_raw(size_t begin_bytes);
  void read_tag(bool variable);
  [[nodiscard]] size_t end_bytes(bool variable) const;
  void read_token(std::string& open);
  void balance(std::string& open, std::string_view sign) const;
  [[nodiscard]] bool read_number();
  void read_string();
  [[nodiscard]] std::string unescape(std::string_view body) const;
  void append_code(std::string& result, std::string_view body, size_t& at, size_t digits) const;

  std::string text_;
  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

// Text up to the next tag, and that tag.
void Lexer::read_data() {
  size_t begin = at_;
  for (;; ++begin) {
    begin = source_.find('{', begin);
    if (begin == std::string_view::npos || begin + 1 >= source_.size()) {
      if (at_ < source_.size()) push(TokenKind::data, source_.substr(at_));
      at_ = source_.size();
      return;
    }
    const char next = source_[begin + 1];
    if (next == '{' || next == '%' || next == '#') break;
  }
  const char kind = source_[begin + 1];
  const char sign = begin + 2 < source_.size() ? source_[begin + 2] : '\0';
  const std::string_view data = source_.substr(at_, begin - at_);
  push_data(data, sign, kind == '{');
  const bool starting = line_starting_;
  skip(data.size());
  if (data.empty()) line_starting_ = starting;
  if (kind == '#') return read_comment();
  if (kind == '%') {
    if (const auto raw = raw_begin()) return read_raw(*raw);
  }
  read_tag(kind == '{');
}

// A tag's "-" takes white space before it; without a sign one that is not for printing takes what is before it on its line.
void Lexer::push_data(std::string_view data, char sign, bool variable) {
  if (sign == '-') {
    data = strip_right(data);
  } else if (sign != '+' && !variable) {
    const size_t line = data.rfind('\n') + 1;  // 0 without one
    if ((line > 0 || line_starting_) && strip_left(data.substr(line)).empty()) data = data.substr(0, line);
  }
  if (!data.empty()) push(TokenKind::data, data);
}

void Lexer::read_comment() {
  size_t from = at_ + 2;
  if (from < source_.size() && (source_[from] == '-' || source_[from] == '+')) ++from;
  const size_t end = source_.find("#}", from);
  if (end == std::string_view::npos) fail("Missing end of comment tag");
  const char sign = end > from ? source_[end - 1] : '\0';
  skip(end + 2 - at_);
  if (sign == '-') {
    if (const size_t space = space_at(at_); space > 0) skip(space);
  } else if (sign != '+' && looking_at("\n")) {
    skip(1);
  }
}

// The bytes of a {% raw %} tag that begins here.
std::optional<size_t> Lexer::raw_begin() const {
  size_t at = at_ + 2;
  if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) ++at;
  at += space_at(at);
  if (!source_.substr(at).starts_with("raw")) return std::nullopt;
  at += 3;
  at += space_at(at);
  if (source_.substr(at).starts_with("%}")) return at + 2 - at_;
  if (!source_.substr(at).starts_with("-%}")) return std::nullopt;
  at += 3;
  return at + space_at(at) - at_;
}

void Lexer::read_raw(size_t begin_bytes) {
  skip(begin_bytes);
  for (size_t begin = source_.find("{%", at_); begin != std::string_view::npos; begin = source_.find("{%", begin + 1)) {
    size_t at = begin + 2;
    const char sign = at < source_.size() ? source_[at] : '\0';
    if (sign == '-' || sign == '+') ++at;
    at += space_at(at);
    if (!source_.substr(at).starts_with("endraw")) continue;
    at += 6;
    at += space_at(at);
    const std::string_view rest = source_.substr(at);
    size_t end = 0;
    if (rest.starts_with("+%}")) {
      end = at + 3;
    } else if (rest.starts_with("-%}")) {
      end = at + 3 + space_at(at + 3);
    } else if (rest.starts_with("%}")) {
      end = at + 2 + (source_.substr(at + 2).starts_with('\n') ? 1 : 0);
    } else {
      continue;
    }
    push_data(source_.substr(at_, begin - at_), sign, false);
    skip(end - at_);
    return;
  }
  fail("Missing end of raw directive");
}

// The bytes of the tag's end, if it is here.
size_t Lexer::end_bytes(bool variable) const {
  if (variable) {
    if (looking_at("-}}")) return 3 + space_at(at_ + 3);
    return looking_at("}}") ? 2 : 0;
  }
  if (looking_at("+%}")) return 3;
  if (looking_at("-%}")) return 3 + space_at(at_ + 3);
  if (!looking_at("%}")) return 0;
  return source_.substr(at_ + 2).starts_with('\n') ? 3 : 2;
}

void Lexer::read_tag(bool variable) {
  push(variable ? TokenKind::variable_begin : TokenKind::block_begin, source_.substr(at_, 2));
  skip(2);
  if (looking_at("-") || looking_at("+")) skip(1);
  std::string open;  // brackets that wait for their other half
  while (at_ < source_.size()) {
    if (open.empty()) {
      if (const size_t end = end_bytes(variable); end > 0) {
        push(variable ? TokenKind::variable_end : TokenKind::block_end, source_.substr(at_, 2));
        return skip(end);
      }
    }
    if (const size_t space = space_at(at_); space > 0) {
      skip(space);
    } else {
      read_token(open);
    }
  }
}

void Lexer::read_token(std::string& open) {
  const char first = source_[at_];
  if (is_ascii_digit(first) && read_number()) return;
  const auto is_part = [&](size_t at) {
    const auto byte = static_cast<unsigned char>(source_[at]);
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    return letter || byte == '_' || is_ascii_digit(source_[at]) || (byte >= 0x80 && is_word(decode_character(source_, at).code));
  };
  size_t end = at_;
  while (end < source_.size() && is_part(end)) end += decode_character(source_, end).length;
  if (end > at_) {
    push(TokenKind::name, source_.substr(at_, end - at_));
    return skip(end - at_);
  }
  if (first == '"' || first == '\'') return read_string();
  for (const std::string_view sign : kSigns) {
    if (!looking_at(sign)) continue;
    if (sign.size() == 1) balance(open, sign);
    push(TokenKind::sign, sign);
    return skip(sign.size());
  }
  const size_t length = decode_character(source_, at_).length;
  fail(fmt::format("unexpected char {} at {}", text_repr(source_.substr(at_, length)), length_of(source_.substr(0, at_))));
}

void Lexer::balance(std::string& open, std::string_view sign) const {
  switch (sign[0]) {
    case '{': open += '}'; return;
    case '(': open += ')'; return;
    case '[': open += ']'; return;
    case '}':
    case ')':
    case ']':
      if (open.empty()) fail(fmt::format("unexpected '{}'", sign));
      if (open.back() != sign[0]) fail(fmt::format("unexpected '{}', expected '{}'", sign, open.back()));
      open.pop_back();
      return;
    default: return;
  }
}

// 12, 1_000, 0x1F, 1.5, 1e-3. False: this is not a number in Python ("0123" is 0 and then 123).
bool Lexer::read_number() {
  const auto digits = [&](size_t from, int base) {
    size_t at = from;
    while (at < source_.size()) {
      const size_t digit = source_[at] == '_' && at > from && at + 1 < source_.size() ? at + 1 : at;
      const int value = hex_value(source_[digit]);
      if (value < 0 || value >= base) break;
      at = digit + 1;
    }
    return at;
  };
  const auto push_number = [&](TokenKind kind, size_t end) {
    std::string text(source_.substr(at_, end - at_));
    std::erase(text, '_');
    push(kind, text);
    skip(end - at_);
    return true;
  };
  size_t whole = digits(at_, 10);
  size_t end = whole;
  if (end + 1 < source_.size() && source_[end] == '.' && is_ascii_digit(source_[end + 1])) end = digits(end + 1, 10);
  if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
    if (exponent < source_.size() && is_ascii_digit(source_[exponent])) end = digits(exponent, 10);
  }
  const bool behind_dot = at_ > 0 && source_[at_ - 1] == '.';
  if (end > whole && !behind_dot) return push_number(TokenKind::real, end);
  if (source_[at_] != '0') return push_number(TokenKind::integer, whole);
  const char mark = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : '\0';
  const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  if (base != 0) {
    size_t from = at_ + 2;
    if (from < source_.size() && source_[from] == '_') ++from;
    if (const size_t to = digits(from, base); to > from) return push_number(TokenKind::integer, to);
  }
  return push_number(TokenKind::integer, std::max(at_ + 1, digits(at_, 1)));
}

void Lexer::read_string() {
  const char quote = source_[at_];
  size_t end = at_ + 1;
  while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size())
    fail(fmt::format("unexpected char {} at {}", text_repr(std::string(1, quote)), length_of(source_.substr(0, at_))));
  push(TokenKind::string, unescape(source_.substr(at_ + 1, end - at_ - 1)));
  skip(end + 1 - at_);
}

// \xhh, \uhhhh and \Uhhhhhhhh.
void Lexer::append_code(std::string& result, std::string_view body, size_t& at, size_t digits) const {
  uint32_t code = 0;
  size_t found = 0;
  while (found < digits && at + 1 + found < body.size() && hex_value(body[at + 1 + found]) >= 0) {
    code = code * 16 + static_cast<uint32_t>(hex_value(body[at + 1 + found++]));
  }
  if (found < digits) {
    fail(fmt::format("truncated \\{}{} escape", body[at], std::string(digits, 'X')));
  }
  at += digits;
  if (code > 0x10FFFF) fail("illegal Unicode character");
  append_character(result, code >= 0xD800 && code <= 0xDFFF ? kReplacementCharacter : static_cast<char32_t>(code));
}

std::string Lexer::unescape(std::string_view body) const {
  std::string result;
  for (size_t at = 0; at < body.size(); ++at) {
    if (body[at] != '\\' || at + 1 >= body.size()) {
      result += body[at];
      continue;
    }
    const char letter = body[++at];
    static constexpr std::string_view kPlain = "\\'\"abfnrtv";
    static constexpr std::string_view kMeaning = "\\'\"\a\b\f\n\r\t\v";
    if (const size_t known = kPlain.find(letter); known != std::string_view::npos) {
      result += kMeaning[known];
    } else if (letter == 'x' || letter == 'u' || letter == 'U') {
      append_code(result, body, at, letter == 'x' ? 2 : letter == 'u' ? 4 : 8);
    } else if (letter == 'N') {
      fail("malformed \\N character escape");
    } else if (letter >= '0' && letter <= '7') {
      char32_t code = 0;
      size_t digits = 0;
      for (; digits < 3 && at + digits < body.size() && body[at + digits] >= '0' && body[at + digits] <= '7'; ++digits) {
        code = code * 8 + static_cast<char32_t>(body[at + digits] - '0');
      }
      at += digits - 1;
      append_character(result, code);
    } else if (letter != '\n') {
      result += '\\';
      result += letter;
    }
  }
  return result;
}

}  // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::data: return "template data / text";
    case TokenKind::variable_begin: return "begin of print statement";
    case TokenKind::variable_end: return "end of print statement";
    case TokenKind::block_begin: return "begin of statement block";
    case TokenKind::block_end: return "end of statement block";
    case TokenKind::string: return "string";
    case TokenKind::integer: return "integer";
    case TokenKind::real: return "float";
    case TokenKind::end: return "end of template";
    case TokenKind::name:
    case TokenKind::sign: return token.text;
  }
  return {};
}

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace wick::jinja
