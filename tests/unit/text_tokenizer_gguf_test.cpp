#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "shared_data.h"
#include "text_vectors.h"
#include "wick/base/error.h"
#include "wick/base/log.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_writer.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/streaming_detokenizer.h"
#include "wick/text/tokenizer/tokenizer.h"
#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<TokenId>;

// A vocabulary as a GGUF file writes it, made by hand.
struct Recipe {
  std::string model = "gpt2";
  std::string pre = "gpt-2";
  std::vector<std::string> tokens = {};
  std::vector<float> scores = {};
  std::vector<int32_t> types = {};
  std::vector<std::string> merges = {};
  std::function<void(GgufWriter&)> more = [](GgufWriter&) {};
};

std::shared_ptr<const Tokenizer> make(const Recipe& recipe) {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_string("tokenizer.ggml.model", recipe.model);
  if (!recipe.pre.empty()) writer.add_string("tokenizer.ggml.pre", recipe.pre);
  writer.add_strings("tokenizer.ggml.tokens", recipe.tokens);
  if (!recipe.scores.empty()) writer.add_array<float>("tokenizer.ggml.scores", recipe.scores);
  if (!recipe.types.empty()) writer.add_array<int32_t>("tokenizer.ggml.token_type", recipe.types);
  if (!recipe.merges.empty()) writer.add_strings("tokenizer.ggml.merges", recipe.merges);
  recipe.more(writer);
  const auto path = std::filesystem::temp_directory_path() / ("wick-text-" + std::to_string(getpid()) + ".gguf");
  writer.write(path);
  struct Remove {
    std::filesystem::path path;
    ~Remove() { std::filesystem::remove(path); }
  } remove{path};
  return Tokenizer::load(path);
}

// All bytes, then "he" 256, "Ġw" 257, "<eos>" 258 (control), "<u>" 259 (user-defined).
Recipe byte_recipe() {
  Recipe recipe;
  for (int byte = 0; byte < 256; ++byte) recipe.tokens.emplace_back(byte_to_letter(static_cast<uint8_t>(byte)));
  for (const char* text : {"he", "Ġw", "<eos>", "<u>"}) recipe.tokens.emplace_back(text);
  recipe.types.assign(258, 1);
  recipe.types.insert(recipe.types.end(), {3, 4});
  recipe.merges = {"h e", "Ġ w"};
  recipe.more = [](GgufWriter& writer) {
    writer.add_uint("tokenizer.ggml.bos_token_id", 258);
    writer.add_uint("tokenizer.ggml.eos_token_id", 258);
  };
  return recipe;
}

