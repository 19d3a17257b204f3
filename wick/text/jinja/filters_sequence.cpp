// Filters that choose, sort and group items.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "wick/text/jinja/bound_arguments.h"
#include "wick/text/jinja/operators.h"
#include "wick/text/jinja/python_text.h"
#include "wick/text/jinja/renderer.h"

namespace wick::jinja {
namespace {

// "user.name" or "0", looked up part by part; with no path an item itself.
class AttributePath {
 public:
  AttributePath(Renderer& renderer, const Value& path) : renderer_(renderer) {
    if (path.is(Kind::none)) return;
    if (!path.is_string()) {
      parts_.push_back(path);
      return;
    }
    for (const std::string_view part : split_at(path.text(), ".", -1)) {
      const bool number = !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string_view::npos;
      parts_.push_back(number ? Value::integer(std::stoll(std::string(part))) : renderer.text(part));
    }
  }

  [[nodiscard]] Value of(Value item, const Value* otherwise = nullptr) const {
    for (const Value& part : parts_) {
      item = renderer_.item(item, part);
      if (otherwise != nullptr && !otherwise->is(Kind::none) && item.is_undefined()) item = *otherwise;
    }
    return item;
  }

 private:
  Renderer& renderer_;
  Values parts_;
};

// What strings are compared by where case does not count.
Value without_case(Renderer& renderer, const Value& value, bool case_sensitive) {
  return case_sensitive || !value.is_string() ? value : renderer.text(in_case(value.text(), LetterCase::lower));
}

// Sorts items by their keys; equal ones stay in their order, also in reverse.
Values sorted_by(Renderer& renderer, const Values& items, const Values& keys, bool reverse) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t left, size_t right) {
    renderer.budget().step();
    const int by = reverse ? compare(keys[right], keys[left], "<") : compare(keys[left], keys[right], "<");
    return by < 0;
  });
  Values result;
  result.reserve(items.size());
  for (const size_t index : order) result.push_back(items[index]);
  return result;
}

Value defaulted(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<2> bound("do_default", arguments, {"default_value", "boolean"});
  const bool replaced = input.is_undefined() || (bound.truth(1, false) && !is_true(input));
  return replaced ? bound.value(0, renderer.text(std::string_view())) : input;
}

Value count(Renderer& /*renderer*/, const Value& input, Arguments& arguments) {
  const Bound<0> none("len", arguments, {});
  return Value::integer(length(input));
}

Value list(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_list", arguments, {});
  return make_list(renderer.budget(), iterate(renderer.budget(), input));
}

Value items(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_items", arguments, {});
  if (input.is_undefined()) return make_iterator(renderer.budget(), {});
  if (!input.is(Kind::dict)) raise("TypeError", "Can only get item pairs from a mapping.");
  Values pairs;
  for (const auto& [key, value] : input.dict().entries) pairs.push_back(make_tuple(renderer.budget(), {key, value}));
  return make_iterator(renderer.budget(), std::move(pairs));
}

Value first(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_first", arguments, {});
  if (input.is(Kind::iterator)) {
    Sequence& sequence = input.sequence();
    if (sequence.next < sequence.items.size()) return sequence.items[sequence.next++];
    return make_undefined("No first item, sequence was empty.");
  }
  const Values all = iterate(renderer.budget(), input);
  return all.empty() ? make_undefined("No first item, sequence was empty.") : all.front();
}

Value last(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_last", arguments, {});
  check_defined(input);
  if (input.is(Kind::iterator) || !is_iterable(input)) raise("TypeError", fmt::format("'{}' object is not reversible", type_name(input)));
  const Values all = iterate(renderer.budget(), input);
  return all.empty() ? make_undefined("No last item, sequence was empty.") : all.back();
}

Value reverse(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<0> none("do_reverse", arguments, {});
  if (!is_iterable(input)) raise("FilterArgumentError", "argument must be iterable");
  Values all = iterate(renderer.budget(), input);
  std::reverse(all.begin(), all.end());
  if (input.is_string()) {
    std::string text;
    for (const Value& character : all) text += character.text();
    return renderer.text(std::move(text), input.is_safe());
  }
  if (input.is(Kind::iterator) || input.is_undefined()) return make_list(renderer.budget(), std::move(all));
  return make_iterator(renderer.budget(), std::move(all), input.is(Kind::list) ? "list_reverseiterator" : "reversed");
}

Value join(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<2> bound("do_join", arguments, {"d", "attribute"});
  const AttributePath path(renderer, bound.value(1));
  const std::string between = bound.has(0) ? to_text(bound.at(0)) : std::string();
  std::string result;
  bool begun = false;
  std::string storage;
  for (const Value& item : iterate(renderer.budget(), input)) {
    if (begun) result += between;
    begun = true;
    const Value part = path.of(item);
    result += to_text(part, storage);
    renderer.budget().check_size(result.size(), 1);
  }
  return renderer.text(std::move(result));
}

