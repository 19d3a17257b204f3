// The methods that change a list or a dict. transformers' sandbox refuses them; llama.cpp's engine has them.
#include <fmt/format.h>

#include <algorithm>

#include "wick/text/jinja/bound_arguments.h"
#include "wick/text/jinja/operators.h"
#include "wick/text/jinja/renderer.h"

namespace wick::jinja {
namespace {

// More containers inside of containers that exist already would be a chain too deep to destroy.
constexpr int kMaxStoredContainers = 2000;

using ChangingFunction = Value (*)(Renderer& renderer, const Value& self, const Arguments& arguments);

struct ChangingEntry {
  std::string_view name;
  ChangingFunction function;
};

struct ChangingMethod : Callable {
  ChangingMethod(Value object, const ChangingEntry& of) : self(std::move(object)), entry(of) {}
  Value call(Renderer& renderer, Arguments& arguments) override { return entry.function(renderer, self, arguments); }
  Value self;
  const ChangingEntry& entry;
};

bool is_container(const Value& value) { return value.is_sequence() || value.is(Kind::dict); }

// Whether `part` is part of `value`, which holds data alone.
bool holds(Budget& budget, const Value& value, const Value& part) {
  budget.step();
  if (value.object() != nullptr && value.object() == part.object()) return true;
  const auto found = [&](const Value& item) { return holds(budget, item, part); };
  if (value.is_sequence()) return std::any_of(value.sequence().items.begin(), value.sequence().items.end(), found);
  if (value.is(Kind::dict)) {
    const auto& entries = value.dict().entries;
    return std::any_of(entries.begin(), entries.end(), [&](const auto& entry) { return found(entry.second); });
  }
  if (value.is(Kind::callable) || value.is(Kind::loop)) raise("TypeError", "a list or a dict that changes holds data alone");
  return false;
}

Value append(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<1> bound("append", arguments, {"value"}, 1);
  renderer.check_storable(self, bound.at(0));
  self.sequence().insert(self.sequence().items.size(), bound.at(0));
  return {};
}

Value insert(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<2> bound("insert", arguments, {"index", "value"}, 2);
  renderer.check_storable(self, bound.at(1));
  const auto size = static_cast<int64_t>(self.sequence().items.size());
  const int64_t index = bound.whole(0, 0);
  self.sequence().insert(static_cast<size_t>(std::clamp<int64_t>(index < 0 ? index + size : index, 0, size)), bound.at(1));
  return {};
}

Value extend(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<1> bound("extend", arguments, {"values"}, 1);
  for (const Value& value : iterate(renderer.budget(), bound.at(0))) {
    renderer.check_storable(self, value);
    self.sequence().insert(self.sequence().items.size(), value);
  }
  return {};
}

Value pop_item(Renderer& /*renderer*/, const Value& self, const Arguments& arguments) {
  const Bound<1> bound("pop", arguments, {"index"});
  const auto size = static_cast<int64_t>(self.sequence().items.size());
  int64_t index = bound.whole(0, -1);
  if (index < 0) index += size;
  if (size == 0) raise("IndexError", "pop from empty list");
  if (index < 0 || index >= size) raise("IndexError", "pop index out of range");
  return self.sequence().take(static_cast<size_t>(index));
}

Value remove_item(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<1> bound("remove", arguments, {"value"}, 1);
  const Values& items = self.sequence().items;
  renderer.budget().step(static_cast<int64_t>(items.size()));
  const auto found = std::find_if(items.begin(), items.end(), [&](const Value& item) { return is_equal(item, bound.at(0)); });
  if (found == items.end()) raise("ValueError", "list.remove(x): x not in list");
  (void)self.sequence().take(static_cast<size_t>(found - items.begin()));
  return {};
}

Value reverse(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<0> none("reverse", arguments, {});
  renderer.budget().step(static_cast<int64_t>(self.sequence().items.size()));
  std::reverse(self.sequence().items.begin(), self.sequence().items.end());
  return {};
}

Value clear_list(Renderer& /*renderer*/, const Value& self, const Arguments& arguments) {
  const Bound<0> none("clear", arguments, {});
  while (!self.sequence().items.empty()) (void)self.sequence().take(self.sequence().items.size() - 1);
  return {};
}

Value pop_entry(Renderer& /*renderer*/, const Value& self, const Arguments& arguments) {
  const Bound<2> bound("pop", arguments, {"key", "default"}, 1);
  const Value* const found = self.dict().find(bound.at(0));
  if (found == nullptr) {
    if (!bound.has(1)) raise("KeyError", "pop(): no such key");
    return bound.at(1);
  }
  Value taken = *found;
  (void)self.dict().erase(bound.at(0));
  return taken;
}

Value set_default(Renderer& renderer, const Value& self, const Arguments& arguments) {
  const Bound<2> bound("setdefault", arguments, {"key", "default"}, 1);
  if (const Value* const found = self.dict().find(bound.at(0))) return *found;
  renderer.check_storable(self, bound.value(1));
  self.dict().set(bound.at(0), bound.value(1));
  return bound.value(1);
}

Value update(Renderer& renderer, const Value& self, const Arguments& arguments) {
  if (arguments.positional.size() > 1) raise("TypeError", "update expected at most 1 argument");
  const auto set = [&](const Value& key, const Value& value) {
    renderer.check_storable(self, value);
    self.dict().set(key, value);
  };
  for (const Value& given : arguments.positional) {
    if (!given.is(Kind::dict)) raise("TypeError", "update() takes a dict");
    const auto entries = given.dict().entries;
    for (const auto& [key, value] : entries) set(key, value);
  }
  for (const auto& [name, value] : arguments.named) set(renderer.text(name), value);
  return {};
}

Value clear_dict(Renderer& /*renderer*/, const Value& self, const Arguments& arguments) {
  const Bound<0> none("clear", arguments, {});
  while (!self.dict().entries.empty()) {
    const Value key = self.dict().entries.back().first;
    (void)self.dict().erase(key);
  }
  return {};
}

constexpr ChangingEntry kOfChangingLists[] = {
    {"append", append}, {"clear", clear_list},   {"extend", extend},   {"insert", insert},
    {"pop", pop_item},  {"remove", remove_item}, {"reverse", reverse},
};
constexpr ChangingEntry kOfChangingDicts[] = {{"clear", clear_dict}, {"pop", pop_entry}, {"setdefault", set_default}, {"update", update}};

}  // namespace

void Renderer::check_storable(const Value& container, const Value& value) {
  if (holds(budget_, value, container)) raise("ValueError", "a list or a dict cannot become part of itself");
  if (is_container(value) && ++stored_containers_ > kMaxStoredContainers) {
    raise("RecursionError", fmt::format("more than {} lists and dicts are put into others", kMaxStoredContainers));
  }
}

std::optional<Value> find_changing_method(Renderer& renderer, const Value& object, std::string_view name) {
  const auto look_in = [&](const auto& table) -> std::optional<Value> {
    for (const ChangingEntry& entry : table) {
      if (entry.name != name) continue;
      renderer.budget().step();
      return Value(Kind::callable, std::make_shared<ChangingMethod>(object, entry));
    }
    return std::nullopt;
  };
  if (object.is(Kind::list)) return look_in(kOfChangingLists);
  if (object.is(Kind::dict)) return look_in(kOfChangingDicts);
  return std::nullopt;
}

}  // namespace wick::jinja
