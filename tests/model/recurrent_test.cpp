// Recurrent models: an engine gives the tokens of each request by itself, whatever it caches, shares, preempts and proposes; a wrong model
// gets an error of one line.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "model/golden_models.h"
#include "model/recurrent_models.h"
#include "unit/engine_samples.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_writer.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/decoder_model.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

TEST_P(RecurrentModel, APrefixIsTakenWhereItsStateIsKept) {
  Engine engine(*model_, tokenizer_, {.context = 128, .sequences = 2});
  const std::vector<TokenId> prompt = text_of(64, 1);
  const Answer first = finish(engine, engine.submit(request(prompt, 5)));
  EXPECT_EQ(first.only(), alone(prompt, 5));
  EXPECT_EQ(first.finishes[0].usage.cached_tokens, 0);
  std::vector<TokenId> longer = prompt;
  longer.insert(longer.end(), first.only().begin(), first.only().end());
  const Answer second = finish(engine, engine.submit(request(longer, 5)));
  EXPECT_EQ(second.finishes[0].usage.cached_tokens, 64) << "the prompt's step ended with a block";
  EXPECT_EQ(second.only(), alone(longer, 5));
  std::vector<TokenId> shorter(prompt.begin(), prompt.begin() + 40);
  const Answer third = finish(engine, engine.submit(request(shorter, 5)));
  EXPECT_EQ(third.finishes[0].usage.cached_tokens, 32) << "a step ended where a repeated prompt goes on";
  EXPECT_EQ(third.only(), alone(shorter, 5));
  engine.forget_prefixes();
  EXPECT_EQ(finish(engine, engine.submit(request(longer, 5))).finishes[0].usage.cached_tokens, 0);
}

TEST_P(RecurrentModel, TheNextTurnGoesOnFromTheLastKeptState) {
  for (const int64_t sequences : {1, 3}) {
    Engine engine(*model_, tokenizer_, {.context = kPositions, .sequences = sequences});
    std::vector<TokenId> text = text_of(45, 1);
    const auto turn = [&](int64_t count, int64_t cached) {
      const Answer answer = finish(engine, engine.submit(request(text, count)));
      EXPECT_EQ(answer.finishes[0].usage.cached_tokens, cached) << sequences << " sequences, " << text.size() << " tokens";
      EXPECT_EQ(answer.only(), alone(text, count, kPositions));
      return answer.only();
    };
    const auto extend = [&](const std::vector<TokenId>& answer, int64_t count) {
      text.insert(text.end(), answer.begin(), answer.end());
      const std::vector<TokenId> question = text_of(count, 2);
      text.insert(text.end(), question.begin(), question.end());
    };
    const std::vector<TokenId> first = turn(60, 0);
    (void)turn(3, 32);  // the same again
    extend(first, 20);  // 105 tokens of which 104 were computed
    extend(turn(2, 96), 30);
    // A turn that is cancelled leaves what it has computed.
    Stream cancelled = engine.submit(request(text, 50));
    for (int steps = 0; steps < 20; ++steps) (void)engine.step();
    cancelled.cancel();
    while (engine.step()) continue;
    extend(turn(5, 128), 3);
    // Another adapter's, or another user's, is not this one's.
    Request salted = request(text, 3);
    salted.cache_salt = "other";
    EXPECT_EQ(finish(engine, engine.submit(std::move(salted))).finishes[0].usage.cached_tokens, 0);
    EXPECT_EQ(engine.metrics().kv_blocks_used, 0);
  }
}

TEST_P(RecurrentModel, TextsThatBeginAlikeShareTheStateWhereTheyPart) {
  Engine engine(*model_, tokenizer_, {.context = 128, .sequences = 2});
  const auto ask = [&](uint32_t seed) {
    std::vector<TokenId> text = text_of(70, 1);
    const std::vector<TokenId> question = text_of(40, seed);
    text.insert(text.end(), question.begin(), question.end());
    return text;
  };
  const bool has_keys = !model_->cache_layout().layers.empty();
  for (const auto& [seed, cached] : std::map<uint32_t, int64_t>{{10, 0}, {11, 0}, {12, has_keys ? 64 : 0}, {13, has_keys ? 64 : 0}}) {
    const Answer answer = finish(engine, engine.submit(request(ask(seed), 4)));
    EXPECT_EQ(answer.finishes[0].usage.cached_tokens, cached) << seed;
    EXPECT_EQ(answer.only(), alone(ask(seed), 4));
  }
  // Those that come at once wait for one of them.
  engine.forget_prefixes();
  Stream first = engine.submit(request(ask(20), 4)), second = engine.submit(request(ask(21), 4));
  EXPECT_EQ(finish(engine, std::move(first)).only(), alone(ask(20), 4));
  const Answer answer = finish(engine, std::move(second));
  EXPECT_EQ(answer.finishes[0].usage.cached_tokens, 64);
  EXPECT_EQ(answer.only(), alone(ask(21), 4));
}

