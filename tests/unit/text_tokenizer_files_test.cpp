// Damaged and unusual tokenizer files: each is refused with a line that names file and place, or read as it is meant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "message_of.h"
#include "shared_data.h"
#include "temporary_folder.h"
#include "text_vectors.h"
#include "wick/base/error.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_writer.h"
#include "wick/text/tokenizer/gguf_vocabulary.h"
#include "wick/text/tokenizer/special_tokens.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

using testing::HasSubstr;
using Ids = std::vector<TokenId>;

void expect_file_refused(std::string_view bytes, ErrorCode code, const std::vector<std::string>& parts) {
  try {
    static_cast<void>(Tokenizer::parse(bytes, "some/file"));
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("some/file"));
    for (const std::string& part : parts) EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

std::string json_with(const std::string& fields) {
  return R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, " ": 3}, "merges": ["a b"]}, )" + fields + "}";
}

TEST(TokenizerFiles, EmptyFileIsNoTokenizer) {
  expect_file_refused("", ErrorCode::corrupt_file, {"empty"});
  expect_file_refused(" \n", ErrorCode::corrupt_file, {"empty"});
}

TEST(TokenizerFiles, FolderWithoutTokenizerNamesWhatItLooksFor) {
  try {
    static_cast<void>(Tokenizer::load(std::filesystem::temp_directory_path() / ""));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_THAT(error.what(), HasSubstr("tokenizer.json"));
  }
}

class TokenizerFolder : public testing::Test {
 protected:
  void SetUp() override {
    write("tokenizer.json",
          json_with(R"("added_tokens": [{"id": 4, "content": "<s>", "special": true}, {"id": 5, "content": "<stop>", "special": true},
                                        {"id": 6, "content": "<turn>", "special": true}])"));
  }
  void write(const char* name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }
  [[nodiscard]] std::shared_ptr<const Tokenizer> load() const { return Tokenizer::load(folder_.path()); }

  TemporaryFolder folder_;
};

TEST_F(TokenizerFolder, OtherFilesNameSpecialTokens) {
  EXPECT_EQ(load()->encode("ab"), (Ids{2}));
  EXPECT_TRUE(load()->end_of_generation().empty());
  write("config.json", R"({"bos_token_id": 4, "eos_token_id": 6})");
  EXPECT_EQ(load()->bos(), 4);
  EXPECT_EQ(load()->eos(), 6);
  EXPECT_EQ(load()->end_of_generation(), (Ids{6}));
  write("generation_config.json", R"({"eos_token_id": [5, 6], "temperature": 0.6})");
  EXPECT_EQ(load()->eos(), 5);
  EXPECT_EQ(load()->end_of_generation(), (Ids{5, 6}));
  write("tokenizer_config.json", R"({"eos_token": {"content": "<turn>"}, "pad_token": "<stop>", "add_bos_token": true})");
  EXPECT_EQ(load()->eos(), 6);
  EXPECT_EQ(load()->pad(), 5);
  EXPECT_EQ(load()->encode("ab"), (Ids{4, 2}));
  EXPECT_EQ(load()->end_of_generation(), (Ids{5, 6}));
}

TEST_F(TokenizerFolder, OtherFilesThatAreWrongAreNamed) {
  const auto message = [&] { return message_of([&] { (void)load(); }); };
  write("generation_config.json", "{");
  EXPECT_THAT(message(), HasSubstr("generation_config.json"));
  write("generation_config.json", R"({"eos_token_id": "two"})");
  EXPECT_THAT(message(), AllOf(HasSubstr("generation_config.json: eos_token_id"), HasSubstr("whole number")));
  write("generation_config.json", R"({"eos_token_id": 77})");
  EXPECT_EQ(load()->eos(), std::nullopt);
}

TEST(TokenizerFiles, JsonThatIsCutOffIsRefused) {
  const std::string whole = read_file(source_file("tests/data/text/byte_fallback.json"));
  for (const size_t length : {size_t{1}, size_t{100}, whole.size() / 2, whole.size() - 2}) {
    expect_file_refused(std::string_view(whole).substr(0, length), ErrorCode::corrupt_file, {});
  }
}

TEST(TokenizerFiles, JsonPartsThatAreNotKnownAreNamed) {
  expect_file_refused(json_with(R"("normalizer": {"type": "Rot13"})"), ErrorCode::unsupported, {"normalizer", "Rot13"});
  expect_file_refused(json_with(R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Scissors"}]})"),
                      ErrorCode::unsupported, {"pre_tokenizer", "[0]", "Scissors"});
  expect_file_refused(json_with(R"("decoder": {"type": "Morse"})"), ErrorCode::unsupported, {"decoder", "Morse"});
  expect_file_refused(json_with(R"("post_processor": {"type": "Stamp"})"), ErrorCode::unsupported, {"post_processor", "Stamp"});
  expect_file_refused(R"({"model": {"type": "Letters", "vocab": {"a": 0}}})", ErrorCode::unsupported, {"Letters"});
}

