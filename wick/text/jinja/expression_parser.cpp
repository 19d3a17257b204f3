#include "wick/text/jinja/expression_parser.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "wick/text/jinja/python_text.h"
#include "wick/text/jinja/renderer.h"

namespace wick::jinja {

bool ExpressionParser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  take();
  return true;
}

bool ExpressionParser::skip_sign(std::string_view sign) {
  if (!current().is_sign(sign)) return false;
  take();
  return true;
}

Token ExpressionParser::expect(TokenKind kind, std::string_view described) {
  if (current().kind == kind) return take();
  if (current().kind == TokenKind::end) fail(fmt::format("unexpected end of template, expected '{}'.", described));
  fail(fmt::format("expected token '{}', got {}", described, text_repr(describe(current()))));
}

void ExpressionParser::expect_sign(std::string_view sign) {
  if (skip_sign(sign)) return;
  (void)expect(TokenKind::data, sign);
}

const Expression* ExpressionParser::parse_tuple(bool conditional, std::string_view until, bool in_parentheses) {
  const Nesting nesting(*this);
  const int line = current().line;
  std::vector<const Expression*> parts;
  bool is_tuple = false;
  const auto ends = [&] {
    const TokenKind kind = current().kind;
    return kind == TokenKind::variable_end || kind == TokenKind::block_end || current().is_sign(")") ||
           (!until.empty() && current().is_name(until));
  };
  for (;;) {
    if (!parts.empty()) expect_sign(",");
    if (ends()) break;
    parts.push_back(conditional ? parse_conditional() : parse_or());
    if (!current().is_sign(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!parts.empty()) return parts.front();
    if (!in_parentheses) fail(fmt::format("Expected an expression, got {}", text_repr(describe(current()))));
  }
  Expression& tuple = add(ExpressionKind::tuple, line);
  tuple.operands = std::move(parts);
  return &tuple;
}

const Expression* ExpressionParser::parse_conditional() {
  const Nesting nesting(*this);
  int line = current().line;
  const bool outer = may_not_run_;
  const size_t unknown = unknown_.size();
  const Expression* value = parse_or();
  while (skip_name("if")) {
    unknown_.resize(unknown);
    may_not_run_ = true;
    Expression& whole = add(ExpressionKind::conditional, line);
    const Expression* test = parse_or();
    const Expression* otherwise = skip_name("else") ? parse_conditional() : nullptr;
    whole.operands = {value, test, otherwise};
    value = &whole;
    line = current().line;
    may_not_run_ = outer;
  }
  return value;
}

// operand (operator operand)*, grouped from the left. `take_operator` takes an operator and returns its text, or returns nothing.
template <class Operand, class TakeOperator>
const Expression* ExpressionParser::parse_from_left(ExpressionKind kind, const Operand& parse_operand, const TakeOperator& take_operator) {
  int line = current().line;
  const Expression* left = parse_operand();
  for (std::string sign = take_operator(); !sign.empty(); sign = take_operator()) {
    const Expression* right = parse_operand();
    Expression& node = add(kind, line);
    if (kind == ExpressionKind::binary) node.text = std::move(sign);
    node.operands = {left, right};
    left = &node;
    line = current().line;
  }
  return left;
}

const Expression* ExpressionParser::parse_or() {
  return parse_from_left(
      ExpressionKind::either, [this] { return parse_and(); }, [this] { return std::string(skip_name("or") ? "or" : ""); });
}

const Expression* ExpressionParser::parse_and() {
  return parse_from_left(
      ExpressionKind::both, [this] { return parse_not(); }, [this] { return std::string(skip_name("and") ? "and" : ""); });
}

const Expression* ExpressionParser::parse_not() {
  if (!current().is_name("not")) return parse_compare();
  const Nesting nesting(*this);
  const int line = take().line;
  const Expression* operand = parse_not();
  Expression& node = add(ExpressionKind::negate, line);
  node.operands = {operand};
  return &node;
}

// The one of these signs that comes next, which it takes; empty where none does.
std::string ExpressionParser::take_sign(std::initializer_list<std::string_view> signs) {
  for (const std::string_view sign : signs) {
    if (skip_sign(sign)) return std::string(sign);
  }
  return {};
}

// The sign of a comparison, which it takes; empty where there is none.
std::string ExpressionParser::compare_sign() {
  if (std::string sign = take_sign({"==", "!=", "<=", ">=", "<", ">"}); !sign.empty()) return sign;
  if (skip_name("in")) return "in";
  if (current().is_name("not") && ahead().is_name("in")) {
    take();
    take();
    return "not in";
  }
  return {};
}

const Expression* ExpressionParser::parse_compare() {
  int line = current().line;
  const Expression* first = parse_sum();
  std::vector<const Expression*> operands = {first};
  std::vector<std::string> signs;
  for (std::string sign = compare_sign(); !sign.empty(); sign = compare_sign()) {
    signs.push_back(std::move(sign));
    operands.push_back(parse_sum());
    line = current().line;
  }
  if (signs.empty()) return first;
  Expression& node = add(ExpressionKind::compare, line);
  node.operands = std::move(operands);
  node.signs = std::move(signs);
  return &node;
}

const Expression* ExpressionParser::parse_sum() {
  return parse_from_left(ExpressionKind::binary, [this] { return parse_concat(); }, [this] { return take_sign({"+", "-"}); });
}

const Expression* ExpressionParser::parse_concat() {
  const int line = current().line;
  const Expression* first = parse_product();
  if (!current().is_sign("~")) return first;
  std::vector<const Expression*> parts = {first};
  while (skip_sign("~")) parts.push_back(parse_product());
  Expression& node = add(ExpressionKind::concat, line);
  node.operands = std::move(parts);
  return &node;
}

const Expression* ExpressionParser::parse_product() {
  return parse_from_left(ExpressionKind::binary, [this] { return parse_power(); }, [this] { return take_sign({"*", "/", "//", "%"}); });
}

const Expression* ExpressionParser::parse_power() {
  return parse_from_left(ExpressionKind::binary, [this] { return parse_unary(); }, [this] { return take_sign({"**"}); });
}

const Expression* ExpressionParser::parse_unary(bool with_filters) {
  const Nesting nesting(*this);
  const int line = current().line;
  const Expression* node = nullptr;
  if (current().is_sign("-") || current().is_sign("+")) {
    const bool minus = take().text == "-";
    const Expression* operand = parse_unary(false);
    Expression& sign = add(minus ? ExpressionKind::minus : ExpressionKind::plus, line);
    sign.operands = {operand};
    node = &sign;
  } else {
    node = parse_primary();
  }
  node = parse_postfix(node);
  return with_filters ? parse_filter_chain(node) : node;
}

const Expression* ExpressionParser::parse_number() {
  const Token token = take();
  Expression& node = add(ExpressionKind::constant, token.line);
  if (token.kind == TokenKind::real) {
    node.constant = Value::real(std::strtod(token.text.c_str(), nullptr));
    return &node;
  }
  std::string_view digits = token.text;
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    const char mark = static_cast<char>(digits[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    if (base != 10) digits.remove_prefix(2);
  }
  int64_t number = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number, base).ec != std::errc()) {
    fail(fmt::format("the number {} does not fit into 64 bits", token.text), token.line);
  }
  node.constant = Value::integer(number);
  return &node;
}

