#include "wick/text/grammar/format_grammar.h"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
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
// A choice of so many parts, the calls of many tools, is a rule: it comes several times in an answer's format.
constexpr size_t kManyParts = 24;

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
  FormatReader(const FindToken& find_token, const FindToken& find_mark, int32_t vocab_size, Grammar& grammar)
      : find_token_(find_token), find_mark_(find_mark), vocab_size_(vocab_size), grammar_(grammar) {}

  ExpressionId read(const OutputFormat& format, int depth) {
    if (depth > kDeepestParts) fail(ErrorCode::invalid_argument, "format: parts are nested more than {} deep", kDeepestParts);
    const JsonOptions json{.any_spelling = format.any_spelling,
                           .any_order = format.any_order || format.any_spelling,
                           .whitespace = format.whitespace,
                           .enforce_formats = format.enforce_formats};
    switch (format.kind) {
      case OutputFormat::Kind::json: return any_json_object(json, grammar_);
      case OutputFormat::Kind::json_schema: return once(format, [&] { return read_json_schema(format.text, json, grammar_); });
      case OutputFormat::Kind::regex: return read_regex(format.text, RegexMatch::whole, RegexSpelling::utf8, "regex", grammar_);
      case OutputFormat::Kind::grammar: return read_gbnf(format.text, find_token_, vocab_size_, grammar_);
      case OutputFormat::Kind::choices: return read_choices(format.choices);
      case OutputFormat::Kind::literal: return grammar_.literal(format.text);
      case OutputFormat::Kind::sequence: return grammar_.sequence(read_parts(format, depth));
      case OutputFormat::Kind::any_of: return read_any_of(format, depth);
      case OutputFormat::Kind::repeated: return read_repeated(read_parts(format, depth));
      case OutputFormat::Kind::marked: return read_marked(format.text);
      case OutputFormat::Kind::free_text: return read_free_text(format, depth);
      case OutputFormat::Kind::bare_string:
        return once(format, [&] { return read_bare_string(format.text, format.choices, json, grammar_); });
      case OutputFormat::Kind::members: return read_members(format, depth);
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

  ExpressionId read_any_of(const OutputFormat& format, int depth) {
    if (format.parts.size() < kManyParts) return grammar_.choice(read_parts(format, depth));
    std::string key;
    add_key(format, key);
    const auto [entry, added] = choices_.try_emplace(std::move(key), RuleId{});
    RuleId& rule = entry->second;  // which stays where it is
    if (added) {
      rule = grammar_.add_rule("one of " + std::to_string(format.parts.size()), true);
      grammar_.define(rule, grammar_.choice(read_parts(format, depth)));
    }
    return grammar_.rule(rule);
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
      const std::optional<TokenId> token = find_mark_(text.substr(begin, end + 1 - begin));
      if (!token) continue;
      parts.push_back(grammar_.literal(text.substr(plain, begin - plain)));
      parts.push_back(grammar_.token(*token));
      begin = end;
      plain = end + 1;
    }
    parts.push_back(grammar_.literal(text.substr(plain)));
    return grammar_.sequence(std::move(parts));
  }

  // Calls may be written in more than one place of an answer: a schema is read once.
  template <class Read>
  ExpressionId once(const OutputFormat& format, const Read& read) {
    std::string key(1, static_cast<char>(format.kind));
    for (const bool flag : {format.any_spelling, format.any_order, format.whitespace, format.enforce_formats}) key += flag ? '1' : '0';
    for (const std::string& choice : format.choices) key += choice + '\0';
    const auto [entry, added] = known_.try_emplace(key + format.text, grammar_.never());
    if (added) entry->second = read();
    return entry->second;
  }

  [[nodiscard]] bool begins_with_token(const OutputFormat& format) const {
    if (format.kind == OutputFormat::Kind::sequence) return !format.parts.empty() && begins_with_token(format.parts.front());
    if (format.kind != OutputFormat::Kind::marked || format.text.empty()) return false;
    const size_t end = format.text.find(format.text.front() == '[' ? ']' : '>');
    return end != std::string::npos && find_mark_(std::string_view(format.text).substr(0, end + 1)).has_value();
  }

  static void add_key(const OutputFormat& format, std::string& key) {
    key += static_cast<char>('a' + static_cast<int>(format.kind));
    key += format.text + '\0';
    for (const std::string& choice : format.choices) key += choice + '\0';
    for (const OutputFormat& part : format.parts) add_key(part, key);
    key += ')';
  }

  // What both `make` and the text allow, or what the text alone does.
  template <class Make>
  static Dfa narrowed(const Dfa& dfa, bool both, const Make& make) {
    constexpr std::string_view kPlace = "free text";
    Grammar scratch;
    const ExpressionId any = scratch.repeat(scratch.characters(CodePointSet::all()), 0, kUnlimited);
    const Dfa other = regular_dfa(scratch, make(scratch, any, white_space(scratch)), kPlace);
    return both ? intersect(dfa, other, kPlace) : subtract(dfa, other, kPlace);
  }

  // Texts without `choices`, and without `parts` in the beginning of a line. The same ones come several times in a format.
  const Dfa& free_texts(const OutputFormat& format, int depth) {
    std::string key;
    for (const std::string& choice : format.choices) key += choice + '\0';
    std::vector<const OutputFormat*> parts;
    for (const OutputFormat& part : format.parts) {
      if (!begins_with_token(part)) parts.push_back(&part);
    }
    std::vector<std::string> keys;
    for (const OutputFormat* const part : parts) add_key(*part, keys.emplace_back());
    std::sort(keys.begin(), keys.end());
    for (const std::string& part : keys) key += part;
    if (const auto known = free_texts_.find(key); known != free_texts_.end()) return known->second;
    Dfa dfa = texts_without(format.choices, "free text");
    const FindToken none = [](std::string_view) { return std::optional<TokenId>(); };
    for (const OutputFormat* const part : parts) {
      dfa = narrowed(dfa, false, [&](Grammar& scratch, ExpressionId any, ExpressionId blanks) {
        const ExpressionId line = part->text == "start" ? blanks : scratch.sequence({any, scratch.literal("\n")});
        const ExpressionId before = scratch.choice({blanks, line});
        return scratch.sequence({before, FormatReader(none, none, vocab_size_, scratch).read(*part, depth + 1), any});
      });
    }
    return free_texts_.emplace(std::move(key), std::move(dfa)).first->second;
  }

  ExpressionId read_free_text(const OutputFormat& format, int depth) {
    const Dfa& texts = free_texts(format, depth);
    const bool ends_so = !format.text.empty() && (format.parts.empty() || !begins_with_token(format.parts.front()));
    if (!ends_so) return grammar_.dfa(std::make_shared<Dfa>(texts));
    Dfa dfa = narrowed(texts, true, [&](Grammar& scratch, ExpressionId any, ExpressionId blanks) {
      return scratch.choice({blanks, scratch.sequence({any, scratch.literal(format.text)})});
    });
    return grammar_.dfa(std::make_shared<Dfa>(std::move(dfa)));
  }
  static ExpressionId white_space(Grammar& grammar) {
    std::vector<ExpressionId> blanks;
    for (const char blank : {' ', '\t', '\r', '\n'}) blanks.push_back(grammar.literal(std::string_view(&blank, 1)));
    return grammar.repeat(grammar.choice(std::move(blanks)), 0, kUnlimited);
  }

  // Beyond what a group counts, members may come again and need not be there; what must be there is counted first.
  ExpressionId read_members(const OutputFormat& format, int depth) {
    std::vector<ExpressionId> parts = read_parts(format, depth);
    if (parts.size() != format.choices.size() + 1) {
      fail(ErrorCode::invalid_argument, "members: {} parts for {} entries; the last part is what is between two", parts.size(),
           format.choices.size());
    }
    if (format.choices.empty()) return grammar_.empty();
    MemberGroup group;
    group.separator = parts.back();
    std::vector<ExpressionId> others;
    for (const bool required : {true, false}) {
      for (size_t index = 0; index < format.choices.size(); ++index) {
        if (format.choices[index].empty() == required) continue;
        if (group.members.size() == kMaxGroupMembers) {
          others.push_back(parts[index]);
          continue;
        }
        if (required) group.required |= uint64_t{1} << group.members.size();
        group.members.push_back(parts[index]);
      }
    }
    group.other = others.empty() ? grammar_.never() : grammar_.choice(std::move(others));
    return grammar_.group(std::move(group));
  }

  std::unordered_map<std::string, ExpressionId> known_;
  std::unordered_map<std::string, RuleId> choices_;
  std::unordered_map<std::string, Dfa> free_texts_;
  const FindToken& find_token_;
  const FindToken& find_mark_;
  int32_t vocab_size_;
  Grammar& grammar_;
};

}  // namespace

Automaton compile_format(const OutputFormat& format, const FindToken& find_token, const FindToken& find_mark, int32_t vocab_size) {
  Grammar grammar;
  const ExpressionId root = FormatReader(find_token, find_mark, vocab_size, grammar).read(format, 0);
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
