// Filters that make texts and numbers of their input.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "wick/text/jinja/bound_arguments.h"
#include "wick/text/jinja/format_text.h"
#include "wick/text/jinja/json_text.h"
#include "wick/text/jinja/operators.h"
#include "wick/text/jinja/renderer.h"
#include "wick/text/unicode/unicode.h"

namespace wick::jinja {
namespace {

template <std::string (*function)(std::string_view)>
Value letters(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("filter", arguments, {});
  return renderer.text(function(to_text(input)), input.is_safe());
}

std::string upper(std::string_view text) { return in_case(text, LetterCase::upper); }
std::string lower(std::string_view text) { return in_case(text, LetterCase::lower); }

// Words begin behind blanks, "-" and opening brackets: "don't" stays one, unlike in str.title.
std::string title(std::string_view text) {
  std::string result;
  std::string word;
  const auto flush = [&] {
    const size_t first = byte_at(word, 1);
    result += in_case(std::string_view(word).substr(0, first), LetterCase::upper) +
              in_case(std::string_view(word).substr(first), LetterCase::lower);
    word.clear();
  };
  for (const std::string_view character : code_points(text)) {
    if (character.find_first_of("-({[<") != std::string_view::npos || is_space(decode_character(character, 0).code)) {
      flush();
      result += character;
    } else {
      word += character;
    }
  }
  flush();
  return result;
}

Value trim(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<1> bound("do_trim", arguments, {"chars"});
  std::string storage;
  const std::string& text = to_text(input, storage);
  if (!bound.given(0)) return renderer.text(std::string(strip_right(strip_left(text))), input.is_safe());
  const std::string set = bound.text(0);
  return renderer.text(std::string(strip_right(strip_left(text, set), set)), input.is_safe());
}

Value replace(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<3> bound("do_replace", arguments, {"old", "new", "count"}, 2);
  const int64_t most = bound.given(2) ? bound.whole(2, -1) : -1;
  return renderer.text(replace_all(renderer.budget(), to_text(input), to_text(bound.at(0)), to_text(bound.at(1)), most));
}

Value string(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("soft_str", arguments, {});
  return input.is_string() ? input : renderer.text(to_text(input));
}

Value safe(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_mark_safe", arguments, {});
  return renderer.text(to_text(input), true);
}

Value escape(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("escape", arguments, {});
  return input.is_safe() ? input : renderer.text(escape_html(to_text(input)), true);
}

Value force_escape(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_forceescape", arguments, {});
  return renderer.text(escape_html(to_text(input)), true);
}

Value center(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<1> bound("do_center", arguments, {"width"});
  Arguments width;
  width.positional.push_back(Value::integer(bound.whole(0, 80)));
  const Value text = input.is_string() ? input : renderer.text(to_text(input));
  return renderer.call(*find_method(renderer, text, "center"), width);
}

Value indent(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<3> bound("do_indent", arguments, {"width", "first", "blank"});
  check_defined(input);
  if (!input.is_string()) raise("TypeError", fmt::format("unsupported operand type(s) for +=: '{}' and 'str'", type_name(input)));
  const bool spelled_out = bound.has(0) && bound.at(0).is_string();
  const int64_t width = spelled_out ? 0 : std::clamp<int64_t>(bound.whole(0, 4), 0, 1'000'000);
  const std::string indention = spelled_out ? bound.text(0) : std::string(static_cast<size_t>(width), ' ');
  const std::string text = input.text() + "\n";
  const auto lines = split_lines(text, false);
  renderer.budget().check_size(text.size() + lines.size() * indention.size(), 1);
  const bool blank = bound.truth(2, false);
  std::string result;
  for (size_t index = 0; index < lines.size(); ++index) {
    if (index > 0) result += '\n';
    if (index > 0 && (blank || !lines[index].empty())) result += indention;
    result += lines[index];
  }
  if (bound.truth(1, false)) result = indention + result;
  return renderer.text(std::move(result), input.is_safe());
}

Value truncate(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<4> bound("do_truncate", arguments, {"length", "killwords", "end", "leeway"});
  check_defined(input);
  if (!input.is_string()) raise("TypeError", fmt::format("object of type '{}' has no len()", type_name(input)));
  const int64_t length = bound.whole(0, 255);
  const std::string end = bound.text(2, "...");
  const int64_t leeway = bound.given(3) ? bound.whole(3, 5) : 5;
  if (length < length_of(end)) raise("AssertionError", fmt::format("expected length >= {}, got {}", length_of(end), length));
  if (leeway < 0) raise("AssertionError", fmt::format("expected leeway >= 0, got {}", leeway));
  const std::string& text = input.text();
  if (length_of(text) <= length + leeway) return input;
  std::string_view kept = std::string_view(text).substr(0, byte_at(text, length - length_of(end)));
  if (!bound.truth(1, false)) kept = kept.substr(0, kept.rfind(' '));
  return renderer.text(std::string(kept) + end);
}

// Where textwrap may break a word: behind a hyphen between letters.
void append_chunks(std::vector<std::string>& chunks, std::string_view word, bool at_hyphens) {
  size_t begin = 0;
  for (size_t at = 1; at_hyphens && at + 1 < word.size(); ++at) {
    const auto letter = [&](size_t index) {
      return is_word(decode_character(word, index).code) && (word[index] < '0' || word[index] > '9');
    };
    if (word[at] != '-' || !letter(previous_character(word, at)) || !letter(at + 1)) continue;
    chunks.emplace_back(word.substr(begin, at + 1 - begin));
    begin = at + 1;
  }
  chunks.emplace_back(word.substr(begin));
}

// textwrap.wrap without expanding tabs or replacing white space.
void wrap_line(std::vector<std::string>& lines, std::string_view line, int64_t width, bool break_long, bool at_hyphens) {
  std::vector<std::string> chunks;
  for (size_t at = 0; at < line.size();) {
    const bool blank = is_space(decode_character(line, at).code);
    size_t end = at;
    while (end < line.size() && is_space(decode_character(line, end).code) == blank) end += decode_character(line, end).length;
    if (blank) {
      chunks.emplace_back(line.substr(at, end - at));
    } else {
      append_chunks(chunks, line.substr(at, end - at), at_hyphens);
    }
    at = end;
  }
  std::reverse(chunks.begin(), chunks.end());
  const auto blank = [](std::string_view chunk) { return strip_left(chunk).empty(); };
  bool first = true;
  while (!chunks.empty()) {
    std::vector<std::string> row;
    int64_t length = 0;
    if (!first && blank(chunks.back())) chunks.pop_back();
    while (!chunks.empty() && length + length_of(chunks.back()) <= width) {
      length += length_of(chunks.back());
      row.push_back(std::move(chunks.back()));
      chunks.pop_back();
    }
    if (!chunks.empty() && length_of(chunks.back()) > width) {
      const int64_t space = std::max<int64_t>(width - length, 1);
      if (break_long) {
        const size_t cut = byte_at(chunks.back(), space);
        row.push_back(chunks.back().substr(0, cut));
        chunks.back() = chunks.back().substr(cut);
      } else if (row.empty()) {
        row.push_back(std::move(chunks.back()));
        chunks.pop_back();
      }
    }
    if (!row.empty() && blank(row.back())) row.pop_back();
    if (row.empty()) continue;
    std::string text;
    for (const std::string& chunk : row) text += chunk;
    lines.push_back(std::move(text));
    first = false;
  }
}

Value word_wrap(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<4> bound("do_wordwrap", arguments, {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  const int64_t width = bound.whole(0, 79);
  if (width <= 0) raise("ValueError", fmt::format("invalid width {} (must be > 0)", width));
  const std::string between = bound.given(2) ? bound.text(2) : "\n";
  std::string result;
  bool first = true;
  const std::string text = to_text(input);
  for (const std::string_view line : split_lines(text, false)) {
    std::vector<std::string> rows;
    wrap_line(rows, line, width, bound.truth(1, true), bound.truth(3, true));
    if (!first) result += between;
    first = false;
    for (size_t index = 0; index < rows.size(); ++index) result += (index > 0 ? between : "") + rows[index];
    renderer.budget().check_size(result.size(), 1);
  }
  return renderer.text(std::move(result));
}

Value word_count(Renderer& /*renderer*/, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_wordcount", arguments, {});
  int64_t count = 0;
  bool inside = false;
  const std::string text = to_text(input);
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter character = decode_character(text, at);
    const bool part = is_word(character.code) || is_number(character.code);
    if (part && !inside) ++count;
    inside = part;
    at += character.length;
  }
  return Value::integer(count);
}

std::optional<int64_t> parse_whole(std::string_view text, int64_t base) {
  text = strip_right(strip_left(text));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto prefixed = [&](char mark, int64_t of) {
    const bool fits = text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == mark && (base == of || base == 0);
    if (fits) {
      text.remove_prefix(2);
      base = of;
    }
    return fits;
  };
  (void)(prefixed('x', 16) || prefixed('o', 8) || prefixed('b', 2));
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || text.empty() || text.front() == '_' || text.back() == '_' || text.find("__") != std::string_view::npos)
    return std::nullopt;
  std::string digits(text);
  std::erase(digits, '_');
  if (digits.starts_with('-')) return std::nullopt;
  if (negative) digits.insert(0, 1, '-');
  int64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number, static_cast<int>(base));
  if (read.ec == std::errc::result_out_of_range) raise("OverflowError", "a whole number beyond 64 bits");
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::optional<double> parse_real(std::string_view text) {
  text = strip_right(strip_left(text));
  std::string digits(text);
  if (digits.find("__") != std::string::npos || digits.starts_with('_') || digits.ends_with('_')) return std::nullopt;
  std::erase(digits, '_');
  std::string plain = digits.substr(digits.starts_with('-') || digits.starts_with('+') ? 1 : 0);
  std::transform(plain.begin(), plain.end(), plain.begin(),
                 [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter | 0x20) : letter; });
  const bool named = plain == "inf" || plain == "infinity" || plain == "nan";
  if (digits.empty() || (!named && plain.find_first_not_of("0123456789.e+-") != std::string::npos)) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size()) return std::nullopt;
  return number;
}

