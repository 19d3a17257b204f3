// Vocabularies that are converted to GGUF's own keys: other programs read them, and they encode texts as the folder's file does.
#include <gtest/gtest.h>

#include <fstream>

#include "model/golden_models.h"
#include "unit/log_lines.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "unit/text_vectors.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/formats/gguf.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

class GgufVocabularies : public ::testing::Test {
 protected:
  // A small Llama with so many tokens, and the file under that name.
  void write_folder(int64_t vocab, const char* source, const char* name) {
    GoldenModel golden = GoldenModel::read("llama");
    golden.json["config"]["vocab_size"] = vocab;
    for (const char* tensor : {"model.embed_tokens.weight", "lm_head.weight"}) golden.json["tensors"][tensor][0] = vocab;
    golden.write(model());
    std::filesystem::copy_file(source_file(source), model() / name);
  }
  GgufFile convert() {
    write_gguf(Checkpoint::open(model()), folder_.path() / "model.gguf");
    return GgufFile::open(folder_.path() / "model.gguf");
  }
  [[nodiscard]] std::filesystem::path model() const { return folder_.path() / "model"; }

  // As Hugging Face's program makes them, which takes special tokens out of texts.
  static void expect_vectors(const Tokenizer& tokenizer, const char* vectors,
                             const EncodeOptions& options = {.add_special = true, .parse_special = true}) {
    for (const TokenVector& vector : read_vectors(source_file(vectors))) {
      EXPECT_EQ(tokenizer.encode(vector.text, options), vector.ids) << vector.text;
    }
  }
  static std::vector<int64_t> types_of(const GgufFile& file) { return file.get_array("tokenizer.ggml.token_type").to_vector<int64_t>(); }

  TemporaryFolder folder_;
};