const Expression* ExpressionParser::parse_name() {
  const Token token = take();
  const auto constant = [&](Value value) {
    Expression& node = add(ExpressionKind::constant, token.line);
    node.constant = std::move(value);
    return &node;
  };
  if (token.text == "true" || token.text == "True") return constant(Value::boolean(true));
  if (token.text == "false" || token.text == "False") return constant(Value::boolean(false));
  if (token.text == "none" || token.text == "None") return constant({});
  for (Signature* macro : macros_) {
    macro->takes_caller |= token.text == "caller";
    macro->takes_more_positional |= token.text == "varargs";
    macro->takes_more_named |= token.text == "kwargs";
  }
  Expression& node = add(ExpressionKind::name, token.line);
  node.text = token.text;
  node.symbol = tree_.intern(token.text);
  return &node;
}

const Expression* ExpressionParser::parse_primary() {
  const Token& token = current();
  switch (token.kind) {
    case TokenKind::name: return parse_name();
    case TokenKind::integer:
    case TokenKind::real: return parse_number();
    case TokenKind::string: {
      const int line = token.line;
      std::string text;
      while (current().kind == TokenKind::string) text += take().text;
      Expression& node = add(ExpressionKind::constant, line);
      node.constant = make_constant(std::move(text));
      return &node;
    }
    default: break;
  }
  if (token.is_sign("[")) return parse_list();
  if (token.is_sign("{")) return parse_dict();
  if (!token.is_sign("(")) fail(fmt::format("unexpected {}", text_repr(describe(token))));
  take();
  const Expression* node = parse_tuple(true, {}, true);
  expect_sign(")");
  return node;
}

