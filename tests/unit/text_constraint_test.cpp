#include "wick/text/grammar/token_constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "message_of.h"
#include "shared_data.h"
#include "wick/base/error.h"
#include "wick/text/grammar/format_matcher.h"
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

TEST(Constraint, MasksOfRealVocabulariesAreWhatAcceptTakes) {
  for (const char* file : {"data/tokenizers/ggml-vocab-llama-spm.gguf", "data/tokenizers/ggml-vocab-gpt-2.gguf"}) {
    const auto path = shared_data(file);
    if (!path) GTEST_SKIP() << kSharedDataMissing;
    const auto tokenizer = Tokenizer::load(*path);
    walk({.kind = Kind::json_schema, .text = kTreeSchema}, tokenizer, 1, 8);
    walk({.kind = Kind::regex, .text = "[a-zé]+( [a-zé]+){0,3}\\."}, tokenizer, 1, 6);
  }
}

}  // namespace
}  // namespace wick
