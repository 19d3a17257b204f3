#include "wick/text/jinja/python_text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "wick/text/unicode/unicode.h"

namespace wick::jinja {
namespace {

// Values may share their parts, so that a few of them print as a text without end.
constexpr size_t kLongestRepr = size_t{64} << 20;

void append_repr(std::string& text, const Value& value, int depth);

void append_items(std::string& text, const Values& items, int depth) {
  for (size_t index = 0; index < items.size(); ++index) {
    if (index > 0) text += ", ";
    append_repr(text, items[index], depth + 1);
  }
}

void append_dict(std::string& text, const Dict& dict, int depth) {
  if (dict.budget != nullptr) dict.budget->step(static_cast<int64_t>(dict.entries.size()));
  text += '{';
  for (size_t index = 0; index < dict.entries.size(); ++index) {
    if (index > 0) text += ", ";
    append_repr(text, dict.entries[index].first, depth + 1);
    text += ": ";
    append_repr(text, dict.entries[index].second, depth + 1);
  }
  text += '}';
}

std::string range_repr(const Sequence& range) {
  if (range.items.empty()) return "range(0, 0)";
  const int64_t first = range.items.front().whole();
  const int64_t end = range.items.back().whole() + range.range_step;
  return range.range_step == 1 ? fmt::format("range({}, {})", first, end) : fmt::format("range({}, {}, {})", first, end, range.range_step);
}

void append_sequence(std::string& text, const Value& value, int depth) {
  const Sequence& sequence = value.sequence();
  if (sequence.budget != nullptr) sequence.budget->step(static_cast<int64_t>(sequence.items.size()));
  switch (value.kind()) {
    case Kind::list:
      text += '[';
      append_items(text, sequence.items, depth);
      text += ']';
      break;
    case Kind::tuple:
      text += '(';
      append_items(text, sequence.items, depth);
      text += sequence.items.size() == 1 ? ",)" : ")";
      break;
    case Kind::view:
      text += fmt::format("{}([", sequence.type);
      append_items(text, sequence.items, depth);
      text += "])";
      break;
    case Kind::range: text += range_repr(sequence); break;
    default: text += fmt::format("<{} object>", sequence.type);
  }
}

void append_repr(std::string& text, const Value& value, int depth) {
  if (depth > 500) raise("RecursionError", "maximum recursion depth exceeded while getting the repr of an object");
  if (text.size() > kLongestRepr) raise("LimitError", "a value prints as more than 64 MiB");
  switch (value.kind()) {
    case Kind::undefined: text += "Undefined"; break;
    case Kind::none: text += "None"; break;
    case Kind::boolean: text += value.whole() != 0 ? "True" : "False"; break;
    case Kind::integer: text += fmt::to_string(value.whole()); break;
    case Kind::real: text += float_text(value.number()); break;
    case Kind::string: text += value.is_safe() ? "Markup(" + text_repr(value.text()) + ")" : text_repr(value.text()); break;
    case Kind::list:
    case Kind::tuple:
    case Kind::iterator:
    case Kind::view:
    case Kind::range: append_sequence(text, value, depth); break;
    case Kind::dict: append_dict(text, value.dict(), depth); break;
    case Kind::scope:
      text += "<Namespace ";
      append_dict(text, value.scope().attributes, depth);
      text += '>';
      break;
    case Kind::callable: text += value.callable().repr(); break;
    case Kind::loop: text += "<LoopContext>"; break;
  }
}

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

// Letters whose upper case is several: SpecialCasing.txt of Unicode, as far as utf8proc's simple mapping lacks them.
std::u32string special_upper(char32_t code) {
  switch (code) {
    case U'ß': return U"SS";
    case U'ŉ': return U"ʼN";
    case U'ǰ': return U"J̌";
    case U'ΐ': return U"Ϊ́";
    case U'ΰ': return U"Ϋ́";
    case U'և': return U"ԵՒ";
    case U'ﬀ': return U"FF";
    case U'ﬁ': return U"FI";
    case U'ﬂ': return U"FL";
    case U'ﬃ': return U"FFI";
    case U'ﬄ': return U"FFL";
    case U'ﬅ':
    case U'ﬆ': return U"ST";
    default: return {};
  }
}

bool is_cased(char32_t code) {
  const utf8proc_category_t kind = category(code);
  return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT;
}

// A sigma is a final one behind a letter and before none.
bool is_final_sigma(const std::u32string& text, size_t at) {
  const bool before = at > 0 && is_cased(text[at - 1]);
  const bool after = at + 1 < text.size() && is_cased(text[at + 1]);
  return before && !after;
}

void append_cased(std::string& result, const std::u32string& text, size_t at, LetterCase letter_case) {
  const char32_t code = text[at];
  const auto simple = static_cast<utf8proc_int32_t>(code);
  if (letter_case == LetterCase::upper || letter_case == LetterCase::title) {
    std::u32string special = special_upper(code);
    if (!special.empty()) {
      append_character(result, special[0]);
      const bool title = letter_case == LetterCase::title;
      for (size_t index = 1; index < special.size(); ++index) {
        append_character(result,
                         title ? static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(special[index]))) : special[index]);
      }
      return;
    }
    append_character(result, static_cast<char32_t>(letter_case == LetterCase::upper ? utf8proc_toupper(simple) : utf8proc_totitle(simple)));
    return;
  }
  if (letter_case == LetterCase::fold && code == U'ß') {
    result += "ss";
  } else if (letter_case == LetterCase::fold && code == U'ς') {
    result += "σ";
  } else if (code == U'İ') {
    result += "i̇";
  } else if (letter_case == LetterCase::lower && code == U'Σ' && is_final_sigma(text, at)) {
    result += "ς";
  } else {
    append_character(result, static_cast<char32_t>(utf8proc_tolower(simple)));
  }
}

