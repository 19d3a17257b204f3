#include "wick/text/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "wick/base/fail.h"

namespace wick::jinja {
namespace {

template <class T>
T& as(const std::shared_ptr<Object>& object) {
  return static_cast<T&>(*object);
}

constexpr size_t kItemBytes = sizeof(Value);
constexpr size_t kEntryBytes = 4 * sizeof(Value);

int deepest(const Values& values, Budget* budget) {
  int depth = 1;
  for (const Value& value : values) depth = std::max(depth, 1 + depth_of(value));
  if (budget != nullptr) budget->check_depth(depth);
  return depth;
}

std::shared_ptr<Sequence> sequence_of(Budget& budget, Values items, const char* type) {
  auto sequence = std::make_shared<Sequence>(std::move(items), &budget);
  sequence->type = type;
  return sequence;
}

// NaN is unordered: compare() says 2.
int order(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return 2;
  return left < right ? -1 : left > right ? 1 : 0;
}

int order(const Value& left, const Value& right) {
  if (left.is_whole() && right.is_whole()) return left.whole() < right.whole() ? -1 : left.whole() > right.whole() ? 1 : 0;
  return order(left.number(), right.number());
}

[[noreturn]] void no_order(const Value& left, const Value& right, const char* sign) {
  check_defined(left);
  check_defined(right);
  raise("TypeError", fmt::format("'{}' not supported between instances of '{}' and '{}'", sign, type_name(left), type_name(right)));
}

bool is_equal_dict(const Dict& left, const Dict& right, int depth) {
  if (left.entries.size() != right.entries.size()) return false;
  for (const auto& [key, value] : left.entries) {
    const Value* other = right.find(key);
    if (other == nullptr || !is_equal(value, *other, depth + 1)) return false;
  }
  return true;
}

}  // namespace

const std::string& Value::text() const { return as<Text>(object_).value; }
bool Value::is_safe() const { return kind_ == Kind::string && as<Text>(object_).safe; }
Sequence& Value::sequence() const { return as<Sequence>(object_); }
Dict& Value::dict() const { return as<Dict>(object_); }
const Missing& Value::missing() const { return as<Missing>(object_); }
Namespace& Value::scope() const { return as<Namespace>(object_); }
Callable& Value::callable() const { return as<Callable>(object_); }

Sequence::Sequence(Values values, Budget* costs) : items(std::move(values)), budget(costs) {
  depth = deepest(items, budget);
  if (budget != nullptr) {
    budget->step(static_cast<int64_t>(items.size()));
    budget->take(items.size() * kItemBytes);
  }
}

Sequence::~Sequence() {
  if (budget != nullptr) budget->release(items.size() * kItemBytes);
}

Dict::~Dict() {
  if (budget != nullptr) budget->release(entries.size() * kEntryBytes);
}

size_t Dict::position(const Value& key) const {
  if (key.is_string()) {
    const auto found = strings_.find(key.text());
    return found == strings_.end() ? entries.size() : found->second;
  }
  if (others_ == 0) return entries.size();
  if (budget != nullptr) budget->step(static_cast<int64_t>(entries.size()));
  for (size_t index = 0; index < entries.size(); ++index) {
    if (!entries[index].first.is_string() && is_equal(entries[index].first, key)) return index;
  }
  return entries.size();
}

const Value* Dict::find(const Value& key) const {
  const size_t at = position(key);
  return at == entries.size() ? nullptr : &entries[at].second;
}

const Value* Dict::find(std::string_view key) const {
  const auto found = strings_.find(std::string(key));
  return found == strings_.end() ? nullptr : &entries[found->second].second;
}

void Dict::set(const Value& key, Value value) {
  if (!is_hashable(key)) raise("TypeError", fmt::format("unhashable type: '{}'", type_name(key)));
  depth = std::max({depth, 1 + depth_of(key), 1 + depth_of(value)});
  if (budget != nullptr) budget->check_depth(depth);
  const size_t at = position(key);
  if (at < entries.size()) {
    entries[at].second = std::move(value);
    return;
  }
  if (budget != nullptr) {
    budget->step();
    budget->take(kEntryBytes);
  }
  if (key.is_string()) {
    strings_.emplace(key.text(), entries.size());
  } else {
    ++others_;
  }
  entries.emplace_back(key, std::move(value));
}

bool Dict::erase(const Value& key) {
  const size_t at = position(key);
  if (at == entries.size()) return false;
  if (budget != nullptr) {
    budget->step(static_cast<int64_t>(entries.size()));
    budget->release(kEntryBytes);
  }
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at));
  strings_.clear();
  others_ = 0;
  for (size_t index = 0; index < entries.size(); ++index) {
    if (entries[index].first.is_string()) {
      strings_.emplace(entries[index].first.text(), index);
    } else {
      ++others_;
    }
  }
  return true;
}

void Sequence::insert(size_t at, Value value) {
  depth = std::max(depth, 1 + depth_of(value));
  if (budget != nullptr) {
    budget->check_depth(depth);
    budget->check_size(items.size() + 1, kItemBytes);
    budget->step(1 + static_cast<int64_t>((items.size() - at) / 8));
    budget->take(kItemBytes);
  }
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), std::move(value));
}

Value Sequence::take(size_t at) {
  Value taken = std::move(items[at]);
  if (budget != nullptr) {
    budget->step(1 + static_cast<int64_t>((items.size() - at) / 8));
    budget->release(kItemBytes);
  }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return taken;
}

