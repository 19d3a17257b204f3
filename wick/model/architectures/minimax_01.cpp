// MiniMax-01 and M1 (MiniMax 2025): seven layers of lightning attention for each that attends, all with experts. What a part is added to is
// what it reads, the normalized stream, and both have factors.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// Where layers are less deep, they forget more.
constexpr double kLeastRate = 1e-5;
// Each eighth layer attends, where the checkpoint does not say.
constexpr int64_t kLightningInterval = 8;
// Of the norm of lightning attention's results, whatever the model's is.
constexpr float kLightningEpsilon = 1e-6F;

// alpha · norm(x) + beta · part(norm(x)).
BlockSpec block_of(const ModelConfig& config, const char* norm, PartSpec part, const std::string& factors) {
  const double alpha = config.keys.positive_or(factors + ".alpha", config.keys.positive_or("residual_scale", 1));
  const double beta = config.keys.find_number(factors + ".beta").value_or(1);
  if (!std::isfinite(beta)) config.keys.fail_value(factors + ".beta", fmt::format("{}", beta), "a number is needed");
  return {.norm = config.norm(norm),
          .norms_stream = true,
          .parts = {std::move(part)},
          .residual_scale = static_cast<float>(beta / alpha),
          .sum_scale = static_cast<float>(alpha)};
}

DecoderSpec describe_minimax_01(const ModelConfig& config) {
  const KeyReader& keys = config.keys;
  const int64_t heads = keys.size("attention.head_count");
  const int64_t head_dim = keys.size_or("attention.key_length", config.hidden_size / heads);
  const ExpertsSpec experts = config.experts(Routing::softmax, true);
  const std::vector<bool> recurrent = config.recurrent_layers(kLightningInterval);
  return config.decoder([&](int64_t layer) {
    const double depth = static_cast<double>(layer) / (static_cast<double>(config.layers - 1) + kLeastRate);
    const LightningAttentionSpec lightning{.heads = heads,
                                           .head_dim = head_dim,
                                           .rate = 1 - depth + kLeastRate,
                                           .activation = config.activation,
                                           .norm_epsilon = kLightningEpsilon};
    const bool attends = !recurrent[static_cast<size_t>(layer)];
    PartSpec mixer = attends ? PartSpec{config.attention(layer)} : PartSpec{lightning};
    return LayerSpec{{block_of(config, "attn_norm", std::move(mixer), attends ? "full_attention" : "linear_attention"),
                      block_of(config, "ffn_norm", {experts}, "feed_forward")}};
  });
}

constexpr KeyRule kMiniMax01Keys[] = {{"full_attention.alpha"},  {"full_attention.beta"},     {"linear_attention.alpha"},
                                      {"linear_attention.beta"}, {"feed_forward.alpha"},      {"feed_forward.beta"},
                                      {"residual_scale"},        {"full_attention_interval"}, {"attention.recurrent_layers"}};
// Of files that llama.cpp's converter writes, all factors of what a part reads; the others are 1.
constexpr WantedKey kMiniMax01Wanted[] = {{"residual_scale", {"full_attention.alpha", "linear_attention.alpha", "feed_forward.alpha"}}};
constexpr std::string_view kMiniMax01Classes[] = {"MiniMaxForCausalLM", "MiniMaxText01ForCausalLM", "MiniMaxM1ForCausalLM"};
constexpr ConfigRow kMiniMax01Config[] = {
    {"num_local_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"rotary_dim", ConfigRow::Use::read, "rope.dimension_count"},
    {"block_size", ConfigRow::Use::harmless},      // how it is computed
    {"attn_type_list", ConfigRow::Use::harmless},  // read with the kinds of layers
    {"full_attention_interval", ConfigRow::Use::read, "full_attention_interval"},
    {"full_attn_alpha_factor", ConfigRow::Use::read, "full_attention.alpha"},
    {"full_attn_beta_factor", ConfigRow::Use::read, "full_attention.beta"},
    {"linear_attn_alpha_factor", ConfigRow::Use::read, "linear_attention.alpha"},
    {"linear_attn_beta_factor", ConfigRow::Use::read, "linear_attention.beta"},
    {"mlp_alpha_factor", ConfigRow::Use::read, "feed_forward.alpha"},
    {"mlp_beta_factor", ConfigRow::Use::read, "feed_forward.beta"},
    // As MiniMax publishes it.
    {"layernorm_full_attention_alpha", ConfigRow::Use::read, "full_attention.alpha"},
    {"layernorm_full_attention_beta", ConfigRow::Use::read, "full_attention.beta"},
    {"layernorm_linear_attention_alpha", ConfigRow::Use::read, "linear_attention.alpha"},
    {"layernorm_linear_attention_beta", ConfigRow::Use::read, "linear_attention.beta"},
    {"layernorm_mlp_alpha", ConfigRow::Use::read, "feed_forward.alpha"},
    {"layernorm_mlp_beta", ConfigRow::Use::read, "feed_forward.beta"},
    {"postnorm", ConfigRow::Use::only_value, {}, 1},
    {"shared_intermediate_size", ConfigRow::Use::only_value},
    {"shared_moe_mode", ConfigRow::Use::harmless},
    {"MiniMaxForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_rms_epsilon", 1e-5},
    {"MiniMaxForCausalLM", ConfigRow::Use::of_class, "rope.freq_base", 1e6},
};
constexpr TensorRow kMiniMax01Tensors[] = {
    {"model.layers.{}.self_attn.qkv_proj.weight", "blk.{}.attn_qkv.weight"},
    {"model.layers.{}.self_attn.output_gate.weight", "blk.{}.attn_gate.weight"},
    {"model.layers.{}.self_attn.norm.weight", "blk.{}.attn_norm_2.weight"},
    {"model.layers.{}.self_attn.out_proj.weight", "blk.{}.attn_output.weight"},
    {"model.layers.{}.block_sparse_moe.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w1.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w2.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w3.weight", "blk.{}.ffn_up_exps.weight"},
    // Of the number of heads and of the layer, as it is computed here.
    {"model.layers.{}.self_attn.slope_rate", ""},
    {"model.layers.{}.self_attn.query_decay", ""},
    {"model.layers.{}.self_attn.key_decay", ""},
    {"model.layers.{}.self_attn.diagonal_decay", ""},
};

}  // namespace

const Architecture kMiniMax01 = {.name = "minimax-01",
                                 .models = "MiniMax-01, MiniMax-M1",
                                 .describe = describe_minimax_01,
                                 .experts = true,
                                 .recurrent = true,
                                 .keys = kMiniMax01Keys,
                                 .wanted = kMiniMax01Wanted,
                                 .hugging_face = {.classes = kMiniMax01Classes, .config = kMiniMax01Config, .tensors = kMiniMax01Tensors}};

}  // namespace wick
