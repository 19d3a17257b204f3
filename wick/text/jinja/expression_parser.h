// The half of the parser that reads expressions; precedence and refusals are jinja2's.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/jinja/lexer.h"
#include "wick/text/jinja/syntax_tree.h"

namespace wick::jinja {

class ExpressionParser {
 protected:
  ExpressionParser(std::vector<Token> tokens, Tree& tree) : tokens_(std::move(tokens)), tree_(tree) {}

  // Nesting depth of the parser; a text that nests deeper is refused before the stack overflows.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kDeepest) parser_.fail("the template nests too deeply");
    }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    static constexpr int kDeepest = 200;
    ExpressionParser& parser_;
  };

  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  bool skip_name(std::string_view name);
  bool skip_sign(std::string_view sign);
  Token expect(TokenKind kind, std::string_view described);
  Token expect_name() { return expect(TokenKind::name, "name"); }
  void expect_sign(std::string_view sign);
  [[noreturn]] void fail(std::string message) const { fail(std::move(message), current().line); }
  [[noreturn]] void fail(std::string message, int line) const { throw SyntaxError{std::move(message), line}; }

  // A tuple, or one expression. `until`: a name that ends it.
  const Expression* parse_tuple(bool conditional, std::string_view until = {}, bool in_parentheses = false);
  const Expression* parse_expression() { return parse_conditional(); }
  // One or more filters with their pipes. `begins_with_name`: the first without its pipe.
  const Expression* parse_filters(const Expression* operand, bool begins_with_name);

  // Whether what is parsed now may never run: then an unknown filter or test is an error only when it does.
  bool may_not_run_ = false;
  // Filters and tests that there are not; the first of them is the template's error unless it turns out that it may not run.
  std::vector<SyntaxError> unknown_;
  // The signatures of the macros around, which learn whether their bodies use caller, varargs and kwargs.
  std::vector<Signature*> macros_;

 private:
  Expression& add(ExpressionKind kind, int line) { return tree_.expressions.emplace_back(Expression{.kind = kind, .line = line}); }
  const Expression* parse_conditional();
  template <class Operand, class TakeOperator>
  const Expression* parse_from_left(ExpressionKind kind, const Operand& parse_operand, const TakeOperator& take_operator);
  const Expression* parse_or();
  const Expression* parse_and();
  const Expression* parse_not();
  const Expression* parse_compare();
  [[nodiscard]] std::string take_sign(std::initializer_list<std::string_view> signs);
  [[nodiscard]] std::string compare_sign();
  const Expression* parse_sum();
  const Expression* parse_concat();
  const Expression* parse_product();
  const Expression* parse_power();
  const Expression* parse_unary(bool with_filters = true);
  const Expression* parse_primary();
  const Expression* parse_number();
  const Expression* parse_name();
  const Expression* parse_list();
  const Expression* parse_dict();
  const Expression* parse_postfix(const Expression* operand);
  const Expression* parse_filter_chain(const Expression* operand);
  const Expression* parse_subscript(const Expression* operand);
  const Expression* parse_subscribed();
  const Expression* parse_call(const Expression* operand);
  void parse_arguments(Expression& call);
  const Expression* parse_test(const Expression* operand);
  std::string parse_dotted_name();

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;

 protected:
  Tree& tree_;
};

}  // namespace wick::jinja
