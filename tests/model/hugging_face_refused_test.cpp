// Hugging Face folders that are wrong: each is refused in one line that names what and where.
#include <gtest/gtest.h>

#include "model/tiny_folder.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

class RefusedFolder : public ::testing::Test {
 protected:
  [[nodiscard]] std::string message(const TinyFolder& made) {
    const std::filesystem::path path = folder_.path() / ("model" + std::to_string(count_++));
    made.write(path);
    return message_at(path);
  }
  [[nodiscard]] static std::string message_at(const std::filesystem::path& path) {
    const std::string text = message_of([&] { (void)load_language_model(Checkpoint::open(path), Device::cpu()); });
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  void expect_refused(const TinyFolder& made, const std::vector<std::string>& parts) {
    const std::string text = message(made);
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
  }
  void expect_config_refused(const Json& changes, const std::vector<std::string>& parts, const std::string& architecture = "llama") {
    TinyFolder made = tiny_folder_of(architecture);
    made.config.update(changes);
    SCOPED_TRACE(changes.dump());
    expect_refused(made, parts);
  }

  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(RefusedFolder, AGoodOneIsNot) {
  for (const char* name : {"llama", "qwen2", "qwen3", "gemma2", "phi3"}) EXPECT_EQ(message(tiny_folder_of(name)), "nothing was thrown");
}

TEST_F(RefusedFolder, AnUnknownArchitectureNamesTheNearest) {
  expect_config_refused({{"architectures", {"Qwen4ForCausalLM"}}},
                        {"config.json", "'Qwen4ForCausalLM'", "Qwen3ForCausalLM", "Qwen2ForCausalLM"});
  expect_config_refused({{"architectures", nullptr}}, {"config.json", "architectures", "LlamaForCausalLM"});
}

TEST_F(RefusedFolder, AnUnknownClassIsToldByItsKindAndWhetherAGgufFileRuns) {
  expect_config_refused({{"architectures", {"DebertaForMaskedLM"}}}, {"'DebertaForMaskedLM' is not supported: it is an encoder"});
  expect_config_refused({{"architectures", {"InternLM3ForCausalLM"}}}, {"it is a decoder", "a GGUF file of it (architecture llama) runs"});
  expect_config_refused({{"architectures", {"DbrxForCausalLM"}}},
                        {"it is a decoder with experts", "OlmoeForCausalLM", "(architecture dbrx) does not run either"});
  const std::string text = [&] {
    TinyFolder made = tiny_folder_of("llama");
    made.config["architectures"] = {"DebertaModel"};
    return message(made);
  }();
  EXPECT_EQ(text.find("GPT2LMHeadModel"), std::string::npos) << text;
}

TEST_F(RefusedFolder, TheTextModelOfAModelOfImagesIsToldByItsType) {
  TinyFolder made = tiny_folder_of("llama");
  Json text = made.config;
  text.erase("architectures");
  text["model_type"] = "llama";
  made.config = {{"architectures", {"LlavaForConditionalGeneration"}}, {"text_config", text}, {"vision_config", {{"hidden_size", 8}}}};
  EXPECT_EQ(message(made), "nothing was thrown");
  made.config["text_config"]["hidden_act"] = "sine";
  expect_refused(made, {"config.json: text_config.hidden_act = 'sine'"});
  made.config["text_config"]["hidden_act"] = "silu";
  made.config["text_config"]["clip_qkv"] = 8;
  expect_refused(made, {"text_config.clip_qkv = 8"});
  made.config["text_config"].erase("clip_qkv");
  made.config["text_config"]["model_type"] = "mllama_text_model";
  expect_refused(made, {"'LlavaForConditionalGeneration' is not supported", "text and other media"});
}

TEST_F(RefusedFolder, AValueThatTheArchitectureHasNotNamesKeyAndValue) {
  expect_config_refused({{"rope_scaling", {{"rope_type", "spiral"}, {"factor", 2}}}}, {"rope_scaling.rope_type = 'spiral'"});
  expect_config_refused({{"rope_scaling", {{"rope_type", "linear"}, {"factor", -2}}}}, {"rope_scaling.factor = -2"});
  expect_config_refused({{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}}}}, {"original_max_position_embeddings"});
  expect_config_refused({{"hidden_act", "sine"}}, {"hidden_act = 'sine'"});
  expect_config_refused({{"clip_qkv", 8}}, {"clip_qkv = 8"});
  expect_config_refused({{"quantization_config", {{"bits", 4}}}}, {"quantization_config"});
  expect_config_refused({{"residual_multiplier", 0.2}}, {"residual_multiplier = 0.2"});
  expect_config_refused({{"layer_types", {"full_attention", "linear_attention", "full_attention"}}, {"sliding_window", 8}},
                        {"layer_types", "linear_attention"}, "qwen3");
  expect_config_refused({{"layer_types", {"full_attention"}}, {"sliding_window", 8}}, {"layer_types", "3 layers"}, "qwen3");
  expect_config_refused({{"sliding_window", 2.5}}, {"sliding_window = 2.5"});
  expect_config_refused({{"sliding_window", 0}}, {"sliding_window = 0"});
  expect_config_refused({{"sliding_window", -4}}, {"sliding_window = -4"});
  expect_config_refused({{"attn_logit_softcapping", 0}}, {"attn_logit_softcapping = 0"}, "gemma2");
  expect_config_refused({{"final_logit_softcapping", 0.0}}, {"final_logit_softcapping = 0.0"}, "gemma2");
  expect_config_refused({{"final_logit_softcapping", "high"}}, {"final_logit_softcapping", "high"}, "gemma2");
  expect_config_refused({{"partial_rotary_factor", 1.5}}, {"partial_rotary_factor = 1.5"});
  expect_config_refused({{"rotary_pct", "all"}}, {"rotary_pct", "all"});
  expect_config_refused({{"head_dim", 20}, {"rotary_pct", 0.25}}, {"rotary_pct = 0.25", "head's 20 dimensions 5 would turn"}, "phi3");
  expect_config_refused({{"head_dim", 20}, {"rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.75}}}},
                        {"rope_parameters.partial_rotary_factor = 0.75", "15 would turn"}, "phi3");
  expect_config_refused({{"partial_rotary_factor", 0.5}, {"rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}}}},
                        {"partial_rotary_factor = 0.5", "LlamaForCausalLM turns whole heads"});
  expect_config_refused({{"is_causal", "no"}}, {"is_causal = \"no\"", "true or false"});
  expect_config_refused({{"order_of_interleaved_layers", "global_attn_first"}}, {"order_of_interleaved_layers"});
  expect_config_refused({{"rms_norm_eps", 0}}, {"rms_norm_eps = 0"});
  expect_config_refused({{"rms_norm_eps", -1e-5}}, {"rms_norm_eps = -1e-05"});
  expect_config_refused({{"rope_theta", 0}}, {"rope_theta = 0"});
  expect_config_refused({{"max_position_embeddings", 0}}, {"max_position_embeddings = 0"});
  expect_config_refused({{"head_dim", 15}}, {"15"});
  expect_config_refused({{"head_dim", nullptr}, {"num_attention_heads", 5}, {"num_key_value_heads", 5}},
                        {"num_attention_heads = 5", "embedding_length 48"});
  expect_config_refused({{"attn_logit_softcapping", -1}}, {"attn_logit_softcapping = -1"}, "gemma2");
  expect_config_refused({{"num_attention_heads", 0}}, {"num_attention_heads = 0"});
  expect_config_refused({{"num_key_value_heads", 3}}, {"num_key_value_heads = 3", "4 heads"});
  expect_config_refused({{"num_hidden_layers", "three"}}, {"num_hidden_layers", "'three'"});
  expect_config_refused({{"hidden_size", nullptr}}, {"embedding_length"});
}

// In GGUF files 0 is no factor; transformers multiplies or divides by it.
TEST_F(RefusedFolder, AFactorOfZero) {
  for (const char* key : {"embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"}) {
    TinyFolder made = tiny_folder_of("llama");
    made.config.update({{"architectures", {"GraniteForCausalLM"}}, {key, 0}});
    expect_refused(made, {std::string("config.json: ") + key + " = 0: a number above 0 is needed"});
    made.config.update({{key, 0.0}});
    expect_refused(made, {std::string("config.json: ") + key + " = 0.0"});
  }
}

// Behind the context, transformers would turn new keys by other frequencies than those in the cache.
TEST_F(RefusedFolder, APlaceBehindTheContextOfDynamicRope) {
  TinyFolder made = tiny_folder_of("llama");
  made.config.update({{"rope_parameters", {{"rope_type", "dynamic"}, {"factor", 2.0}}}});
  const std::filesystem::path folder = folder_.path() / "dynamic", file = folder_.path() / "dynamic.gguf";
  made.write(folder);
  write_gguf(Checkpoint::open(folder), file);
  for (const std::filesystem::path& path : {folder, file}) {
    const std::unique_ptr<LanguageModel> model = load_language_model(Checkpoint::open(path), Device::cpu());
    EXPECT_EQ(message_of([&] { (void)model->new_sequence(256); }), "nothing was thrown");
    const std::string text = message_of([&] { (void)model->new_sequence(257); });
    EXPECT_NE(text.find("257 tokens"), std::string::npos) << text;
    EXPECT_NE(text.find("1 to 256 (dynamic RoPE scaling begins behind that"), std::string::npos) << text;
  }
}

TEST_F(RefusedFolder, AConfigurationThatContradictsItsTensors) {
  expect_config_refused({{"vocab_size", 97}}, {"vocab_size = 97", "model.embed_tokens.weight", "96 rows"});
  expect_config_refused({{"head_dim", 12}}, {"model.layers.0.self_attn.q_proj.weight", "[64, 48]", "[48, 48]"});
  expect_config_refused({{"num_hidden_layers", 4}}, {"model.layers.3.input_layernorm.weight", "(blk.3.attn_norm.weight)", "missing"});
  expect_config_refused({{"num_hidden_layers", 2}}, {"not used", "model.layers.2."});
  expect_config_refused({{"attention_bias", true}}, {"attention_bias = true", "no such biases"});
  expect_config_refused({{"mlp_bias", true}}, {"mlp_bias = true"});
}

TEST_F(RefusedFolder, TensorsMissingExtraOrMisshapen) {
  TinyFolder missing = tiny_folder_of("llama");
  missing.tensors.erase("model.layers.1.mlp.up_proj.weight");
  expect_refused(missing, {"model.layers.1.mlp.up_proj.weight", "(blk.1.ffn_up.weight)", "missing"});
  TinyFolder headless = tiny_folder_of("llama");
  headless.tensors.erase("lm_head.weight");
  expect_refused(headless, {"lm_head.weight", "missing", "tie"});
  TinyFolder empty = tiny_folder_of("llama");
  empty.tensors.erase("model.embed_tokens.weight");
  expect_refused(empty, {"'model.embed_tokens.weight' (token_embd.weight) is missing"});
  TinyFolder extra = tiny_folder_of("llama");
  extra.tensors["model.layers.0.self_attn.q_norm.weight"] = {16};
  expect_refused(extra, {"'model.layers.0.self_attn.q_norm.weight'"});
  TinyFolder odd = tiny_folder_of("llama");
  odd.tensors["model.layers.0.mlp.up_proj.weight"] = {81, 48};
  expect_refused(odd, {"model.layers.0.mlp.up_proj.weight", "[81, 48]", "[80, 48]"});
  TinyFolder twice = tiny_folder_of("llama");
  twice.tensors["model.layers.0.mlp.gate_up_proj.weight"] = {160, 48};
  expect_refused(twice, {"mean the same", "gate_up_proj"});
}

TEST_F(RefusedFolder, HalfOfTheShards) {
  const TinyFolder made = tiny_folder_of("llama");
  const std::filesystem::path path = folder_.path() / "sharded";
  made.write(path);
  std::filesystem::remove(path / "model.safetensors");
  const auto is_first = [](const std::string& name) { return name < "model.layers.1"; };
  made.write_shard(path / "model-00001-of-00002.safetensors", is_first);
  Json index = {{"weight_map", Json::object()}};
  for (const auto& [name, shape] : made.tensors) {
    index["weight_map"][name] = is_first(name) ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
  }
  std::ofstream(path / "model.safetensors.index.json") << index.dump();
  EXPECT_NE(message_at(path).find("model-00002-of-00002.safetensors: the shard is missing"), std::string::npos) << message_at(path);
  made.write_shard(path / "model-00002-of-00002.safetensors", [&](const std::string& name) { return !is_first(name); });
  EXPECT_EQ(message_at(path), "nothing was thrown");
  index["weight_map"]["lm_head.weight"] = "../elsewhere.safetensors";
  std::ofstream(path / "model.safetensors.index.json") << index.dump();
  EXPECT_NE(message_at(path).find("'../elsewhere.safetensors'"), std::string::npos) << message_at(path);
}

// As Python's json module writes it.
TEST_F(RefusedFolder, NanIsNamedByItsKey) {
  const std::filesystem::path path = folder_.path() / "nan";
  tiny_folder_of("gemma2").write(path);
  for (const char* text :
       {"{\n  \"hidden_size\": 48,\n  \"attn_logit_softcapping\": NaN\n}", R"({"hidden_size": 48, "attn_logit_softcapping": Infinity})"}) {
    std::ofstream(path / "config.json", std::ios::trunc) << text;
    const std::string message = message_at(path);
    EXPECT_NE(message.find("not valid JSON near"), std::string::npos) << message;
    EXPECT_NE(message.find("attn_logit_softcapping"), std::string::npos) << message;
    EXPECT_TRUE(message.find("NaN") != std::string::npos || message.find("Infinit") != std::string::npos) << message;
  }
}

TEST_F(RefusedFolder, ConfigurationsThatAreNoJson) {
  const std::filesystem::path path = folder_.path() / "broken";
  tiny_folder_of("llama").write(path);
  for (const char* text : {"", "[]", "{", "{\"a\": 1, \"a\": 2}", "{\"rope_theta\": 1e999}"}) {
    std::ofstream(path / "config.json", std::ios::trunc) << text;
    EXPECT_NE(message_at(path).find("config.json"), std::string::npos) << message_at(path);
  }
}

}  // namespace
}  // namespace wick
