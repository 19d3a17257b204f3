// Phi 3.5 MoE: Llama's layers with layer norms, biases and experts (Abdin et al. 2024). llama.cpp's files leave the router's way of
// weighting out, and are run by a plain softmax.
#include <string>

#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_phimoe(const ModelConfig& config) {
  const bool sparse = config.keys.find_number("expert_sparse_mixer").value_or(0) != 0;
  const ExpertsSpec experts = config.experts(sparse ? Routing::sparse_mixer : Routing::softmax, !sparse);
  if (sparse && experts.count > 0 && experts.used != 2) {
    config.keys.fail_value("expert_used_count", std::to_string(experts.used), "this architecture's router chooses 2 experts");
  }
  // llama.cpp's files name the epsilon of root mean squares, and are run by these, biases added.
  const bool layer_norms = config.keys.find_number("attention.layer_norm_epsilon").value_or(0) != 0;
  const NormKind norms = layer_norms ? NormKind::layer : NormKind::rms;
  return config.decoder(
      [&](int64_t layer) { return config.layer(config.attention(layer), config.feed_forward_parts(layer, experts), norms); }, norms);
}

constexpr KeyRule kPhiMoeKeys[] = {{"expert_sparse_mixer"}};
constexpr WantedKey kPhiMoeWanted[] = {{"attention.layer_norm_rms_epsilon", {"attention.layer_norm_epsilon"}}};
constexpr std::string_view kPhiMoeClasses[] = {"PhimoeForCausalLM", "PhiMoEForCausalLM"};
constexpr ConfigRow kPhiMoeConfig[] = {
    {"num_local_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"rms_norm_eps", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"input_jitter_noise", ConfigRow::Use::harmless},  // in training
    {"router_jitter_noise", ConfigRow::Use::only_value, {}, 0.01},
    {"lm_head_bias", ConfigRow::Use::harmless},  // the tensors tell
    {"PhimoeForCausalLM", ConfigRow::Use::of_class, "expert_sparse_mixer", 1},
    {"PhiMoEForCausalLM", ConfigRow::Use::of_class, "expert_sparse_mixer", 1},
};
constexpr TensorRow kPhiMoeTensors[] = {
    {"model.layers.{}.block_sparse_moe.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w1.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w2.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w3.weight", "blk.{}.ffn_up_exps.weight"},
};

}  // namespace

const Architecture kPhiMoe = {.name = "phimoe",
                              .models = "Phi 3.5 MoE, Phi mini MoE",
                              .describe = describe_phimoe,
                              .experts = true,
                              .keys = kPhiMoeKeys,
                              .wanted = kPhiMoeWanted,
                              .hugging_face = {.classes = kPhiMoeClasses, .config = kPhiMoeConfig, .tensors = kPhiMoeTensors}};

}  // namespace wick
