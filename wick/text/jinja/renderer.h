// A Renderer runs a template's tree once, under a budget.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/jinja/syntax_tree.h"
#include "wick/text/jinja/value.h"

namespace wick::jinja {

// The names of one block and what is around it.
struct Scope : Object {
  std::vector<std::pair<int, Value>> names;
  std::shared_ptr<Scope> parent;

  [[nodiscard]] Value* find(int symbol) {
    for (auto& [name, value] : names) {
      if (name == symbol) return &value;
    }
    return nullptr;
  }
  void set(int symbol, Value value) {
    if (Value* old = find(symbol)) {
      *old = std::move(value);
    } else {
      names.emplace_back(symbol, std::move(value));
    }
  }
};

// Formats a time as Python's strftime does, for strftime_now.
using FormatTime = std::function<std::string(const std::string& format)>;

// Whose rules a template is rendered by. llama.cpp's engine has no sandbox: lists and dicts may change, attributes of dicts may be set, a
// macro sees the names of its caller, an attribute of what is undefined is undefined, and tojson takes what a filter yields.
enum class Dialect : uint8_t { transformers, llama_cpp };

class Renderer {
 public:
  Renderer(std::shared_ptr<const Tree> tree, const Limits& limits, FormatTime format_time, Dialect dialect = Dialect::transformers);
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  // Throws Raised; line() then says where.
  [[nodiscard]] std::string render(const std::vector<std::pair<std::string, Value>>& context);
  [[nodiscard]] int line() const noexcept { return line_; }

  // --- What filters, tests, methods and globals need ---

  [[nodiscard]] Budget& budget() noexcept { return budget_; }
  [[nodiscard]] const FormatTime& format_time() const noexcept { return format_time_; }
  [[nodiscard]] Dialect dialect() const noexcept { return dialect_; }
  // Before `value` becomes part of a list or a dict that exists already, which only llama.cpp's dialect allows. Errors: TypeError for what
  // is no data, ValueError where `container` is part of `value`, RecursionError for too many.
  void check_storable(const Value& container, const Value& value);
  [[nodiscard]] Value text(std::string bytes, bool safe = false) { return make_text(budget_, std::move(bytes), safe); }
  [[nodiscard]] Value text(std::string_view bytes) { return make_text(budget_, std::string(bytes)); }
  [[nodiscard]] Value call(const Value& callee, Arguments& arguments);
  // `object.name` and `object[key]` as the sandbox has them: undefined where there is none.
  [[nodiscard]] Value attribute(const Value& object, const std::string& name);
  [[nodiscard]] Value item(const Value& object, const Value& key);
  [[nodiscard]] Value filter(const std::string& name, const Value& input, Arguments& arguments);
  [[nodiscard]] bool test(const std::string& name, const Value& input, Arguments& arguments);
  // A namespace, which lives until the end: what it holds may hold it.
  [[nodiscard]] std::shared_ptr<Namespace> make_namespace();
  // The body of a macro or a call block.
  [[nodiscard]] Value call_macro(const Statement& macro, const std::shared_ptr<Scope>& scope, Arguments& arguments);
  // The body of a loop: what loop(…) and the loop itself do.
  void run_loop(const Statement& statement, const Value& iterable, std::shared_ptr<Scope> scope, int depth0);
  [[nodiscard]] Value run_inner_loop(const Statement& statement, const Value& iterable, const std::shared_ptr<Scope>& scope, int depth0);
  [[nodiscard]] bool passes(const Statement& loop, const Value& item, const std::shared_ptr<Scope>& scope);

 private:
  enum class Flow { normal, leave, next };
  class Depth;

  Flow execute(const Body& body);
  Flow execute(const Statement& statement);
  Flow run_condition(const Statement& statement);
  void run_set(const Statement& statement);
  void run_with(const Statement& statement);
  void run_call_block(const Statement& statement);
  void run_scoped(const Body& body);
  void define_macro(const Statement& statement);
  // Output of a body, rendered in its own scope.
  [[nodiscard]] std::string captured(const Body& body);
  [[nodiscard]] Value filtered(const Expression& filter, const Value& input);
  void assign(const Target& target, const Value& value);
  void print(std::string_view text);

  [[nodiscard]] Value evaluate(const Expression& expression);
  [[nodiscard]] Value evaluate_name(const Expression& expression);
  [[nodiscard]] Value evaluate_container(const Expression& expression);
  [[nodiscard]] Value evaluate_item(const Expression& expression);
  [[nodiscard]] Value evaluate_compare(const Expression& expression);
  [[nodiscard]] Value evaluate_concat(const Expression& expression);
  [[nodiscard]] Value evaluate_conditional(const Expression& expression);
  [[nodiscard]] Value evaluate_sign(const Expression& expression);
  [[nodiscard]] Value evaluate_filter(const Expression& expression);
  [[nodiscard]] Value evaluate_call(const Expression& expression, const Value* caller = nullptr);
  // The arguments of a call, a filter or a test: all operands but the first.
  [[nodiscard]] Arguments evaluate_arguments(const Expression& expression);
  [[nodiscard]] Value resolve(int symbol);

  std::shared_ptr<const Tree> tree_;
  Budget budget_;
  FormatTime format_time_;
  Dialect dialect_;
  int stored_containers_ = 0;
  std::vector<std::optional<Value>> context_;    // by symbol
  std::vector<std::shared_ptr<Scope>> callers_;  // of the macros that run
  std::shared_ptr<Scope> scope_;
  std::shared_ptr<Scope> root_;
  std::vector<std::shared_ptr<Scope>> kept_scopes_;  // that macros hold
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  std::string* out_ = nullptr;
  int line_ = 1;
  int depth_ = 0;
};

// --- The tables of names ---

[[nodiscard]] bool is_filter(std::string_view name);
[[nodiscard]] bool is_test(std::string_view name);
// range, dict, namespace, raise_exception …; none: no global of that name.
[[nodiscard]] std::optional<Value> find_global(std::string_view name);
// A method of a string, a dict, a list or a tuple, bound to it.
[[nodiscard]] std::optional<Value> find_method(Renderer& renderer, const Value& object, std::string_view name);
// One that changes a list or a dict, for llama.cpp's dialect.
[[nodiscard]] std::optional<Value> find_changing_method(Renderer& renderer, const Value& object, std::string_view name);

using FilterFunction = Value (*)(Renderer& renderer, const Value& input, Arguments& arguments);
using TestFunction = bool (*)(Renderer& renderer, const Value& input, Arguments& arguments);
[[nodiscard]] FilterFunction find_text_filter(std::string_view name);
[[nodiscard]] FilterFunction find_sequence_filter(std::string_view name);

}  // namespace wick::jinja