Value sort(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<3> bound("do_sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const bool sensitive = bound.truth(1, false);
  const Values all = iterate(renderer.budget(), input);
  std::vector<AttributePath> paths;
  if (bound.has(2) && bound.at(2).is_string()) {
    for (const std::string_view part : split_at(bound.at(2).text(), ",", -1)) paths.emplace_back(renderer, renderer.text(part));
  } else {
    paths.emplace_back(renderer, bound.value(2));
  }
  Values keys;
  for (const Value& item : all) {
    Values parts;
    for (const AttributePath& path : paths) parts.push_back(without_case(renderer, path.of(item), sensitive));
    keys.push_back(make_list(renderer.budget(), std::move(parts)));
  }
  return make_list(renderer.budget(), sorted_by(renderer, all, keys, bound.truth(0, false)));
}

Value dict_sort(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<3> bound("do_dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = bound.text(1, "key");
  if (by != "key" && by != "value") raise("FilterArgumentError", "You can only sort by either \"key\" or \"value\"");
  check_defined(input);
  if (!input.is(Kind::dict)) raise("AttributeError", fmt::format("'{}' object has no attribute 'items'", type_name(input)));
  Values pairs;
  Values keys;
  for (const auto& [key, value] : input.dict().entries) {
    pairs.push_back(make_tuple(renderer.budget(), {key, value}));
    keys.push_back(without_case(renderer, by == "key" ? key : value, bound.truth(0, false)));
  }
  return make_list(renderer.budget(), sorted_by(renderer, pairs, keys, bound.truth(2, false)));
}

Value unique(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<2> bound("do_unique", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(renderer, bound.value(1));
  Dict seen(&renderer.budget());
  Values result;
  for (const Value& item : iterate(renderer.budget(), input)) {
    const Value key = without_case(renderer, path.of(item), bound.truth(0, false));
    if (!is_hashable(key)) raise("TypeError", fmt::format("unhashable type: '{}'", type_name(key)));
    if (seen.find(key) != nullptr) continue;
    seen.set(key, {});
    result.push_back(item);
  }
  return make_iterator(renderer.budget(), std::move(result));
}

template <bool largest>
Value extreme(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<2> bound("do_max", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(renderer, bound.value(1));
  std::optional<Value> best;
  Value best_key;
  for (const Value& item : iterate(renderer.budget(), input)) {
    Value key = without_case(renderer, path.of(item), bound.truth(0, false));
    if (best && !(largest ? compare(key, best_key, ">") == 1 : compare(key, best_key, "<") < 0)) continue;
    best = item;
    best_key = std::move(key);
  }
  return best ? *best : make_undefined("No aggregated item, sequence was empty.");
}

Value sum(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<2> bound("do_sum", arguments, {"attribute", "start"});
  const AttributePath path(renderer, bound.value(0));
  Value total = bound.value(1, Value::integer(0));
  if (total.is_string()) raise("TypeError", "sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : iterate(renderer.budget(), input)) total = binary(renderer.budget(), "+", total, path.of(item));
  return total;
}

Value batch(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<2> bound("do_batch", arguments, {"linecount", "fill_with"}, 1);
  const int64_t width = bound.whole(0, 1);
  Values result;
  Values row;
  for (const Value& item : iterate(renderer.budget(), input)) {
    if (static_cast<int64_t>(row.size()) == width) result.push_back(make_list(renderer.budget(), std::exchange(row, {})));
    row.push_back(item);
  }
  if (!row.empty()) {
    if (bound.given(1) && width > 0) {
      renderer.budget().check_size(static_cast<size_t>(width), sizeof(Value));
      if (static_cast<int64_t>(row.size()) < width) row.resize(static_cast<size_t>(width), bound.at(1));
    }
    result.push_back(make_list(renderer.budget(), std::move(row)));
  }
  return make_iterator(renderer.budget(), std::move(result));
}

Value slices(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<2> bound("do_slice", arguments, {"slices", "fill_with"}, 1);
  const Values all = iterate(renderer.budget(), input);
  const int64_t count = bound.whole(0, 1);
  if (count == 0) raise("ZeroDivisionError", "integer division or modulo by zero");
  renderer.budget().check_size(static_cast<size_t>(std::max<int64_t>(count, 0)), sizeof(Value) * 4);
  const auto size = static_cast<int64_t>(all.size());
  Values result;
  auto at = all.begin();
  for (int64_t index = 0; index < count; ++index) {
    const bool extra = index < size % count;
    const int64_t length = size / count + (extra ? 1 : 0);
    Values part(at, at + length);
    at += length;
    if (bound.given(1) && !extra) part.push_back(bound.at(1));
    result.push_back(make_list(renderer.budget(), std::move(part)));
  }
  return make_iterator(renderer.budget(), std::move(result));
}

Value group_by(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<3> bound("do_groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(renderer, bound.at(0));
  const Value otherwise = bound.value(1);
  const bool sensitive = bound.truth(2, false);
  const Values all = iterate(renderer.budget(), input);
  Values keys;
  for (const Value& item : all) keys.push_back(without_case(renderer, path.of(item, &otherwise), sensitive));
  const Values sorted = sorted_by(renderer, all, keys, false);
  Values groups;
  for (size_t begin = 0; begin < sorted.size();) {
    const Value label = path.of(sorted[begin], &otherwise);
    const Value key = without_case(renderer, label, sensitive);
    Values members;
    size_t end = begin;
    for (; end < sorted.size() && is_equal(without_case(renderer, path.of(sorted[end], &otherwise), sensitive), key); ++end)
      members.push_back(sorted[end]);
    if (end == begin) members.push_back(sorted[end++]);  // NaN equals nothing
    const Value group = make_tuple(renderer.budget(), {label, make_list(renderer.budget(), std::move(members))});
    group.sequence().type = kGroupType;
    groups.push_back(group);
    begin = end;
  }
  return make_list(renderer.budget(), std::move(groups));
}

Value map(Renderer& renderer, const Value& input, Arguments& arguments) {
  Values result;
  if (!is_true(input)) return make_iterator(renderer.budget(), {});
  if (arguments.positional.empty() && arguments.find_named("attribute") != nullptr) {
    const Bound<2> bound("map", arguments, {"attribute", "default"});
    const AttributePath path(renderer, bound.at(0));
    const Value otherwise = bound.value(1);
    for (const Value& item : iterate(renderer.budget(), input)) result.push_back(path.of(item, &otherwise));
    return make_iterator(renderer.budget(), std::move(result));
  }
  if (arguments.positional.empty()) raise("FilterArgumentError", "map requires a filter argument");
  const std::string name = to_text(arguments.positional.front());
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  for (const Value& item : iterate(renderer.budget(), input)) {
    Arguments own = rest;
    result.push_back(renderer.filter(name, item, own));
  }
  return make_iterator(renderer.budget(), std::move(result));
}

// select, reject, selectattr, rejectattr.
template <bool by_attribute, bool wanted>
Value choose(Renderer& renderer, const Value& input, Arguments& arguments) {
  Values result;
  if (!is_true(input)) return make_iterator(renderer.budget(), {});
  Arguments rest = arguments;
  Value path_text;
  if (by_attribute) {
    if (rest.positional.empty()) raise("FilterArgumentError", "Missing parameter for attribute name");
    path_text = rest.positional.front();
    rest.positional.erase(rest.positional.begin());
  }
  const AttributePath path(renderer, path_text);
  std::optional<std::string> test;
  if (!rest.positional.empty()) {
    test = to_text(rest.positional.front());
    rest.positional.erase(rest.positional.begin());
  }
  for (const Value& item : iterate(renderer.budget(), input)) {
    const Value value = path.of(item);
    Arguments own = rest;
    const bool truth = test ? renderer.test(*test, value, own) : is_true(value);
    if (truth == wanted) result.push_back(item);
  }
  return make_iterator(renderer.budget(), std::move(result));
}

Value attribute(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<1> bound("do_attr", arguments, {"name"}, 1);
  const std::string name = bound.text(0);
  // A field of a dict is no attribute.
  if (input.is(Kind::dict) && !find_method(renderer, input, name)) {
    return make_undefined(fmt::format("{} has no attribute {}", text_repr(object_name(input)), text_repr(name)));
  }
  return renderer.attribute(input, name);
}

constexpr std::pair<std::string_view, FilterFunction> kSequenceFilters[] = {
    {"attr", attribute},
    {"batch", batch},
    {"count", count},
    {"d", defaulted},
    {"default", defaulted},
    {"dictsort", dict_sort},
    {"first", first},
    {"groupby", group_by},
    {"items", items},
    {"join", join},
    {"last", last},
    {"length", count},
    {"list", list},
    {"map", map},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reject", choose<false, false>},
    {"rejectattr", choose<true, false>},
    {"reverse", reverse},
    {"select", choose<false, true>},
    {"selectattr", choose<true, true>},
    {"slice", slices},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
};

}  // namespace

FilterFunction find_sequence_filter(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kSequenceFilters), std::end(kSequenceFilters), [&](const auto& entry) { return entry.first == name; });
  return found == std::end(kSequenceFilters) ? nullptr : found->second;
}

bool is_filter(std::string_view name) { return find_text_filter(name) != nullptr || find_sequence_filter(name) != nullptr; }

}  // namespace wick::jinja
