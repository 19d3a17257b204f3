#include "wick/text/jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "wick/text/jinja/expression_parser.h"
#include "wick/text/jinja/python_text.h"

namespace wick::jinja {
namespace {

using Names = std::vector<std::string>;

bool names(const Target& target, int symbol) {
  return target.symbol == symbol ||
         std::any_of(target.parts.begin(), target.parts.end(), [&](const Target& part) { return names(part, symbol); });
}

class TemplateParser : private ExpressionParser {
 public:
  TemplateParser(std::vector<Token> tokens, Tree& tree) : ExpressionParser(std::move(tokens), tree) {}

  void run() {
    tree_.body = parse_until({});
    if (!unknown_.empty()) throw unknown_.front();
  }

 private:
  Statement& add(StatementKind kind, int line) { return tree_.statements.emplace_back(Statement{.kind = kind, .line = line}); }
  Body parse_until(const Names& ends);
  // The body of a tag from the end of its beginning on. Its end stays unless it is the only one.
  Body parse_body(const Names& ends);
  const Statement* parse_statement();
  [[noreturn]] void fail_unknown(const std::string* name, const Names* ends);

  const Statement* parse_set();
  const Statement* parse_for();
  const Statement* parse_if();
  const Statement* parse_with();
  const Statement* parse_print();
  const Statement* parse_macro();
  const Statement* parse_call_block();
  const Statement* parse_filter_block();
  const Statement* parse_block();
  const Statement* parse_scope(const std::string& tag);
  const Statement* parse_loader(const std::string& tag);
  const Statement* parse_leave(StatementKind kind);
  void parse_signature(Signature& signature);
  Target parse_target(std::string_view until, bool namespaces);
  Target parse_one_target(bool namespaces);