std::optional<int64_t> whole_of(double number) {
  if (!(std::abs(number) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(number);
}

Value to_int(Renderer& /*renderer*/, const Value& input, Arguments& arguments) {
  const Bound<2> bound("do_int", arguments, {"default", "base"});
  const Value otherwise = bound.value(0, Value::integer(0));
  check_defined(input);
  std::optional<int64_t> whole;
  if (input.is_whole()) whole = input.whole();
  if (input.is(Kind::real)) whole = whole_of(input.number());
  if (input.is_string()) {
    whole = parse_whole(input.text(), bound.whole(1, 10));
    if (!whole) {
      if (const auto real = parse_real(input.text())) whole = whole_of(*real);
    }
  }
  return whole ? Value::integer(*whole) : otherwise;
}

Value to_float(Renderer& /*renderer*/, const Value& input, Arguments& arguments) {
  const Bound<1> bound("do_float", arguments, {"default"});
  check_defined(input);
  if (input.is_number()) return Value::real(input.number());
  if (input.is_string()) {
    if (const auto real = parse_real(input.text())) return Value::real(*real);
  }
  return bound.value(0, Value::real(0));
}

double round_half_even(double number, int64_t precision) {
  if (!std::isfinite(number) || precision > 300) return number;
  if (precision >= 0) return std::strtod(fmt::format("{:.{}f}", number, precision).c_str(), nullptr);
  const double scale = std::pow(10.0, static_cast<double>(-precision));
  return std::isinf(scale) ? 0.0 * number : std::nearbyint(number / scale) * scale;
}

Value round(Renderer& /*renderer*/, const Value& input, Arguments& arguments) {
  const Bound<2> bound("do_round", arguments, {"precision", "method"});
  const std::string method = bound.text(1, "common");
  if (method != "common" && method != "ceil" && method != "floor") raise("FilterArgumentError", "method must be common, ceil or floor");
  check_defined(input);
  if (!input.is_number()) raise("TypeError", fmt::format("type {} doesn't define __round__ method", type_name(input)));
  const int64_t precision = bound.whole(0, 0);
  if (method == "common") {
    if (!input.is_whole()) return Value::real(round_half_even(input.number(), precision));
    if (precision >= 0) return Value::integer(input.whole());
    return Value::integer(static_cast<int64_t>(round_half_even(input.number(), precision)));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.number() * scale;
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Value absolute(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("abs", arguments, {});
  check_defined(input);
  if (input.is(Kind::real)) return Value::real(std::abs(input.number()));
  if (!input.is_whole()) raise("TypeError", fmt::format("bad operand type for abs(): '{}'", type_name(input)));
  return input.whole() < 0 ? binary(renderer.budget(), "-", Value::integer(0), input) : Value::integer(input.whole());
}

Value format(Renderer& renderer, const Value& input, Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    raise("FilterArgumentError", "can't handle positional and keyword arguments at the same time");
  }
  const Value text = input.is_string() ? input : renderer.text(to_text(input));
  if (arguments.named.empty()) return format_percent(renderer.budget(), text, make_tuple(renderer.budget(), arguments.positional));
  auto dict = std::make_shared<Dict>(&renderer.budget());
  for (const auto& [name, value] : arguments.named) dict->set(renderer.text(name), value);
  return format_percent(renderer.budget(), text, make_dict(dict));
}

Value file_size(Renderer& renderer, const Value& input, Arguments& arguments) {
  const bool binary = Bound<1>("do_filesizeformat", arguments, {"binary"}).truth(0, false);
  double bytes = 0;
  if (input.is_number()) {
    bytes = input.number();
  } else if (const auto parsed = input.is_string() ? parse_real(input.text()) : std::nullopt) {
    bytes = *parsed;
  } else {
    raise("TypeError", fmt::format("float() argument must be a string or a real number, not '{}'", type_name(input)));
  }
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return renderer.text(std::string("1 Byte"));
  if (bytes < base) return renderer.text(fmt::format("{} Bytes", whole_of(bytes).value_or(0)));
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  size_t index = 0;
  for (; index + 1 < kPrefixes.size() && bytes >= unit * base; ++index) unit *= base;
  const char prefix = binary && kPrefixes[index] == 'k' ? 'K' : kPrefixes[index];
  return renderer.text(fmt::format("{:.1f} {}{}B", bytes / unit, prefix, binary ? "i" : ""));
}

std::string quote_url(std::string_view text, bool for_query) {
  std::string result;
  for (const char letter : text) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
                       std::string_view("_.-~").find(letter) != std::string_view::npos || (!for_query && letter == '/');
    if (plain) {
      result += letter;
    } else if (for_query && letter == ' ') {
      result += '+';
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
  }
  return result;
}

Value url_encode(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_urlencode", arguments, {});
  if (input.is_string() || !is_iterable(input)) return renderer.text(quote_url(to_text(input), false));
  std::string result;
  const auto append = [&](const Value& key, const Value& value) {
    if (!result.empty()) result += '&';
    result += quote_url(to_text(key), true) + "=" + quote_url(to_text(value), true);
  };
  if (input.is(Kind::dict)) {
    for (const auto& [key, value] : input.dict().entries) append(key, value);
    return renderer.text(std::move(result));
  }
  for (const Value& pair : iterate(renderer.budget(), input)) {
    const Values parts = iterate(renderer.budget(), pair);
    if (parts.size() != 2) raise("ValueError", fmt::format("not enough values to unpack (expected 2, got {})", parts.size()));
    append(parts[0], parts[1]);
  }
  return renderer.text(std::move(result));
}

Value xml_attributes(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<1> bound("do_xmlattr", arguments, {"autospace"});
  check_defined(input);
  if (!input.is(Kind::dict)) raise("AttributeError", fmt::format("'{}' object has no attribute 'items'", type_name(input)));
  std::string result;
  for (const auto& [key, value] : input.dict().entries) {
    if (value.is(Kind::none) || value.is_undefined()) continue;
    const std::string name = to_text(key);
    if (name.find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      raise("ValueError", "Invalid character in attribute name: " + text_repr(name));
    if (!result.empty()) result += ' ';
    result += escape_html(name) + "=\"" + (value.is_safe() ? value.text() : escape_html(to_text(value))) + "\"";
  }
  if (bound.truth(0, true) && !result.empty()) result.insert(0, 1, ' ');
  return renderer.text(std::move(result));
}

Value strip_tags(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_striptags", arguments, {});
  std::string text = to_text(input);
  for (const auto& [begin, end] : {std::pair<std::string_view, std::string_view>{"<!--", "-->"}, {"<", ">"}}) {
    std::string kept;
    size_t at = 0;
    for (;;) {
      const size_t from = text.find(begin, at);
      const size_t to = from == std::string::npos ? from : text.find(end, from + begin.size());
      if (to == std::string::npos) break;
      kept += text.substr(at, from - at);
      at = to + end.size();
    }
    kept += text.substr(at);
    text = std::move(kept);
  }
  std::string result;
  for (const std::string_view word : split_at_space(text, -1)) result += (result.empty() ? "" : " ") + std::string(word);
  for (const auto& [entity, meaning] : {std::pair<std::string_view, std::string_view>{"&lt;", "<"},
                                        {"&gt;", ">"},
                                        {"&#34;", "\""},
                                        {"&#39;", "'"},
                                        {"&quot;", "\""},
                                        {"&amp;", "&"}}) {
    result = replace_all(renderer.budget(), result, entity, meaning, -1);
  }
  return renderer.text(std::move(result));
}

// As transformers defines it: json.dumps with these parameters.
Value to_json_filter(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<4> bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii_only = bound.truth(0, false);
  style.sort_keys = bound.truth(3, false);
  style.takes_iterators = renderer.dialect() == Dialect::llama_cpp;
  if (bound.given(1)) {
    style.item_separator = ",";
    if (bound.at(1).is_string()) {
      style.indent = bound.text(1);
    } else {
      style.indent = std::string(static_cast<size_t>(std::clamp<int64_t>(bound.whole(1, 0), 0, 1000)), ' ');
    }
  }
  if (bound.given(2)) {
    const Values parts = iterate(renderer.budget(), bound.at(2));
    if (parts.size() != 2 || !parts[0].is_string() || !parts[1].is_string()) raise("ValueError", "separators must be two strings");
    style.item_separator = parts[0].text();
    style.key_separator = parts[1].text();
  }
  return renderer.text(to_json(renderer.budget(), input, style));
}

Value pretty(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_pprint", arguments, {});
  std::string text = repr(input);
  if (length_of(text) > 80 && !input.is_string())
    raise("TemplateRuntimeError", "pprint of more than one line is not supported by this build");
  return renderer.text(std::move(text));
}

constexpr std::pair<std::string_view, FilterFunction> kTextFilters[] = {
    {"abs", absolute},
    {"capitalize", letters<capitalized>},
    {"center", center},
    {"e", escape},
    {"escape", escape},
    {"filesizeformat", file_size},
    {"float", to_float},
    {"forceescape", force_escape},
    {"format", format},
    {"indent", indent},
    {"int", to_int},
    {"lower", letters<lower>},
    {"pprint", pretty},
    {"replace", replace},
    {"round", round},
    {"safe", safe},
    {"string", string},
    {"striptags", strip_tags},
    {"title", letters<title>},
    {"tojson", to_json_filter},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", letters<upper>},
    {"urlencode", url_encode},
    {"wordcount", word_count},
    {"wordwrap", word_wrap},
    {"xmlattr", xml_attributes},
};

}  // namespace

FilterFunction find_text_filter(std::string_view name) {
  const auto found = std::find_if(std::begin(kTextFilters), std::end(kTextFilters), [&](const auto& entry) { return entry.first == name; });
  return found == std::end(kTextFilters) ? nullptr : found->second;
}

}  // namespace wick::jinja