const Expression* ExpressionParser::parse_list() {
  Expression& list = add(ExpressionKind::list, take().line);
  while (!current().is_sign("]")) {
    if (!list.operands.empty()) expect_sign(",");
    if (current().is_sign("]")) break;
    const Expression* item = parse_expression();
    list.operands.push_back(item);
  }
  take();
  return &list;
}

const Expression* ExpressionParser::parse_dict() {
  Expression& dict = add(ExpressionKind::dict, take().line);
  while (!current().is_sign("}")) {
    if (!dict.operands.empty()) expect_sign(",");
    if (current().is_sign("}")) break;
    const Expression* key = parse_expression();
    expect_sign(":");
    const Expression* value = parse_expression();
    dict.operands.push_back(key);
    dict.operands.push_back(value);
  }
  take();
  return &dict;
}

const Expression* ExpressionParser::parse_postfix(const Expression* operand) {
  for (;;) {
    if (current().is_sign(".") || current().is_sign("[")) {
      operand = parse_subscript(operand);
    } else if (current().is_sign("(")) {
      operand = parse_call(operand);
    } else {
      return operand;
    }
  }
}

const Expression* ExpressionParser::parse_filter_chain(const Expression* operand) {
  for (;;) {
    if (current().is_sign("|")) {
      operand = parse_filters(operand, false);
    } else if (current().is_name("is")) {
      operand = parse_test(operand);
    } else if (current().is_sign("(")) {
      // What follows a filter or a test may be called, as jinja2 has it.
      operand = parse_call(operand);
    } else {
      return operand;
    }
  }
}

const Expression* ExpressionParser::parse_subscript(const Expression* operand) {
  const Token token = take();
  if (token.text == "[") {
    std::vector<const Expression*> keys;
    while (!current().is_sign("]")) {
      if (!keys.empty()) expect_sign(",");
      const Expression* key = parse_subscribed();
      keys.push_back(key);
    }
    take();
    const Expression* key = keys.size() == 1 ? keys.front() : nullptr;
    if (key == nullptr) {
      Expression& tuple = add(ExpressionKind::tuple, token.line);
      tuple.operands = std::move(keys);
      key = &tuple;
    }
    Expression& node = add(ExpressionKind::item, token.line);
    node.operands = {operand, key};
    return &node;
  }
  if (current().kind == TokenKind::name) {
    Expression& node = add(ExpressionKind::attribute, token.line);
    node.text = take().text;
    node.operands = {operand};
    return &node;
  }
  if (current().kind != TokenKind::integer) fail("expected name or number");
  const Expression* key = parse_number();
  Expression& node = add(ExpressionKind::item, token.line);
  node.operands = {operand, key};
  return &node;
}

