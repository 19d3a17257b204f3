#include "wick/convert/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/convert/quantize_plan.h"
#include "wick/convert/random_rows.h"
#include "wick/convert/synthetic_family.h"
#include "wick/convert/synthetic_vocabulary.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_type.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"
#include "wick/quant/block_format.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& shape, const std::string& type = "q8_0") {
  const TemporaryFolder folder;
  try {
    write_synthetic_model(folder / "model.gguf", {.shape = parse_synthetic_shape(shape), .type = type});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RandomRows, EveryFormatHasMeanZeroAndDeviationTwoHundredths) {
  constexpr int64_t kElements = 65536;
  for (const BlockFormat& format : block_formats()) {
    const DType dtype = format.dtype;
    if (dtype == DType::q8_1 || dtype == DType::q8_k) continue;  // of activations
    ASSERT_TRUE(has_random_rows(dtype)) << to_string(dtype);
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
  EXPECT_FALSE(has_random_rows(DType::q8_k));
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

TEST(SyntheticModel, EachArchitectureIsAModelThatComputes) {
  const TemporaryFolder folder;
  for (const std::string& name : synthetic_architectures()) {
    for (const char* type : {"q8_0", "q4_k_m"}) {
      const bool narrow = std::string_view(type) == "q8_0";
      SyntheticOptions options{
          .shape = parse_synthetic_shape(narrow ? "4,64,96,4,2,300" : "4,256,512,4,2,300"), .architecture = name, .type = type};
      write_synthetic_model(folder / "model.gguf", options);
      const auto model = load_language_model(Checkpoint::open(folder / "model.gguf"), Device::cpu(), {});
      const auto sequence = model->new_sequence(8);
      const std::vector<int32_t> tokens = {1, 2, 3};
      for (const float logit : model->forward(tokens, *sequence, LogitRows::last).to_vector<float>())
        ASSERT_TRUE(std::isfinite(logit)) << name;
    }
  }
}

TEST(SyntheticModel, LayersKeepStatesWhereTheArchitectureHasThem) {
  const TemporaryFolder folder;
  const std::map<std::string, std::pair<size_t, size_t>> kinds = {{"mamba2", {12, 0}},   {"granitehybrid", {11, 1}}, {"lfm2", {8, 4}},
                                                                  {"qwen3next", {9, 3}}, {"qwen35", {9, 3}},         {"llama", {0, 12}}};
  for (const auto& [name, layers] : kinds) {
    write_synthetic_model(folder / "model.gguf", {.shape = parse_synthetic_shape("12,64,96,4,2,300"), .architecture = name});
    const auto model = load_language_model(Checkpoint::open(folder / "model.gguf"), Device::cpu(), {});
    EXPECT_EQ(model->cache_layout().states.size(), layers.first) << name;
    EXPECT_EQ(model->cache_layout().layers.size(), layers.second) << name;
  }
  EXPECT_EQ(shape_of_architecture(parse_synthetic_shape("1b"), "mamba2").layers, 48);
}

TEST(SyntheticModel, AnUnknownArchitectureNamesThoseThereAre) {
  const TemporaryFolder folder;
  const std::string message = message_of(
      [&] { write_synthetic_model(folder / "model.gguf", {.shape = parse_synthetic_shape("2,64,96,4,2,300"), .architecture = "mamba7"}); });
  for (const std::string& name : synthetic_architectures()) EXPECT_THAT(message, HasSubstr(name));
  EXPECT_THAT(message, HasSubstr("'mamba7'"));
}

TEST(SyntheticModel, TheFileDependsOnTheSeedAndNotOnTheThreads) {
  const TemporaryFolder folder;
  SyntheticOptions options{.shape = parse_synthetic_shape("2,64,96,4,2,300"), .type = "q8_0", .seed = 5, .threads = 1};
  write_synthetic_model(folder / "one", options);
  options.threads = 3;
  write_synthetic_model(folder / "three", options);
  options.seed = 6;
  write_synthetic_model(folder / "other", options);
  EXPECT_EQ(read_bytes(folder / "one"), read_bytes(folder / "three"));
  EXPECT_NE(read_bytes(folder / "one"), read_bytes(folder / "other"));
}

// llama.cpp's mix: the head, and of the value and down projections the first and last eighth of the layers and every third between.
TEST(SyntheticModel, MediumMixesSpendMoreBitsWhereLlamaCppDoes) {
  const TemporaryFolder folder;
  SyntheticOptions options{.shape = parse_synthetic_shape("16,256,256,4,2,300"), .type = "q4_k_m"};
  write_synthetic_model(folder / "tied.gguf", options);
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
  write_synthetic_model(folder / "untied.gguf", options);
  const GgufFile untied = GgufFile::open(folder / "untied.gguf");
  EXPECT_EQ(untied.find_tensor("token_embd.weight")->dtype, DType::q4_k);
  EXPECT_EQ(untied.find_tensor("output.weight")->dtype, DType::q6_k);
}

// The ternary formats have a code that means nothing to llama.cpp.
TEST(RandomRows, TernaryCodesAreMinusOneToOne) {
  for (const DType dtype : {DType::tq1_0, DType::tq2_0, DType::q2_0}) {
    std::vector<std::byte> row(static_cast<size_t>(storage_bytes(dtype, 8192)));
    fill_random_row(dtype, 3, row);
    std::vector<float> values(8192);
    find_block_format(dtype)->unpack(row.data(), values);
    std::set<float> different(values.begin(), values.end());
    EXPECT_EQ(different.size(), 3u) << to_string(dtype);
  }
  std::vector<std::byte> row(4096);
  fill_random_row(DType::i2_s, 3, row);
  for (const std::byte codes : row) {
    for (int shift = 0; shift < 8; shift += 2) ASSERT_NE(std::to_integer<int>(codes >> shift) & 3, 3);
  }
}

// Every name that wick quantize takes, in small letters, and each block format on its own.
TEST(SyntheticModel, TypesAreThoseOfTheQuantizer) {
  const std::vector<std::string> types = synthetic_types();
  for (const MixInfo& mix : mix_infos()) {
    std::string name(mix.name);
    for (char& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    EXPECT_THAT(types, testing::Contains(name));
  }
  const TemporaryFolder folder;
  write_synthetic_model(folder / "pure.gguf", {.shape = parse_synthetic_shape("2,256,256,4,2,300"), .type = "iq2_xxs"});
  const GgufFile pure = GgufFile::open(folder / "pure.gguf");
  for (const GgufTensor& tensor : pure.tensors()) {
    EXPECT_EQ(tensor.dtype, tensor.shape.rank() == 2 ? DType::iq2_xxs : DType::f32) << tensor.name;
  }
  write_synthetic_model(folder / "mix.gguf", {.shape = parse_synthetic_shape("2,256,256,4,2,300"), .type = "q3_k_l"});
  const GgufFile mix = GgufFile::open(folder / "mix.gguf");
  EXPECT_EQ(mix.find_tensor("blk.1.attn_v.weight")->dtype, DType::q5_k);
  EXPECT_EQ(mix.find_tensor("blk.1.attn_q.weight")->dtype, DType::q3_k);
  EXPECT_EQ(mix.find_tensor("token_embd.weight")->dtype, DType::q6_k);
}

TEST(SyntheticModel, BitNetHasSubNormsAndAnEmbeddingOfHalves) {
  const TemporaryFolder folder;
  for (const char* architecture : {"bitnet", "bitnet-b1.58"}) {
    for (const char* type : {"tq2_0", "i2_s", "tq1_0"}) {
      write_synthetic_model(folder / "model.gguf",
                            {.shape = parse_synthetic_shape("2,256,512,4,2,500"), .architecture = architecture, .type = type});
      const GgufFile file = GgufFile::open(folder / "model.gguf");
      EXPECT_EQ(file.get_string("general.architecture"), architecture);
      EXPECT_EQ(file.find_tensor("token_embd.weight")->dtype, DType::f16);
      EXPECT_EQ(file.find_tensor("blk.1.ffn_sub_norm.weight")->shape, Shape{512});
      EXPECT_EQ(file.find_tensor("blk.1.ffn_down.weight")->dtype, parse_dtype(type));
      const auto model = load_language_model(file, Device::cpu());
      const auto cache = model->new_sequence(8);
      const std::vector<int32_t> tokens = {1, 2, 3};
      for (const float logit : model->forward(tokens, *cache, LogitRows::all).to_vector<float>()) ASSERT_TRUE(std::isfinite(logit)) << type;
    }
  }
  EXPECT_THROW(write_synthetic_model(folder / "model.gguf", {.shape = parse_synthetic_shape("1b"), .architecture = "mamba"}), Error);
}

TEST(SyntheticModel, EveryTypeLoadsTokenizesAndGivesFiniteLogits) {
  const TemporaryFolder folder;
  for (const std::string& type : synthetic_types()) {
    write_synthetic_model(folder / "model.gguf", {.shape = parse_synthetic_shape("2,256,256,4,2,500"), .type = type});
    const GgufFile file = GgufFile::open(folder / "model.gguf");
    const auto tokenizer = Tokenizer::from_gguf(file);
    const std::string text = "Once upon a time, größer 東京";
    const std::vector<TokenId> tokens = tokenizer->encode(text);
    EXPECT_EQ(tokens.front(), *tokenizer->bos());
    EXPECT_EQ(tokenizer->decode(tokens), text);
    const auto model = load_language_model(file, Device::cpu());
    const auto cache = model->new_sequence(64);
    for (const float logit : model->forward(tokens, *cache, LogitRows::all).to_vector<float>()) ASSERT_TRUE(std::isfinite(logit)) << type;
  }
}

}  // namespace
}  // namespace wick
