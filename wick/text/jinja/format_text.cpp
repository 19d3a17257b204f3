#include "wick/text/jinja/format_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "wick/text/jinja/operators.h"
#include "wick/text/jinja/python_text.h"
#include "wick/text/jinja/renderer.h"

namespace wick::jinja {
namespace {

constexpr int64_t kWidest = 1'000'000;

// [[fill]align][sign][#][0][width][,][.precision][type]
struct Specification {
  std::string fill = " ";
  char align = '\0';
  char sign = '-';
  bool alternate = false, zero = false;
  char grouping = '\0';
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
};

int64_t take_number(std::string_view& text) {
  int64_t number = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = number * 10 + (text[0] - '0');
    if (number > kWidest) raise("ValueError", "Too many decimal digits in format string");
    text.remove_prefix(1);
  }
  return number;
}

Specification parse_specification(std::string_view text) {
  Specification result;
  const auto is_align = [](char letter) { return letter == '<' || letter == '>' || letter == '^' || letter == '='; };
  const size_t first = byte_at(text, 1);
  if (!text.empty() && first < text.size() && is_align(text[first])) {
    result.fill = text.substr(0, first);
    result.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && is_align(text[0])) {
    result.align = text[0];
    text.remove_prefix(1);
  }
  const auto take = [&](std::string_view letters, char& into) {
    if (text.empty() || letters.find(text[0]) == std::string_view::npos) return false;
    into = text[0];
    text.remove_prefix(1);
    return true;
  };
  char mark = '\0';
  take("+- ", result.sign);
  result.alternate = take("#", mark);
  result.zero = take("0", mark);
  result.width = take_number(text);
  take(",_", result.grouping);
  if (take(".", mark)) result.precision = take_number(text);
  take("bcdeEfFgGnosxX%", result.type);
  if (!text.empty()) raise("ValueError", "Invalid format specifier");
  return result;
}

std::string grouped(std::string digits, char grouping) {
  const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t at = end; at > 3; at -= 3) digits.insert(at - 3, 1, grouping);
  return digits;
}

std::string padded(std::string text, const Specification& how, char align, size_t sign_length) {
  const int64_t missing = how.width - length_of(text);
  if (missing <= 0) return text;
  const auto fill = [&](int64_t count) {
    std::string result;
    for (int64_t index = 0; index < count; ++index) result += how.fill;
    return result;
  };
  switch (align) {
    case '<': return text + fill(missing);
    case '^': return fill(missing / 2) + text + fill(missing - missing / 2);
    case '=': return text.substr(0, sign_length) + fill(missing) + text.substr(sign_length);
    default: return fill(missing) + text;
  }
}

std::string general_digits(double number, const Specification& how) {
  const int precision = static_cast<int>(std::min<int64_t>(how.precision < 0 ? 6 : how.precision == 0 ? 1 : how.precision, 300));
  return how.alternate ? fmt::format("{:#.{}g}", number, precision) : fmt::format("{:.{}g}", number, precision);
}

std::string real_digits(double number, const Specification& how) {
  if (!std::isfinite(number)) return std::isnan(number) ? "nan" : "inf";
  const int precision = static_cast<int>(std::min<int64_t>(how.precision < 0 ? 6 : how.precision, 300));
  switch (how.type) {
    case 'e': return fmt::format("{:.{}e}", number, precision);
    case 'E': return fmt::format("{:.{}E}", number, precision);
    case 'f':
    case 'F': return fmt::format("{:.{}f}", number, precision);
    case '%': return fmt::format("{:.{}f}%", number * 100, precision);
    case 'g':
    case 'n': return general_digits(number, how);
    case 'G': {
      std::string text = general_digits(number, how);
      std::transform(text.begin(), text.end(), text.begin(), [](char letter) { return letter == 'e' ? 'E' : letter; });
      return text;
    }
    default: return how.precision < 0 ? float_text(number) : general_digits(number, how);
  }
}

std::string whole_digits(uint64_t number, const Specification& how) {
  switch (how.type) {
    case 'x': return (how.alternate ? "0x" : "") + fmt::format("{:x}", number);
    case 'X': return (how.alternate ? "0X" : "") + fmt::format("{:X}", number);
    case 'o': return (how.alternate ? "0o" : "") + fmt::format("{:o}", number);
    case 'b': return (how.alternate ? "0b" : "") + fmt::format("{:b}", number);
    default: return fmt::to_string(number);
  }
}

std::string format_number(const Value& value, const Specification& how) {
  const bool as_real = value.is(Kind::real) || (how.type != '\0' && std::string_view("eEfFgG%").find(how.type) != std::string_view::npos);
  bool negative = false;
  std::string digits;
  if (as_real) {
    negative = std::signbit(value.number());
    digits = real_digits(std::abs(value.number()), how);
  } else {
    negative = value.whole() < 0;
    const auto magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(value.whole()) : static_cast<uint64_t>(value.whole());
    if (how.type == 'c') {
      std::string character;
      append_character(character, static_cast<char32_t>(std::min<uint64_t>(magnitude, 0x10FFFF)));
      return padded(std::move(character), how, how.align == '\0' ? '<' : how.align, 0);
    }
    digits = whole_digits(magnitude, how);
  }
  if (how.grouping != '\0') digits = grouped(std::move(digits), how.grouping);
  const std::string sign = negative ? "-" : how.sign == '-' ? "" : std::string(1, how.sign);
  Specification with_zeros = how;
  if (how.zero && how.align == '\0') with_zeros.fill = "0";
  const char align = how.align != '\0' ? how.align : how.zero ? '=' : '>';
  return padded(sign + digits, with_zeros, align, sign.size());
}

