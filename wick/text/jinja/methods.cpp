// The methods of strings, dicts, lists and tuples that a sandboxed template may call.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wick/text/jinja/bound_arguments.h"
#include "wick/text/jinja/format_text.h"
#include "wick/text/jinja/operators.h"
#include "wick/text/jinja/python_text.h"
#include "wick/text/jinja/renderer.h"
#include "wick/text/unicode/unicode.h"

namespace wick::jinja {
namespace {

using MethodFunction = Value (*)(Renderer& renderer, const Value& self, const Arguments& arguments);

struct MethodEntry {
  std::string_view name;
  MethodFunction function;
};

struct BoundMethod : Callable {
  BoundMethod(Value object, const MethodEntry& of) : self(std::move(object)), entry(of) {}
  Value call(Renderer& renderer, Arguments& arguments) override { return entry.function(renderer, self, arguments); }
  [[nodiscard]] std::string repr() const override {
    return fmt::format("<built-in method {} of {} object>", entry.name, jinja::type_name(self));
  }
  Value self;
  const MethodEntry& entry;
};

Value list_of(Renderer& renderer, const std::vector<std::string_view>& parts) {
  Values items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(renderer.text(part));
  return make_list(renderer.budget(), std::move(items));
}

// What str.startswith and its like look at: the text from `start` up to `end`.
struct Window {
  std::string_view text;
  int64_t start = 0;
  bool beyond = false;  // start is behind the end
};

template <size_t count>
Window window(const Value& self, const Bound<count>& bound, size_t first) {
  const std::string_view text = self.text();
  if (!bound.given(first) && !bound.given(first + 1)) return {text};
  const int64_t size = length_of(text);
  const auto clamp = [&](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size); };
  const int64_t asked = bound.given(first) ? bound.whole(first, 0) : 0;
  const int64_t start = clamp(asked);
  const int64_t end = bound.given(first + 1) ? clamp(bound.whole(first + 1, size)) : size;
  if (asked > size || end < start) return {{}, start, true};
  const size_t begin = byte_at(text, start);
  return {text.substr(begin, byte_at(text.substr(begin), end - start)), start};
}

template <bool at_end>
Value has_affix(Renderer& /*renderer*/, const Value& self, const Arguments& arguments) {
  const char* const name = at_end ? "endswith" : "startswith";
  const Bound<3> bound(name, arguments, {"prefix", "start", "end"}, 1);
  const Window in = window(self, bound, 1);
  const auto matches = [&](const Value& affix) {
    check_defined(affix);
    if (!affix.is_string()) {
      raise("TypeError", fmt::format("{} first arg must be str or a tuple of str, not {}", name, type_name(affix)));
    }
    return !in.beyond && (at_end ? in.text.ends_with(affix.text()) : in.text.starts_with(affix.text()));
  };
  if (!bound.at(0).is(Kind::tuple)) return Value::boolean(matches(bound.at(0)));
  const Values& affixes = bound.at(0).sequence().items;
  return Value::boolean(std::any_of(affixes.begin(), affixes.end(), matches));
}

enum class Side { both, left, right };

template <Side side>
Value strip(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<1> bound("strip", arguments, {"chars"});
  std::string_view text = self.text();
  if (!bound.given(0)) {
    if (side != Side::right) text = strip_left(text);
    if (side != Side::left) text = strip_right(text);
    return renderer.text(text);
  }
  const std::string set = bound.text(0);
  if (side != Side::right) text = strip_left(text, set);
  if (side != Side::left) text = strip_right(text, set);
  return renderer.text(text);
}

std::vector<std::string_view> split_from_right(std::string_view text, std::string_view separator, int64_t most) {
  std::vector<std::string_view> parts;
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    const size_t at = text.rfind(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_space_from_right(std::string_view text, int64_t most) {
  std::vector<std::string_view> parts;
  for (text = strip_right(text); !text.empty(); text = strip_right(text)) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(text);
      break;
    }
    size_t begin = text.size();
    while (begin > 0) {
      const size_t before = previous_character(text, begin);
      if (is_space(decode_character(text, before).code)) break;
      begin = before;
    }
    parts.push_back(text.substr(begin));
    text = text.substr(0, begin);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool from_right>
Value split(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<2> bound("split", arguments, {"sep", "maxsplit"});
  const int64_t most = bound.whole(1, -1);
  const std::string_view text = self.text();
  if (!bound.given(0)) return list_of(renderer, from_right ? split_space_from_right(text, most) : split_at_space(text, most));
  const std::string separator = bound.text(0);
  if (separator.empty()) raise("ValueError", "empty separator");
  return list_of(renderer, from_right ? split_from_right(text, separator, most) : split_at(text, separator, most));
}

template <bool from_right>
Value partition(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const std::string separator = Bound<1>("partition", arguments, {"sep"}, 1).text(0);
  if (separator.empty()) raise("ValueError", "empty separator");
  const std::string_view text = self.text();
  const size_t at = from_right ? text.rfind(separator) : text.find(separator);
  std::array<std::string_view, 3> parts = {text, "", ""};
  if (at != std::string_view::npos) {
    parts = {text.substr(0, at), text.substr(at, separator.size()), text.substr(at + separator.size())};
  } else if (from_right) {
    parts = {"", "", text};
  }
  return make_tuple(renderer.budget(), {renderer.text(parts[0]), renderer.text(parts[1]), renderer.text(parts[2])});
}

// find, rfind, index, rindex.
template <bool from_right, bool must_be_there>
Value find(Renderer& /*renderer*/, const Value& self, const Arguments& arguments) {
  const Bound<3> bound("find", arguments, {"sub", "start", "end"}, 1);
  const Window in = window(self, bound, 1);
  const std::string wanted = bound.text(0);
  const size_t at = in.beyond ? std::string_view::npos : from_right ? in.text.rfind(wanted) : in.text.find(wanted);
  if (at != std::string_view::npos) return Value::integer(in.start + length_of(in.text.substr(0, at)));
  if (must_be_there) raise("ValueError", "substring not found");
  return Value::integer(-1);
}

Value count_text(Renderer& /*renderer*/, const Value& self, const Arguments& arguments) {
  const Bound<3> bound("count", arguments, {"sub", "start", "end"}, 1);
  const Window in = window(self, bound, 1);
  const std::string wanted = bound.text(0);
  if (in.beyond) return Value::integer(0);
  if (wanted.empty()) return Value::integer(length_of(in.text) + 1);
  int64_t count = 0;
  for (size_t at = in.text.find(wanted); at != std::string_view::npos; at = in.text.find(wanted, at + wanted.size())) ++count;
  return Value::integer(count);
}

Value replace(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<3> bound("replace", arguments, {"old", "new", "count"}, 2);
  return renderer.text(replace_all(renderer.budget(), self.text(), bound.text(0), bound.text(1), bound.whole(2, -1)));
}

template <LetterCase letter_case>
Value change_case(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<0> none("upper", arguments, {});
  return renderer.text(in_case(self.text(), letter_case), self.is_safe());
}

template <std::string (*function)(std::string_view)>
Value change_letters(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<0> none("title", arguments, {});
  return renderer.text(function(self.text()), self.is_safe());
}

// ljust, rjust, center.
template <char align>
Value justify(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<2> bound("ljust", arguments, {"width", "fillchar"}, 1);
  const int64_t missing = bound.whole(0, 0) - length_of(self.text());
  const std::string fill = bound.text(1, " ");
  if (length_of(fill) != 1) raise("TypeError", "The fill character must be exactly one character long");
  if (missing <= 0) return renderer.text(self.text());
  renderer.budget().check_size(static_cast<size_t>(missing), fill.size());
  const auto padding = [&](int64_t count) {
    std::string result;
    for (int64_t index = 0; index < count; ++index) result += fill;
    return result;
  };
  // As CPython centers: the odd one goes left if the width is odd.
  const int64_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2 + (missing & bound.whole(0, 0) & 1);
  return renderer.text(padding(left) + self.text() + padding(missing - left));
}

Value zfill(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const int64_t missing = Bound<1>("zfill", arguments, {"width"}, 1).whole(0, 0) - length_of(self.text());
  if (missing <= 0) return renderer.text(self.text());
  renderer.budget().check_size(static_cast<size_t>(missing), 1);
  const std::string& text = self.text();
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  return renderer.text(text.substr(0, sign) + std::string(static_cast<size_t>(missing), '0') + text.substr(sign));
}

Value splitlines(Renderer& renderer, const Value& self, const Arguments& arguments) {
  return list_of(renderer, split_lines(self.text(), Bound<1>("splitlines", arguments, {"keepends"}).truth(0, false)));
}

Value join(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<1> bound("join", arguments, {"iterable"}, 1);
  const Values items = iterate(renderer.budget(), bound.at(0));
  std::string result;
  for (size_t index = 0; index < items.size(); ++index) {
    if (!items[index].is_string()) {
      raise("TypeError", fmt::format("sequence item {}: expected str instance, {} found", index, type_name(items[index])));
    }
    if (index > 0) result += self.text();
    result += items[index].text();
    renderer.budget().check_size(result.size(), 1);
  }
  return renderer.text(std::move(result));
}

template <bool suffix>
Value remove_affix(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const std::string affix = Bound<1>("removeprefix", arguments, {"prefix"}, 1).text(0);
  std::string_view text = self.text();
  if (suffix && text.ends_with(affix)) text.remove_suffix(affix.size());
  if (!suffix && text.starts_with(affix)) text.remove_prefix(affix.size());
  return renderer.text(text);
}

Value expandtabs(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const int64_t size = Bound<1>("expandtabs", arguments, {"tabsize"}).whole(0, 8);
  renderer.budget().check_size(self.text().size(), static_cast<size_t>(std::clamp<int64_t>(size, 1, 1 << 30)));
  std::string result;
  int64_t column = 0;
  for (const std::string_view character : code_points(self.text())) {
    if (character == "\t") {
      const int64_t spaces = size > 0 ? size - column % size : 0;
      result.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
    } else {
      result += character;
      column = character == "\n" || character == "\r" ? 0 : column + 1;
    }
  }
  return renderer.text(std::move(result));
}

Value format(Renderer& renderer, const Value& self, const Arguments& arguments) { return format_braces(renderer, self.text(), arguments); }

Value format_map(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<1> bound("format_map", arguments, {"mapping"}, 1);
  Arguments named;
  if (bound.at(0).is(Kind::dict)) {
    for (const auto& [key, value] : bound.at(0).dict().entries) {
      if (key.is_string()) named.named.emplace_back(key.text(), value);
    }
  }
  return format_braces(renderer, self.text(), named);
}

// isalpha, isdigit …: the name without "is" is the class.
template <char... letters>
Value is_class(Renderer& /*renderer*/, const Value& self, const Arguments& arguments) {
  static constexpr char kName[] = {letters..., '\0'};
  const Bound<0> none(kName, arguments, {});
  return Value::boolean(is_of_class(self.text(), kName));
}

constexpr MethodEntry kStringMethods[] = {
    {"capitalize", change_letters<capitalized>},
    {"casefold", change_case<LetterCase::fold>},
    {"center", justify<'^'>},
    {"count", count_text},
    {"endswith", has_affix<true>},
    {"expandtabs", expandtabs},
    {"find", find<false, false>},
    {"format", format},
    {"format_map", format_map},
    {"index", find<false, true>},
    {"isalnum", is_class<'a', 'l', 'n', 'u', 'm'>},
    {"isalpha", is_class<'a', 'l', 'p', 'h', 'a'>},
    {"isascii", is_class<'a', 's', 'c', 'i', 'i'>},
    {"isdecimal", is_class<'d', 'e', 'c', 'i', 'm', 'a', 'l'>},
    {"isdigit", is_class<'d', 'i', 'g', 'i', 't'>},
    {"isidentifier", is_class<'i', 'd', 'e', 'n', 't', 'i', 'f', 'i', 'e', 'r'>},
    {"islower", is_class<'l', 'o', 'w', 'e', 'r'>},
    {"isnumeric", is_class<'n', 'u', 'm', 'e', 'r', 'i', 'c'>},
    {"isprintable", is_class<'p', 'r', 'i', 'n', 't', 'a', 'b', 'l', 'e'>},
    {"isspace", is_class<'s', 'p', 'a', 'c', 'e'>},
    {"istitle", is_class<'t', 'i', 't', 'l', 'e'>},
    {"isupper", is_class<'u', 'p', 'p', 'e', 'r'>},
    {"join", join},
    {"ljust", justify<'<'>},
    {"lower", change_case<LetterCase::lower>},
    {"lstrip", strip<Side::left>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace},
    {"rfind", find<true, false>},
    {"rindex", find<true, true>},
    {"rjust", justify<'>'>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<Side::right>},
    {"split", split<false>},
    {"splitlines", splitlines},
    {"startswith", has_affix<false>},
    {"strip", strip<Side::both>},
    {"swapcase", change_letters<case_swapped>},
    {"title", change_letters<titled>},
    {"upper", change_case<LetterCase::upper>},
    {"zfill", zfill},
};

Value dict_get(Renderer& /*renderer*/, const Value& self, const Arguments& arguments) {
  if (!arguments.named.empty()) raise("TypeError", "dict.get() takes no keyword arguments");
  const Bound<2> bound("get", arguments, {"key", "default"}, 1);
  if (!is_hashable(bound.at(0))) raise("TypeError", fmt::format("unhashable type: '{}'", type_name(bound.at(0))));
  const Value* found = self.dict().find(bound.at(0));
  return found != nullptr ? *found : bound.value(1);
}

enum class View { keys, values, items };

template <View view>
Value dict_view(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<0> none("items", arguments, {});
  Values items;
  for (const auto& [key, value] : self.dict().entries) {
    items.push_back(view == View::keys ? key : view == View::values ? value : make_tuple(renderer.budget(), {key, value}));
  }
  const char* const type = view == View::keys ? "dict_keys" : view == View::values ? "dict_values" : "dict_items";
  return make_view(renderer.budget(), std::move(items), type);
}

Value dict_copy(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<0> none("copy", arguments, {});
  auto copy = std::make_shared<Dict>(&renderer.budget());
  for (const auto& [key, value] : self.dict().entries) copy->set(key, value);
  return make_dict(copy);
}

constexpr MethodEntry kDictMethods[] = {
    {"copy", dict_copy},
    {"get", dict_get},
    {"items", dict_view<View::items>},
    {"keys", dict_view<View::keys>},
    {"values", dict_view<View::values>},
};

Value list_copy(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<0> none("copy", arguments, {});
  return make_list(renderer.budget(), self.sequence().items);
}

Value sequence_count(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<1> bound("count", arguments, {"value"}, 1);
  const Values& items = self.sequence().items;
  renderer.budget().step(static_cast<int64_t>(items.size()));
  return Value::integer(std::count_if(items.begin(), items.end(), [&](const Value& item) { return is_equal(item, bound.at(0)); }));
}

Value sequence_index(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<3> bound("index", arguments, {"value", "start", "stop"}, 1);
  const Values& items = self.sequence().items;
  renderer.budget().step(static_cast<int64_t>(items.size()));
  const auto size = static_cast<int64_t>(items.size());
  const auto clamp = [&](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size); };
  for (int64_t at = clamp(bound.whole(1, 0)); at < clamp(bound.whole(2, size)); ++at) {
    if (is_equal(items[static_cast<size_t>(at)], bound.at(0))) return Value::integer(at);
  }
  raise("ValueError", self.is(Kind::tuple) ? "tuple.index(x): x not in tuple" : fmt::format("{} is not in list", repr(bound.at(0))));
}

constexpr MethodEntry kListMethods[] = {{"copy", list_copy}, {"count", sequence_count}, {"index", sequence_index}};
constexpr MethodEntry kTupleMethods[] = {{"count", sequence_count}, {"index", sequence_index}};

}  // namespace

std::optional<Value> find_method(Renderer& renderer, const Value& object, std::string_view name) {
  const auto look_in = [&](const auto& table) -> std::optional<Value> {
    const auto found = std::find_if(std::begin(table), std::end(table), [&](const MethodEntry& entry) { return entry.name == name; });
    if (found == std::end(table)) return std::nullopt;
    renderer.budget().step();
    return Value(Kind::callable, std::make_shared<BoundMethod>(object, *found));
  };
  switch (object.kind()) {
    case Kind::string: return look_in(kStringMethods);
    case Kind::dict: return look_in(kDictMethods);
    case Kind::list: return look_in(kListMethods);
    case Kind::tuple:
      if (object.sequence().type == kGroupType && (name == "grouper" || name == "list")) {
        return object.sequence().items[name == "grouper" ? 0 : 1];
      }
      return look_in(kTupleMethods);
    case Kind::range: return look_in(kTupleMethods);
    default: return std::nullopt;
  }
}

}  // namespace wick::jinja
