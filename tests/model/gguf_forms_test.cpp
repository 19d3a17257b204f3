// Forms in which GGUF files hold the same model: the logits are those of the usual form.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "model/golden_models.h"
#include "model/precise_logits.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_writer.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

class GgufForms : public ::testing::Test {
 protected:
  GgufForms() : file_(make_file(folder_.path())) {}

  static GgufFile make_file(const std::filesystem::path& folder) {
    GoldenModel::read("qwen3moe").write(folder / "model");
    write_gguf(Checkpoint::open(folder / "model"), folder / "usual.gguf");
    return GgufFile::open(folder / "usual.gguf");
  }

  // A copy of the file; `edit` takes a tensor over by returning true.
  using Edit = std::function<bool(GgufWriter& writer, const GgufTensor& tensor)>;
  void write_copy(const Edit& edit) const {
    GgufWriter writer;
    for (const auto& [key, value] : file_.metadata()) writer.add(key, value);
    for (const GgufTensor& tensor : file_.tensors()) {
      if (!edit(writer, tensor)) writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
    }
    writer.write(folder_.path() / "other.gguf");
  }

  [[nodiscard]] std::vector<float> logits_of(const char* name) const {
    return precise_logits(folder_.path() / name, std::vector<int32_t>{1, 5, 9, 40, 2, 17});
  }

  void expect_equal() const {
    const std::vector<float> want = logits_of("usual.gguf"), got = logits_of("other.gguf");
    ASSERT_EQ(got.size(), want.size());
    for (size_t index = 0; index < want.size(); ++index) ASSERT_NEAR(got[index], want[index], 1e-5) << index;
  }

  TemporaryFolder folder_;
  GgufFile file_;
};

TEST_F(GgufForms, GateAndUpOfExpertsMayBeOneStack) {
  std::vector<std::vector<std::byte>> joined;
  joined.reserve(file_.tensors().size());
  write_copy([&](GgufWriter& writer, const GgufTensor& tensor) {
    const std::string name(tensor.name);
    const size_t at = name.find("ffn_gate_exps");
    if (name.find("ffn_up_exps") != std::string::npos) return true;
    if (at == std::string::npos) return false;
    const std::string stem = name.substr(0, at);
    const GgufTensor* up = nullptr;
    for (const GgufTensor& other : file_.tensors()) {
      if (other.name == stem + "ffn_up_exps.weight") up = &other;
    }
    const int64_t experts = tensor.shape[0];
    const size_t bytes = tensor.data.size() / static_cast<size_t>(experts);
    std::vector<std::byte>& both = joined.emplace_back();
    for (size_t expert = 0; expert < static_cast<size_t>(experts); ++expert) {
      for (const GgufTensor* half : {&tensor, up}) {
        const auto part = half->data.subspan(expert * bytes, bytes);
        both.insert(both.end(), part.begin(), part.end());
      }
    }
    writer.add_tensor(stem + "ffn_gate_up_exps.weight", tensor.dtype, {experts, 2 * tensor.shape[1], tensor.shape[2]}, both);
    return true;
  });
  expect_equal();
}

TEST_F(GgufForms, EachExpertMayHaveAScale) {
  std::vector<std::vector<float>> numbers;
  numbers.reserve(2 * file_.tensors().size());
  write_copy([&](GgufWriter& writer, const GgufTensor& tensor) {
    const std::string name(tensor.name);
    if (name.find("_exps.weight") == std::string::npos) return false;
    const auto experts = static_cast<size_t>(tensor.shape[0]);
    std::vector<float>& weights = numbers.emplace_back(tensor.data.size() / sizeof(float));
    std::memcpy(weights.data(), tensor.data.data(), tensor.data.size());
    std::vector<float>& scales = numbers.emplace_back();
    const size_t each = weights.size() / experts;
    for (size_t expert = 0; expert < experts; ++expert) {
      scales.push_back(static_cast<float>(1 << (expert % 4)));
      for (size_t index = 0; index < each; ++index) weights[expert * each + index] /= scales.back();
    }
    writer.add_tensor(name, DType::f32, tensor.shape, std::as_bytes(std::span(weights)));
    writer.add_tensor(name.substr(0, name.size() - 6) + "scale", DType::f32, {tensor.shape[0]}, std::as_bytes(std::span(scales)));
    return true;
  });
  expect_equal();
}