// One %-conversion: flags, width, precision and type are cut off `format`.
class PercentFormatter {
 public:
  PercentFormatter(Budget& budget, const Value& operand) : budget_(budget), operand_(operand) {
    if (operand.is(Kind::tuple)) items_ = operand.sequence().items;
  }

  std::string run(std::string_view format) {
    std::string result;
    for (;;) {
      const size_t at = format.find('%');
      result += format.substr(0, at);
      budget_.check_size(result.size(), 1);
      if (at == std::string_view::npos) break;
      format.remove_prefix(at + 1);
      result += convert(format);
    }
    const bool all_used =
        operand_.is(Kind::tuple) ? next_ == items_.size() : next_ > 0 || named_ || operand_.is(Kind::dict) || operand_.is(Kind::list);
    if (!all_used) raise("TypeError", "not all arguments converted during string formatting");
    return result;
  }

 private:
  Value next() {
    if (!operand_.is(Kind::tuple)) {
      if (next_++ == 0) return operand_;
    } else if (next_ < items_.size()) {
      return items_[next_++];
    }
    raise("TypeError", "not enough arguments for format string");
  }

  int64_t width(std::string_view& format) {
    if (!format.starts_with('*')) return take_number(format);
    format.remove_prefix(1);
    return std::min(to_whole(next()), kWidest);
  }

  std::string convert(std::string_view& format);

  Budget& budget_;
  const Value& operand_;
  Values items_;
  size_t next_ = 0;
  bool named_ = false;
};

std::string PercentFormatter::convert(std::string_view& format) {
  std::optional<Value> value;
  if (format.starts_with('(')) {
    const size_t end = format.find(')');
    if (end == std::string_view::npos) raise("ValueError", "incomplete format key");
    if (!operand_.is(Kind::dict)) raise("TypeError", "format requires a mapping");
    const std::string key(format.substr(1, end - 1));
    const Value* found = operand_.dict().find(std::string_view(key));
    if (found == nullptr) raise("KeyError", text_repr(key));
    value = *found;
    named_ = true;
    format.remove_prefix(end + 1);
  }
  Specification how;
  for (; !format.empty() && std::string_view("-+ #0").find(format[0]) != std::string_view::npos; format.remove_prefix(1)) {
    if (format[0] == '-') how.align = '<';
    if (format[0] == '+' || (format[0] == ' ' && how.sign != '+')) how.sign = format[0];
    if (format[0] == '#') how.alternate = true;
    if (format[0] == '0') how.zero = true;
  }
  how.width = width(format);
  if (how.width < 0) {
    how.align = '<';
    how.width = -how.width;
  }
  if (format.starts_with('.')) {
    format.remove_prefix(1);
    how.precision = width(format);
  }
  if (format.empty()) raise("ValueError", "incomplete format");
  const char type = format[0];
  format.remove_prefix(1);
  if (type == '%') return "%";
  if (!value) value = next();
  if (type == 's' || type == 'r' || type == 'a') {
    std::string text = type == 's' ? to_text(*value) : repr(*value);
    if (how.precision >= 0) text.resize(byte_at(text, how.precision));
    return padded(std::move(text), how, how.align == '\0' ? '>' : how.align, 0);
  }
  if (std::string_view("diuoxXeEfFgGc").find(type) == std::string_view::npos) {
    raise("ValueError", fmt::format("unsupported format character '{}' (0x{:x})", type, static_cast<unsigned char>(type)));
  }
  if (type == 'c' && value->is_string()) return padded(value->text(), how, how.align == '\0' ? '>' : how.align, 0);
  check_defined(*value);
  const bool decimal = type == 'd' || type == 'i' || type == 'u';
  if (!value->is_number()) {
    raise("TypeError", decimal ? fmt::format("%{} format: a real number is required, not {}", type, type_name(*value))
                               : fmt::format("must be real number, not {}", type_name(*value)));
  }
  how.type = decimal ? 'd' : type;
  Value number = *value;
  if (decimal && value->is(Kind::real)) number = Value::integer(static_cast<int64_t>(std::clamp(value->number(), -9.2e18, 9.2e18)));
  if (decimal && how.precision > 0) {
    how.zero = true;
    how.width = std::max(how.width, how.precision + (number.whole() < 0 ? 1 : 0));
  }
  if (how.align == '<') how.zero = false;
  return format_number(number, how);
}

// "{0.name[key]!r:>10}"
class BraceFormatter {
 public:
  BraceFormatter(Renderer& renderer, const Arguments& arguments) : renderer_(renderer), arguments_(arguments) {}

