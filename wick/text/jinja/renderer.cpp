// Statements.
#include "wick/text/jinja/renderer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wick/text/jinja/loop.h"
#include "wick/text/jinja/operators.h"
#include "wick/text/jinja/python_text.h"
#include "wick/text/jinja/renderer_depth.h"

namespace wick::jinja {
namespace {

// A macro, or the body of a {% call %}: its name is then None.
struct Macro : Callable {
  Macro(const Statement& of, std::shared_ptr<Scope> around) : statement(of), scope(std::move(around)) {}
  Value call(Renderer& renderer, Arguments& arguments) override { return renderer.call_macro(statement, scope, arguments); }
  [[nodiscard]] const char* type_name() const override { return "Macro"; }
  [[nodiscard]] std::string repr() const override {
    return statement.kind == StatementKind::macro ? fmt::format("<Macro {}>", text_repr(statement.text)) : "<Macro anonymous>";
  }
  std::optional<Value> attribute(Renderer& renderer, std::string_view name) override {
    if (name == "name") return statement.kind == StatementKind::macro ? renderer.text(statement.text) : Value();
    if (name == "catch_kwargs") return Value::boolean(statement.signature.takes_more_named);
    if (name == "catch_varargs") return Value::boolean(statement.signature.takes_more_positional);
    if (name == "caller") return Value::boolean(statement.signature.takes_caller);
    if (name != "arguments") return std::nullopt;
    Values names;
    for (const std::string& parameter : statement.signature.names) names.push_back(renderer.text(parameter));
    return make_tuple(renderer.budget(), std::move(names));
  }
  const Statement& statement;
  std::shared_ptr<Scope> scope;
};

[[noreturn]] void no_such_macro_argument(const Statement& macro, const std::string& name) {
  const std::string title = macro.kind == StatementKind::macro ? text_repr(macro.text) : "None";
  if (name == "caller") {
    raise("TypeError",
          fmt::format("macro {} was invoked with two values for the special caller argument. This is most likely a bug.", title));
  }
  raise("TypeError", fmt::format("macro {} takes no keyword argument {}", title, text_repr(name)));
}

}  // namespace

Renderer::Renderer(std::shared_ptr<const Tree> tree, const Limits& limits, FormatTime format_time, Dialect dialect)
    : tree_(std::move(tree)), budget_(limits), format_time_(std::move(format_time)), dialect_(dialect), context_(tree_->symbols.size()) {}

// Macros hold scopes that hold them, and so do namespaces: whatever goes round is cut here.
Renderer::~Renderer() {
  for (const auto& scope : kept_scopes_) {
    const auto names = std::move(scope->names);
    scope->names.clear();
  }
  for (const auto& entry : namespaces_) {
    const auto entries = std::move(entry->attributes.entries);
    entry->attributes.entries.clear();
    budget_.release(entries.size() * 4 * sizeof(Value));
  }
}

std::string Renderer::render(const std::vector<std::pair<std::string, Value>>& context) {
  for (const auto& [name, value] : context) {
    const auto symbol = tree_->symbol_of.find(name);
    if (symbol != tree_->symbol_of.end()) context_[static_cast<size_t>(symbol->second)] = value;
  }
  root_ = std::make_shared<Scope>();
  scope_ = root_;
  std::string out;
  out_ = &out;
  execute(tree_->body);
  scope_.reset();
  return out;
}

std::shared_ptr<Namespace> Renderer::make_namespace() {
  budget_.step(16);
  namespaces_.push_back(std::make_shared<Namespace>(&budget_));
  return namespaces_.back();
}

void Renderer::print(std::string_view text) {
  budget_.check_size(out_->size() + text.size(), 1);
  budget_.step(static_cast<int64_t>(text.size() / 64));
  *out_ += text;
}

Renderer::Flow Renderer::execute(const Body& body) {
  for (const Statement* statement : body) {
    const Flow flow = execute(*statement);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Renderer::Flow Renderer::execute(const Statement& statement) {
  const Depth depth(*this);
  budget_.step();
  if (statement.kind != StatementKind::text) line_ = statement.line;
  switch (statement.kind) {
    case StatementKind::text: print(statement.text); break;
    case StatementKind::output: {
      const Value value = evaluate(*statement.expression);
      std::string storage;
      print(to_text(value, storage));
      break;
    }
    case StatementKind::set:
    case StatementKind::set_block: run_set(statement); break;
    case StatementKind::condition: return run_condition(statement);
    case StatementKind::loop: run_loop(statement, evaluate(*statement.expression), scope_, 0); break;
    case StatementKind::macro: define_macro(statement); break;
    case StatementKind::call_block: run_call_block(statement); break;
    case StatementKind::filter_block: {
      const Value result = filtered(*statement.filter, text(captured(statement.body)));
      std::string storage;
      print(to_text(result, storage));
      break;
    }
    case StatementKind::with: run_with(statement); break;
    case StatementKind::block: {
      // A block sees what the template set at its top, not what is around it.
      const std::shared_ptr<Scope> outer = std::exchange(scope_, root_);
      run_scoped(statement.body);
      scope_ = outer;
      break;
    }
    case StatementKind::scope: run_scoped(statement.body); break;
    case StatementKind::leave: return Flow::leave;
    case StatementKind::next: return Flow::next;
    case StatementKind::missing_loader: raise("TypeError", "no loader for this environment specified");
  }
  return Flow::normal;
}

void Renderer::run_scoped(const Body& body) {
  const std::shared_ptr<Scope> outer = scope_;
  scope_ = std::make_shared<Scope>();
  scope_->parent = outer;
  (void)execute(body);
  scope_ = outer;
}

std::string Renderer::captured(const Body& body) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  run_scoped(body);
  out_ = outer;
  return text;
}

Renderer::Flow Renderer::run_condition(const Statement& statement) {
  for (const Branch& branch : statement.branches) {
    line_ = branch.line;
    if (is_true(evaluate(*branch.test))) return execute(branch.body);
  }
  return execute(statement.otherwise);
}

void Renderer::run_set(const Statement& statement) {
  Value value;
  if (statement.kind == StatementKind::set) {
    value = evaluate(*statement.expression);
  } else {
    value = text(captured(statement.body));
    line_ = statement.line;
    if (statement.filter != nullptr) value = filtered(*statement.filter, value);
  }
  assign(statement.targets.front(), value);
}

void Renderer::run_with(const Statement& statement) {
  Values values;
  for (const Expression* expression : statement.values) values.push_back(evaluate(*expression));
  const std::shared_ptr<Scope> outer = scope_;
  scope_ = std::make_shared<Scope>();
  scope_->parent = outer;
  for (size_t index = 0; index < values.size(); ++index) assign(statement.targets[index], values[index]);
  (void)execute(statement.body);
  scope_ = outer;
}

void Renderer::assign(const Target& target, const Value& value) {
  if (target.is_tuple) {
    const Values items = iterate(budget_, value);
    if (items.size() < target.parts.size()) {
      raise("ValueError", fmt::format("not enough values to unpack (expected {}, got {})", target.parts.size(), items.size()));
    }
    if (items.size() > target.parts.size()) {
      raise("ValueError", fmt::format("too many values to unpack (expected {})", target.parts.size()));
    }
    for (size_t index = 0; index < items.size(); ++index) assign(target.parts[index], items[index]);
    return;
  }
  if (target.attribute.empty()) {
    scope_->set(target.symbol, value);
    return;
  }
  const Value object = resolve(target.symbol);
  if (object.is(Kind::dict) && dialect_ == Dialect::llama_cpp) {
    check_storable(object, value);
    return object.dict().set(text(target.attribute), value);
  }
  if (!object.is(Kind::scope)) raise("TemplateRuntimeError", "cannot assign attribute on non-namespace object");
  if (target.attribute.starts_with('_')) {
    raise("SecurityError", fmt::format("Chat templates cannot store underscore-prefixed attributes on a namespace, but got {}. Please "
                                       "rename the attribute.",
                                       text_repr(target.attribute)));
  }
  object.scope().attributes.set(text(target.attribute), value);
}

bool Renderer::passes(const Statement& loop, const Value& item, const std::shared_ptr<Scope>& scope) {
  const std::shared_ptr<Scope> outer = std::exchange(scope_, std::make_shared<Scope>());
  scope_->parent = scope;
  assign(loop.targets.front(), item);
  const bool result = is_true(evaluate(*loop.filter));
  scope_ = outer;
  return result;
}

void Renderer::run_loop(const Statement& statement, const Value& iterable, std::shared_ptr<Scope> scope, int depth0) {
  const Depth depth(*this);
  const std::shared_ptr<Scope> outer = scope_;
  auto loop = std::make_shared<Loop>(*this, statement, scope, depth0);
  loop->start(iterable);
  const auto name = tree_->symbol_of.find("loop");
  bool completed = false;
  while (const auto item = loop->advance()) {
    scope_ = std::make_shared<Scope>();
    scope_->parent = scope;
    if (name != tree_->symbol_of.end()) scope_->set(name->second, {Kind::loop, loop});
    assign(statement.targets.front(), *item);
    const Flow flow = execute(statement.body);
    if (flow == Flow::leave) break;
    // As jinja2 has it: an else is for loops of which no round reached its end.
    completed = completed || flow == Flow::normal;
    line_ = statement.line;
  }
  scope_ = std::move(scope);
  if (!completed) run_scoped(statement.otherwise);
  scope_ = outer;
}

Value Renderer::run_inner_loop(const Statement& statement, const Value& iterable, const std::shared_ptr<Scope>& scope, int depth0) {
  const int line = line_;
  std::string result;
  std::string* const outer = std::exchange(out_, &result);
  run_loop(statement, iterable, scope, depth0);
  out_ = outer;
  line_ = line;
  return text(std::move(result));
}

void Renderer::define_macro(const Statement& statement) {
  kept_scopes_.push_back(scope_);
  scope_->set(statement.symbol, {Kind::callable, std::make_shared<Macro>(statement, scope_)});
}

void Renderer::run_call_block(const Statement& statement) {
  kept_scopes_.push_back(scope_);
  const Value caller(Kind::callable, std::make_shared<Macro>(statement, scope_));
  const Value result = evaluate_call(*statement.expression, &caller);
  std::string storage;
  print(to_text(result, storage));
}

// As jinja2.runtime.Macro takes its arguments: by position, by name, by default; then caller, kwargs and varargs where the body names them.
Value Renderer::call_macro(const Statement& macro, const std::shared_ptr<Scope>& scope, Arguments& arguments) {
  const Depth depth(*this);
  const Signature& signature = macro.signature;
  const size_t count = signature.names.size();
  auto inner = std::make_shared<Scope>();
  inner->parent = scope;
  std::vector<bool> used(arguments.named.size());
  const auto take_named = [&](std::string_view name) -> const Value* {
    for (size_t index = 0; index < used.size(); ++index) {
      if (used[index] || arguments.named[index].first != name) continue;
      used[index] = true;
      return &arguments.named[index].second;
    }
    return nullptr;
  };
  std::vector<size_t> missing;
  bool explicit_caller = false;
  for (size_t index = 0; index < count; ++index) {
    const bool positional = index < arguments.positional.size();
    const Value* given = positional ? &arguments.positional[index] : take_named(signature.names[index]);
    explicit_caller = explicit_caller || signature.names[index] == "caller";
    if (given != nullptr) {
      inner->set(signature.symbols[index], *given);
    } else {
      missing.push_back(index);
    }
  }
  const auto symbol = [&](const char* name) { return tree_->symbol_of.at(name); };
  if (signature.takes_caller && !explicit_caller) {
    const Value* caller = take_named("caller");
    inner->set(symbol("caller"), caller != nullptr ? *caller : make_undefined("No caller defined"));
  }
  auto others = std::make_shared<Dict>(&budget_);
  for (size_t index = 0; index < used.size(); ++index) {
    if (used[index]) continue;
    if (!signature.takes_more_named) no_such_macro_argument(macro, arguments.named[index].first);
    others->set(text(arguments.named[index].first), arguments.named[index].second);
  }
  if (signature.takes_more_named) inner->set(symbol("kwargs"), make_dict(others));
  Values rest;
  if (arguments.positional.size() > count)
    rest.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count), arguments.positional.end());
  if (!rest.empty() && !signature.takes_more_positional) {
    const std::string title = macro.kind == StatementKind::macro ? text_repr(macro.text) : "None";
    raise("TypeError", fmt::format("macro {} takes not more than {} argument(s)", title, count));
  }
  if (signature.takes_more_positional) inner->set(symbol("varargs"), make_tuple(budget_, std::move(rest)));

  const int line = line_;
  std::string result;
  const std::shared_ptr<Scope> outer = std::exchange(scope_, inner);
  callers_.push_back(outer);
  std::string* const outer_text = std::exchange(out_, &result);
  const size_t without_default = count - signature.defaults.size();
  if (!missing.empty()) line_ = macro.line;  // where defaults are written
  for (const size_t index : missing) {
    const std::string& name = signature.names[index];
    inner->set(signature.symbols[index], index < without_default
                                             ? make_undefined(fmt::format("parameter {} was not provided", text_repr(name)))
                                             : evaluate(*signature.defaults[index - without_default]));
  }
  (void)execute(macro.body);
  scope_ = outer;
  callers_.pop_back();
  out_ = outer_text;
  line_ = line;
  return text(std::move(result));
}

}  // namespace wick::jinja
