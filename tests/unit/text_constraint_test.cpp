#include "wick/text/grammar/token_constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "message_of.h"
#include "shared_data.h"
#include "wick/base/error.h"
#include "wick/text/grammar/format_grammar.h"
#include "wick/text/grammar/format_matcher.h"
#include "wick/text/grammar/mask_cache.h"
#include "wick/text/grammar/token_trie.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

using Kind = OutputFormat::Kind;
using testing::HasSubstr;

// 256 bytes, some texts of several, an end, and one control token.
std::shared_ptr<const Tokenizer> small_tokenizer() {
  static const auto kTokenizer = [] {
    std::string vocab;
    const auto quoted = [](std::string_view text) {
      std::string result = "\"";
      for (const char letter : text) {
        if (letter == '"' || letter == '\\') result += '\\';
        result += letter;
      }
      return result + "\"";
    };
    for (int byte = 0; byte < 256; ++byte) vocab += quoted(byte_to_letter(static_cast<uint8_t>(byte))) + ":" + std::to_string(byte) + ",";
    int id = 256;
    for (const char* text :
         {"ab", "\"a", "\":", "\"}", "}}", "\",", "true", "12", "a\"", "Ġ\"", "]}", "aaaaaaaaaaaaaaaaaaaa", "Ã©", "\\\\", "{\"", "}]}"}) {
      std::string spelled = text;
      vocab += quoted(spelled) + ":" + std::to_string(id++) + ",";
    }
    vocab.pop_back();
    return Tokenizer::parse(
        R"({"added_tokens":[{"id":300,"content":"<|endoftext|>","special":true},{"id":301,"content":"<think>","special":true}],)"
        R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE",)"
        R"("vocab":{)" +
            vocab + R"(},"merges":[]}})",
        "test");
  }();
  return kTokenizer;
}

