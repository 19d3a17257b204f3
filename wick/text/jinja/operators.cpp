#include "wick/text/jinja/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "wick/text/jinja/format_text.h"
#include "wick/text/jinja/python_text.h"
#include "wick/text/unicode/unicode.h"

namespace wick::jinja {
namespace {

[[noreturn]] void unsupported(std::string_view sign, const Value& left, const Value& right) {
  check_defined(left);
  check_defined(right);
  raise("TypeError", fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", sign == "**" ? "** or pow()" : sign, type_name(left),
                                 type_name(right)));
}

[[noreturn]] void too_large() { raise("OverflowError", "a whole number beyond 64 bits"); }

int64_t whole_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t left = exponent; left > 0; left >>= 1) {
    if ((left & 1) != 0 && __builtin_mul_overflow(result, base, &result)) too_large();
    if (left > 1 && __builtin_mul_overflow(base, base, &base)) too_large();
  }
  return result;
}

Value whole_arithmetic(std::string_view sign, int64_t left, int64_t right) {
  int64_t result = 0;
  bool overflow = false;
  if (sign == "+") {
    overflow = __builtin_add_overflow(left, right, &result);
  } else if (sign == "-") {
    overflow = __builtin_sub_overflow(left, right, &result);
  } else if (sign == "*") {
    overflow = __builtin_mul_overflow(left, right, &result);
  } else if (sign == "**") {
    if (right < 0) {
      if (left == 0) raise("ZeroDivisionError", "0.0 cannot be raised to a negative power");
      return Value::real(std::pow(static_cast<double>(left), static_cast<double>(right)));
    }
    result = whole_power(left, right);
  } else {
    if (right == 0)
      raise("ZeroDivisionError", sign == "/"   ? "division by zero"
                                 : sign == "%" ? "integer modulo by zero"
                                               : "integer division or modulo by zero");
    if (sign == "/") return Value::real(static_cast<double>(left) / static_cast<double>(right));
    if (right == -1) {  // the one quotient that does not fit
      overflow = sign == "//" && __builtin_sub_overflow(int64_t{0}, left, &result);
    } else {
      const int64_t rest = left % right;
      const bool down = rest != 0 && (rest < 0) != (right < 0);
      result = sign == "//" ? left / right - (down ? 1 : 0) : rest + (down ? right : 0);
    }
  }
  if (overflow) too_large();
  return Value::integer(result);
}

Value real_arithmetic(std::string_view sign, double left, double right) {
  if (sign == "+") return Value::real(left + right);
  if (sign == "-") return Value::real(left - right);
  if (sign == "*") return Value::real(left * right);
  if (sign == "**") {
    if (left == 0 && right < 0) raise("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    const double power = std::pow(left, right);
    if (std::isinf(power) && std::isfinite(left) && std::isfinite(right)) raise("OverflowError", "(34, 'Numerical result out of range')");
    return Value::real(power);
  }
  if (right == 0) {
    raise("ZeroDivisionError", sign == "/" ? "float division by zero" : sign == "//" ? "float floor division by zero" : "float modulo");
  }
  if (sign == "/") return Value::real(left / right);
  double rest = std::fmod(left, right);
  double quotient = (left - rest) / right;
  if (rest != 0 && (rest < 0) != (right < 0)) {
    rest += right;
    quotient -= 1;
  }
  if (rest == 0) rest = std::copysign(0.0, right);
  if (sign == "%") return Value::real(rest);
  if (quotient == 0) return Value::real(std::copysign(0.0, left / right));
  const double floor = std::floor(quotient);
  return Value::real(quotient - floor > 0.5 ? floor + 1 : floor);
}

Value repeated(Budget& budget, const Value& value, int64_t times) {
  const auto count = static_cast<size_t>(std::max<int64_t>(times, 0));
  if (value.is_string()) {
    const std::string& text = value.text();
    if (count > 0) budget.check_size(text.size(), count);
    std::string result;
    result.reserve(text.size() * count);
    for (size_t index = 0; index < count && !text.empty(); ++index) result += text;
    return make_text(budget, std::move(result), value.is_safe());
  }
  const Values& items = value.sequence().items;
  if (count > 0) budget.check_size(items.size() * sizeof(Value), count);
  Values result;
  if (!items.empty()) {
    result.reserve(items.size() * count);
    for (size_t index = 0; index < count; ++index) result.insert(result.end(), items.begin(), items.end());
  }
  return value.is(Kind::tuple) ? make_tuple(budget, std::move(result)) : make_list(budget, std::move(result));
}

Value joined(Budget& budget, const Value& left, const Value& right) {
  if (left.is_string()) {
    const bool safe = left.is_safe() || right.is_safe();
    budget.check_size(left.text().size() + right.text().size(), 1);
    if (!safe) return make_text(budget, left.text() + right.text());
    const auto escaped = [](const Value& value) { return value.is_safe() ? value.text() : escape_html(value.text()); };
    return make_text(budget, escaped(left) + escaped(right), true);
  }
  Values items = left.sequence().items;
  const Values& more = right.sequence().items;
  budget.check_size(items.size() + more.size(), sizeof(Value));
  items.insert(items.end(), more.begin(), more.end());
  return left.is(Kind::tuple) ? make_tuple(budget, std::move(items)) : make_list(budget, std::move(items));
}

bool repeats(const Value& value) { return value.is_string() || value.is(Kind::list) || value.is(Kind::tuple); }

// Where a slice of `length` items begins, ends and how it steps, as PySlice_AdjustIndices has it.
struct Bounds {
  int64_t begin, end, step, count;
};

Bounds adjusted(const Slice& slice, int64_t length) {
  const int64_t step = slice.step.value_or(1);
  if (step == 0) raise("ValueError", "slice step cannot be zero");
  const int64_t lowest = step < 0 ? -1 : 0;
  const int64_t highest = step < 0 ? length - 1 : length;
  const auto clamp = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    const int64_t index = *bound < 0 ? (*bound < -length ? lowest : *bound + length) : *bound;
    return std::clamp(index, lowest, highest);
  };
  const int64_t begin = clamp(slice.begin, step < 0 ? highest : lowest);
  const int64_t end = clamp(slice.end, step < 0 ? lowest : highest);
  int64_t count = 0;
  if (step < 0 && end < begin) {
    count = (begin - end - 1) / (step == INT64_MIN ? INT64_MAX : -step) + 1;
  } else if (step > 0 && begin < end) {
    count = (end - begin - 1) / step + 1;
  }
  return {begin, end, step, count};
}

