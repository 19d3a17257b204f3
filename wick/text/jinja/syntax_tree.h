// The tree of a template: expressions and statements, which point into a Tree that owns them all.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wick/text/jinja/value.h"

namespace wick::jinja {

enum class ExpressionKind : uint8_t {
  constant,
  name,
  tuple,
  list,
  dict,         // operands: key, value, key, value …
  attribute,    // operands[0].text
  item,         // operands[0][operands[1]]
  slice,        // only as operands[1] of an item: begin, end, step; none is null
  call,         // operands[0](operands[1] …)
  filter,       // operands[0] | text(operands[1] …); the operand of a {% filter %} is null
  test,         // operands[0] is text(operands[1] …)
  negate,       // not
  minus,        // -
  plus,         // +
  binary,       // text: + - * / // % **
  concat,       // ~
  compare,      // operands[0] signs[0] operands[1] signs[1] …
  both,         // and
  either,       // or
  conditional,  // operands: value, test, otherwise (may be null)
};

struct Expression {
  ExpressionKind kind = ExpressionKind::constant;
  int line = 1;
  std::string text = {};
  int symbol = -1;  // of a name
  Value constant = {};
  std::vector<const Expression*> operands = {};
  std::vector<std::string> signs = {};
  std::vector<std::pair<std::string, const Expression*>> named = {};  // arguments
  const Expression* more_positional = nullptr;                        // *x
  const Expression* more_named = nullptr;                             // **x
};

// The target of an assignment: a name, an attribute of a namespace, or several targets.
struct Target {
  int line = 1;
  int symbol = -1;
  std::string attribute = {};
  bool is_tuple = false;
  std::vector<Target> parts = {};
};

enum class StatementKind : uint8_t {
  text,
  output,  // expression
  set,
  set_block,
  condition,
  loop,
  macro,
  call_block,
  filter_block,
  with,
  block,
  scope,           // {% generation %}, {% autoescape %}
  leave,           // {% break %}
  next,            // {% continue %}
  missing_loader,  // {% include %} and its like: there are no other templates
};

struct Statement;
using Body = std::vector<const Statement*>;

struct Branch {
  int line = 1;
  const Expression* test = nullptr;
  Body body = {};
};

// The parameters of a macro or a call block.
struct Signature {
  std::vector<std::string> names = {};
  std::vector<int> symbols = {};
  std::vector<const Expression*> defaults = {};  // of the last parameters
  bool takes_caller = false, takes_more_positional = false, takes_more_named = false;
};

struct Statement {
  StatementKind kind = StatementKind::text;
  int line = 1;
  std::string text = {};  // of a text; the name of a macro or a block
  int symbol = -1;        // of a macro's name
  const Expression* expression = nullptr;
  const Expression* filter = nullptr;  // of a loop: its if; of a set block and a filter block: the filters
  bool recursive = false;
  std::vector<Target> targets = {};
  std::vector<const Expression*> values = {};  // of with
  std::vector<Branch> branches = {};
  Signature signature = {};
  Body body = {};
  Body otherwise = {};
};

struct Tree {
  std::deque<Expression> expressions;
  std::deque<Statement> statements;
  std::vector<std::string> symbols;
  std::unordered_map<std::string, int> symbol_of;
  std::unordered_map<std::string, const Statement*> blocks;
  Body body;

  int intern(const std::string& name) {
    const auto [entry, is_new] = symbol_of.emplace(name, static_cast<int>(symbols.size()));
    if (is_new) symbols.push_back(name);
    return entry->second;
  }
};

}  // namespace wick::jinja
