// A Value is what a chat template computes with: Python's numbers, strings, lists and dicts, as far as templates can see them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wick/text/jinja/budget.h"

namespace wick::jinja {

enum class Kind : uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  string,
  list,
  tuple,
  iterator,
  view,
  range,
  dict,
  scope,
  callable,
  loop
};

// Base of objects that values refer to.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

struct Text;
struct Sequence;
struct Dict;
struct Missing;
struct Namespace;
struct Callable;
struct Loop;

class Value {
 public:
  Value() = default;  // None
  Value(Kind kind, std::shared_ptr<Object> object) : kind_(kind), object_(std::move(object)) {}

  [[nodiscard]] static Value boolean(bool truth) {
    Value value;
    value.kind_ = Kind::boolean;
    value.number_.integer = truth ? 1 : 0;
    return value;
  }
  [[nodiscard]] static Value integer(int64_t number) {
    Value value;
    value.kind_ = Kind::integer;
    value.number_.integer = number;
    return value;
  }
  [[nodiscard]] static Value real(double number) {
    Value value;
    value.kind_ = Kind::real;
    value.number_.real = number;
    return value;
  }

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is(Kind kind) const noexcept { return kind_ == kind; }
  [[nodiscard]] bool is_string() const noexcept { return kind_ == Kind::string; }
  [[nodiscard]] bool is_undefined() const noexcept { return kind_ == Kind::undefined; }
  // Booleans are whole numbers too, as in Python.
  [[nodiscard]] bool is_whole() const noexcept { return kind_ == Kind::integer || kind_ == Kind::boolean; }
  [[nodiscard]] bool is_number() const noexcept { return is_whole() || kind_ == Kind::real; }
  [[nodiscard]] bool is_sequence() const noexcept { return kind_ >= Kind::list && kind_ <= Kind::range; }

  [[nodiscard]] int64_t whole() const noexcept { return number_.integer; }
  [[nodiscard]] double number() const noexcept { return kind_ == Kind::real ? number_.real : static_cast<double>(number_.integer); }
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] bool is_safe() const;  // marked by |safe or |escape
  [[nodiscard]] Sequence& sequence() const;
  [[nodiscard]] Dict& dict() const;
  [[nodiscard]] const Missing& missing() const;
  [[nodiscard]] Namespace& scope() const;
  [[nodiscard]] Callable& callable() const;
  [[nodiscard]] Loop& loop() const;
  [[nodiscard]] const std::shared_ptr<Object>& object() const noexcept { return object_; }

 private:
  Kind kind_ = Kind::none;
  union {
    int64_t integer = 0;
    double real;
  } number_;
  std::shared_ptr<Object> object_;
};

using Values = std::vector<Value>;

struct Text : Object {
  Text(std::string bytes, bool is_safe, Budget* costs) : value(std::move(bytes)), safe(is_safe), budget(costs) {
    if (budget != nullptr) budget->take(value.size());
  }
  ~Text() override {
    if (budget != nullptr) budget->release(value.size());
  }
  std::string value;
  bool safe;
  Budget* budget;  // none for the template's own constants
};

// The type of a tuple that |groupby makes: its parts are also called grouper and list. One array, so that its address is the same in every
// file; a literal's need not be.
inline constexpr char kGroupType[] = "group";

struct Sequence : Object {
  Sequence(Values values, Budget* costs);
  ~Sequence() override;
  // Puts a value before the one at `at`, or at the end; takes one out.
  void insert(size_t at, Value value);
  Value take(size_t at);
  Values items;
  size_t next = 0;             // of an iterator: how much of it was taken
  const char* type = nullptr;  // Python's name of an iterator or a view
  int64_t range_step = 1;      // of a range
  int depth = 1;               // of the deepest value inside
  Budget* budget;
};

struct Dict : Object {
  explicit Dict(Budget* costs) : budget(costs) {}
  ~Dict() override;
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
  void set(const Value& key, Value value);
  // False where there is none.
  bool erase(const Value& key);
  std::vector<std::pair<Value, Value>> entries;
  int depth = 1;
  Budget* budget;

 private:
  [[nodiscard]] size_t position(const Value& key) const;
  std::unordered_map<std::string, size_t> strings_;  // where keys that are strings are
  size_t others_ = 0;                                // how many keys are no strings
};

// Why a value is undefined: an error says it as soon as the value is used.
struct Missing : Object {
  std::string type = "UndefinedError";
  std::string message;
};

struct Namespace : Object {
  explicit Namespace(Budget* costs) : attributes(costs) {}
  Dict attributes;
};

class Renderer;

struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;

  [[nodiscard]] const Value* find_named(std::string_view name) const;
};

struct Callable : Object {
  [[nodiscard]] virtual Value call(Renderer& renderer, Arguments& arguments) = 0;
  [[nodiscard]] virtual const char* type_name() const { return "builtin_function_or_method"; }
  [[nodiscard]] virtual std::string repr() const { return "<built-in function>"; }
  // The attribute `callable.name`; undefined if there is none.
  [[nodiscard]] virtual std::optional<Value> attribute(Renderer& /*renderer*/, std::string_view /*name*/) { return std::nullopt; }
};

// --- Making values ---

[[nodiscard]] Value make_text(Budget& budget, std::string text, bool safe = false);
[[nodiscard]] Value make_constant(std::string text);  // not counted: of the template itself
[[nodiscard]] Value make_list(Budget& budget, Values items);
[[nodiscard]] Value make_tuple(Budget& budget, Values items);
[[nodiscard]] Value make_iterator(Budget& budget, Values items, const char* type = "generator");
[[nodiscard]] Value make_view(Budget& budget, Values items, const char* type);
[[nodiscard]] Value make_dict(const std::shared_ptr<Dict>& dict);
[[nodiscard]] Value make_undefined(std::string message, std::string type = "UndefinedError");

// --- What Python's built-in functions say of a value ---

[[nodiscard]] std::string_view type_name(const Value& value);
// "dict object", "jinja2.utils.Namespace object": how jinja2 names it where an attribute is missing.
[[nodiscard]] std::string object_name(const Value& value);
[[nodiscard]] bool is_true(const Value& value);
[[nodiscard]] bool is_equal(const Value& left, const Value& right, int depth = 0);
[[nodiscard]] bool is_same(const Value& left, const Value& right);
// -1, 0, 1. Errors: TypeError for kinds that have no order; `sign` is for its message.
[[nodiscard]] int compare(const Value& left, const Value& right, const char* sign, int depth = 0);
[[nodiscard]] bool is_hashable(const Value& value);
[[nodiscard]] int depth_of(const Value& value);
// An undefined value that is used raises its error.
void check_defined(const Value& value);

[[noreturn]] inline void raise(std::string type, std::string message) { throw Raised{std::move(type), std::move(message)}; }

}  // namespace wick::jinja