TEST_F(GgufVocabularies, ByteLevelHasItsPatternsNameTypesAndPaddedRows) {
  write_folder(512, "tests/data/text/byte_level.json", "tokenizer.json");
  const GgufFile file = convert();
  EXPECT_EQ(file.get_string("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(file.get_string("tokenizer.ggml.pre"), "llama-bpe");
  EXPECT_EQ(file.get_array("tokenizer.ggml.tokens").strings.size(), 512U);
  EXPECT_EQ(file.get_array("tokenizer.ggml.tokens").strings[0], "<|begin_of_text|>");
  EXPECT_EQ(file.get_array("tokenizer.ggml.tokens").strings[511], "[PAD511]");
  const std::vector<int64_t> types = types_of(file);
  EXPECT_EQ(types[0], 3);    // special
  EXPECT_EQ(types[2], 1);    // of the model
  EXPECT_EQ(types[500], 4);  // added
  EXPECT_EQ(types[511], 5);  // unused
  EXPECT_EQ(file.get_uint("tokenizer.ggml.bos_token_id"), 0U);
  EXPECT_EQ(file.find_bool("tokenizer.ggml.add_bos_token"), true);
  EXPECT_EQ(file.find_bool("tokenizer.ggml.add_eos_token"), false);
  EXPECT_EQ(file.find_bool("tokenizer.ggml.add_space_prefix"), false);
}

TEST_F(GgufVocabularies, SentencePieceBpeHasRanksForScoresWithoutItsOwnFile) {
  write_folder(650, "tests/data/text/byte_fallback.json", "tokenizer.json");
  const GgufFile file = convert();
  EXPECT_EQ(file.get_string("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(file.find_bool("tokenizer.ggml.add_space_prefix"), true);
  EXPECT_EQ(file.find_bool("tokenizer.ggml.add_eos_token"), true);
  EXPECT_EQ(types_of(file)[0], 2);  // unknown
  const auto& tokens = file.get_array("tokenizer.ggml.tokens").strings;
  const auto byte = std::find(tokens.begin(), tokens.end(), "<0x41>") - tokens.begin();
  EXPECT_EQ(types_of(file)[static_cast<size_t>(byte)], 6);
  const nlohmann::json json = nlohmann::json::parse(std::ifstream(model() / "tokenizer.json"));
  const std::vector<float> scores = file.get_array("tokenizer.ggml.scores").to_vector<float>();
  for (const size_t rank : {size_t{0}, size_t{100}}) {
    std::string merge = json.at("model").at("merges").at(rank).is_string()
                            ? json.at("model").at("merges").at(rank).get<std::string>()
                            : json.at("model").at("merges").at(rank).at(0).get<std::string>() + " " +
                                  json.at("model").at("merges").at(rank).at(1).get<std::string>();
    merge.erase(merge.find(' ', 1), 1);
    const auto token = std::find(tokens.begin(), tokens.end(), merge) - tokens.begin();
    EXPECT_EQ(scores[static_cast<size_t>(token)], -static_cast<float>(rank)) << merge;
  }
  expect_vectors(*Tokenizer::from_gguf(file), "tests/data/text/byte_fallback.vectors");
}

TEST_F(GgufVocabularies, WordPieceHasItsWordsMarked) {
  write_folder(500, "tests/data/text/word_piece.json", "tokenizer.json");
  const GgufFile file = convert();
  EXPECT_EQ(file.get_string("tokenizer.ggml.model"), "bert");
  EXPECT_EQ(file.get_uint("tokenizer.ggml.cls_token_id"), 2U);
  EXPECT_EQ(file.get_uint("tokenizer.ggml.seperator_token_id"), 3U);
  EXPECT_EQ(file.get_uint("tokenizer.ggml.mask_token_id"), 4U);
  EXPECT_EQ(file.find_bool("tokenizer.ggml.add_sep_token"), true);
  const nlohmann::json vocab = nlohmann::json::parse(std::ifstream(model() / "tokenizer.json")).at("model").at("vocab");
  const auto& tokens = file.get_array("tokenizer.ggml.tokens").strings;
  for (const auto& [text, id] : vocab.items()) {
    const bool special = text.starts_with('[') && text.size() > 2 && text.ends_with(']');
    const std::string want = special ? text : text.starts_with("##") ? text.substr(2) : "\xE2\x96\x81" + text;
    EXPECT_EQ(tokens[id.get<size_t>()], want);
  }
  expect_vectors(*Tokenizer::from_gguf(file), "tests/data/text/word_piece.vectors");
}

TEST_F(GgufVocabularies, SentencePieceModelsKeepTheirScores) {
  write_folder(2000, "tests/data/text/sp_bpe_bytes.model", "tokenizer.model");
  const auto own = Tokenizer::load(model());
  const GgufFile file = convert();
  EXPECT_EQ(file.get_string("tokenizer.ggml.model"), "llama");
  // GGUF has no character map for it: texts that it leaves as they are have the same tokens.
  const auto reread = Tokenizer::from_gguf(file);
  for (const char* text : {"hello there", "The quick brown fox, and 3 others", "a b c"}) EXPECT_EQ(reread->encode(text), own->encode(text));
}

TEST_F(GgufVocabularies, RanksBecomeMerges) {
  write_folder(444, "tests/data/text/tekken.json", "tekken.json");
  const GgufFile file = convert();
  EXPECT_EQ(file.get_string("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(file.get_string("tokenizer.ggml.pre"), "tekken");
  EXPECT_EQ(file.get_array("tokenizer.ggml.merges").strings.size(), 420U - 256U);
  expect_vectors(*Tokenizer::from_gguf(file), "tests/data/text/tekken.vectors", {});
}

TEST_F(GgufVocabularies, WhatGgufHasNoNameForIsKeptAsJsonWithAWarning) {
  for (const char* name : {"unigram", "word_suffix"}) {
    std::filesystem::remove_all(model());
    write_folder(600, (std::string("tests/data/text/") + name + ".json").c_str(), "tokenizer.json");
    const LogLines lines;
    const GgufFile file = convert();
    EXPECT_EQ(file.find("tokenizer.ggml.model"), nullptr);
    EXPECT_TRUE(file.find_string("tokenizer.huggingface.json").has_value());
    EXPECT_NE(lines.text().find("other programs will not read"), std::string::npos) << lines.text();
    const Checkpoint checkpoint = Checkpoint::open(folder_.path() / "model.gguf");
    expect_vectors(*load_tokenizer(checkpoint), (std::string("tests/data/text/") + name + ".vectors").c_str());
  }
}

// A normalizer that GGUF's keys do not have: composed characters.
TEST_F(GgufVocabularies, ADifferenceIsNamedAndTheJsonIsKeptBeside) {
  write_folder(512, "tests/data/text/byte_level.json", "tokenizer.json");
  nlohmann::json json = nlohmann::json::parse(std::ifstream(model() / "tokenizer.json"));
  json["normalizer"] = {{"type", "NFC"}};
  std::ofstream(model() / "tokenizer.json") << json.dump();
  const LogLines lines;
  const GgufFile file = convert();
  EXPECT_NE(lines.text().find("texts have other tokens in the keys of GGUF"), std::string::npos) << lines.text();
  EXPECT_EQ(file.get_string("tokenizer.ggml.model"), "gpt2");
  EXPECT_TRUE(file.find_string("tokenizer.huggingface.json").has_value());
  const std::string decomposed = "e\xCC\x81";
  const auto kept = load_tokenizer(Checkpoint::open(folder_.path() / "model.gguf"));
  EXPECT_EQ(kept->encode(decomposed), Tokenizer::load(model())->encode(decomposed));
  EXPECT_NE(kept->encode(decomposed), Tokenizer::from_gguf(file)->encode(decomposed));
}

}  // namespace
}  // namespace wick