TEST_P(RecurrentModel, ASessionGoesOnInAnotherEngine) {
  const std::filesystem::path path = folder_.path() / "session";
  const std::vector<TokenId> prompt = text_of(70, 1);
  Engine before(*model_, tokenizer_, {.context = 128, .sequences = 1});
  (void)finish(before, before.submit(request(prompt, 2)));
  EXPECT_EQ(before.save_session(prompt, path), 64);
  Engine after(*model_, tokenizer_, {.context = 128, .sequences = 1});
  EXPECT_EQ(after.restore_session(path), 64);
  const Answer answer = finish(after, after.submit(request(prompt, 6)));
  EXPECT_EQ(answer.finishes[0].usage.cached_tokens, 64);
  EXPECT_EQ(answer.only(), alone(prompt, 6));
}

TEST_P(RecurrentModel, ManyRequestsAtOnceGiveTheTokensOfEach) {
  EngineOptions options{.context = 128, .sequences = 3};
  options.speculation.most = 4;
  Engine engine(*model_, tokenizer_, options);
  std::vector<Stream> streams;
  std::vector<std::vector<TokenId>> prompts;
  std::vector<Answer> answers(8);
  for (uint32_t index = 0; index < 8; ++index) {
    prompts.push_back(text_of(32, index % 2));
    const std::vector<TokenId> rest = text_of(3 + 7 * (index / 2), 9 + index / 2);
    prompts.back().insert(prompts.back().end(), rest.begin(), rest.end());
    Request made = request(prompts.back(), 12);
    made.priority = static_cast<int>(index % 3);  // the higher ones preempt
    streams.push_back(engine.submit(std::move(made)));
    for (int steps = 0; steps < 4; ++steps) (void)engine.step();
  }
  for (int steps = 0; engine.step() && steps < 10000; ++steps) continue;
  for (size_t index = 0; index < streams.size(); ++index) {
    ASSERT_TRUE(answers[index].take(streams[index]));
    ASSERT_FALSE(answers[index].error) << answers[index].error->message;
    EXPECT_EQ(answers[index].only(), alone(prompts[index], 12)) << index;
  }
  EXPECT_EQ(engine.metrics().kv_blocks_used, 0);
}

TEST_P(RecurrentModel, ChoicesGoOnFromOneState) {
  Engine engine(*model_, tokenizer_, {.context = 128, .sequences = 4});
  const std::vector<TokenId> prompt = text_of(37, 3);
  Request made = request(prompt, 8);
  made.n = 3;
  const Answer answer = finish(engine, engine.submit(std::move(made)));
  const std::vector<TokenId> want = alone(prompt, 8);
  ASSERT_EQ(answer.tokens.size(), 3U);
  for (const std::vector<TokenId>& tokens : answer.tokens) EXPECT_EQ(tokens, want);
}

TEST_P(RecurrentModel, DeterministicResultsHaveTheSameBitsInAnyParts) {
  const std::vector<TokenId> text = text_of(90, 5);
  const auto whole = model_->new_sequence(128);
  const std::vector<float> want = model_->forward(text, *whole, LogitRows::last).to_vector<float>();
  const auto parts = model_->new_sequence(128);
  std::vector<float> got;
  for (size_t at = 0; at < text.size(); at += 17) {
    const auto part = std::span(text).subspan(at, std::min<size_t>(17, text.size() - at));
    got = model_->forward(part, *parts, LogitRows::last).to_vector<float>();
  }
  EXPECT_EQ(got, want);
}