// What llama.cpp names otherwise than its other files: its readers know these names alone.
class LlamaCppNames : public ::testing::Test {
 protected:
  // The file that is written of the golden's folder.
  [[nodiscard]] GgufFile write(const char* golden, const nlohmann::json& changes = nlohmann::json::object()) const {
    GoldenModel model = GoldenModel::read(golden);
    model.json["config"].update(changes);
    model.write(folder_.path() / "model");
    write_gguf(Checkpoint::open(folder_.path() / "model"), folder_.path() / "model.gguf");
    return GgufFile::open(folder_.path() / "model.gguf");
  }
  void expect_the_folders_logits() const {
    const std::vector<int32_t> tokens = {1, 5, 9, 40, 2, 17};
    const std::vector<float> want = precise_logits(folder_.path() / "model", tokens);
    const std::vector<float> got = precise_logits(folder_.path() / "model.gguf", tokens);
    ASSERT_EQ(got.size(), want.size());
    for (size_t index = 0; index < want.size(); ++index) ASSERT_NEAR(got[index], want[index], 1e-5) << index;
  }

  TemporaryFolder folder_;
};

TEST_F(LlamaCppNames, FalconH1sNormOfTheFeedForwardPartHasNoEnd) {
  const GgufFile file = write("falcon-h1");
  EXPECT_NE(file.find_tensor("blk.0.ffn_norm"), nullptr);
  EXPECT_EQ(file.find_tensor("blk.0.ffn_norm.weight"), nullptr);
  expect_the_folders_logits();
}

TEST_F(LlamaCppNames, NemotronHHasBothEpsilons) {
  const GgufFile file = write("nemotron-h");
  for (const char* name : {"layer_norm_epsilon", "layer_norm_rms_epsilon"})
    EXPECT_FLOAT_EQ(static_cast<float>(file.find_float(std::string("nemotron_h.attention.") + name).value_or(0)), 1e-5F) << name;
}

TEST_F(LlamaCppNames, Nemotron3IsNemotronHWithExperts) {
  const GgufFile file = write("nemotron3-latent");
  EXPECT_EQ(file.get_string("general.architecture"), "nemotron_h_moe");
  EXPECT_EQ(file.find_uint("nemotron_h_moe.moe_latent_size"), 16U);
  EXPECT_EQ(file.find_uint("nemotron_h_moe.expert_shared_feed_forward_length"), 28U);
  EXPECT_NE(file.find_tensor("blk.0.ffn_latent_down.weight"), nullptr);
  EXPECT_EQ(file.find_tensor("blk.0.ffn_gate_exps.weight"), nullptr);
  expect_the_folders_logits();
}

TEST_F(LlamaCppNames, LayersBeforeThoseWithExpertsAreCounted) {
  EXPECT_EQ(write("glm4-moe-lite").find_uint("deepseek2.leading_dense_block_count"), 1U);
  expect_the_folders_logits();
}

TEST_F(LlamaCppNames, SparseAttentionHasItsIndexer) {
  const GgufFile file = write("deepseek-v32");
  EXPECT_EQ(file.get_string("general.architecture"), "deepseek32");
  for (const auto& [name, number] : std::map<std::string, uint64_t>{{"context_length", 256},
                                                                    {"attention.indexer.top_k", 128},
                                                                    {"attention.indexer.head_count", 2},
                                                                    {"attention.indexer.key_length", 64},
                                                                    {"attention.head_count_kv", 1},
                                                                    {"attention.key_length", 20},
                                                                    {"attention.value_length", 16},
                                                                    {"attention.key_length_mla", 12},
                                                                    {"attention.value_length_mla", 12},
                                                                    {"leading_dense_block_count", 1}}) {
    EXPECT_EQ(file.find_uint("deepseek32." + name), number) << name;
  }
  for (const char* name : {"attn_q_b.weight", "attn_k.weight", "k_norm.weight", "k_norm.bias", "proj.weight"}) {
    EXPECT_NE(file.find_tensor(std::string("blk.2.indexer.") + name), nullptr) << name;
  }
  EXPECT_NE(file.find_tensor("blk.2.attn_k_b.weight"), nullptr);
  EXPECT_EQ(file.find("deepseek32.attention.indexer.types"), nullptr) << "each layer has one";
  expect_the_folders_logits();
}

