#include "wick/text/grammar/format_grammar.h"

#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/utf8.h"
#include "wick/text/grammar/json_text.h"

namespace wick {
namespace {

constexpr int kDeepestParts = 32;

class FormatReader {
 public:
  FormatReader(const FindToken& find_token, int32_t vocab_size, Grammar& grammar)
      : find_token_(find_token), vocab_size_(vocab_size), grammar_(grammar) {}

  ExpressionId read(const OutputFormat& format, int depth) {
    if (depth > kDeepestParts) fail(ErrorCode::invalid_argument, "format: parts are nested more than {} deep", kDeepestParts);
    const JsonOptions json{.any_spelling = format.any_spelling, .whitespace = format.whitespace, .enforce_formats = format.enforce_formats};
    switch (format.kind) {
      case OutputFormat::Kind::json: return any_json_object(json, grammar_);
      case OutputFormat::Kind::json_schema: return read_json_schema(format.text, json, grammar_);
      case OutputFormat::Kind::regex: return read_regex(format.text, RegexMatch::whole, RegexSpelling::utf8, "regex", grammar_);
      case OutputFormat::Kind::grammar: return read_gbnf(format.text, find_token_, vocab_size_, grammar_);
      case OutputFormat::Kind::choices: return read_choices(format.choices);
      case OutputFormat::Kind::literal: return grammar_.literal(format.text);
      case OutputFormat::Kind::sequence: return grammar_.sequence(read_parts(format, depth));
      case OutputFormat::Kind::any_of: return grammar_.choice(read_parts(format, depth));
    }
    return grammar_.never();
  }

 private:
  ExpressionId read_choices(const std::vector<std::string>& choices) {
    if (choices.empty()) fail(ErrorCode::invalid_argument, "choices: the list is empty; give at least one");
    std::vector<ExpressionId> literals;
    for (const std::string& choice : choices) {
      if (!is_valid_utf8(choice)) fail(ErrorCode::invalid_argument, "choices: number {} is not valid UTF-8", literals.size());
      literals.push_back(grammar_.literal(choice));
    }
    return grammar_.choice(std::move(literals));
  }

  std::vector<ExpressionId> read_parts(const OutputFormat& format, int depth) {
    std::vector<ExpressionId> parts;
    for (const OutputFormat& part : format.parts) parts.push_back(read(part, depth + 1));
    return parts;
  }

  const FindToken& find_token_;
  int32_t vocab_size_;
  Grammar& grammar_;
};

}  // namespace

Automaton compile_format(const OutputFormat& format, const FindToken& find_token, int32_t vocab_size) {
  Grammar grammar;
  const ExpressionId root = FormatReader(find_token, vocab_size, grammar).read(format, 0);
  return Automaton(std::move(grammar), root);
}

ExpressionId any_json_object(const JsonOptions& options, Grammar& grammar) { return JsonRules(grammar, options.whitespace).object(); }

}  // namespace wick