bool in_set(char32_t code, const std::u32string& set) { return set.find(code) != std::u32string::npos; }

bool is_letter(char32_t code) {
  const utf8proc_category_t kind = category(code);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_digit(char32_t code) {
  // Numeric_Type=Digit beyond Nd: superscripts, subscripts, circled digits.
  static constexpr std::u32string_view kOthers = U"²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉①②③④⑤⑥⑦⑧⑨";
  return category(code) == UTF8PROC_CATEGORY_ND || kOthers.find(code) != std::u32string_view::npos;
}

bool is_numeric(char32_t code) {
  const utf8proc_category_t kind = category(code);
  static constexpr std::u32string_view kIdeographs = U"一二三四五六七八九十百千万零〇";
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO ||
         kIdeographs.find(code) != std::u32string_view::npos;
}

bool all_cased(const std::u32string& text, bool upper) {
  bool found = false;
  for (const char32_t code : text) {
    const utf8proc_category_t kind = category(code);
    if (kind == (upper ? UTF8PROC_CATEGORY_LL : UTF8PROC_CATEGORY_LU) || kind == UTF8PROC_CATEGORY_LT) return false;
    found = found || kind == (upper ? UTF8PROC_CATEGORY_LU : UTF8PROC_CATEGORY_LL);
  }
  return found;
}

bool is_title(const std::u32string& text) {
  bool inside = false;
  bool found = false;
  for (const char32_t code : text) {
    const utf8proc_category_t kind = category(code);
    const bool upper = kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LT;
    const bool lower = kind == UTF8PROC_CATEGORY_LL;
    if ((upper && inside) || (lower && !inside)) return false;
    inside = upper || lower;
    found = found || inside;
  }
  return found;
}

template <class Predicate>
bool all_of(const std::u32string& text, Predicate&& predicate) {
  return !text.empty() && std::all_of(text.begin(), text.end(), predicate);
}

bool is_identifier(const std::u32string& text) {
  if (text.empty() || (!is_letter(text[0]) && text[0] != U'_')) return false;
  return std::all_of(text.begin(), text.end(), [](char32_t code) { return is_word(code); });
}

}  // namespace

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::scientific).ptr;
  const std::string text(buffer.data(), end);
  const size_t mark = text.find('e');
  const int exponent = std::stoi(text.substr(mark + 1));
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}e{}{:02}", text.substr(0, mark), exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  const auto fixed = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed).ptr;
  std::string result(buffer.data(), fixed);
  if (result.find('.') == std::string::npos) result += ".0";
  return result;
}

std::string text_repr(std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, quote);
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter character = decode_character(text, at);
    const char32_t code = character.code;
    if (code == static_cast<char32_t>(quote) || code == U'\\') {
      result += '\\';
      result += static_cast<char>(code);
    } else if (code == U'\n' || code == U'\r' || code == U'\t') {
      result += code == U'\n' ? "\\n" : code == U'\r' ? "\\r" : "\\t";
    } else if (is_printable(code)) {
      result += text.substr(at, character.length);
    } else {
      const auto number = static_cast<uint32_t>(code);
      result += code < 0x100     ? fmt::format("\\x{:02x}", number)
                : code < 0x10000 ? fmt::format("\\u{:04x}", number)
                                 : fmt::format("\\U{:08x}", number);
    }
    at += character.length;
  }
  return result + quote;
}

std::string repr(const Value& value) {
  std::string text;
  append_repr(text, value, 0);
  return text;
}

std::string to_text(const Value& value) {
  if (value.is_string()) return value.text();
  return value.is_undefined() ? std::string() : repr(value);
}

const std::string& to_text(const Value& value, std::string& storage) {
  if (value.is_string()) return value.text();
  storage = to_text(value);
  return storage;
}

int64_t length_of(std::string_view text) { return static_cast<int64_t>(count_characters(text)); }

size_t byte_at(std::string_view text, int64_t index) {
  size_t at = 0;
  while (index > 0 && at < text.size()) {
    at += sequence_length(static_cast<unsigned char>(text[at]));
    --index;
  }
  return std::min(at, text.size());
}

std::u32string decode(std::string_view text) {
  std::u32string result;
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter character = decode_character(text, at);
    result += character.code;
    at += character.length;
  }
  return result;
}

bool is_space(char32_t code) { return is_whitespace(code) || (code >= 0x1C && code <= 0x1F); }