// A list of words, a text of letters, or numbers.
TEST_F(LlamaCppNames, LayersThatShareAnIndexerAreListed) {
  using Json = nlohmann::json;
  const std::vector<Json> forms = {Json::object(),
                                   {{"indexer_types", nullptr}, {"index_topk_pattern", "FSF"}},
                                   {{"indexer_types", nullptr}, {"index_topk_freq", 2}, {"index_skip_topk_offset", 1}}};
  for (const Json& form : forms) {
    SCOPED_TRACE(form.dump());
    const GgufFile file = write("glm-dsa", form);
    EXPECT_EQ(file.get_string("general.architecture"), "glm-dsa");
    const GgufValue* types = file.find("glm-dsa.attention.indexer.types");
    ASSERT_NE(types, nullptr);
    EXPECT_EQ(std::get<GgufArray>(types->value).to_vector<int32_t>(), (std::vector<int32_t>{1, 0, 1}));
    EXPECT_EQ(file.find_tensor("blk.1.indexer.proj.weight"), nullptr);
    expect_the_folders_logits();
  }
  for (const auto& [form, message] : std::map<std::string, std::string>{
           {R"({"indexer_types": ["full", "shared"]})", "indexer_types = 2 layers: num_hidden_layers = 3"},
           {R"({"indexer_types": ["shared", "full", "full"]})", "the first layer needs an indexer of its own"},
           {R"({"indexer_types": ["full", "half", "full"]})", "indexer_types = \"half\""},
           {R"({"indexer_types": 1.5})", "indexer_types = 1.5"},
           {R"({"indexer_types": null, "index_topk_pattern": "FXS"})", "index_topk_pattern = \"X\""},
           {R"({"indexer_types": null, "index_topk_freq": 0})", "index_topk_freq = 0"}}) {
    const std::string text = message_of([&] { (void)write("glm-dsa", Json::parse(form)); });
    EXPECT_NE(text.find(message), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST_F(LlamaCppNames, AContextBeyondDenseAttentionIsRefusedByItsKey) {
  for (const char* golden : {"deepseek-v32", "glm-dsa"}) {
    const std::string architecture(write(golden).get_string("general.architecture"));
    for (const auto& [file, key] : std::map<std::string, std::string>{
             {"model", "config.json: index_topk"}, {"model.gguf", "metadata " + architecture + ".attention.indexer.top_k"}}) {
      const auto model = load_language_model(Checkpoint::open(folder_.path() / file), Device::cpu());
      EXPECT_EQ(model->info().context_length, 128);
      (void)model->new_sequence(128);
      const std::string text = message_of([&] { (void)model->new_sequence(129); });
      EXPECT_NE(text.find("a context of 129 tokens"), std::string::npos) << text;
      EXPECT_NE(text.find("1 to 128 (" + key + " = 128: the sparse attention"), std::string::npos) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    }
    // As many positions as the model was made for are attended to densely.
    (void)write(golden, {{"index_topk", 256}});
    const auto model = load_language_model(Checkpoint::open(folder_.path() / "model"), Device::cpu());
    EXPECT_EQ(model->info().longest(), "256 (config.json: max_position_embeddings)");
    (void)write(golden, {{"index_topk", 0}});
    EXPECT_NE(message_of([&] {
                (void)load_language_model(Checkpoint::open(folder_.path() / "model"), Device::cpu());
              }).find("config.json: index_topk = 0: want 1 to"),
              std::string::npos);
  }
}

TEST_F(LlamaCppNames, ApertusActivationIsInTheMetadata) {
  const GgufFile file = write("apertus");
  for (const char* key : {"xielu.alpha_n", "xielu.alpha_p", "xielu.beta", "xielu.eps"}) {
    const GgufValue* value = file.find(key);
    ASSERT_NE(value, nullptr) << key;
    EXPECT_EQ(std::get<GgufArray>(value->value).size, 3U) << key;
  }
  expect_the_folders_logits();
}

TEST_F(LlamaCppNames, LightningAttentionHasItsNormAndOneFactor) {
  const GgufFile file = write("minimax-01");
  EXPECT_NE(file.find_tensor("blk.0.attn_norm_2.weight"), nullptr);
  EXPECT_EQ(file.find_uint("minimax-01.attention.head_count_kv"), 2U);
  EXPECT_EQ(file.find("minimax-01.residual_scale"), nullptr) << "its parts have factors of their own";
  expect_the_folders_logits();
  const GgufFile same =
      write("minimax-01", {{"full_attn_alpha_factor", 2.5}, {"linear_attn_alpha_factor", 2.5}, {"mlp_alpha_factor", 2.5}});
  EXPECT_EQ(same.find_float("minimax-01.residual_scale"), 2.5);
  expect_the_folders_logits();
}

TEST_F(LlamaCppNames, PairsOfADeltaRulesAttentionAreSharedOutAmongTheAxes) {
  const GgufFile file = write("qwen35");
  const GgufValue* sections = file.find("qwen35.rope.dimension_sections");
  ASSERT_NE(sections, nullptr);
  EXPECT_EQ(std::get<GgufArray>(sections->value).to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 0, 0}));
  expect_the_folders_logits();
}

TEST_F(LlamaCppNames, InputsOfLayersHaveARowForEachToken) {
  const GgufFile file = write("gemma3n");
  EXPECT_EQ(file.find_tensor("per_layer_token_embd.weight")->shape[0], file.find_tensor("token_embd.weight")->shape[0]);
  expect_the_folders_logits();
}

TEST_F(LlamaCppNames, EncodersHaveTheNumberOfTokenTypes) {
  const auto bert = shared_data("data/hf-tiny/bert");
  if (!bert) GTEST_SKIP() << kSharedDataMissing;
  write_gguf(Checkpoint::open(*bert), folder_.path() / "bert.gguf");
  EXPECT_EQ(GgufFile::open(folder_.path() / "bert.gguf").find_uint("tokenizer.ggml.token_type_count"), 2U);
}

TEST_F(LlamaCppNames, GroupsThatDoNotCountAreNotSaid) {
  const GgufFile file = write("deepseek-v2-greedy");
  EXPECT_EQ(file.find("deepseek2.expert_group_count"), nullptr);
  EXPECT_EQ(file.find("deepseek2.expert_group_used_count"), nullptr);
  expect_the_folders_logits();
  EXPECT_EQ(write("deepseek-v2").find_uint("deepseek2.expert_group_count"), 4U);
}

TEST_F(LlamaCppNames, Granite4WithoutStatesIsGranite) {
  for (const char* positions : {"rope", "nope"}) {
    SCOPED_TRACE(positions);
    const GgufFile file = write("granite4-attention", {{"position_embedding_type", positions}});
    EXPECT_EQ(file.get_string("general.architecture"), "granite");
    EXPECT_EQ(file.find_bool("granite.rope.scaling.finetuned"), std::string_view(positions) == "rope");
    EXPECT_EQ(file.find("granite.ssm.state_size"), nullptr);
    expect_the_folders_logits();
  }
  EXPECT_EQ(write("granite-hybrid").get_string("general.architecture"), "granitehybrid");
}

// Layers may have sizes of their own, which files give as arrays (OpenELM, DeciLM).
class GgufLayerSizes : public ::testing::Test {
 protected:
  GgufLayerSizes() {
    GoldenModel::read("seed_oss").write(folder_.path() / "model");
    write_gguf(Checkpoint::open(folder_.path() / "model"), folder_.path() / "usual.gguf");
  }

  struct Sizes {
    std::vector<int32_t> heads = {4, 4, 4}, kv_heads = {2, 2, 2}, widths = {48, 48, 48};
  };
  // Layer 1 with what its sizes leave of it: the first heads, the first rows of its feed-forward part. `whole`: the others are zero
  // instead.
  [[nodiscard]] std::filesystem::path write(const Sizes& sizes, bool whole) const {
    const GgufFile file = GgufFile::open(folder_.path() / "usual.gguf");
    GgufWriter writer;
    for (const auto& [key, value] : file.metadata()) {
      const bool replaced = key.ends_with(".head_count") || key.ends_with(".head_count_kv") || key.ends_with(".feed_forward_length");
      if (!replaced || whole) writer.add(key, value);
    }
    if (!whole) {
      writer.add_array<int32_t>("seed_oss.attention.head_count", sizes.heads);
      writer.add_array<int32_t>("seed_oss.attention.head_count_kv", sizes.kv_heads);
      writer.add_array<int32_t>("seed_oss.feed_forward_length", sizes.widths);
    }
    std::vector<std::vector<float>> kept;
    kept.reserve(file.tensors().size());
    for (const GgufTensor& tensor : file.tensors()) {
      std::vector<float>& values = kept.emplace_back(tensor.data.size() / sizeof(float));
      std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
      Shape shape = tensor.shape;
      const auto cut = [&](int64_t rows, int64_t columns) {
        if (rows < 1 || columns < 1) return;
        std::vector<float> part;
        for (int64_t row = 0; row < shape[0]; ++row) {
          for (int64_t column = 0; column < (shape.rank() > 1 ? shape[1] : 1); ++column) {
            const bool inside = row < rows && column < columns;
            float& value = values[static_cast<size_t>(row * (shape.rank() > 1 ? shape[1] : 1) + column)];
            if (!inside) value = 0;
            if (inside) part.push_back(value);
          }
        }
        if (whole) return;
        shape = shape.rank() > 1 ? Shape{std::min(rows, shape[0]), std::min(columns, shape[1])} : Shape{std::min(rows, shape[0])};
        values = part;
      };
      constexpr int64_t kAll = 1 << 20, kHeadDim = 16;
      const auto is = [&](std::string_view name) { return tensor.name.starts_with("blk.1." + std::string(name) + "."); };
      if (is("attn_q")) cut(sizes.heads[1] * kHeadDim, kAll);
      if (is("attn_k") || is("attn_v")) cut(sizes.kv_heads[1] * kHeadDim, kAll);
      if (is("attn_output") && tensor.shape.rank() > 1) cut(kAll, sizes.heads[1] * kHeadDim);
      if (is("ffn_gate") || is("ffn_up")) cut(sizes.widths[1], kAll);
      if (is("ffn_down")) cut(kAll, sizes.widths[1]);
      writer.add_tensor(tensor.name, DType::f32, shape, std::as_bytes(std::span(values)));
    }
    const std::filesystem::path path = folder_.path() / (whole ? "whole.gguf" : "sizes.gguf");
    writer.write(path);
    return path;
  }
  [[nodiscard]] static std::vector<float> logits_of(const std::filesystem::path& path) {
    return precise_logits(path, std::vector<int32_t>{1, 5, 9, 40, 2, 17});
  }

  TemporaryFolder folder_;
};

TEST_F(GgufLayerSizes, ArraysOfEqualNumbersAreTheNumber) {
  EXPECT_EQ(logits_of(write({}, false)), logits_of(folder_.path() / "usual.gguf"));
}

TEST_F(GgufLayerSizes, ALayerMayHaveFewerHeadsAndANarrowerFeedForwardPart) {
  const Sizes sizes{.heads = {4, 2, 4}, .kv_heads = {2, 1, 2}, .widths = {48, 20, 48}};
  const std::vector<float> want = logits_of(write(sizes, true)), got = logits_of(write(sizes, false));
  ASSERT_EQ(got.size(), want.size());
  for (size_t index = 0; index < want.size(); ++index) ASSERT_NEAR(got[index], want[index], 1e-4) << index;
}

TEST_F(GgufLayerSizes, WhatCannotBeIsNamed) {
  const auto message = [&](const Sizes& sizes) { return message_of([&] { (void)logits_of(write(sizes, false)); }); };
  EXPECT_NE(message({.heads = {4, 4}}).find("seed_oss.attention.head_count = an array of 2 i32"), std::string::npos)
      << message({.heads = {4, 4}});
  EXPECT_NE(message({.kv_heads = {2, 3, 2}}).find("it must divide the 4 heads"), std::string::npos);
  EXPECT_NE(message({.widths = {48, -1, 48}}).find("= -1: want 0 to"), std::string::npos);
  EXPECT_NE(message({.heads = {4, 0, 4}, .kv_heads = {2, 0, 2}}).find("is 0 for layer 1"), std::string::npos);
}

}  // namespace
}  // namespace wick