// An index or a slice.
const Expression* ExpressionParser::parse_subscribed() {
  const Nesting nesting(*this);
  const int line = current().line;
  const Expression* first = nullptr;
  if (!current().is_sign(":")) {
    first = parse_expression();
    if (!current().is_sign(":")) return first;
  }
  take();
  const auto part = [&]() -> const Expression* {
    if (current().is_sign(":") || current().is_sign("]") || current().is_sign(",")) return nullptr;
    return parse_expression();
  };
  const Expression* second = part();
  const Expression* third = skip_sign(":") ? part() : nullptr;
  Expression& slice = add(ExpressionKind::slice, line);
  slice.operands = {first, second, third};
  return &slice;
}

const Expression* ExpressionParser::parse_call(const Expression* operand) {
  Expression& call = add(ExpressionKind::call, current().line);
  call.operands = {operand};
  parse_arguments(call);
  return &call;
}

// Appends to the operands; the first of them is what is called, filtered or tested.
void ExpressionParser::parse_arguments(Expression& call) {
  const Nesting nesting(*this);
  const int line = current().line;
  expect_sign("(");
  const auto ensure = [&](bool truth) {
    if (!truth) fail("invalid syntax for function call expression", line);
  };
  for (bool first = true; !current().is_sign(")"); first = false) {
    if (!first) {
      expect_sign(",");
      if (current().is_sign(")")) break;
    }
    if (skip_sign("*")) {
      ensure(call.more_positional == nullptr && call.more_named == nullptr);
      call.more_positional = parse_expression();
    } else if (skip_sign("**")) {
      ensure(call.more_named == nullptr);
      call.more_named = parse_expression();
    } else if (current().kind == TokenKind::name && ahead().is_sign("=")) {
      ensure(call.more_named == nullptr);
      const std::string name = take().text;
      take();
      const Expression* value = parse_expression();
      call.named.emplace_back(name, value);
    } else {
      ensure(call.more_positional == nullptr && call.more_named == nullptr && call.named.empty());
      const Expression* value = parse_expression();
      call.operands.push_back(value);
    }
  }
  expect_sign(")");
}

std::string ExpressionParser::parse_dotted_name() {
  std::string name = expect_name().text;
  while (skip_sign(".")) name += "." + expect_name().text;
  return name;
}

const Expression* ExpressionParser::parse_filters(const Expression* operand, bool begins_with_name) {
  while (begins_with_name || current().is_sign("|")) {
    if (!begins_with_name) take();
    begins_with_name = false;
    Expression& filter = add(ExpressionKind::filter, current().line);
    filter.operands = {operand};
    filter.text = parse_dotted_name();
    if (!may_not_run_ && !is_filter(filter.text)) {
      unknown_.push_back({fmt::format("No filter named {}.", text_repr(filter.text)), filter.line});
    }
    if (current().is_sign("(")) parse_arguments(filter);
    operand = &filter;
  }
  return operand;
}

const Expression* ExpressionParser::parse_test(const Expression* operand) {
  const int line = take().line;
  const bool negated = skip_name("not");
  Expression& test = add(ExpressionKind::test, line);
  test.operands = {operand};
  test.text = parse_dotted_name();
  if (!may_not_run_ && !is_test(test.text)) unknown_.push_back({fmt::format("No test named {}.", text_repr(test.text)), line});
  const TokenKind kind = current().kind;
  const bool begins_value = kind == TokenKind::name || kind == TokenKind::string || kind == TokenKind::integer || kind == TokenKind::real ||
                            current().is_sign("[") || current().is_sign("{");
  const bool goes_on = current().is_name("else") || current().is_name("or") || current().is_name("and");
  if (current().is_sign("(")) {
    parse_arguments(test);
  } else if (begins_value && !goes_on) {
    if (current().is_name("is")) fail("You cannot chain multiple tests with is");
    const Expression* argument = parse_postfix(parse_primary());
    test.operands.push_back(argument);
  }
  if (!negated) return &test;
  Expression& node = add(ExpressionKind::negate, line);
  node.operands = {&test};
  return &node;
}

}  // namespace wick::jinja
