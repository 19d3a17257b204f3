#include "model/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/gguf_type.h"
#include "model/language_model.h"
#include "model/random_rows.h"
#include "model/synthetic_vocabulary.h"
#include "quant/block_format.h"
#include "text/tokenizer.h"
#include "unit/temporary_folder.h"

namespace wick {
namespace {

using testing::HasSubstr;

constexpr DType kWeightTypes[] = {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k, DType::q5_k, DType::q6_k};

std::string error_of(const std::string& shape, const std::string& type = "q8_0") {
  const TemporaryFolder folder;
  try {
    write_synthetic_llama(folder / "model.gguf", {.shape = parse_synthetic_shape(shape), .type = type});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RandomRows, EveryFormatHasMeanZeroAndDeviationTwoHundredths) {
  constexpr int64_t kElements = 65536;
  for (const DType dtype : kWeightTypes) {
    std::vector<std::byte> row(static_cast<size_t>(storage_bytes(dtype, kElements)));
    fill_random_row(dtype, 7, row);
    std::vector<float> values(kElements);
    find_block_format(dtype)->unpack(row.data(), values);
    double sum = 0;
    double squares = 0;
    for (const float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
    }
    // Legacy formats have one code more below zero than above: half a step of mean.
    EXPECT_NEAR(sum / kElements, 0, 0.0025) << to_string(dtype);
    EXPECT_NEAR(std::sqrt(squares / kElements), 0.02, 0.0005) << to_string(dtype);
  }
}

TEST(RandomRows, BytesDependOnTheSeedAlone) {
  std::vector<std::byte> first(144);
  std::vector<std::byte> second(144);
  fill_random_row(DType::q4_k, 1, first);
  fill_random_row(DType::q4_k, 1, second);
  EXPECT_EQ(first, second);
  fill_random_row(DType::q4_k, 2, second);
  EXPECT_NE(first, second);
  EXPECT_FALSE(has_random_rows(DType::iq4_nl));
}

TEST(SyntheticVocabulary, HasItsSizeAndNoTokenTwice) {
  for (const int64_t size : {258, 259, 1000, 32000}) {
    const SyntheticVocabulary vocabulary = make_synthetic_vocabulary(size);
    EXPECT_EQ(vocabulary.tokens.size(), static_cast<size_t>(size));
    EXPECT_EQ(vocabulary.kinds.size(), static_cast<size_t>(size));
    EXPECT_EQ(vocabulary.merges.size(), static_cast<size_t>(size) - 258);
    EXPECT_EQ(std::set<std::string>(vocabulary.tokens.begin(), vocabulary.tokens.end()).size(), static_cast<size_t>(size));
  }
}

TEST(SyntheticShape, NamesAreTheShapesOfTheBenchmarks) {
  const SyntheticShape small = parse_synthetic_shape("1b");
  EXPECT_EQ(small.layers, 16);
  EXPECT_EQ(small.width, 2048);
  EXPECT_EQ(small.feed_forward, 8192);
  EXPECT_EQ(small.heads, 32);
  EXPECT_EQ(small.kv_heads, 8);
  EXPECT_EQ(small.vocabulary, 32000);
  EXPECT_TRUE(small.tied);
  const SyntheticShape large = parse_synthetic_shape("8b");
  EXPECT_EQ(large.layers, 32);
  EXPECT_EQ(large.width, 4096);
  EXPECT_EQ(large.feed_forward, 14336);
  EXPECT_EQ(large.vocabulary, 128256);
  EXPECT_FALSE(large.tied);
}

TEST(SyntheticShape, BadShapesAreRefusedWithTheReason) {
  for (const char* shape :
       {"", "3b", "1,2,3", "1,64,64,2,1,300,", "1,64,64,2,1,300,7", "0,64,64,2,1,300", "-1,64,64,2,1,300", "1,64,64,2,1,99999999999"}) {
    EXPECT_THAT(error_of(shape), HasSubstr("layers,width,feed-forward,heads,KV heads,vocabulary")) << shape;
  }
  EXPECT_THAT(error_of("1,64,64,3,1,300"), HasSubstr("multiple of the number of heads"));
  EXPECT_THAT(error_of("1,64,64,4,3,300"), HasSubstr("multiple of the number of KV heads"));
  EXPECT_THAT(error_of("1,64,64,64,1,300"), HasSubstr("even"));
  EXPECT_THAT(error_of("1,64,64,2,1,257"), HasSubstr("258"));
  EXPECT_THAT(error_of("1,64,64,2,1,300", "q4_k"), HasSubstr("multiple of 256"));
  EXPECT_THAT(error_of("1,64,64,2,1,300", "q4_z"), HasSubstr("q4_k_m"));
}

TEST(SyntheticModel, TheFileDependsOnTheSeedAndNotOnTheThreads) {
  const TemporaryFolder folder;
  SyntheticOptions options{.shape = parse_synthetic_shape("2,64,96,4,2,300"), .type = "q8_0", .seed = 5, .threads = 1};
  write_synthetic_llama(folder / "one", options);
  options.threads = 3;
  write_synthetic_llama(folder / "three", options);
  options.seed = 6;
  write_synthetic_llama(folder / "other", options);
  EXPECT_EQ(read_bytes(folder / "one"), read_bytes(folder / "three"));
  EXPECT_NE(read_bytes(folder / "one"), read_bytes(folder / "other"));
}

// llama.cpp's mix: the head, and of the value and down projections the first and last eighth of the layers and every third between.
TEST(SyntheticModel, MediumMixesSpendMoreBitsWhereLlamaCppDoes) {
  const TemporaryFolder folder;
  SyntheticOptions options{.shape = parse_synthetic_shape("16,256,256,4,2,300"), .type = "q4_k_m"};
  write_synthetic_llama(folder / "tied.gguf", options);
  const GgufFile tied = GgufFile::open(folder / "tied.gguf");
  EXPECT_EQ(tied.find_tensor("token_embd.weight")->dtype, DType::q6_k);
  EXPECT_EQ(tied.find_tensor("output.weight"), nullptr);
  for (int layer = 0; layer < 16; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    const bool more = std::set<int>{0, 1, 4, 7, 10, 13, 14, 15}.contains(layer);
    EXPECT_EQ(tied.find_tensor(prefix + "attn_v.weight")->dtype, more ? DType::q6_k : DType::q4_k) << layer;
    EXPECT_EQ(tied.find_tensor(prefix + "ffn_down.weight")->dtype, more ? DType::q6_k : DType::q4_k) << layer;
    EXPECT_EQ(tied.find_tensor(prefix + "attn_q.weight")->dtype, DType::q4_k);
  }
  options.shape.tied = false;
  write_synthetic_llama(folder / "untied.gguf", options);
  const GgufFile untied = GgufFile::open(folder / "untied.gguf");
  EXPECT_EQ(untied.find_tensor("token_embd.weight")->dtype, DType::q4_k);
  EXPECT_EQ(untied.find_tensor("output.weight")->dtype, DType::q6_k);
}

TEST(SyntheticModel, EveryTypeLoadsTokenizesAndGivesFiniteLogits) {
  const TemporaryFolder folder;
  for (const char* type : {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_k", "q5_k", "q6_k", "q4_k_m", "q5_k_m"}) {
    write_synthetic_llama(folder / "model.gguf", {.shape = parse_synthetic_shape("2,256,256,4,2,500"), .type = type});
    const GgufFile file = GgufFile::open(folder / "model.gguf");
    const auto tokenizer = Tokenizer::from_gguf(file);
    const std::string text = "Once upon a time, größer 東京";
    const std::vector<TokenId> tokens = tokenizer->encode(text);
    EXPECT_EQ(tokens.front(), *tokenizer->bos());
    EXPECT_EQ(tokenizer->decode(tokens), text);
    const auto model = load_language_model(file, Device::cpu());
    const auto cache = model->new_cache(64);
    for (const float logit : model->forward(tokens, *cache, LogitRows::all).to_vector<float>()) ASSERT_TRUE(std::isfinite(logit)) << type;
  }
}

}  // namespace
}  // namespace wick