std::vector<bool> mask_of(TokenConstraint& constraint) {
  std::vector<uint64_t> words(mask_words(constraint.vocab_size()));
  constraint.fill_mask(words);
  std::vector<bool> bits;
  for (TokenId id = 0; id < constraint.vocab_size(); ++id) bits.push_back((words[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0);
  return bits;
}

// What fill_mask promises, token by token: accept() goes byte by byte and knows no trie and no cache.
void expect_mask_is_what_accept_takes(TokenConstraint& constraint, const Tokenizer& tokenizer, std::string_view what) {
  const std::vector<bool> mask = mask_of(constraint);
  for (TokenId id = 0; id < constraint.vocab_size(); ++id) {
    bool taken = true;
    try {
      constraint.clone()->accept(id);
    } catch (const Error&) {
      taken = false;
    }
    ASSERT_EQ(mask[static_cast<size_t>(id)], taken) << what << ": token " << id << " '" << tokenizer.token_bytes(id) << "'";
  }
}

// Walks at random, and compares the masks on the way.
void walk(const OutputFormat& format, const std::shared_ptr<const Tokenizer>& tokenizer, int walks, int steps) {
  ConstraintCompiler compiler(tokenizer);
  std::mt19937_64 random(7);
  for (int count = 0; count < walks; ++count) {
    const std::unique_ptr<TokenConstraint> constraint = compiler.compile(format);
    std::string text;
    for (int step = 0; step < steps && !constraint->must_end(); ++step) {
      expect_mask_is_what_accept_takes(*constraint, *tokenizer, format.text.substr(0, 60) + " after " + text);
      if (testing::Test::HasFatalFailure()) return;
      const std::vector<bool> mask = mask_of(*constraint);
      std::vector<TokenId> allowed;
      for (TokenId id = 0; id < constraint->vocab_size(); ++id) {
        if (mask[static_cast<size_t>(id)] && !tokenizer->ends_generation(id)) allowed.push_back(id);
      }
      if (allowed.empty()) break;
      const TokenId token = allowed[random() % allowed.size()];
      text += tokenizer->token_bytes(token);
      constraint->accept(token);
    }
  }
}

const char* const kTreeSchema =
    R"({"type":"object","properties":{"a":{"type":"string","maxLength":30},"b":{"type":"array","items":{"$ref":"#"},"maxItems":3},)"
    R"("c":{"enum":["x","éé",12,null]}},"required":["a"],"additionalProperties":false})";

TEST(Constraint, MasksAreWhatAcceptTakes) {
  walk({.kind = Kind::json}, small_tokenizer(), 10, 40);
  walk({.kind = Kind::json_schema, .text = kTreeSchema}, small_tokenizer(), 20, 40);
  walk({.kind = Kind::json_schema, .text = kTreeSchema, .any_spelling = true}, small_tokenizer(), 20, 40);
  walk({.kind = Kind::regex, .text = "(a|b)*\"?[^x]{3,90}é?"}, small_tokenizer(), 10, 30);
  walk({.kind = Kind::grammar, .text = "root ::= \"{\" (root | \"a\"* \"b\")? \"}\" | [\"] [^\"]{2,40} [\"]"}, small_tokenizer(), 10, 30);
  walk({.kind = Kind::choices, .choices = {"true", "a\"b", "ab", "é"}}, small_tokenizer(), 10, 10);
}

TEST(Constraint, MasksOfMembersInAnyOrderAreWhatAcceptTakes) {
  for (const char* rest :
       {R"("additionalProperties":false)", R"("additionalProperties":{"type":"integer"})", R"("patternProperties":{"^ab":{"type":"null"}})",
        R"("minProperties":2,"maxProperties":3,"additionalProperties":false)"}) {
    const std::string schema =
        R"({"type":"object","required":["ab"],"properties":{"a":{"type":"integer"},"ab":{"type":"null"},"aba":{"enum":[1,12]},"b":{"$ref":"#"}},)" +
        std::string(rest) + "}";
    walk({.kind = Kind::json_schema, .text = schema, .any_order = true}, small_tokenizer(), 20, 40);
  }
  walk({.kind = Kind::json_schema, .text = R"({"type":"array","uniqueItems":true,"items":{"enum":[1,12,"a","ab",null]}})"},
       small_tokenizer(), 20, 20);
  // Names that begin with a token, of which one ends there.
  const auto marked = [](const char* text) { return OutputFormat{.kind = Kind::marked, .text = text}; };
  walk({.kind = Kind::members,
        .choices = {"r", "", "", ""},
        .parts = {marked("<think>a"), marked("<think>ab"), marked("<think>"), marked("b<think>"), {.kind = Kind::literal, .text = " "}}},
       small_tokenizer(), 20, 20);
}

// All orders of all choices of members, once each and with one again.
TEST(Constraint, MembersInAnyOrderComeOnceEach) {
  const std::vector<std::string> names = {"a", "ab", "aba", "b", "ba"};
  std::string properties;
  for (const std::string& name : names) properties += (properties.empty() ? "\"" : ",\"") + name + R"(":{"type":"integer"})";
  FormatMatcher matcher({.kind = Kind::json_schema,
                         .text = R"({"type":"object","required":["ab"],"additionalProperties":false,"properties":{)" + properties + "}}",
                         .any_order = true});
  size_t orders = 0;
  const auto check = [&](const auto& self, std::vector<std::string> members, const std::string& inside) -> void {
    const bool fits = std::find(members.begin(), members.end(), "ab") != members.end();
    EXPECT_EQ(!matcher.mismatch("{" + inside + "}").has_value(), fits) << inside;
    ++orders;
    for (const std::string& name : names) {
      const std::string text = inside + (inside.empty() ? "\"" : ", \"") + name + "\": 1";
      if (std::find(members.begin(), members.end(), name) != members.end()) {
        EXPECT_TRUE(matcher.mismatch("{" + text + "}").has_value()) << text;
        continue;
      }
      members.push_back(name);
      self(self, members, text);
      members.pop_back();
    }
  };
  check(check, {}, "");
  EXPECT_EQ(orders, 326U);  // 5! / 0! + 5! / 1! + … + 5! / 5!
}

TEST(Constraint, MasksOfRealVocabulariesAreWhatAcceptTakes) {
  for (const char* file : {"data/tokenizers/ggml-vocab-llama-spm.gguf", "data/tokenizers/ggml-vocab-gpt-2.gguf"}) {
    const auto path = shared_data(file);
    if (!path) GTEST_SKIP() << kSharedDataMissing;
    const auto tokenizer = Tokenizer::load(*path);
    walk({.kind = Kind::json_schema, .text = kTreeSchema}, tokenizer, 1, 8);
    walk({.kind = Kind::regex, .text = "[a-zé]+( [a-zé]+){0,3}\\."}, tokenizer, 1, 6);
  }
}

// What each text may be read as in many ways: the masks and their caches are of many stacks at once.
TEST(Constraint, MasksOfAmbiguousFormatsAreWhatAcceptTakes) {
  const auto gbnf = [](const char* text) { return OutputFormat{.kind = Kind::grammar, .text = text}; };
  walk(gbnf("root ::= x\nx ::= [a-c] x | [a-c] x x | [a-c]"), small_tokenizer(), 5, 12);
  walk(gbnf("root ::= s \"!\"\ns ::= \"a\" s \"b\" | \"a\" s | \"a\""), small_tokenizer(), 10, 20);
  walk(gbnf("root ::= ((\"a\"{1,3} \"b\"?){1,12} \"a\"?){2,9}"), small_tokenizer(), 5, 12);
  walk({.kind = Kind::regex, .text = "(a|b)*a(a|b){20}"}, small_tokenizer(), 5, 30);
  walk({.kind = Kind::regex, .text = ".*a.{20}"}, small_tokenizer(), 5, 30);
  walk({.kind = Kind::json_schema,
        .text = R"({"anyOf":[{"type":"array","items":{"$ref":"#"}},{"type":"array","items":{"$ref":"#"}},{"const":"a"}]})"},
       small_tokenizer(), 5, 8);
}

// The masks of configurations one by one, from the cache, and of all of them at once are the same.
TEST(Constraint, MasksOfAllConfigurationsAtOnceAreThoseOfEach) {
  const auto tokenizer = small_tokenizer();
  const TokenTable tokens(*tokenizer);
  const std::vector<OutputFormat> formats = {
      {.kind = Kind::json},
      {.kind = Kind::json_schema, .text = kTreeSchema, .any_spelling = true},
      {.kind = Kind::regex, .text = "(a|b)*\"?[^x]{3,90}é?"},
      {.kind = Kind::regex, .text = ".*a.{20}"},
      {.kind = Kind::grammar, .text = "root ::= x\nx ::= [a-c] x | [a-c] x x | [a-c]"},
      {.kind = Kind::grammar, .text = "root ::= ((\"a\"{1,3} \"b\"?){1,40} \"a\"?){2,90}"},
      {.kind = Kind::grammar, .text = "root ::= \"{\" (root | \"a\"* \"b\")? \"}\" | [\"] [^\"]{2,40} [\"]"}};
  std::mt19937_64 random(5);
  for (const OutputFormat& format : formats) {
    const auto find = [&](std::string_view text) { return tokenizer->find_token(text); };
    const Automaton automaton = compile_format(format, find, find, tokenizer->vocab_size());
    MaskCache each(automaton, tokens);
    MaskCache whole(automaton, tokens, /*whole_from=*/0);
    for (int walks = 0; walks < 5; ++walks) {
      FrameArena arena;
      Configurations state = Stepper(automaton, arena).enter({automaton.start(), FrameArena::kBottom});
      for (int step = 0; step < 40 && !state.items.empty(); ++step) {
        std::vector<uint64_t> left(mask_words(tokens.vocab_size()));
        std::vector<uint64_t> right = left;
        each.add_masks(state.items, arena, left);
        whole.add_masks(state.items, arena, right);
        ASSERT_EQ(left, right) << format.text << ", step " << step;
        std::vector<uint8_t> bytes;
        for (const Configuration& item : state.items) {
          for (const ByteEdge& edge : automaton.bytes(automaton.node(item.node)))
            bytes.push_back(random() % 2 == 0 ? edge.first : edge.last);
        }
        state = Stepper(automaton, arena).step(state, bytes[random() % bytes.size()]);
      }
    }
  }
}

// Takes letters until the format refuses to be read on; the refusal. None: it was read for so many tokens.
std::optional<Error> refusal_of(const OutputFormat& format, const std::shared_ptr<const Tokenizer>& tokenizer, std::string_view letters,
                                int tokens) {
  ConstraintCompiler compiler(tokenizer);
  try {
    const std::unique_ptr<TokenConstraint> constraint = compiler.compile(format);
    std::mt19937_64 random(3);
    for (int step = 0; step < tokens; ++step) {
      (void)mask_of(*constraint);
      constraint->accept(static_cast<TokenId>(static_cast<uint8_t>(letters[random() % letters.size()])));
    }
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

TEST(Constraint, WhatIsTooAmbiguousIsRefusedByTheNameOfItsRule) {
  struct Example {
    OutputFormat format;
    std::string letters, rule;
  };
  const std::vector<Example> examples = {
      // Each letter doubles the stacks.
      {{.kind = Kind::grammar, .text = "root ::= x\nx ::= [a-z] x y | [a-z] y x | [a-z]\ny ::= [a-z] y x x | [a-z] x y | [a-z]"},
       "abc",
       "'x'"},
      {{.kind = Kind::regex, .text = "(([a-z]{1,900}){1,900}){1,900}"}, "abc", "'root'"},
      {{.kind = Kind::json_schema,
        .text = R"({"$defs":{"t":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/t"},"maxItems":700},)"
                R"({"type":"array","items":{"$ref":"#/$defs/t"},"maxItems":800}]}},"$ref":"#/$defs/t"})"},
       "[",
       "#/$defs/t"},
  };
  for (const Example& example : examples) {
    const std::optional<Error> error = refusal_of(example.format, small_tokenizer(), example.letters, 5000);
    ASSERT_TRUE(error) << example.format.text;
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument) << error->what();
    EXPECT_THAT(error->what(), HasSubstr("too ambiguous in rule " + std::string(example.rule.front() == '#' ? "'" : "") + example.rule));
  }
}

TEST(Constraint, ARefusedFormatRefusesTheNextTextInTheSameWay) {
  const OutputFormat format{.kind = Kind::grammar,
                            .text = "root ::= x\nx ::= [a-z] x y | [a-z] y x | [a-z]\ny ::= [a-z] y x x | [a-z] x y | [a-z]"};
  ConstraintCompiler compiler(small_tokenizer());
  std::vector<std::string> messages;
  for (int text = 0; text < 2; ++text) {
    const auto constraint = compiler.compile(format);
    messages.push_back(message_of([&] {
      for (int step = 0; step < 100; ++step) {
        (void)mask_of(*constraint);
        constraint->accept('a');
      }
    }));
  }
  EXPECT_THAT(messages[0], HasSubstr("too ambiguous"));
  EXPECT_EQ(messages[0], messages[1]);
}

TEST(Constraint, ManyAmbiguousFormatsStayWithinTheBudget) {
  const auto path = shared_data("data/tokenizers/ggml-vocab-gpt-2.gguf");
  if (!path) GTEST_SKIP() << kSharedDataMissing;
  const auto tokenizer = Tokenizer::load(*path);
  ConstraintCompiler compiler(tokenizer);
  std::vector<std::unique_ptr<TokenConstraint>> held;
  const TokenId letter = tokenizer->encode("b").back();
  for (char first = 'a'; first < 'g'; ++first) {
    held.push_back(compiler.compile(
        {.kind = Kind::grammar, .text = std::string("root ::= \"") + first + "\" x\nx ::= [a-z ,.] x | [a-z ,.] x x | [a-z ,.]"}));
    held.back()->accept(tokenizer->encode(std::string(1, first)).back());
    for (int step = 0; step < 25; ++step) {
      EXPECT_TRUE(mask_of(*held.back())[static_cast<size_t>(letter)]);
      held.back()->accept(letter);
      EXPECT_LE(compiler.cached_bytes(), ConstraintCompiler::kMaxCachedBytes);
    }
  }
  EXPECT_GT(compiler.cached_bytes(), 0U);
}

}  // namespace
}  // namespace wick