void expect_refused(const Recipe& recipe, ErrorCode code, const std::vector<std::string>& parts) {
  try {
    make(recipe);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& part : parts) EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(GgufTokenizer, MergesByRankAndSpellsBytes) {
  const auto tokenizer = make(byte_recipe());
  EXPECT_EQ(tokenizer->encode("he w", kPlain), (Ids{256, 257}));
  EXPECT_EQ(tokenizer->decode(Ids{256, 257}), "he w");
  EXPECT_EQ(tokenizer->token_text(257), "Ġw");
  EXPECT_EQ(tokenizer->token_bytes(257), " w");
  EXPECT_EQ(tokenizer->find_token("he"), 256);
  EXPECT_EQ(tokenizer->find_token("absent"), std::nullopt);
}

TEST(GgufTokenizer, ControlTokensAreParsedOnDemandAndUserDefinedOnesAlways) {
  const auto tokenizer = make(byte_recipe());
  EXPECT_EQ(tokenizer->encode("<eos>", {.add_special = false, .parse_special = true}), (Ids{258}));
  EXPECT_EQ(tokenizer->encode("<eos>", kPlain), (Ids{'<', 'e', 'o', 's', '>'}));
  EXPECT_EQ(tokenizer->encode("he<u> w", kPlain), (Ids{256, 259, 257}));
  EXPECT_EQ(tokenizer->decode(Ids{256, 258, 259}), "he<u>");
  EXPECT_EQ(tokenizer->decode(Ids{256, 258, 259}, false), "he<eos><u>");
  EXPECT_TRUE(tokenizer->is_control(258));
  EXPECT_FALSE(tokenizer->is_special(259));
}

TEST(GgufTokenizer, FlagsSayWhatIsAdded) {
  Recipe recipe = byte_recipe();
  const auto ids = recipe.more;
  EXPECT_EQ(make(recipe)->encode("he"), (Ids{256})) << "gpt-2 adds nothing by itself";
  recipe.more = [&](GgufWriter& writer) {
    ids(writer);
    writer.add_bool("tokenizer.ggml.add_bos_token", true);
    writer.add_bool("tokenizer.ggml.add_eos_token", true);
  };
  EXPECT_EQ(make(recipe)->encode("he"), (Ids{258, 256, 258}));
  EXPECT_EQ(make(recipe)->encode("he", kPlain), (Ids{256}));
  EXPECT_EQ(make(recipe)->encode(""), (Ids{258, 258}));
  recipe.pre = "llama-bpe";
  recipe.more = ids;
  EXPECT_EQ(make(recipe)->encode("he"), (Ids{258, 256})) << "Llama 3 has a BOS where the file does not say";
  recipe.more = [&](GgufWriter& writer) {
    ids(writer);
    writer.add_bool("tokenizer.ggml.add_bos_token", false);
  };
  EXPECT_EQ(make(recipe)->encode("he"), (Ids{256}));
}

TEST(GgufTokenizer, InvalidBytesAreEncodedAsBytesAndDecodedAsReplacementCharacters) {
  const auto tokenizer = make(byte_recipe());
  EXPECT_EQ(tokenizer->encode("\xFFhe\xE2\x82", kPlain), (Ids{0xFF, 256, 0xE2, 0x82}));
  EXPECT_EQ(tokenizer->decode(Ids{0xFF, 256, 0xE2, 0x82}), "\uFFFDhe\uFFFD");
}

TEST(GgufTokenizer, ListsOfUnequalLengthAreRefused) {
  Recipe recipe = byte_recipe();
  recipe.types.pop_back();
  expect_refused(recipe, ErrorCode::corrupt_file, {"tokenizer.ggml.token_type", "259", "260"});
  recipe = byte_recipe();
  recipe.scores.assign(261, 0.0f);
  expect_refused(recipe, ErrorCode::corrupt_file, {"tokenizer.ggml.scores", "261", "260"});
}

TEST(GgufTokenizer, UnknownFamilyAndPreTokenizerAreNamed) {
  Recipe recipe = byte_recipe();
  recipe.pre = "frobnicate";
  expect_refused(recipe, ErrorCode::unsupported, {"tokenizer.ggml.pre", "frobnicate", "llama-bpe", "qwen2"});
  recipe = byte_recipe();
  recipe.model = "plamo2";
  expect_refused(recipe, ErrorCode::unsupported, {"tokenizer.ggml.model", "plamo2"});
}

TEST(GgufTokenizer, MissingPreTokenizerIsReportedAndTakenForTheDefault) {
  std::string message;
  set_log_hook([&](LogLevel level, std::string_view text) { message += level == LogLevel::warning ? text : ""; });
  Recipe recipe = byte_recipe();
  recipe.pre = "";
  EXPECT_EQ(make(recipe)->encode("he w", kPlain), (Ids{256, 257}));
  set_log_hook({});
  EXPECT_THAT(message, HasSubstr("tokenizer.ggml.pre"));
}

TEST(GgufTokenizer, BrokenMergesAreRefused) {
  Recipe recipe = byte_recipe();
  recipe.merges.emplace_back("nospace");
  expect_refused(recipe, ErrorCode::corrupt_file, {"tokenizer.ggml.merges", "nospace"});
  recipe.merges.clear();
  expect_refused(recipe, ErrorCode::not_found, {"tokenizer.ggml.merges"});
}

TEST(GgufTokenizer, IdsOutsideTheVocabularyAreRefused) {
  const auto tokenizer = make(byte_recipe());
  for (const TokenId id : {-1, 260, INT32_MAX}) {
    EXPECT_THROW(static_cast<void>(tokenizer->decode(Ids{id})), Error);
    EXPECT_THROW(static_cast<void>(tokenizer->token_text(id)), Error);
    EXPECT_THROW(static_cast<void>(StreamingDetokenizer(tokenizer).push(id)), Error);
    EXPECT_FALSE(tokenizer->is_special(id));
  }
}

TEST(GgufTokenizer, SpecialIdOutsideTheVocabularyIsIgnored) {
  Recipe recipe = byte_recipe();
  recipe.more = [](GgufWriter& writer) {
    writer.add_uint("tokenizer.ggml.eos_token_id", 258);
    writer.add_uint("tokenizer.ggml.padding_token_id", 0xFFFFFFFFu);
  };
  EXPECT_EQ(make(recipe)->pad(), std::nullopt);
}

TEST(GgufTokenizer, EndOfGenerationHasMetadataIdsAndWellKnownTokens) {
  Recipe recipe = byte_recipe();
  recipe.tokens.insert(recipe.tokens.end(), {"<|im_end|>", "<end_of_turn>", "<|eot_id|>", "<other>"});
  recipe.types.insert(recipe.types.end(), {3, 4, 3, 3});
  recipe.more = [](GgufWriter& writer) {
    writer.add_uint("tokenizer.ggml.eos_token_id", 258);
    writer.add_uint("tokenizer.ggml.eom_token_id", 263);
  };
  const auto tokenizer = make(recipe);
  EXPECT_THAT(tokenizer->end_of_generation(), ElementsAre(258, 260, 261, 262, 263));
  EXPECT_TRUE(tokenizer->ends_generation(261));
  EXPECT_FALSE(tokenizer->ends_generation(259));
}

// <unk>, <s>, </s>, 256 bytes, then pieces with scores.
Recipe piece_recipe() {
  Recipe recipe;
  recipe.model = "llama";
  recipe.pre = "default";
  recipe.tokens = {"<unk>", "<s>", "</s>"};
  recipe.types = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    recipe.tokens.push_back(byte_token(static_cast<uint8_t>(byte)));
    recipe.types.push_back(6);
  }
  recipe.scores.assign(259, 0.0f);
  float score = 0;
  for (const char* text : {"▁", "a", "b", "ab", "▁a", "▁ab", "abab"}) {
    recipe.tokens.emplace_back(text);
    recipe.types.push_back(1);
    recipe.scores.push_back(--score);
  }
  return recipe;
}