  std::string run(std::string_view format, int depth) {
    if (depth > 2) raise("ValueError", "Max string recursion exceeded");
    std::string result;
    for (size_t at = 0; at < format.size(); ++at) {
      const char letter = format[at];
      const bool doubled = at + 1 < format.size() && format[at + 1] == letter;
      if (letter != '{' && letter != '}') {
        result += letter;
      } else if (doubled && depth == 1) {
        result += letter;
        ++at;
      } else if (letter == '}') {
        raise("ValueError", "Single '}' encountered in format string");
      } else {
        const size_t end = end_of_field(format, at);
        result += field(format.substr(at + 1, end - at - 1), depth);
        renderer_.budget().check_size(result.size(), 1);
        at = end;
      }
    }
    return result;
  }

 private:
  static size_t end_of_field(std::string_view format, size_t at) {
    int open = 0;
    for (size_t end = at; end < format.size(); ++end) {
      if (format[end] == '{') ++open;
      if (format[end] == '}' && --open == 0) return end;
    }
    raise("ValueError", at + 1 < format.size() ? "expected '}' before end of string" : "Single '{' encountered in format string");
  }

  Value first(std::string_view name) {
    const bool number = !name.empty() && std::all_of(name.begin(), name.end(), [](char letter) { return letter >= '0' && letter <= '9'; });
    if (name.empty() || number) {
      size_t index = automatic_;
      if (name.empty()) {
        ++automatic_;
      } else {
        std::from_chars(name.data(), name.data() + name.size(), index);
      }
      if (index >= arguments_.positional.size()) {
        raise("IndexError", fmt::format("Replacement index {} out of range for positional args tuple", index));
      }
      return arguments_.positional[index];
    }
    if (const Value* value = arguments_.find_named(name)) return *value;
    raise("KeyError", text_repr(name));
  }

  Value look_up(std::string_view path) {
    size_t at = std::min(path.find_first_of(".["), path.size());
    Value value = first(path.substr(0, at));
    while (at < path.size()) {
      if (path[at] == '.') {
        const size_t end = std::min(path.find_first_of(".[", at + 1), path.size());
        value = renderer_.attribute(value, std::string(path.substr(at + 1, end - at - 1)));
        at = end;
      } else {
        const size_t end = path.find(']', at);
        if (end == std::string_view::npos) raise("ValueError", "Missing ']' in format string");
        const std::string key(path.substr(at + 1, end - at - 1));
        const bool number = !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos;
        value = renderer_.item(value, number ? Value::integer(std::stoll(key)) : renderer_.text(key));
        at = end + 1;
      }
    }
    return value;
  }

  std::string field(std::string_view body, int depth) {
    const size_t bracket = body.find('[');
    size_t end = body.find_first_of("!:", bracket == std::string_view::npos ? 0 : std::min(body.find(']', bracket), body.size()));
    if (const size_t early = body.find_first_of("!:"); early < bracket) end = early;
    end = std::min(end, body.size());
    Value value = look_up(body.substr(0, end));
    if (end < body.size() && body[end] == '!') {
      const char conversion = end + 1 < body.size() ? body[end + 1] : '\0';
      if (conversion != 's' && conversion != 'r') raise("ValueError", "Unknown conversion specifier");
      value = renderer_.text(conversion == 's' ? to_text(value) : repr(value));
      end += 2;
    }
    const std::string specification = end < body.size() ? run(body.substr(end + 1), depth + 1) : std::string();
    return format_value(renderer_.budget(), value, specification);
  }

  Renderer& renderer_;
  const Arguments& arguments_;
  size_t automatic_ = 0;
};

}  // namespace

std::string format_value(Budget& budget, const Value& value, std::string_view specification) {
  if (specification.empty()) return to_text(value);
  const Specification how = parse_specification(specification);
  budget.step(how.width / 64);
  if (value.is_number() && !(value.is(Kind::boolean) && how.type == 's')) {
    if (how.type == 's' ||
        (value.is(Kind::real) && how.type != '\0' && std::string_view("bcdoxX").find(how.type) != std::string_view::npos)) {
      raise("ValueError", fmt::format("Unknown format code '{}' for object of type '{}'", how.type, type_name(value)));
    }
    return format_number(value, how);
  }
  if (!value.is_string()) raise("TypeError", fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
  if (how.type != '\0' && how.type != 's') raise("ValueError", fmt::format("Unknown format code '{}' for object of type 'str'", how.type));
  std::string text = value.text();
  if (how.precision >= 0) text.resize(byte_at(text, how.precision));
  Specification with_zeros = how;
  if (how.zero && how.align == '\0') with_zeros.fill = "0";
  return padded(std::move(text), with_zeros, how.align == '\0' ? '<' : how.align, 0);
}

Value format_percent(Budget& budget, const Value& format, const Value& operand) {
  return make_text(budget, PercentFormatter(budget, operand).run(format.text()), format.is_safe());
}

Value format_braces(Renderer& renderer, std::string_view format, const Arguments& arguments) {
  return renderer.text(BraceFormatter(renderer, arguments).run(format, 1));
}

}  // namespace wick::jinja
