// Expressions.
#include <fmt/format.h>

#include <algorithm>

#include "wick/text/jinja/loop.h"
#include "wick/text/jinja/operators.h"
#include "wick/text/jinja/python_text.h"
#include "wick/text/jinja/renderer.h"
#include "wick/text/jinja/renderer_depth.h"

namespace wick::jinja {

namespace {

// self.name(), which renders a block again.
struct BlockReference : Callable {
  explicit BlockReference(const Statement& of) : block(of) {}
  Value call(Renderer& renderer, Arguments& /*arguments*/) override {
    Arguments none;
    return renderer.call_macro(block, nullptr, none);
  }
  const Statement& block;
};

bool changes_its_object(const Value& object, std::string_view name) {
  static constexpr std::string_view kOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
  static constexpr std::string_view kOfLists[] = {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
  const auto is_in = [&](const auto& names) { return std::find(std::begin(names), std::end(names), name) != std::end(names); };
  return (object.is(Kind::dict) && is_in(kOfDicts)) || (object.is(Kind::list) && is_in(kOfLists));
}

Value no_attribute(const Value& object, const Value& name) {
  if (object.is_undefined()) check_defined(object);
  if (name.is_string())
    return make_undefined(fmt::format("{} has no attribute {}", text_repr(object_name(object)), text_repr(name.text())));
  return make_undefined(fmt::format("{} has no element {}", object_name(object), repr(name)));
}

Value unsafe(const Value& object, std::string_view name) {
  return make_undefined(fmt::format("access to attribute {} of '{}' object is unsafe.", text_repr(name), type_name(object)),
                        "SecurityError");
}

}  // namespace

Value Renderer::evaluate(const Expression& expression) {
  const Depth depth(*this);
  budget_.step();
  switch (expression.kind) {
    case ExpressionKind::constant: return expression.constant;
    case ExpressionKind::name: return evaluate_name(expression);
    case ExpressionKind::tuple:
    case ExpressionKind::list:
    case ExpressionKind::dict: return evaluate_container(expression);
    case ExpressionKind::attribute: return attribute(evaluate(*expression.operands[0]), expression.text);
    case ExpressionKind::item: return evaluate_item(expression);
    case ExpressionKind::slice: raise("TypeError", "a slice is no value");
    case ExpressionKind::call: return evaluate_call(expression);
    case ExpressionKind::filter: return evaluate_filter(expression);
    case ExpressionKind::test: {
      const Value input = evaluate(*expression.operands[0]);
      Arguments arguments = evaluate_arguments(expression);
      return Value::boolean(test(expression.text, input, arguments));
    }
    case ExpressionKind::negate: return Value::boolean(!is_true(evaluate(*expression.operands[0])));
    case ExpressionKind::minus:
    case ExpressionKind::plus: return evaluate_sign(expression);
    case ExpressionKind::binary: {
      const Value left = evaluate(*expression.operands[0]);
      return binary(budget_, expression.text, left, evaluate(*expression.operands[1]));
    }
    case ExpressionKind::concat: return evaluate_concat(expression);
    case ExpressionKind::compare: return evaluate_compare(expression);
    case ExpressionKind::both: {
      Value left = evaluate(*expression.operands[0]);
      return is_true(left) ? evaluate(*expression.operands[1]) : left;
    }
    case ExpressionKind::either: {
      Value left = evaluate(*expression.operands[0]);
      return is_true(left) ? left : evaluate(*expression.operands[1]);
    }
    case ExpressionKind::conditional: return evaluate_conditional(expression);
  }
  return {};
}

Value Renderer::resolve(int symbol) {
  for (Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    if (const Value* value = scope->find(symbol)) return *value;
  }
  const std::optional<Value>& given = context_[static_cast<size_t>(symbol)];
  if (given) return *given;
  const std::string& name = tree_->symbols[static_cast<size_t>(symbol)];
  if (auto global = find_global(name)) return *global;
  if (dialect_ == Dialect::llama_cpp) {
    for (auto caller = callers_.rbegin(); caller != callers_.rend(); ++caller) {
      for (Scope* scope = caller->get(); scope != nullptr; scope = scope->parent.get()) {
        if (const Value* value = scope->find(symbol)) return *value;
      }
    }
  }
  if (name == "self") {
    auto blocks = std::make_shared<Dict>(&budget_);
    for (const auto& [block, statement] : tree_->blocks) {
      blocks->set(text(block), {Kind::callable, std::make_shared<BlockReference>(*statement)});
    }
    return make_dict(blocks);
  }
  return make_undefined(fmt::format("{} is undefined", text_repr(name)));
}

Value Renderer::evaluate_name(const Expression& expression) { return resolve(expression.symbol); }

Value Renderer::evaluate_container(const Expression& expression) {
  if (expression.kind == ExpressionKind::dict) {
    auto dict = std::make_shared<Dict>(&budget_);
    for (size_t index = 0; index < expression.operands.size(); index += 2) {
      const Value key = evaluate(*expression.operands[index]);
      dict->set(key, evaluate(*expression.operands[index + 1]));
    }
    return make_dict(dict);
  }
  Values items;
  for (const Expression* operand : expression.operands) items.push_back(evaluate(*operand));
  return expression.kind == ExpressionKind::tuple ? make_tuple(budget_, std::move(items)) : make_list(budget_, std::move(items));
}

Value Renderer::evaluate_item(const Expression& expression) {
  const Value object = evaluate(*expression.operands[0]);
  const Expression& key = *expression.operands[1];
  if (key.kind != ExpressionKind::slice) return item(object, evaluate(key));
  check_defined(object);
  std::optional<int64_t> bounds[3];
  for (size_t index = 0; index < 3; ++index) {
    const Value bound = key.operands[index] == nullptr ? Value() : evaluate(*key.operands[index]);
    if (bound.is(Kind::none)) continue;
    check_defined(bound);
    if (!bound.is_whole()) raise("TypeError", "slice indices must be integers or None or have an __index__ method");
    bounds[index] = bound.whole();
  }
  if (auto part = slice(budget_, object, {bounds[0], bounds[1], bounds[2]})) return *part;
  raise("TypeError",
        object.is(Kind::dict) ? "unhashable type: 'slice'" : fmt::format("'{}' object is not subscriptable", type_name(object)));
}

Value Renderer::attribute(const Value& object, const std::string& name) {
  if (object.is_undefined() && dialect_ == Dialect::llama_cpp) return object;
  check_defined(object);
  if (name.starts_with("__")) return unsafe(object, name);
  if (object.is(Kind::scope)) {
    const Value* value = object.scope().attributes.find(std::string_view(name));
    return value != nullptr ? *value : no_attribute(object, text(name));
  }
  if (object.is(Kind::loop)) {
    if (auto value = object.loop().attribute(name)) return *value;
    if (auto method = find_loop_method(object, name)) return *method;
    return no_attribute(object, text(name));
  }
  if (object.is(Kind::callable)) {
    if (auto value = object.callable().attribute(*this, name)) return *value;
    return no_attribute(object, text(name));
  }
  if (changes_its_object(object, name)) {
    if (dialect_ == Dialect::transformers) return unsafe(object, name);
    if (auto method = find_changing_method(*this, object, name)) return *method;
  }
  if (auto method = find_method(*this, object, name)) return *method;
  if (object.is(Kind::dict)) {
    if (const Value* value = object.dict().find(std::string_view(name))) return *value;
  }
  return no_attribute(object, text(name));
}

Value Renderer::item(const Value& object, const Value& key) {
  if (object.is_undefined() && dialect_ == Dialect::llama_cpp) return object;
  check_defined(object);
  if (auto value = find_item(budget_, object, key)) return *value;
  if (key.is_string() && !object.is(Kind::dict)) return attribute(object, key.text());
  if (key.is_string()) {
    if (changes_its_object(object, key.text()) && dialect_ == Dialect::transformers) return unsafe(object, key.text());
    if (auto method = find_method(*this, object, key.text())) return *method;
  }
  return no_attribute(object, key);
}

Value Renderer::evaluate_compare(const Expression& expression) {
  Value left = evaluate(*expression.operands[0]);
  for (size_t index = 0; index < expression.signs.size(); ++index) {
    Value right = evaluate(*expression.operands[index + 1]);
    if (!compares(expression.signs[index], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Renderer::evaluate_concat(const Expression& expression) {
  Values parts;
  for (const Expression* operand : expression.operands) parts.push_back(evaluate(*operand));
  std::string result;
  std::string storage;
  for (const Value& part : parts) {
    const std::string& piece = to_text(part, storage);
    budget_.check_size(result.size() + piece.size(), 1);
    result += piece;
  }
  return text(std::move(result));
}

Value Renderer::evaluate_conditional(const Expression& expression) {
  if (is_true(evaluate(*expression.operands[1]))) return evaluate(*expression.operands[0]);
  if (expression.operands[2] != nullptr) return evaluate(*expression.operands[2]);
  return make_undefined(
      fmt::format("the inline if-expression on line {} evaluated to false and no else section was defined.", expression.line));
}

Value Renderer::evaluate_sign(const Expression& expression) {
  const bool minus = expression.kind == ExpressionKind::minus;
  const Value value = evaluate(*expression.operands[0]);
  check_defined(value);
  if (value.is(Kind::real)) return Value::real(minus ? -value.number() : value.number());
  if (!value.is_whole()) raise("TypeError", fmt::format("bad operand type for unary {}: '{}'", minus ? '-' : '+', type_name(value)));
  return minus ? binary(budget_, "-", Value::integer(0), value) : Value::integer(value.whole());
}

Arguments Renderer::evaluate_arguments(const Expression& expression) {
  Arguments arguments;
  for (size_t index = 1; index < expression.operands.size(); ++index) arguments.positional.push_back(evaluate(*expression.operands[index]));
  if (expression.more_positional != nullptr) {
    for (Value& value : iterate(budget_, evaluate(*expression.more_positional))) arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, value] : expression.named) arguments.named.emplace_back(name, evaluate(*value));
  if (expression.more_named != nullptr) {
    const Value more = evaluate(*expression.more_named);
    if (!more.is(Kind::dict)) raise("TypeError", fmt::format("argument after ** must be a mapping, not {}", type_name(more)));
    for (const auto& [name, value] : more.dict().entries) {
      if (!name.is_string()) raise("TypeError", "keywords must be strings");
      arguments.named.emplace_back(name.text(), value);
    }
  }
  return arguments;
}

Value Renderer::evaluate_call(const Expression& expression, const Value* caller) {
  const Value callee = evaluate(*expression.operands[0]);
  Arguments arguments = evaluate_arguments(expression);
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  return call(callee, arguments);
}

Value Renderer::call(const Value& callee, Arguments& arguments) {
  budget_.step();
  check_defined(callee);
  if (callee.is(Kind::loop)) return callee.loop().recurse(arguments);
  if (!callee.is(Kind::callable)) raise("TypeError", fmt::format("'{}' object is not callable", type_name(callee)));
  // What is called may assign to the name that holds it.
  const std::shared_ptr<Object> keep = callee.object();  // NOLINT(performance-unnecessary-copy-initialization)
  return callee.callable().call(*this, arguments);
}

Value Renderer::filter(const std::string& name, const Value& input, Arguments& arguments) {
  budget_.step();
  FilterFunction function = find_text_filter(name);
  if (function == nullptr) function = find_sequence_filter(name);
  if (function == nullptr) raise("TemplateRuntimeError", fmt::format("No filter named {} found.", text_repr(name)));
  return function(*this, input, arguments);
}

Value Renderer::filtered(const Expression& expression, const Value& input) {
  const Value operand = expression.operands[0] == nullptr ? input : filtered(*expression.operands[0], input);
  Arguments arguments = evaluate_arguments(expression);
  return filter(expression.text, operand, arguments);
}

Value Renderer::evaluate_filter(const Expression& expression) {
  const Value input = evaluate(*expression.operands[0]);
  Arguments arguments = evaluate_arguments(expression);
  return filter(expression.text, input, arguments);
}

}  // namespace wick::jinja