std::string slice_text(std::string_view text, const Slice& slice) {
  const Bounds bounds = adjusted(slice, length_of(text));
  if (bounds.count == 0) return {};
  if (bounds.step == 1) {
    const size_t begin = byte_at(text, bounds.begin);
    return std::string(text.substr(begin, byte_at(text.substr(begin), bounds.count)));
  }
  const std::vector<std::string_view> codes = code_points(text);
  std::string result;
  for (int64_t index = 0; index < bounds.count; ++index) result += codes[static_cast<size_t>(bounds.begin + index * bounds.step)];
  return result;
}

}  // namespace

Value binary(Budget& budget, std::string_view sign, const Value& left, const Value& right) {
  if (left.is_whole() && right.is_whole()) return whole_arithmetic(sign, left.whole(), right.whole());
  if (left.is_number() && right.is_number()) return real_arithmetic(sign, left.number(), right.number());
  if (sign == "+" && repeats(left) && left.kind() == right.kind()) return joined(budget, left, right);
  if (sign == "*" && repeats(left) && right.is_whole()) return repeated(budget, left, right.whole());
  if (sign == "*" && repeats(right) && left.is_whole()) return repeated(budget, right, left.whole());
  if (sign == "%" && left.is_string()) return format_percent(budget, left, right);
  check_defined(left);
  check_defined(right);
  if (sign == "+" && repeats(left)) {
    raise("TypeError", fmt::format("can only concatenate {} (not \"{}\") to {}", type_name(left), type_name(right), type_name(left)));
  }
  if (sign == "*" && (repeats(left) || repeats(right))) {
    const Value& other = repeats(left) ? right : left;
    raise("TypeError", fmt::format("can't multiply sequence by non-int of type '{}'", type_name(other)));
  }
  if (sign == "**" || sign == "+" || sign == "-" || sign == "*" || sign == "/" || sign == "//" || sign == "%")
    unsupported(sign, left, right);
  raise("TypeError", "no such operator");
}

bool compares(std::string_view sign, const Value& left, const Value& right) {
  if (sign == "==") return is_equal(left, right);
  if (sign == "!=") return !is_equal(left, right);
  if (sign == "in") return contains(right, left);
  if (sign == "not in") return !contains(right, left);
  const std::string name(sign);
  const int by = compare(left, right, name.c_str());
  if (by == 2) return false;  // NaN
  if (sign == "<") return by < 0;
  if (sign == "<=") return by <= 0;
  return sign == ">" ? by > 0 : by >= 0;
}