TEST(GgufTokenizer, PiecesMergeByScoreWithSpacePrefixAndByteFallback) {
  const auto tokenizer = make(piece_recipe());
  // "ab" (-4) goes before "▁a" (-5) and makes "▁ab" possible; of the two "ab" the left one first.
  EXPECT_EQ(tokenizer->encode("abab", kPlain), (Ids{264, 262}));
  EXPECT_EQ(tokenizer->encode("ab ab"), (Ids{1, 264, 264}));
  EXPECT_EQ(tokenizer->encode("é", kPlain), (Ids{259, 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(tokenizer->decode(Ids{1, 264, 264}), "ab ab") << "the space that encoding added goes";
  EXPECT_EQ(tokenizer->decode(Ids{259, 3 + 0xC3, 3 + 0xA9}), "é");
  EXPECT_EQ(tokenizer->encode("", kPlain), Ids{});
  EXPECT_EQ(*tokenizer->bos(), 1);
  EXPECT_EQ(*tokenizer->unk(), 0);
}

TEST(GgufTokenizer, SpacePrefixCanBeSwitchedOff) {
  Recipe recipe = piece_recipe();
  recipe.more = [](GgufWriter& writer) { writer.add_bool("tokenizer.ggml.add_space_prefix", false); };
  const auto tokenizer = make(recipe);
  EXPECT_EQ(tokenizer->encode("ab ab", kPlain), (Ids{262, 264}));
  EXPECT_EQ(tokenizer->decode(Ids{264, 262}), " abab");
}

TEST(GgufTokenizer, StreamContinuesATextWithItsSpace) {
  const auto tokenizer = make(piece_recipe());
  StreamingDetokenizer from_start(tokenizer);
  EXPECT_EQ(from_start.push(264), "ab");
  EXPECT_EQ(from_start.push(264), " ab");
  StreamingDetokenizer continued(tokenizer, true);
  EXPECT_EQ(continued.push(264), " ab");
  EXPECT_EQ(continued.push(264), " ab");
}

TEST(GgufTokenizer, StreamNeverEmitsHalfACharacter) {
  const auto tokenizer = make(piece_recipe());
  StreamingDetokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.push(260), "a");
  EXPECT_EQ(detokenizer.push(3 + 0xF0), "");
  EXPECT_EQ(detokenizer.push(3 + 0x9F), "");
  EXPECT_EQ(detokenizer.push(1), "") << "a control token in between adds nothing";
  EXPECT_EQ(detokenizer.push(3 + 0x99), "");
  EXPECT_EQ(detokenizer.push(3 + 0x82), "🙂");
  EXPECT_EQ(detokenizer.push(3 + 0xE2), "");
  EXPECT_EQ(detokenizer.push(260), "\uFFFDa") << "the character cannot be completed any more";
  EXPECT_EQ(detokenizer.push(3 + 0xE2), "");
  EXPECT_EQ(detokenizer.push(3 + 0x82), "");
  EXPECT_EQ(detokenizer.finish(), "\uFFFD\uFFFD");
  EXPECT_EQ(detokenizer.push(264), "ab") << "finish begins anew";
}

TEST(GgufTokenizer, AnyIdsStreamToWhatTheyDecodeTo) {
  const auto tokenizer = make(piece_recipe());
  uint64_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    Ids ids;
    for (int index = 0; index < 12; ++index) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      ids.push_back(static_cast<TokenId>((state >> 33) % 266));
    }
    StreamingDetokenizer detokenizer(tokenizer);
    std::string text;
    for (const TokenId id : ids) text += detokenizer.push(id);
    text += detokenizer.finish();
    ASSERT_EQ(text, tokenizer->decode(ids));
    ASSERT_TRUE(is_valid_utf8(text));
  }
}