const Value* Arguments::find_named(std::string_view name) const {
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

Value make_text(Budget& budget, std::string text, bool safe) {
  return {Kind::string, std::make_shared<Text>(std::move(text), safe, &budget)};
}
Value make_constant(std::string text) { return {Kind::string, std::make_shared<Text>(std::move(text), false, nullptr)}; }
Value make_list(Budget& budget, Values items) { return {Kind::list, sequence_of(budget, std::move(items), "list")}; }
Value make_tuple(Budget& budget, Values items) { return {Kind::tuple, sequence_of(budget, std::move(items), "tuple")}; }
Value make_iterator(Budget& budget, Values items, const char* type) {
  return {Kind::iterator, sequence_of(budget, std::move(items), type)};
}
Value make_view(Budget& budget, Values items, const char* type) { return {Kind::view, sequence_of(budget, std::move(items), type)}; }
Value make_dict(const std::shared_ptr<Dict>& dict) { return {Kind::dict, dict}; }
Value make_undefined(std::string message, std::string type) {
  auto missing = std::make_shared<Missing>();
  missing->message = std::move(message);
  missing->type = std::move(type);
  return {Kind::undefined, std::move(missing)};
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return "Undefined";
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer: return "int";
    case Kind::real: return "float";
    case Kind::string: return value.is_safe() ? "Markup" : "str";
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::iterator:
    case Kind::view: return value.sequence().type;
    case Kind::range: return "range";
    case Kind::dict: return "dict";
    case Kind::scope: return "TemplateNamespace";
    case Kind::callable: return value.callable().type_name();
    case Kind::loop: return "LoopContext";
  }
  return "object";
}

std::string object_name(const Value& value) {
  if (value.is(Kind::none)) return "None";
  std::string name(type_name(value));
  if (value.is_safe()) {
    name = "markupsafe." + name;
  } else if (value.is(Kind::loop) || name == "Macro") {
    name = "jinja2.runtime." + name;
  } else if (name == "Cycler" || name == "Joiner") {
    name = "jinja2.utils." + name;
  } else if (value.is(Kind::scope)) {
    name = "transformers.utils.chat_template_utils." + name;
  }
  return name + " object";
}

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean:
    case Kind::integer: return value.whole() != 0;
    case Kind::real: return value.number() != 0;
    case Kind::string: return !value.text().empty();
    case Kind::list:
    case Kind::tuple:
    case Kind::view:
    case Kind::range: return !value.sequence().items.empty();
    case Kind::dict: return !value.dict().entries.empty();
    case Kind::iterator:
    case Kind::scope:
    case Kind::callable:
    case Kind::loop: return true;
  }
  return true;
}

bool is_same(const Value& left, const Value& right) {
  if (left.kind() != right.kind()) return false;
  if (left.object() != nullptr || right.object() != nullptr) return left.object() == right.object();
  return left.is(Kind::real) ? left.number() == right.number() : left.whole() == right.whole();
}

bool is_equal(const Value& left, const Value& right, int depth) {
  if (depth > 1000) raise("RecursionError", "maximum recursion depth exceeded in comparison");
  if (left.is_number() && right.is_number()) return order(left, right) == 0;
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::undefined:
    case Kind::none: return true;
    case Kind::string: return left.text() == right.text();
    case Kind::list:
    case Kind::tuple:
    case Kind::range: {
      const Values& a = left.sequence().items;
      const Values& b = right.sequence().items;
      if (a.size() != b.size()) return false;
      if (left.sequence().budget != nullptr) left.sequence().budget->step(static_cast<int64_t>(a.size()));
      for (size_t index = 0; index < a.size(); ++index) {
        if (!is_same(a[index], b[index]) && !is_equal(a[index], b[index], depth + 1)) return false;
      }
      return true;
    }
    case Kind::dict: return is_equal_dict(left.dict(), right.dict(), depth);
    default: return left.object() == right.object();
  }
}

int compare(const Value& left, const Value& right, const char* sign, int depth) {
  if (depth > 1000) raise("RecursionError", "maximum recursion depth exceeded in comparison");
  if (left.is_number() && right.is_number()) return order(left, right);
  if (left.is_string() && right.is_string()) {
    // UTF-8 sorts as code points do.
    const int by = left.text().compare(right.text());
    return by < 0 ? -1 : by > 0 ? 1 : 0;
  }
  if (left.kind() != right.kind() || (!left.is(Kind::list) && !left.is(Kind::tuple))) no_order(left, right, sign);
  const Values& a = left.sequence().items;
  const Values& b = right.sequence().items;
  for (size_t index = 0; index < std::min(a.size(), b.size()); ++index) {
    if (is_equal(a[index], b[index], depth + 1)) continue;
    return compare(a[index], b[index], sign, depth + 1);
  }
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

bool is_hashable(const Value& value) {
  if (value.is(Kind::list) || value.is(Kind::dict)) return false;
  if (!value.is(Kind::tuple)) return true;
  const Values& items = value.sequence().items;
  return std::all_of(items.begin(), items.end(), is_hashable);
}

int depth_of(const Value& value) {
  if (value.is_sequence()) return value.sequence().depth;
  if (value.is(Kind::dict)) return value.dict().depth;
  return 0;
}

void check_defined(const Value& value) {
  if (value.is_undefined()) raise(value.missing().type, value.missing().message);
}

}  // namespace wick::jinja
