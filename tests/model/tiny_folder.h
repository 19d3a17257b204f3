// Small Hugging Face folders with random weights: a configuration as JSON, and the tensors that it asks for.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/tiny_model.h"
#include "wick/formats/safetensors_writer.h"

namespace wick {

using Json = nlohmann::json;

struct TinyFolder {
  Json config;
  std::map<std::string, std::vector<int64_t>> tensors;  // name to shape
  DType dtype = DType::f32;

  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "config.json") << config.dump(1);
    write_shard(folder / "model.safetensors", [](const std::string&) { return true; });
  }
  // Those tensors that `wanted` says.
  void write_shard(const std::filesystem::path& path, const std::function<bool(const std::string&)>& wanted) const {
    SafetensorsWriter writer;
    std::vector<std::vector<std::byte>> kept;
    kept.reserve(tensors.size());
    for (const auto& [name, shape] : tensors) {
      if (!wanted(name)) continue;
      const int64_t columns = shape.back();
      const int64_t rows = shape.size() == 1 ? 1 : shape.front();
      kept.push_back(random_weights(name, dtype, rows, columns));
      writer.add_tensor(name, dtype, shape.size() == 1 ? Shape{columns} : Shape{rows, columns}, kept.back());
    }
    writer.write(path);
  }
};

// A model of Llama's layers under that class. Sizes are small and uneven: head_dim is not width / heads.
inline TinyFolder tiny_folder(const std::string& class_name) {
  constexpr int64_t kWidth = 48, kHeads = 4, kKvHeads = 2, kHeadDim = 16, kInner = 80, kVocab = 96, kLayers = 3;
  TinyFolder made;
  made.config = {{"architectures", {class_name}}, {"hidden_size", kWidth},          {"num_hidden_layers", kLayers},
                 {"intermediate_size", kInner},   {"num_attention_heads", kHeads},  {"num_key_value_heads", kKvHeads},
                 {"head_dim", kHeadDim},          {"max_position_embeddings", 256}, {"rms_norm_eps", 1e-6},
                 {"rope_theta", 10000.0},         {"vocab_size", kVocab},           {"tie_word_embeddings", false}};
  made.tensors["model.embed_tokens.weight"] = {kVocab, kWidth};
  made.tensors["model.norm.weight"] = {kWidth};
  made.tensors["lm_head.weight"] = {kVocab, kWidth};
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    made.tensors[prefix + "input_layernorm.weight"] = {kWidth};
    made.tensors[prefix + "post_attention_layernorm.weight"] = {kWidth};
    made.tensors[prefix + "self_attn.q_proj.weight"] = {kHeads * kHeadDim, kWidth};
    made.tensors[prefix + "self_attn.k_proj.weight"] = {kKvHeads * kHeadDim, kWidth};
    made.tensors[prefix + "self_attn.v_proj.weight"] = {kKvHeads * kHeadDim, kWidth};
    made.tensors[prefix + "self_attn.o_proj.weight"] = {kWidth, kHeads * kHeadDim};
    made.tensors[prefix + "mlp.gate_proj.weight"] = {kInner, kWidth};
    made.tensors[prefix + "mlp.up_proj.weight"] = {kInner, kWidth};
    made.tensors[prefix + "mlp.down_proj.weight"] = {kWidth, kInner};
  }
  return made;
}

// One folder for each architecture that has a form of Hugging Face: what its class needs beyond Llama's tensors.
inline TinyFolder tiny_folder_of(const std::string& architecture) {
  static const std::map<std::string, std::string> kClasses = {{"llama", "LlamaForCausalLM"},
                                                              {"qwen2", "Qwen2ForCausalLM"},
                                                              {"qwen3", "Qwen3ForCausalLM"},
                                                              {"gemma2", "Gemma2ForCausalLM"},
                                                              {"phi3", "Phi3ForCausalLM"}};
  const auto found = kClasses.find(architecture);
  TinyFolder made = tiny_folder(found == kClasses.end() ? "NoClassFor" + architecture : found->second);
  const int layers = made.config.at("num_hidden_layers");
  for (int layer = 0; layer < layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    const auto move_together = [&](const char* to, const std::vector<std::string>& from) {
      int64_t rows = 0;
      for (const std::string& name : from) {
        rows += made.tensors.at(prefix + name).front();
        made.tensors.erase(prefix + name);
      }
      made.tensors[prefix + to] = {rows, made.config.at("hidden_size")};
    };
    if (architecture == "qwen2") {
      for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
        made.tensors[prefix + "self_attn." + name + ".bias"] = {made.tensors.at(prefix + "self_attn." + name + ".weight").front()};
      }
    } else if (architecture == "qwen3") {
      for (const char* name : {"q_norm", "k_norm"}) made.tensors[prefix + "self_attn." + name + ".weight"] = {made.config.at("head_dim")};
    } else if (architecture == "gemma2") {
      for (const char* name : {"pre_feedforward_layernorm", "post_feedforward_layernorm"}) {
        made.tensors[prefix + name + ".weight"] = {made.config.at("hidden_size")};
      }
    } else if (architecture == "phi3") {
      move_together("self_attn.qkv_proj.weight", {"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"});
      move_together("mlp.gate_up_proj.weight", {"mlp.gate_proj.weight", "mlp.up_proj.weight"});
    }
  }
  if (architecture == "gemma2") {
    made.config["sliding_window"] = 12;
    made.config["hidden_activation"] = "gelu_pytorch_tanh";
  }
  return made;
}

}  // namespace wick