TEST(TokenizerFiles, JsonWithImpossibleIdsIsRefused) {
  expect_file_refused(R"({"model": {"type": "BPE", "vocab": {"a": 4000000000}, "merges": []}})", ErrorCode::corrupt_file, {"4000000000"});
  expect_file_refused(R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})", ErrorCode::corrupt_file, {"-1"});
  expect_file_refused(R"({"model": {"type": "BPE", "vocab": {"a": "x"}, "merges": []}})", ErrorCode::corrupt_file, {"model.vocab"});
  expect_file_refused(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a q"]}})", ErrorCode::corrupt_file, {"merges[0]", "q"});
  expect_file_refused(json_with(R"("post_processor": {"type": "BertProcessing", "sep": ["x", 99], "cls": ["a", 0]})"),
                      ErrorCode::corrupt_file, {"99"});
}

TEST(TokenizerFiles, JsonMergesMayBePairs) {
  const auto tokenizer =
      Tokenizer::parse(R"({"model": {"type": "BPE", "vocab": {"a": 0, " ": 1, "a ": 2}, "merges": [["a", " "]]}})", "pairs");
  EXPECT_EQ(tokenizer->encode("a a", kPlain), (Ids{2, 0}));
}

TEST(TokenizerFiles, JsonSpecialTokensAreParsedOnDemandAndOthersAlways) {
  const auto tokenizer = Tokenizer::parse(
      json_with(R"("added_tokens": [{"id": 4, "content": "<x>", "special": true}, {"id": 5, "content": "ba", "special": false}])"),
      "added");
  EXPECT_EQ(tokenizer->encode("a<x>ab", kPlain), (Ids{0, 2})) << "characters without token are dropped where there is no unknown token";
  EXPECT_EQ(tokenizer->encode("a<x>ab", {.add_special = false, .parse_special = true}), (Ids{0, 4, 2}));
  EXPECT_EQ(tokenizer->encode("ba", kPlain), (Ids{5}));
}

TEST(TokenizerFiles, SentencePieceModelThatIsCutOffIsRefused) {
  const std::string whole = read_file(source_file("tests/data/text/sp_bpe.model"));
  for (size_t length = 1; length < 40; ++length) {
    try {
      static_cast<void>(Tokenizer::parse(std::string_view(whole).substr(0, length), "cut"));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt_file);
    }
  }
  expect_file_refused(std::string_view(whole).substr(0, 31), ErrorCode::corrupt_file, {"offset"});
  expect_file_refused(std::string_view(whole).substr(0, 30), ErrorCode::corrupt_file, {"cut off"});
}

TEST(TokenizerFiles, TiktokenLinesMustBeBase64AndRanksInOrder) {
  expect_file_refused("IQ== 0\nIg== 2\n", ErrorCode::corrupt_file, {"line 2", "expected 1"});
  expect_file_refused("IQ== 0\n!!!! 1\n", ErrorCode::corrupt_file, {"line 2", "base64"});
  expect_file_refused("what is this", ErrorCode::corrupt_file, {"line 1"});
}

TEST(TokenizerFiles, LlamaThreeRanksImplyItsSpecialTokens) {
  const auto path = shared_data("data/tokenizers/llama3/tokenizer.model");
  if (!path) GTEST_SKIP() << kSharedDataMissing;
  const auto tokenizer = Tokenizer::load(*path);
  EXPECT_EQ(tokenizer->vocab_size(), 128256);
  EXPECT_EQ(tokenizer->bos(), 128000);
  EXPECT_EQ(tokenizer->find_token("<|eot_id|>"), 128009);
  EXPECT_EQ(tokenizer->token_text(128255), "<|reserved_special_token_250|>");
  EXPECT_TRUE(tokenizer->ends_generation(128001));
  EXPECT_EQ(tokenizer->encode("hi<|eot_id|>", {.add_special = true, .parse_special = true}), (Ids{128000, 6151, 128009}));
}

TEST(TokenizerFiles, SentencePieceModelsAreToldFromTiktokenByContent) {
  EXPECT_EQ(Tokenizer::load(source_file("tests/data/text/sp_bpe.model"))->token_text(1), "<s>");
  EXPECT_EQ(Tokenizer::load(source_file("tests/data/text/ranks.tiktoken"))->token_text(0), "!");
}