bool is_printable(char32_t code) {
  if (code == U' ') return true;
  switch (category(code)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    default: return true;
  }
}

std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const DecodedCharacter character = decode_character(text, 0);
    if (!is_space(character.code)) break;
    text.remove_prefix(character.length);
  }
  return text;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    const size_t at = previous_character(text, text.size());
    if (!is_space(decode_character(text, at).code)) break;
    text = text.substr(0, at);
  }
  return text;
}

std::string_view strip_left(std::string_view text, std::string_view set) {
  const std::u32string members = decode(set);
  while (!text.empty()) {
    const DecodedCharacter character = decode_character(text, 0);
    if (!in_set(character.code, members)) break;
    text.remove_prefix(character.length);
  }
  return text;
}

std::string_view strip_right(std::string_view text, std::string_view set) {
  const std::u32string members = decode(set);
  while (!text.empty()) {
    const size_t at = previous_character(text, text.size());
    if (!in_set(decode_character(text, at).code, members)) break;
    text = text.substr(0, at);
  }
  return text;
}

std::string in_case(std::string_view text, LetterCase letter_case) {
  const std::u32string codes = decode(text);
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < codes.size(); ++at) append_cased(result, codes, at, letter_case);
  return result;
}

std::string capitalized(std::string_view text) {
  const size_t first = byte_at(text, 1);
  std::string lower = in_case(text, LetterCase::lower);
  if (first == 0) return lower;
  return in_case(text.substr(0, first), LetterCase::title) + lower.substr(in_case(text.substr(0, first), LetterCase::lower).size());
}

std::string titled(std::string_view text) {
  const std::u32string codes = decode(text);
  std::string result;
  bool inside = false;
  for (size_t at = 0; at < codes.size(); ++at) {
    append_cased(result, codes, at, inside ? LetterCase::lower : LetterCase::title);
    inside = is_cased(codes[at]);
  }
  return result;
}

std::string case_swapped(std::string_view text) {
  const std::u32string codes = decode(text);
  std::string result;
  for (size_t at = 0; at < codes.size(); ++at) {
    const utf8proc_category_t kind = category(codes[at]);
    if (kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL) {
      append_cased(result, codes, at, kind == UTF8PROC_CATEGORY_LU ? LetterCase::lower : LetterCase::upper);
    } else {
      append_character(result, codes[at]);
    }
  }
  return result;
}

bool is_of_class(std::string_view text, std::string_view name) {
  if (name == "ascii") return is_ascii(text);
  const std::u32string codes = decode(text);
  if (name == "printable") return std::all_of(codes.begin(), codes.end(), is_printable);
  if (name == "identifier") return is_identifier(codes);
  if (name == "lower") return all_cased(codes, false);
  if (name == "upper") return all_cased(codes, true);
  if (name == "title") return is_title(codes);
  if (name == "space") return all_of(codes, is_space);
  if (name == "alpha") return all_of(codes, is_letter);
  if (name == "decimal") return all_of(codes, is_decimal_digit);
  if (name == "digit") return all_of(codes, is_digit);
  if (name == "numeric") return all_of(codes, is_numeric);
  return all_of(codes, [](char32_t code) { return is_letter(code) || is_numeric(code); });  // alnum
}

std::vector<std::string_view> split_at_space(std::string_view text, int64_t most) {
  std::vector<std::string_view> parts;
  for (text = strip_left(text); !text.empty(); text = strip_left(text)) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      const DecodedCharacter character = decode_character(text, end);
      if (is_space(character.code)) break;
      end += character.length;
    }
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t most) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = most >= 0 && static_cast<int64_t>(parts.size()) == most ? std::string_view::npos : text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter character = decode_character(text, at);
    const char32_t code = character.code;
    const bool ends = (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 || code == 0x2029;
    size_t after = at + character.length;
    if (ends) {
      if (code == U'\r' && after < text.size() && text[after] == '\n') ++after;
      lines.push_back(text.substr(begin, (keep_ends ? after : at) - begin));
      begin = after;
    }
    at = after;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::string replace_all(Budget& budget, std::string_view text, std::string_view from, std::string_view to, int64_t most) {
  std::string result;
  int64_t done = 0;
  const auto full = [&] { return most >= 0 && done >= most; };
  const auto append = [&](std::string_view piece) {
    budget.check_size(result.size() + piece.size(), 1);
    result += piece;
  };
  if (from.empty()) {
    for (size_t at = 0; at <= text.size() && !full(); ++done) {
      append(to);
      if (at == text.size()) return result;
      const size_t length = decode_character(text, at).length;
      append(text.substr(at, length));
      at += length;
      if (done + 1 == most) {
        append(text.substr(at));
        return result;
      }
    }
    return full() ? std::string(text) : result;
  }
  while (!full()) {
    const size_t at = text.find(from);
    if (at == std::string_view::npos) break;
    append(text.substr(0, at));
    append(to);
    text.remove_prefix(at + from.size());
    ++done;
  }
  append(text);
  return result;
}

std::string escape_html(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&#34;"; break;
      case '\'': result += "&#39;"; break;
      default: result += letter;
    }
  }
  return result;
}

}  // namespace wick::jinja