  std::vector<std::string> tags_;  // that are open, the innermost last
  std::vector<Names> ends_;        // what their bodies may end with
  int loops_ = 0;                  // around, inside of the same macro
};

Body TemplateParser::parse_until(const Names& ends) {
  const Nesting nesting(*this);
  Body body;
  if (!ends.empty()) ends_.push_back(ends);
  for (;;) {
    switch (current().kind) {
      case TokenKind::end:
        if (!ends.empty()) ends_.pop_back();
        return body;
      case TokenKind::data: {
        Statement& text = add(StatementKind::text, current().line);
        text.text = take().text;
        body.push_back(&text);
        break;
      }
      case TokenKind::variable_begin: {
        take();
        const Expression* expression = parse_tuple(true);
        Statement& output = add(StatementKind::output, expression->line);
        output.expression = expression;
        body.push_back(&output);
        (void)expect(TokenKind::variable_end, "end of print statement");
        break;
      }
      default: {
        take();  // {%
        const bool ended = current().kind == TokenKind::name && std::find(ends.begin(), ends.end(), current().text) != ends.end();
        if (ended) {
          ends_.pop_back();
          return body;
        }
        if (const Statement* statement = parse_statement()) body.push_back(statement);
        (void)expect(TokenKind::block_end, "end of statement block");
      }
    }
  }
}

Body TemplateParser::parse_body(const Names& ends) {
  skip_sign(":");
  (void)expect(TokenKind::block_end, "end of statement block");
  Body body = parse_until(ends);
  if (current().kind == TokenKind::end) fail_unknown(nullptr, &ends);
  if (ends.size() == 1) take();
  return body;
}

// An unknown tag, or the end of the template where `ends` were expected.
void TemplateParser::fail_unknown(const std::string* name, const Names* ends) {
  std::string message = name == nullptr ? "Unexpected end of template." : fmt::format("Encountered unknown tag {}.", text_repr(*name));
  const Names* wanted = ends != nullptr ? ends : ends_.empty() ? nullptr : &ends_.back();
  if (wanted != nullptr) {
    std::string list;
    for (const std::string& end : *wanted) list += (list.empty() ? "" : " or ") + text_repr(end);
    const bool misplaced = name != nullptr && std::any_of(ends_.begin(), ends_.end(), [&](const Names& names) {
                             return std::find(names.begin(), names.end(), *name) != names.end();
                           });
    message += misplaced
                   ? fmt::format(" You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for {}.", list)
                   : fmt::format(" Jinja was looking for the following tags: {}.", list);
  }
  if (!tags_.empty()) message += fmt::format(" The innermost block that needs to be closed is {}.", text_repr(tags_.back()));
  fail(message);
}

const Statement* TemplateParser::parse_statement() {
  if (current().kind != TokenKind::name) fail("tag name expected");
  const std::string tag = current().text;
  using Method = const Statement* (TemplateParser::*)();
  static constexpr std::pair<std::string_view, Method> kTags[] = {
      {"set", &TemplateParser::parse_set},         {"for", &TemplateParser::parse_for},
      {"if", &TemplateParser::parse_if},           {"with", &TemplateParser::parse_with},
      {"print", &TemplateParser::parse_print},     {"macro", &TemplateParser::parse_macro},
      {"call", &TemplateParser::parse_call_block}, {"filter", &TemplateParser::parse_filter_block},
      {"block", &TemplateParser::parse_block},
  };
  tags_.push_back(tag);
  const Statement* result = nullptr;
  const auto known = std::find_if(std::begin(kTags), std::end(kTags), [&](const auto& entry) { return entry.first == tag; });
  if (known != std::end(kTags)) {
    result = (this->*known->second)();
  } else if (tag == "break" || tag == "continue") {
    result = parse_leave(tag == "break" ? StatementKind::leave : StatementKind::next);
  } else if (tag == "generation" || tag == "autoescape") {
    result = parse_scope(tag);
  } else if (tag == "include" || tag == "import" || tag == "from" || tag == "extends") {
    result = parse_loader(tag);
  } else {
    tags_.pop_back();
    fail_unknown(&tag, nullptr);
  }
  tags_.pop_back();
  return result;
}

// A name, an attribute of a namespace, or a tuple of them in parentheses.
Target TemplateParser::parse_one_target(bool namespaces) {
  const Nesting nesting(*this);
  Target target{.line = current().line};
  if (skip_sign("(")) {
    target = parse_target({}, namespaces);
    expect_sign(")");
    return target;
  }
  if (current().kind != TokenKind::name) {
    const TokenKind kind = current().kind;
    const bool constant = kind == TokenKind::string || kind == TokenKind::integer || kind == TokenKind::real;
    fail(constant ? "can't assign to 'const'" : fmt::format("unexpected {}", text_repr(describe(current()))));
  }
  const Token name = take();
  static constexpr std::string_view kConstants[] = {"true", "True", "false", "False", "none", "None"};
  if (std::find(std::begin(kConstants), std::end(kConstants), name.text) != std::end(kConstants))
    fail("can't assign to 'const'", name.line);
  target.symbol = tree_.intern(name.text);
  if (namespaces && skip_sign(".")) target.attribute = expect_name().text;
  return target;
}

Target TemplateParser::parse_target(std::string_view until, bool namespaces) {
  Target tuple{.line = current().line};
  for (;;) {
    if (!tuple.parts.empty()) expect_sign(",");
    if (current().kind == TokenKind::block_end || current().is_sign(")") || (!until.empty() && current().is_name(until))) break;
    tuple.parts.push_back(parse_one_target(namespaces));
    if (!current().is_sign(",")) break;
    tuple.is_tuple = true;
  }
  if (tuple.is_tuple) return tuple;
  if (tuple.parts.empty()) fail(fmt::format("Expected an expression, got {}", text_repr(describe(current()))));
  Target only = std::move(tuple.parts.front());
  return only;
}

const Statement* TemplateParser::parse_set() {
  const int line = take().line;
  Target target = parse_target({}, true);
  if (skip_sign("=")) {
    Statement& set = add(StatementKind::set, line);
    set.targets = {std::move(target)};
    set.expression = parse_tuple(true);
    return &set;
  }
  Statement& set = add(StatementKind::set_block, line);
  set.targets = {std::move(target)};
  if (current().is_sign("|")) set.filter = parse_filters(nullptr, false);
  const bool outer = std::exchange(may_not_run_, false);
  set.body = parse_body({"endset"});
  may_not_run_ = outer;
  return &set;
}

const Statement* TemplateParser::parse_for() {
  Statement& loop = add(StatementKind::loop, take().line);
  loop.targets = {parse_target("in", false)};
  const auto loop_name = tree_.symbol_of.find("loop");
  if (loop_name != tree_.symbol_of.end() && names(loop.targets.front(), loop_name->second)) {
    fail("Can't assign to special loop variable in for-loop target", loop.line);
  }
  if (!skip_name("in")) (void)expect(TokenKind::data, "in");
  loop.expression = parse_tuple(false, "recursive");
  const bool outer = std::exchange(may_not_run_, false);
  if (skip_name("if")) loop.filter = parse_expression();
  loop.recursive = skip_name("recursive");
  ++loops_;
  loop.body = parse_body({"endfor", "else"});
  --loops_;
  if (take().text == "else") loop.otherwise = parse_body({"endfor"});
  may_not_run_ = outer;
  return &loop;
}

const Statement* TemplateParser::parse_if() {
  Statement& condition = add(StatementKind::condition, take().line);
  const bool outer = std::exchange(may_not_run_, true);
  int line = condition.line;
  for (;;) {
    const Expression* test = parse_tuple(false);
    Body body = parse_body({"elif", "else", "endif"});
    condition.branches.push_back({.line = line, .test = test, .body = std::move(body)});
    const std::string end = take().text;
    line = current().line;
    if (end == "elif") continue;
    if (end == "else") condition.otherwise = parse_body({"endif"});
    break;
  }
  may_not_run_ = outer;
  return &condition;
}

const Statement* TemplateParser::parse_with() {
  Statement& with = add(StatementKind::with, take().line);
  while (current().kind != TokenKind::block_end) {
    if (!with.targets.empty()) expect_sign(",");
    with.targets.push_back(parse_one_target(false));
    expect_sign("=");
    with.values.push_back(parse_expression());
  }
  const bool outer = std::exchange(may_not_run_, false);
  with.body = parse_body({"endwith"});
  may_not_run_ = outer;
  return &with;
}

const Statement* TemplateParser::parse_print() {
  const int line = take().line;
  Statement& scope = add(StatementKind::condition, line);  // without a test: its body always
  while (current().kind != TokenKind::block_end) {
    if (!scope.otherwise.empty()) expect_sign(",");
    Statement& output = add(StatementKind::output, line);
    output.expression = parse_expression();
    scope.otherwise.push_back(&output);
  }
  return &scope;
}

void TemplateParser::parse_signature(Signature& signature) {
  expect_sign("(");
  while (!current().is_sign(")")) {
    if (!signature.names.empty()) expect_sign(",");
    const std::string name = expect_name().text;
    signature.names.push_back(name);
    signature.symbols.push_back(tree_.intern(name));
    if (skip_sign("=")) {
      signature.defaults.push_back(parse_expression());
    } else if (!signature.defaults.empty()) {
      fail("non-default argument follows default argument");
    }
  }
  expect_sign(")");
}

const Statement* TemplateParser::parse_macro() {
  Statement& macro = add(StatementKind::macro, take().line);
  macro.text = expect_name().text;
  macro.symbol = tree_.intern(macro.text);
  const bool outer = std::exchange(may_not_run_, false);
  const int loops = std::exchange(loops_, 0);
  macros_.push_back(&macro.signature);
  parse_signature(macro.signature);
  macro.body = parse_body({"endmacro"});
  macros_.pop_back();
  loops_ = loops;
  may_not_run_ = outer;
  return &macro;
}

const Statement* TemplateParser::parse_call_block() {
  Statement& block = add(StatementKind::call_block, take().line);
  if (current().is_sign("(")) parse_signature(block.signature);
  const int line = current().line;
  block.expression = parse_expression();
  if (block.expression->kind != ExpressionKind::call) fail("expected call", line);
  const bool outer = std::exchange(may_not_run_, false);
  const int loops = std::exchange(loops_, 0);
  macros_.push_back(&block.signature);
  block.body = parse_body({"endcall"});
  macros_.pop_back();
  loops_ = loops;
  may_not_run_ = outer;
  return &block;
}

const Statement* TemplateParser::parse_filter_block() {
  Statement& block = add(StatementKind::filter_block, take().line);
  block.filter = parse_filters(nullptr, true);
  const bool outer = std::exchange(may_not_run_, false);
  block.body = parse_body({"endfilter"});
  may_not_run_ = outer;
  return &block;
}

const Statement* TemplateParser::parse_block() {
  Statement& block = add(StatementKind::block, take().line);
  block.text = expect_name().text;
  if (!tree_.blocks.emplace(block.text, &block).second) fail(fmt::format("block {} defined twice", text_repr(block.text)), block.line);
  skip_name("scoped");
  skip_name("required");
  if (current().is_sign("-")) {
    fail("Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore instead.");
  }
  const bool outer = std::exchange(may_not_run_, false);
  const int loops = std::exchange(loops_, 0);
  block.body = parse_body({"endblock"});
  loops_ = loops;
  may_not_run_ = outer;
  skip_name(block.text);
  return &block;
}

// transformers marks what the assistant says with {% generation %}; autoescape changes nothing in a text that is no HTML.
const Statement* TemplateParser::parse_scope(const std::string& tag) {
  Statement& scope = add(StatementKind::scope, take().line);
  if (tag == "autoescape") (void)parse_expression();
  const bool outer = std::exchange(may_not_run_, false);
  const int loops = tag == "generation" ? std::exchange(loops_, 0) : loops_;
  scope.body = parse_body({"end" + tag});
  loops_ = loops;
  may_not_run_ = outer;
  return &scope;
}

const Statement* TemplateParser::parse_loader(const std::string& tag) {
  Statement& loader = add(StatementKind::missing_loader, take().line);
  loader.text = tag;
  while (current().kind != TokenKind::block_end && current().kind != TokenKind::end) take();
  return &loader;
}

const Statement* TemplateParser::parse_leave(StatementKind kind) {
  const Token tag = take();
  if (loops_ == 0) fail(kind == StatementKind::leave ? "'break' outside loop" : "'continue' not properly in loop", tag.line);
  return &add(kind, tag.line);
}

}  // namespace

std::shared_ptr<const Tree> parse_template(std::string_view source) {
  auto tree = std::make_shared<Tree>();
  TemplateParser(tokenize(source), *tree).run();
  return tree;
}

}  // namespace wick::jinja
