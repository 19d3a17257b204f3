// RWKV 7: time mixing, a generalized delta rule, and channel mixing, both of a row and the one before it (Peng et al. 2025). Its folders
// are those of flash-linear-attention.
#include <fmt/format.h>

#include <string>

#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// A key, or the rows of the first matrix of the pair.
int64_t rank_of(const KeyReader& keys, const char* key, int64_t layer, const char* pair) {
  if (keys.find_number(key).value_or(0) != 0) return keys.size(key);
  const CheckpointTensor* tensor = keys.checkpoint().find_tensor(fmt::format("blk.{}.time_mix_{}1.weight", layer, pair));
  return tensor == nullptr || tensor->shape.rank() != 2 ? 0 : tensor->shape[0];
}

DecoderSpec describe_rwkv7(const ModelConfig& config) {
  const KeyReader& keys = config.keys;
  TimeMixSpec time{.head_dim = keys.size("wkv.head_size"),
                   .decay_rank = rank_of(keys, "attention.decay_lora_rank", 0, "w"),
                   .rate_rank = rank_of(keys, "attention.iclr_lora_rank", 0, "a"),
                   .value_rank = rank_of(keys, "attention.value_residual_mix_lora_rank", 1, "v"),
                   .gate_rank = rank_of(keys, "attention.gate_lora_rank", 0, "g")};
  if (config.hidden_size % time.head_dim != 0) {
    keys.fail_value("wkv.head_size", std::to_string(time.head_dim), fmt::format("it must divide embedding_length {}", config.hidden_size));
  }
  if (const double shifts = keys.find_number("token_shift_count").value_or(2); shifts != 2) {
    keys.fail_value("token_shift_count", fmt::format("{}", shifts), "want 2");
  }
  time.heads = config.hidden_size / time.head_dim;
  time.norm_epsilon = config.norm_epsilon * static_cast<float>(time.head_dim);
  DecoderSpec spec = config.decoder(
      [&](int64_t layer) {
        TimeMixSpec own = time;
        own.first = layer == 0;
        return LayerSpec{{{.norm = config.norm("attn_norm", NormKind::layer), .parts = {{own}}},
                          {.norm = config.norm("attn_norm_2", NormKind::layer),
                           .parts = {{ChannelMixSpec{.width = config.feed_forward(layer).width}}}}}};
      },
      NormKind::layer);
  spec.ropes.clear();
  spec.embedding_norm = config.norm("token_embd_norm", NormKind::layer);
  // The first layer's values are moved to none; files have tensors for it all the same.
  spec.unused = {"blk.0.time_mix_v0", "blk.0.time_mix_v1", "blk.0.time_mix_v2"};
  return spec;
}

constexpr KeyRule kRwkv7Keys[] = {{"wkv.head_size"},
                                  {"token_shift_count"},
                                  {"attention.decay_lora_rank"},
                                  {"attention.iclr_lora_rank"},
                                  {"attention.value_residual_mix_lora_rank"},
                                  {"attention.gate_lora_rank"}};
