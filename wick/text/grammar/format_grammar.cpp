#include "wick/text/grammar/format_grammar.h"

#include <memory>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/utf8.h"
#include "wick/text/grammar/dfa.h"
#include "wick/text/grammar/json_text.h"
#include "wick/text/grammar/nfa.h"

namespace wick {
namespace {

constexpr int kDeepestParts = 32;

// Texts that hold none of these. One after another: all at once they would be far more states on the way.
Dfa texts_without(const std::vector<std::string>& forbidden, std::string_view place) {
  Grammar scratch;
  const ExpressionId any = scratch.repeat(scratch.characters(CodePointSet::all()), 0, kUnlimited);
  Dfa dfa = regular_dfa(scratch, any, place);
  for (const std::string& text : forbidden) {
    if (text.empty()) fail(ErrorCode::invalid_argument, "{}: an empty text is in every text", place);
    const ExpressionId holding = scratch.sequence({any, scratch.literal(text), any});
    dfa = subtract(dfa, regular_dfa(scratch, holding, place), place);
  }
  return dfa;
}

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
      case OutputFormat::Kind::repeated: return read_repeated(read_parts(format, depth));
      case OutputFormat::Kind::marked: return read_marked(format.text);
      case OutputFormat::Kind::free_text: return read_free_text(format.choices);
      case OutputFormat::Kind::bare_string: return read_bare_string(format.text, format.choices, json, grammar_);
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

  ExpressionId read_repeated(const std::vector<ExpressionId>& parts) {
    if (parts.empty() || parts.size() > 2) {
      fail(ErrorCode::invalid_argument, "repeated: {} parts; it takes what is repeated, and what stands between", parts.size());
    }
    const ExpressionId next = parts.size() == 1 ? parts[0] : grammar_.sequence({parts[1], parts[0]});
    return grammar_.sequence({parts[0], grammar_.repeat(next, 0, kUnlimited)});
  }

  // "<tool_call>\n" is the token <tool_call> and a line break, where there is such a token.
  ExpressionId read_marked(std::string_view text) {
    std::vector<ExpressionId> parts;
    size_t plain = 0;  // where what is no token begins
    for (size_t begin = 0; begin < text.size(); ++begin) {
      if (text[begin] != '<' && text[begin] != '[') continue;
      const size_t end = text.find(text[begin] == '<' ? '>' : ']', begin);
      if (end == std::string_view::npos) continue;
      const std::optional<TokenId> token = find_token_(text.substr(begin, end + 1 - begin));
      if (!token) continue;
      parts.push_back(grammar_.literal(text.substr(plain, begin - plain)));
      parts.push_back(grammar_.token(*token));
      begin = end;
      plain = end + 1;
    }
    parts.push_back(grammar_.literal(text.substr(plain)));
    return grammar_.sequence(std::move(parts));
  }

  ExpressionId read_free_text(const std::vector<std::string>& forbidden) {
    return grammar_.dfa(std::make_shared<Dfa>(texts_without(forbidden, "free text")));
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

ExpressionId read_bare_string(std::string_view schema, const std::vector<std::string>& marks, const JsonOptions& options,
                              Grammar& grammar) {
  constexpr std::string_view kPlace = "a string without quotes";
  JsonOptions bare = options;
  bare.bare_strings = true;
  Grammar strings;
  const ExpressionId fitting = read_json_schema(schema, bare, strings);
  Dfa dfa = intersect(texts_without(marks, kPlace), regular_dfa(strings, fitting, kPlace), kPlace);
  return dfa.empty() ? grammar.never() : grammar.dfa(std::make_shared<Dfa>(std::move(dfa)));
}

ExpressionId any_json_object(const JsonOptions& options, Grammar& grammar) { return JsonRules(grammar, options.whitespace).object(); }

}  // namespace wick
