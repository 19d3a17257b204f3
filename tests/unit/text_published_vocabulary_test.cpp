// Vocabularies in the files that folders are published with, against what their authors' programs make of texts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "unit/text_vectors.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

void copy_to(const std::filesystem::path& path, const char* source) { std::filesystem::copy_file(source_file(source), path); }

void expect_vectors(const Tokenizer& tokenizer, const char* vectors, const EncodeOptions& options) {
  for (const TokenVector& vector : read_vectors(source_file(vectors))) {
    EXPECT_EQ(tokenizer.encode(vector.text, options), vector.ids) << vector.text;
    EXPECT_EQ(tokenizer.decode(vector.ids), vector.decoded);
  }
}

TEST(PublishedVocabulary, TekkenIsReadAsMistralsOwnProgramReadsIt) {
  const TemporaryFolder folder;
  copy_to(folder.path() / "tekken.json", "tests/data/text/tekken.json");
  // Another form of the same vocabulary counts less.
  copy_to(folder.path() / "tokenizer.model", "tests/data/text/sp_bpe.model");
  const auto tokenizer = Tokenizer::load(folder.path());
  expect_vectors(*tokenizer, "tests/data/text/tekken.vectors", {});
  EXPECT_EQ(tokenizer->vocab_size(), 444);  // as config.default_vocab_size, though ten more are listed
  EXPECT_EQ(tokenizer->eos(), 2);
  EXPECT_EQ(tokenizer->token_text(3), "[INST]");
  EXPECT_EQ(tokenizer->token_text(23), "<SPECIAL_23>");
  EXPECT_EQ(tokenizer->encode("[INST]", {.add_special = false, .parse_special = true}), (std::vector<TokenId>{3}));
}

TEST(PublishedVocabulary, TekkenWithoutWhatItNeedsNamesIt) {
  const std::string whole = read_file(source_file("tests/data/text/tekken.json"));
  const auto message = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    return message_of([&] { (void)Tokenizer::parse(text, "tekken.json"); });
  };
  EXPECT_NE(message("\"default_vocab_size\":444", "\"default_vocab_size\":999").find("vocab: 430 tokens"), std::string::npos);
  EXPECT_NE(message("\"default_num_special_tokens\":24", "\"default_num_special_tokens\":2").find("its rank is 2"), std::string::npos);
  EXPECT_NE(message("\"rank\":7,\"token_bytes\"", "\"rank\":8,\"token_bytes\"").find("vocab[7]: its rank is 8"), std::string::npos);
  EXPECT_NE(message("\"AA==\"", "\"!\"").find("vocab[0].token_bytes: not base64"), std::string::npos);
  EXPECT_NE(message("\"pattern\"", "\"patten\"").find("no field 'pattern'"), std::string::npos);
}

TEST(PublishedVocabulary, TiktokenFilesAreCutByThePatternOfTheirFamily) {
  for (const std::string family : {"qwen", "gpt_oss"}) {
    const TemporaryFolder folder;
    copy_to(folder.path() / "ranks.tiktoken", "tests/data/text/ranks.tiktoken");
    std::ofstream(folder.path() / "config.json") << R"({"model_type": ")" << family << R"("})";
    std::ofstream(folder.path() / "tokenizer_config.json")
        << R"({"eos_token": "<|im_end|>", "added_tokens_decoder": {"500": {"content": "<|im_start|>", "special": true},)"
        << R"( "501": {"content": "<|im_end|>", "special": true}}})";
    const auto tokenizer = Tokenizer::load(folder.path());
    expect_vectors(*tokenizer, ("tests/data/text/" + family + ".vectors").c_str(), kPlain);
    EXPECT_EQ(tokenizer->find_token("<|im_start|>"), 500);
    EXPECT_EQ(tokenizer->eos(), 501);
    EXPECT_EQ(tokenizer->encode("<|im_end|>", {.add_special = false, .parse_special = true}), (std::vector<TokenId>{501}));
  }
}

TEST(PublishedVocabulary, TokensThatAFolderAddsToASentencePieceModelAreThere) {
  const TemporaryFolder folder;
  copy_to(folder.path() / "tokenizer.model", "tests/data/text/sp_bpe_bytes.model");
  const auto bare = Tokenizer::load(folder.path());
  const TokenId next = bare->vocab_size();
  std::ofstream(folder.path() / "added_tokens.json") << R"({"<|im_start|>": )" << next + 1 << "}";
  const auto tokenizer = Tokenizer::load(folder.path());
  EXPECT_EQ(tokenizer->vocab_size(), next + 2);
  EXPECT_EQ(tokenizer->find_token("<|im_start|>"), next + 1);
  EXPECT_EQ(tokenizer->encode("<|im_start|>", {.add_special = false, .parse_special = true}), (std::vector<TokenId>{next + 1}));
  EXPECT_EQ(tokenizer->encode("hello there"), bare->encode("hello there"));
}

TEST(PublishedVocabulary, AFolderWithoutOneOrWithSeveralIsNamed) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of([&] { (void)Tokenizer::load(folder.path()); }).find("no tokenizer.json, tekken.json"), std::string::npos);
  copy_to(folder.path() / "a.tiktoken", "tests/data/text/ranks.tiktoken");
  copy_to(folder.path() / "b.tiktoken", "tests/data/text/ranks.tiktoken");
  EXPECT_NE(message_of([&] { (void)Tokenizer::load(folder.path()); }).find("2 .tiktoken files"), std::string::npos);
}

}  // namespace
}  // namespace wick