constexpr std::string_view kRwkv7Classes[] = {"RWKV7ForCausalLM"};
constexpr ConfigRow kRwkv7Config[] = {
    {"head_dim", ConfigRow::Use::read, "wkv.head_size"},
    {"norm_eps", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"decay_low_rank_dim", ConfigRow::Use::read, "attention.decay_lora_rank"},
    {"a_low_rank_dim", ConfigRow::Use::read, "attention.iclr_lora_rank"},
    {"v_low_rank_dim", ConfigRow::Use::read, "attention.value_residual_mix_lora_rank"},
    {"gate_low_rank_dim", ConfigRow::Use::read, "attention.gate_lora_rank"},
    {"hidden_act", ConfigRow::Use::only_text, "sqrelu"},
    {"hidden_ratio", ConfigRow::Use::harmless},             // the tensors tell
    {"num_heads", ConfigRow::Use::harmless},                // the size of one tells
    {"value_dim", ConfigRow::Use::harmless},                // the tensors tell
    {"max_position_embeddings", ConfigRow::Use::harmless},  // of training
    {"attn_mode", ConfigRow::Use::harmless},                // how it is computed
    {"norm_first", ConfigRow::Use::only_value, {}, 1},
    {"norm_bias", ConfigRow::Use::only_value, {}, 1},
    {"fuse_norm", ConfigRow::Use::harmless},
    {"fuse_cross_entropy", ConfigRow::Use::harmless},
    {"fuse_linear_cross_entropy", ConfigRow::Use::harmless},
    {"use_l2warp", ConfigRow::Use::harmless},
    {"RWKV7ForCausalLM", ConfigRow::Use::of_class, "context_length", 1 << 20},
    {"RWKV7ForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_epsilon", 1e-5},
};
constexpr TensorRow kRwkv7Tensors[] = {
    {"model.embeddings.weight", "token_embd.weight"},
    {"model.layers.{}.pre_norm.weight", "token_embd_norm.weight"},
    {"model.layers.{}.pre_norm.bias", "token_embd_norm.bias"},
    {"model.layers.{}.attn_norm.weight", "blk.{}.attn_norm.weight"},
    {"model.layers.{}.attn_norm.bias", "blk.{}.attn_norm.bias"},
    {"model.layers.{}.ffn_norm.weight", "blk.{}.attn_norm_2.weight"},
    {"model.layers.{}.ffn_norm.bias", "blk.{}.attn_norm_2.bias"},
    {"model.layers.{}.attn.x_r", "blk.{}.time_mix_lerp_fused.weight", StoredForm::stacked, "0"},
    {"model.layers.{}.attn.x_w", "blk.{}.time_mix_lerp_fused.weight", StoredForm::stacked, "1"},
    {"model.layers.{}.attn.x_k", "blk.{}.time_mix_lerp_fused.weight", StoredForm::stacked, "2"},
    {"model.layers.{}.attn.x_v", "blk.{}.time_mix_lerp_fused.weight", StoredForm::stacked, "3"},
    {"model.layers.{}.attn.x_a", "blk.{}.time_mix_lerp_fused.weight", StoredForm::stacked, "4"},
    {"model.layers.{}.attn.x_g", "blk.{}.time_mix_lerp_fused.weight", StoredForm::stacked, "5"},
    {"model.layers.{}.attn.k_k", "blk.{}.time_mix_k_k.weight", StoredForm::flat},
    {"model.layers.{}.attn.k_a", "blk.{}.time_mix_k_a.weight", StoredForm::flat},
    {"model.layers.{}.attn.r_k", "blk.{}.time_mix_r_k.weight", StoredForm::flat},
    {"model.layers.{}.attn.r_proj.weight", "blk.{}.time_mix_receptance.weight"},
    {"model.layers.{}.attn.k_proj.weight", "blk.{}.time_mix_key.weight"},
    {"model.layers.{}.attn.v_proj.weight", "blk.{}.time_mix_value.weight"},
    {"model.layers.{}.attn.o_proj.weight", "blk.{}.time_mix_output.weight"},
    {"model.layers.{}.attn.w_lora.lora.0.weight", "blk.{}.time_mix_w1.weight"},
    {"model.layers.{}.attn.w_lora.lora.2.weight", "blk.{}.time_mix_w2.weight"},
    {"model.layers.{}.attn.w_lora.lora.2.bias", "blk.{}.time_mix_w0.weight"},
    {"model.layers.{}.attn.a_lora.lora.0.weight", "blk.{}.time_mix_a1.weight"},
    {"model.layers.{}.attn.a_lora.lora.2.weight", "blk.{}.time_mix_a2.weight"},
    {"model.layers.{}.attn.a_lora.lora.2.bias", "blk.{}.time_mix_a0.weight"},
    {"model.layers.{}.attn.v_lora.lora.0.weight", "blk.{}.time_mix_v1.weight"},
    {"model.layers.{}.attn.v_lora.lora.2.weight", "blk.{}.time_mix_v2.weight"},
    {"model.layers.{}.attn.v_lora.lora.2.bias", "blk.{}.time_mix_v0.weight"},
    {"model.layers.{}.attn.g_lora.lora.0.weight", "blk.{}.time_mix_g1.weight"},
    {"model.layers.{}.attn.g_lora.lora.2.weight", "blk.{}.time_mix_g2.weight"},
    {"model.layers.{}.attn.g_norm.weight", "blk.{}.time_mix_ln.weight"},
    {"model.layers.{}.attn.g_norm.bias", "blk.{}.time_mix_ln.bias"},
    {"model.layers.{}.ffn.x_k", "blk.{}.channel_mix_lerp_k.weight", StoredForm::flat},
    {"model.layers.{}.ffn.key.weight", "blk.{}.channel_mix_key.weight"},
    {"model.layers.{}.ffn.value.weight", "blk.{}.channel_mix_value.weight"},
};

}  // namespace

const Architecture kRwkv7 = {
    .name = "rwkv7",
    .models = "RWKV 7",
    .describe = describe_rwkv7,
    .recurrent = true,
    .keys = kRwkv7Keys,
    .hugging_face = {.classes = kRwkv7Classes, .config = kRwkv7Config, .tensors = kRwkv7Tensors, .inner_multiple = 4}};

}  // namespace wick