// Bytes, and some tokens of RWKV's World vocabulary.
std::string rwkv_vocabulary() {
  std::string lines;
  for (int byte = 0; byte < 256; ++byte) lines += fmt::format("{} b'\\x{:02x}' 1\n", byte + 1, byte);
  return lines +
         "257 '\\n\\n' 2\n258 ' the' 4\n259 'then' 4\n260 ' then' 5\n261 \"'s\" 2\n262 '\\'\"' 2\n263 '\\xa0' 2\n264 '\\u3000' 3\n"
         "265 b'\\xe4\\xb8' 2\n266 '中文' 6\n267 'a b' 3\n268 '\\\\n' 2\n";
}

TEST(RwkvVocabulary, TheLongestTokenCounts) {
  const auto tokenizer = Tokenizer::parse(rwkv_vocabulary(), "rwkv_vocab_v20230424.txt");
  EXPECT_EQ(tokenizer->vocab_size(), 269);
  EXPECT_EQ(tokenizer->encode(" then the\n\n"), (std::vector<TokenId>{260, 258, 257}));
  EXPECT_EQ(tokenizer->encode("thex"), (std::vector<TokenId>{'t' + 1, 'h' + 1, 'e' + 1, 'x' + 1}));
  EXPECT_EQ(tokenizer->encode("it's '\"\\n"), (std::vector<TokenId>{'i' + 1, 't' + 1, 261, ' ' + 1, 262, 268}));
  EXPECT_EQ(tokenizer->encode("\xC2\xA0\xE3\x80\x80"), (std::vector<TokenId>{263, 264}));
  EXPECT_EQ(tokenizer->encode("中文中"), (std::vector<TokenId>{266, 265, 0xAD + 1}));
  EXPECT_EQ(tokenizer->encode("a b\xFF"), (std::vector<TokenId>{267, 0xFF + 1}));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{266, 265, 0xAD + 1, 0, 258}), "中文中 the");
  EXPECT_EQ(tokenizer->eos(), 0);
  EXPECT_FALSE(tokenizer->adds_bos());
}

TEST(RwkvVocabulary, GgufsKeysHoldIt) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "rwkv_vocab_v20230424.txt") << rwkv_vocabulary();
  const GgufVocabulary made = make_gguf_vocabulary(folder.path() / "rwkv_vocab_v20230424.txt", {});
  EXPECT_EQ(made.model, "rwkv");
  // As Python's repr of the bytes has them, without its quotation marks.
  EXPECT_EQ(made.tokens[257], R"(\n\n)");
  EXPECT_EQ(made.tokens[261], "'s");
  EXPECT_EQ(made.tokens[262], R"(\'")");
  EXPECT_EQ(made.tokens[265], R"(\xe4\xb8)");
  EXPECT_EQ(made.tokens[268], R"(\\n)");
  GgufWriter writer;
  writer.add_string("general.architecture", "rwkv7");
  writer.add_string("tokenizer.ggml.model", made.model);
  writer.add_strings("tokenizer.ggml.tokens", made.tokens);
  std::vector<int32_t> kinds;
  for (const TokenKind kind : made.kinds) kinds.push_back(static_cast<int32_t>(kind));
  writer.add_array<int32_t>("tokenizer.ggml.token_type", kinds);
  const std::vector<std::byte> bytes = writer.metadata_file();
  const GgufFile file = GgufFile::parse(bytes, "rwkv.gguf");
  const auto reread = Tokenizer::from_gguf(file), own = Tokenizer::load(folder.path());
  for (const std::string& text : vocabulary_test_texts(*own, 100)) EXPECT_EQ(reread->encode(text), own->encode(text)) << text;
}

TEST(RwkvVocabulary, LinesThatDoNotFitAreNamed) {
  const auto message = [](const std::string& lines) { return message_of([&] { (void)Tokenizer::parse(lines, "vocab.txt"); }); };
  EXPECT_NE(message(rwkv_vocabulary() + "270 'ab' 3\n").find("line 269"), std::string::npos);
  EXPECT_NE(message(rwkv_vocabulary() + "7 'ab' 2\n").find("line 269"), std::string::npos);
  EXPECT_NE(message(rwkv_vocabulary() + "270 'ab 2\n").find("line 269"), std::string::npos);
  EXPECT_NE(message("1 'a' 1\n").find("no token of the byte 0x00"), std::string::npos);
}

}  // namespace
}  // namespace wick