bool contains(const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::string:
      if (!item.is_string()) {
        raise("TypeError", fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
      }
      return container.text().find(item.text()) != std::string::npos;
    case Kind::dict:
      if (!is_hashable(item)) raise("TypeError", fmt::format("unhashable type: '{}'", type_name(item)));
      return container.dict().find(item) != nullptr;
    case Kind::undefined: return false;
    case Kind::list:
    case Kind::tuple:
    case Kind::view:
    case Kind::range:
    case Kind::iterator: {
      Sequence& sequence = container.sequence();
      if (sequence.budget != nullptr) sequence.budget->step(static_cast<int64_t>(sequence.items.size()));
      size_t at = container.is(Kind::iterator) ? sequence.next : 0;
      for (; at < sequence.items.size(); ++at) {
        if (is_same(sequence.items[at], item) || is_equal(sequence.items[at], item)) break;
      }
      const bool found = at < sequence.items.size();
      if (container.is(Kind::iterator)) sequence.next = found ? at + 1 : at;
      return found;
    }
    default: raise("TypeError", fmt::format("argument of type '{}' is not iterable", type_name(container)));
  }
}

bool is_iterable(const Value& value) {
  return value.is_sequence() || value.is_string() || value.is(Kind::dict) || value.is_undefined() || value.is(Kind::loop);
}

Values iterate(Budget& budget, const Value& value) {
  switch (value.kind()) {
    case Kind::list:
    case Kind::tuple:
    case Kind::view:
    case Kind::range: return value.sequence().items;
    case Kind::iterator: {
      Sequence& sequence = value.sequence();
      Values rest(sequence.items.begin() + static_cast<std::ptrdiff_t>(sequence.next), sequence.items.end());
      sequence.next = sequence.items.size();
      return rest;
    }
    case Kind::string: {
      Values items;
      for (const std::string_view character : code_points(value.text())) items.push_back(make_text(budget, std::string(character)));
      return items;
    }
    case Kind::dict: {
      Values keys;
      for (const auto& entry : value.dict().entries) keys.push_back(entry.first);
      return keys;
    }
    case Kind::undefined:
      if (value.missing().type != "UndefinedError") check_defined(value);
      return {};
    default: raise("TypeError", fmt::format("'{}' object is not iterable", type_name(value)));
  }
}

int64_t length(const Value& value) {
  switch (value.kind()) {
    case Kind::string: return length_of(value.text());
    case Kind::list:
    case Kind::tuple:
    case Kind::view:
    case Kind::range: return static_cast<int64_t>(value.sequence().items.size());
    case Kind::dict: return static_cast<int64_t>(value.dict().entries.size());
    case Kind::undefined: return 0;
    default: raise("TypeError", fmt::format("object of type '{}' has no len()", type_name(value)));
  }
}

std::optional<Value> find_item(Budget& budget, const Value& value, const Value& key) {
  if (value.is(Kind::dict)) {
    if (!is_hashable(key)) return std::nullopt;
    const Value* found = value.dict().find(key);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  const bool indexed = value.is(Kind::list) || value.is(Kind::tuple) || value.is(Kind::range) || value.is_string();
  if (!indexed || !key.is_whole()) return std::nullopt;
  const int64_t size = length(value);
  const int64_t index = key.whole() < 0 ? key.whole() + size : key.whole();
  if (index < 0 || index >= size) return std::nullopt;
  if (!value.is_string()) return value.sequence().items[static_cast<size_t>(index)];
  const std::string_view text = value.text();
  const size_t begin = byte_at(text, index);
  return make_text(budget, std::string(text.substr(begin, byte_at(text.substr(begin), 1))), value.is_safe());
}

std::optional<Value> slice(Budget& budget, const Value& value, const Slice& bounds) {
  if (value.is_string()) return make_text(budget, slice_text(value.text(), bounds), value.is_safe());
  if (!value.is(Kind::list) && !value.is(Kind::tuple) && !value.is(Kind::range)) return std::nullopt;
  const Values& items = value.sequence().items;
  const Bounds range = adjusted(bounds, static_cast<int64_t>(items.size()));
  Values result;
  result.reserve(static_cast<size_t>(range.count));
  for (int64_t index = 0; index < range.count; ++index) result.push_back(items[static_cast<size_t>(range.begin + index * range.step)]);
  if (value.is(Kind::list)) return make_list(budget, std::move(result));
  if (value.is(Kind::tuple)) return make_tuple(budget, std::move(result));
  auto sequence = std::make_shared<Sequence>(std::move(result), &budget);
  sequence->range_step = value.sequence().range_step * range.step;
  return Value(Kind::range, std::move(sequence));
}

int64_t to_whole(const Value& value) {
  check_defined(value);
  if (!value.is_whole()) raise("TypeError", fmt::format("'{}' object cannot be interpreted as an integer", type_name(value)));
  return value.whole();
}

}  // namespace wick::jinja