TEST(GgufTokenizer, UnigramTakesTheBestSumAndAddsEos) {
  Recipe recipe;
  recipe.model = "t5";
  recipe.tokens = {"<pad>", "</s>", "<unk>", "▁", "▁a", "b", "▁ab", "c", "bc"};
  recipe.types = {3, 3, 2, 1, 1, 1, 1, 1, 1};
  recipe.scores = {0, 0, 0, -2, -2, -3, -5.5f, -4, -4};
  recipe.more = [](GgufWriter& writer) {
    writer.add_bool("tokenizer.ggml.add_space_prefix", true);
    writer.add_bool("tokenizer.ggml.remove_extra_whitespaces", true);
  };
  const auto tokenizer = make(recipe);
  EXPECT_EQ(tokenizer->encode("ab"), (Ids{4, 5, 1})) << "-2 - 3 beats -5.5";
  EXPECT_EQ(tokenizer->encode("  abc  ab ", kPlain), (Ids{4, 8, 4, 5}));
  EXPECT_EQ(tokenizer->encode("xyz", kPlain), (Ids{3, 2})) << "a run of unknown characters is one token";
  EXPECT_EQ(tokenizer->decode(Ids{4, 8, 4, 5, 1}), "abc ab");
}

TEST(GgufTokenizer, WordPieceFoldsAndAddsClsAndSep) {
  Recipe recipe;
  recipe.model = "bert";
  recipe.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁apfel", "▁ap", "fel", "▁!", "▁中"};
  recipe.types = {3, 3, 3, 3, 1, 1, 1, 1, 1};
  recipe.more = [](GgufWriter& writer) {
    writer.add_uint("tokenizer.ggml.cls_token_id", 2);
    writer.add_uint("tokenizer.ggml.seperator_token_id", 3);
    writer.add_uint("tokenizer.ggml.unknown_token_id", 1);
  };
  const auto tokenizer = make(recipe);
  EXPECT_EQ(tokenizer->encode("ÄPFEL! 中apfelfel x"), (Ids{2, 4, 7, 8, 4, 6, 1, 3}));
  EXPECT_EQ(tokenizer->decode(Ids{2, 4, 7, 4, 6, 3}), "apfel! apfelfel");
}

TEST(GgufTokenizer, CharacterMapThatIsCutOffIsRefused) {
  Recipe recipe;
  recipe.model = "t5";
  recipe.tokens = {"<pad>", "</s>", "<unk>", "▁a"};
  recipe.scores = {0, 0, 0, -1};
  recipe.more = [](GgufWriter& writer) {
    const std::vector<uint8_t> blob = {255, 255, 0, 0, 1, 2};
    writer.add_array<uint8_t>("tokenizer.ggml.precompiled_charsmap", blob);
  };
  expect_refused(recipe, ErrorCode::corrupt_file, {"character map"});
}

TEST(GgufTokenizer, LongRunsDoNotTakeQuadraticTime) {
  const auto tokenizer = make(piece_recipe());
  // "abab…" of a megabyte: with a scan for every merge this would take hours.
  std::string text;
  for (int index = 0; index < 500'000; ++index) text += "ab";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  const auto bytes = make(byte_recipe());
  EXPECT_EQ(bytes->encode(std::string(1'000'000, 'h'), kPlain).size(), 1'000'000u);
}

}  // namespace
}  // namespace wick