TEST_P(RecurrentModel, LongTextsAreTheSameInAnyParts) {
  const auto precise = load_language_model(Checkpoint::open(folder_.path() / "model"), Device::cpu(), {.precise = true});
  std::vector<TokenId> text = text_of(120, 6);
  const auto whole = precise->new_sequence(128);
  const std::vector<float> want = precise->forward(text, *whole, LogitRows::all).to_vector<float>();
  float largest = 1;
  for (const float value : want) largest = std::max(largest, std::fabs(value));
  for (const size_t size : {1, 5, 63, 65, 100}) {
    const auto sequence = precise->new_sequence(128);
    std::vector<float> got;
    for (size_t at = 0; at < text.size(); at += size) {
      const auto part = std::span(text).subspan(at, std::min(size, text.size() - at));
      const std::vector<float> rows = precise->forward(part, *sequence, LogitRows::all).to_vector<float>();
      got.insert(got.end(), rows.begin(), rows.end());
    }
    ASSERT_EQ(got.size(), want.size());
    for (size_t index = 0; index < want.size(); ++index) ASSERT_NEAR(got[index], want[index], 1e-4 * largest) << size << " " << index;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentModel, ::testing::ValuesIn(kRecurrentModels), recurrent_name);

class RefusedRecurrent : public ::testing::Test {
 protected:
  // Of a folder with these changes to config.json.
  [[nodiscard]] std::string message(const char* golden, const nlohmann::json& changes) {
    GoldenModel model = GoldenModel::read(golden);
    model.json["config"].update(changes);
    const std::filesystem::path path = folder_.path() / std::to_string(count_++);
    model.write(path);
    return load(path);
  }
  // Of its GGUF file with another value of a key.
  [[nodiscard]] std::string message(const char* golden, const std::string& key, uint32_t value) {
    const std::filesystem::path path = folder_.path() / std::to_string(count_++);
    GoldenModel::read(golden).write(path);
    write_gguf(Checkpoint::open(path), path / "good.gguf");
    const GgufFile good = GgufFile::open(path / "good.gguf");
    GgufWriter writer;
    for (const auto& [name, held] : good.metadata()) {
      if (name == key) {
        writer.add_uint(name, value);
      } else {
        writer.add(name, held);
      }
    }
    for (const GgufTensor& tensor : good.tensors()) writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
    writer.write(path / "bad.gguf");
    return load(path / "bad.gguf");
  }
  static std::string load(const std::filesystem::path& path) {
    const std::string text = message_of([&] { (void)load_language_model(Checkpoint::open(path), Device::cpu()); });
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  static void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
  }

  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(RefusedRecurrent, LayersOfWrongKindsAndNumbers) {
  expect_parts(message("lfm2", {{"layer_types", {"conv", "full_attention"}}}),
               {"config.json", "layer_types", "2 layers", "num_hidden_layers"});
  expect_parts(message("lfm2", {{"layer_types", {"conv", "full_attention", "wave", "conv"}}}), {"layer_types", "wave"});
  expect_parts(message("lfm2", {{"layer_types", nullptr}, {"full_attn_idxs", {1, 4}}}), {"full_attn_idxs", "[1,4]"});
  expect_parts(message("nemotron-h", {{"layers_block_type", {"mamba", "wave", "mlp", "mamba", "mlp"}}}), {"layers_block_type", "wave"});
  expect_parts(message("nemotron-h", {{"layers_block_type", nlohmann::json::array({"mamba"})}}),
               {"layers_block_type = 1: the last layer", "is number 4"});
  expect_parts(message("nemotron-h", {{"layers_block_type", nullptr}, {"hybrid_override_pattern", "M"}}),
               {"hybrid_override_pattern = 1: the last layer", "is number 4"});
  expect_parts(message("lfm2", {{"layer_types", {"conv", "conv", "conv", "conv"}}}),
               {"layer_types: layer 1 keeps a state, and has no tensors for it"});
  expect_parts(message("jamba", "jamba.attention.head_count_kv", 2),
               {"jamba.attention.head_count_kv: layer 0 keeps no state", "'blk.0.ssm_"});
  expect_parts(message("qwen3next", "qwen3next.full_attention_interval", 3), {"qwen3next.full_attention_interval: layer 2 keeps no state"});
  expect_parts(message("nemotron-h", {{"layers_block_type", nullptr}, {"hybrid_override_pattern", 7}}), {"hybrid_override_pattern = 7"});
  expect_parts(message("jamba", {{"layers_block_type", nullptr}, {"attn_layer_offset", 9}}),
               {"attn_layer_offset = 9", "attn_layer_period"});
  expect_parts(message("mamba2", {{"num_hidden_layers", 4}}), {"num_hidden_layers = 4: the last layer", "is number 2"});
  expect_parts(message("mamba2", "mamba2.block_count", 2), {"mamba2.block_count = 2: the last layer", "'blk.2."});
}

TEST_F(RefusedRecurrent, SizesThatDoNotFit) {
  expect_parts(message("lfm2", {{"conv_L_cache", 1}}), {"conv_L_cache", "= 1", "at least 2"});
  expect_parts(message("lfm2", {{"conv_L_cache", 5}}), {"conv_L_cache = 5", "conv.conv.weight", "shape [32, 3]"});
  expect_parts(message("mamba2", {{"n_groups", 3}}), {"n_groups", "= 3", "8 heads"});
  expect_parts(message("mamba2", {{"state_size", 7}}), {"state_size = 7", "n_groups = 1", "conv1d.weight", "shape [76, 4]"});
  expect_parts(message("mamba2", {{"conv_kernel", 5}}), {"conv_kernel = 5", "conv1d.weight", "shape [76, 4]"});
  expect_parts(message("mamba2", {{"num_heads", 4}, {"expand", 1}}), {"num_heads = 4", "dt_bias", "shape [8]"});
  expect_parts(message("mamba2", {{"head_dim", 4}, {"expand", 1}}), {"head_dim = 4", "out_proj.weight", "shape [32, 64]"});
  expect_parts(message("mamba2", {{"head_dim", 0}}), {"head_dim = 0", "from 1"});
  expect_parts(message("mamba2", {{"expand", 3}}), {"expand = 3", "96", "num_heads · head_dim is 64"});
  expect_parts(message("granite-hybrid", {{"mamba_expand", 3}}), {"mamba_expand = 3", "96", "mamba_n_heads · mamba_d_head is 64"});
  expect_parts(message("falcon-h1", {{"mamba_d_ssm", 64}}), {"mamba_d_ssm = 64", "mamba_n_heads · mamba_d_head is 32"});
  expect_parts(message("nemotron-h", {{"ssm_state_size", 7}}), {"ssm_state_size = 7", "n_groups = 2", "conv1d.weight"});
  expect_parts(message("mamba", {{"state_size", 7}}), {"state_size = 7", "A_log", "shape [64, 5]"});
  expect_parts(message("mamba", {{"time_step_rank", 4}}), {"time_step_rank = 4", "dt_proj.weight", "shape [64, 3]"});
  expect_parts(message("jamba", {{"mamba_expand", 3}}), {"mamba_expand = 3", "out_proj.weight", "shape [32, 64]"});
  expect_parts(message("mamba2", "mamba2.ssm.state_size", 7), {"mamba2.ssm.state_size = 7", "blk.0.ssm_conv1d.weight"});
  expect_parts(message("jamba", "jamba.ssm.inner_size", 96), {"jamba.ssm.inner_size = 96", "blk.0.ssm_out.weight", "shape [32, 64]"});
  expect_parts(message("mamba2", {{"time_step_limit", {0.1, 0.5}}}), {"time_step_limit", "[0.1,0.5]"});
  expect_parts(message("falcon-h1", {{"ssm_multipliers", {0.5, 2}}}), {"ssm_multipliers", "[0.5,2]", "5 numbers"});
  expect_parts(message("falcon-h1", {{"tie_word_embeddings", true}, {"lm_head_multiplier", 0.5}}), {"tie_word_embeddings", "multipliers"});
  expect_parts(message("mamba2", "mamba2.ssm.inner_size", 63), {"mamba2.ssm.inner_size", "63", "8 heads"});
  expect_parts(message("mamba2", "mamba2.ssm.conv_kernel", 1), {"mamba2.ssm.conv_kernel", "= 1"});
  expect_parts(message("lfm2", "lfm2.shortconv.l_cache", 0), {"lfm2.shortconv.l_cache", "0"});
  expect_parts(message("qwen3next", {{"linear_num_key_heads", 4}}), {"linear_num_key_heads", "= 4", "6 value heads"});
  expect_parts(message("qwen3next", {{"linear_num_key_heads", 3}}),
               {"linear_key_head_dim = 8", "linear_num_key_heads = 3", "conv1d.weight"});
  expect_parts(message("qwen3next", {{"linear_num_value_heads", 12}}), {"linear_num_value_heads = 12", "dt_bias", "shape [6]"});
  expect_parts(message("qwen3next", {{"linear_value_head_dim", 9}}), {"linear_value_head_dim = 9", "norm.weight", "shape [8]"});
  expect_parts(message("qwen35", {{"linear_conv_kernel_dim", 5}}), {"linear_conv_kernel_dim = 5", "conv1d.weight"});
  expect_parts(message("qwen35", {{"linear_conv_kernel_dim", 1}}), {"linear_conv_kernel_dim", "= 1", "at least 2"});
  expect_parts(message("kimi-linear", {{"linear_conv_kernel_dim", 1}}), {"linear_conv_kernel_dim", "= 1", "at least 2"});
  expect_parts(message("kimi-linear", {{"linear_head_dim", 6}}), {"linear_head_dim = 6", "o_norm.weight", "shape [8]"});
  expect_parts(message("kimi-linear", {{"linear_num_heads", 3}}), {"linear_num_heads = 3", "b_proj.weight", "shape [4, 32]"});
  expect_parts(message("kimi-linear", {{"v_head_dim", 10}}), {"kv_b_proj.weight", "[80, 16]", "4 heads"});
  expect_parts(message("kimi-linear", {{"layer_types", {"linear_attention"}}}), {"layer_types", "1 layers"});
  expect_parts(message("kimi-linear-published", {{"linear_attn_config", {{"full_attn_layers", {0}}}}}),
               {"linear_attn_config.full_attn_layers", "[0]", "from 1"});
  expect_parts(message("kimi-linear-published", {{"linear_attn_config", {{"full_attn_layers", {3}}, {"kda_layers", {1, 2}}}}}),
               {"linear_attn_config.kda_layers = [1,2]", "[1,2,4]"});
  expect_parts(message("kimi-linear", "kimi-linear.kda.head_dim", 0), {"kimi-linear.kda.head_dim", "0"});
  expect_parts(message("rwkv7", {{"head_dim", 5}}), {"head_dim", "= 5", "embedding_length 128"});
  expect_parts(message("rwkv7", {{"decay_low_rank_dim", 9}}), {"decay_low_rank_dim = 9", "w_lora.lora.0.weight", "shape [8, 128]"});
  expect_parts(message("rwkv7", {{"attn", {{"layers", {1}}}}}), {"attn", "does not know"});
  expect_parts(message("rwkv7", "rwkv7.wkv.head_size", 0), {"rwkv7.wkv.head_size", "0"});
  expect_parts(message("recurrent-gemma", {{"lru_width", 30}}), {"lru_width", "= 30", "4 heads"});
  expect_parts(message("recurrent-gemma", {{"lru_width", 64}}), {"lru_width = 64", "linear_out.weight", "shape [48, 32]"});
  expect_parts(message("recurrent-gemma", {{"attention_window_size", 0}}), {"attention_window_size = 0", "at least 1"});
  expect_parts(message("recurrent-gemma", {{"conv1d_width", 1}}), {"conv1d_width", "= 1", "at least 2"});
  expect_parts(message("recurrent-gemma", {{"conv1d_width", 5}}), {"conv1d_width = 5", "conv_1d.weight", "shape"});
  expect_parts(message("recurrent-gemma", {{"intermediate_size", 49}}), {"intermediate_size", "= 49", "even"});
  expect_parts(message("recurrent-gemma", {{"block_types", {"recurrent", "wave"}}}), {"block_types", "wave"});
  expect_parts(message("recurrent-gemma", {{"block_types", nlohmann::json::array()}}), {"block_types", "[]", "a kind of layer"});
  expect_parts(message("recurrent-gemma", {{"block_types", {"attention"}}}), {"block_types: layer 0 keeps no state", "conv_1d.weight"});
  expect_parts(message("recurrent-gemma", "recurrentgemma.ssm.inner_size", 30), {"recurrentgemma.ssm.inner_size", "= 30", "4 heads"});
  expect_parts(message("minimax-01", {{"layer_types", {"full_attention"}}}), {"layer_types", "1 layers", "num_hidden_layers"});
  expect_parts(message("minimax-01", {{"linear_attn_alpha_factor", 0}}), {"linear_attn_alpha_factor", "= 0", "positive"});
  expect_parts(message("minimax-01", {{"head_dim", 10}}), {"self_attn.", "shape"});
  expect_parts(message("minimax-01-published", {{"attn_type_list", {0, 2, 1, 0}}}), {"attn_type_list", "[0,2,1,0]", "1 for a layer"});
  expect_parts(message("minimax-01-published", {{"attn_type_list", {0, 1}}}), {"attn_type_list", "2 layers", "num_hidden_layers"});
  expect_parts(message("minimax-01-published", {{"postnorm", false}}), {"postnorm", "false"});
  expect_parts(message("mamba", {{"expand", 1.3}}), {"expand", "41.6", "whole number"});
  expect_parts(message("mamba", "mamba.ssm.conv_kernel", 1), {"mamba.ssm.conv_kernel", "= 1"});
}

TEST_F(RefusedRecurrent, StatesThatWouldGrow) {
  for (const char* golden : {"mamba", "mamba2", "qwen3next", "kimi-linear"}) {
    const std::filesystem::path path = folder_.path() / golden;
    GoldenModel::read(golden).write(path);
    write_gguf(Checkpoint::open(path), path / "good.gguf");
    const GgufFile good = GgufFile::open(path / "good.gguf");
    GgufWriter writer;
    for (const auto& [name, held] : good.metadata()) writer.add(name, held);
    std::vector<std::byte> changed;
    for (const GgufTensor& tensor : good.tensors()) {
      const bool is_decay = tensor.name == "blk.1.ssm_a";
      if (is_decay) {
        changed.assign(tensor.data.begin(), tensor.data.end());
        const float growing = 0.25F;
        std::memcpy(changed.data() + 2 * sizeof(float), &growing, sizeof(float));
      }
      writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, is_decay ? std::span<const std::byte>(changed) : tensor.data);
    }
    ASSERT_FALSE(changed.empty()) << golden;
    writer.write(path / "bad.gguf");
    expect_parts(load(path / "bad.gguf"), {"bad.gguf", "'blk.1.ssm_a' has 0.25 as number 2", "at most 0"});
  }
}

// transformers saves what it computes of the number of heads and of the layer.
TEST_F(RefusedRecurrent, DecaysThatAFolderHasAreNotRead) {
  GoldenModel model = GoldenModel::read("minimax-01");
  model.json["tensors"]["model.layers.0.self_attn.slope_rate"] = {4, 1, 1};
  model.json["tensors"]["model.layers.0.self_attn.diagonal_decay"] = {1, 4, 8, 8};
  const std::filesystem::path path = folder_.path() / "decays";
  model.write(path);
  const auto loaded = load_language_model(Checkpoint::open(path), Device::cpu(), {.precise = true});
  const auto sequence = loaded->new_sequence(64);
  const std::vector<float> got = loaded->forward(model.input_ids(), *sequence, LogitRows::all).to_vector<float>(), want = model.logits();
  ASSERT_EQ(got.size(), want.size());
  for (size_t index = 0; index < want.size(); ++index) ASSERT_NEAR(got[index], want[index], 1e-4) << index;
}

TEST_F(RefusedRecurrent, GemmasLayersThatDoNotFit) {
  expect_parts(message("gemma3n", {{"num_kv_shared_layers", 5}}), {"num_kv_shared_layers", "= 5", "layer 2"});
  expect_parts(message("gemma3n", {{"altup_active_idx", 4}}), {"altup_active_idx", "= 4", "4 streams"});
  expect_parts(message("gemma3n", {{"activation_sparsity_pattern", {0.5}}}), {"activation_sparsity_pattern", "[0.5]", "each layer"});
  expect_parts(message("gemma4", {{"per_layer_config", {{"2", {{"rank", 3}}}}}}), {"per_layer_config.2", "head_dim"});
  expect_parts(message("gemma4", {{"use_bidirectional_attention", "all"}}), {"use_bidirectional_attention", "all"});
}

}  // namespace
}  // namespace wick
