// Small vocabularies, trained for these tests, against what the libraries that define the formats make of the same texts: Hugging
// Face's tokenizers (.json), SentencePiece (.model) and tiktoken (.tiktoken).
#include <gtest/gtest.h>

#include "shared_data.h"
#include "text_vectors.h"
#include "wick/text/tokenizer/streaming_detokenizer.h"
#include "wick/text/tokenizer/tokenizer.h"
#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

std::string stream_valid_parts(const std::shared_ptr<const Tokenizer>& tokenizer, const std::vector<TokenId>& ids) {
  StreamingDetokenizer detokenizer(tokenizer);
  std::string text;
  for (const TokenId id : ids) {
    const std::string part = detokenizer.push(id);
    EXPECT_TRUE(is_valid_utf8(part));
    text += part;
  }
  return text + detokenizer.finish();
}

void expect_vectors(const std::string& file, const std::string& vectors, const EncodeOptions& options) {
  const auto tokenizer = Tokenizer::load(source_file("tests/data/text/" + file));
  const std::vector<TokenVector> cases = read_vectors(source_file("tests/data/text/" + vectors));
  ASSERT_GT(cases.size(), 50u);
  for (const TokenVector& entry : cases) {
    EXPECT_EQ(tokenizer->encode(entry.text, options), entry.ids) << testing::PrintToString(entry.text);
    EXPECT_EQ(tokenizer->decode(entry.ids), entry.decoded) << testing::PrintToString(entry.text);
    EXPECT_EQ(stream_valid_parts(tokenizer, entry.ids), entry.decoded) << testing::PrintToString(entry.text);
  }
}

// Hugging Face's library always parses special tokens.
constexpr EncodeOptions kAll{.add_special = true, .parse_special = true};
constexpr EncodeOptions kTextOnly{.add_special = false, .parse_special = false};

TEST(TokenizerVectors, JsonByteLevelWithLlamaThreePattern) { expect_vectors("byte_level.json", "byte_level.vectors", kAll); }
TEST(TokenizerVectors, JsonMergesWithByteFallback) { expect_vectors("byte_fallback.json", "byte_fallback.vectors", kAll); }
TEST(TokenizerVectors, JsonUnigramWithMetaspace) { expect_vectors("unigram.json", "unigram.vectors", kAll); }
TEST(TokenizerVectors, JsonWordPiece) { expect_vectors("word_piece.json", "word_piece.vectors", kAll); }
TEST(TokenizerVectors, JsonMergesWithWordSuffix) { expect_vectors("word_suffix.json", "word_suffix.vectors", kAll); }
TEST(TokenizerVectors, SentencePieceUnigramWithUserDefinedPieces) { expect_vectors("sp_unigram.model", "sp_unigram.vectors", kTextOnly); }
TEST(TokenizerVectors, SentencePieceUnigramWithByteFallback) {
  expect_vectors("sp_unigram_bytes.model", "sp_unigram_bytes.vectors", kTextOnly);
}
TEST(TokenizerVectors, SentencePieceMergesWithUserDefinedPieces) { expect_vectors("sp_bpe.model", "sp_bpe.vectors", kTextOnly); }
TEST(TokenizerVectors, SentencePieceMergesWithByteFallback) { expect_vectors("sp_bpe_bytes.model", "sp_bpe_bytes.vectors", kTextOnly); }
TEST(TokenizerVectors, SentencePieceWithSpaceAsSuffix) { expect_vectors("sp_suffix.model", "sp_suffix.vectors", kTextOnly); }
TEST(TokenizerVectors, TiktokenRanks) { expect_vectors("ranks.tiktoken", "ranks.vectors", kTextOnly); }

class SharedVectors : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(SharedVectors, MatchExactly) {
  const auto [model, vectors] = GetParam();
  const auto path = shared_data("data/tokenizers/" + std::string(model));
  if (!path) GTEST_SKIP() << kSharedDataMissing;
  const auto tokenizer = Tokenizer::load(*path);
  const std::vector<TokenVector> cases = read_shared_vectors(*shared_data("data/tokenizers") / vectors);
  ASSERT_EQ(cases.size(), 46u);
  const bool lossless = std::string(model).find("bert") == std::string::npos;
  for (const TokenVector& entry : cases) {
    EXPECT_EQ(tokenizer->encode(entry.text, kTextOnly), entry.ids) << testing::PrintToString(entry.text);
    if (lossless) {
      EXPECT_EQ(tokenizer->decode(entry.ids), entry.text);
    }
    EXPECT_EQ(stream_valid_parts(tokenizer, entry.ids), tokenizer->decode(entry.ids));
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, SharedVectors,
                         testing::Values(std::pair("ggml-vocab-bert-bge.gguf", "ggml-vocab-bert-bge.gguf"),
                                         std::pair("ggml-vocab-deepseek-coder.gguf", "ggml-vocab-deepseek-coder.gguf"),
                                         std::pair("ggml-vocab-gpt-2.gguf", "ggml-vocab-gpt-2.gguf"),
                                         std::pair("ggml-vocab-llama-spm.gguf", "ggml-vocab-llama-spm.gguf"),
                                         std::pair("ggml-vocab-phi-3.gguf", "ggml-vocab-phi-3.gguf"),
                                         std::pair("llama3/tokenizer.model", "llama3/ggml-vocab-llama-bpe.gguf"),
                                         std::pair("gpt2_tokenizer.json", "ggml-vocab-gpt-2.gguf")));

TEST(SharedTokenizers, TheDefaultModelAndItsTokenizerJsonAgree) {
  const auto json = shared_data("data/models/novelist-20m.tokenizer.json");
  const auto text = shared_data("data/text/novels.val.txt");
  if (!json || !text) GTEST_SKIP() << kSharedDataMissing;
  const auto from_gguf = Tokenizer::load(source_file("models/novelist-20m-q8_0.gguf"));
  const auto from_json = Tokenizer::load(*json);
  const std::string novel = read_file(*text);
  const std::vector<TokenId> ids = from_gguf->encode(novel);
  EXPECT_EQ(ids.front(), *from_gguf->bos());
  EXPECT_EQ(from_gguf->encode(novel, kTextOnly), from_json->encode(novel, kTextOnly));
  EXPECT_EQ(from_gguf->decode(ids), novel);
  EXPECT_TRUE(from_gguf->ends_generation(*from_gguf->eos()));
  EXPECT_EQ(from_gguf->end_of_generation(), from_json->end_of_generation());
}

}  // namespace
}  // namespace wick
