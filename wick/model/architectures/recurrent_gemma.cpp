// RecurrentGemma (Botev et al. 2024), of Griffin's layers (De et al. 2024): two with a linear recurrent unit for each that attends within a
// window, and Gemma's feed-forward parts with biases.
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "wick/base/half.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_recurrent_gemma(const ModelConfig& config) {
  const KeyReader& keys = config.keys;
  const LinearRecurrentUnitSpec unit{.heads = keys.size("attention.head_count"),
                                     .inner = keys.size_or("ssm.inner_size", config.hidden_size),
                                     .kernel = keys.size("ssm.conv_kernel"),
                                     .activation = config.activation};
  if (unit.inner % unit.heads != 0) {
    keys.fail_value("ssm.inner_size", std::to_string(unit.inner), fmt::format("want a multiple of the {} heads", unit.heads));
  }
  if (unit.kernel < 2) keys.fail_value("ssm.conv_kernel", std::to_string(unit.kernel), "want at least 2 positions");
  if (config.window < 1) keys.fail_value("attention.sliding_window", std::to_string(config.window), "want at least 1 position");
  DecoderSpec spec = config.decoder([&](int64_t layer) {
    const PartSpec mixer = config.attends(layer) ? PartSpec{config.attention(layer)} : PartSpec{unit};
    return LayerSpec{
        {{.norm = config.norm("attn_norm"), .parts = {mixer}}, {.norm = config.norm("ffn_norm"), .parts = {{config.feed_forward(layer)}}}}};
  });
  // The original rounds it to bf16, whatever the weights are.
  spec.embedding_scale = bf16(std::sqrt(static_cast<float>(config.hidden_size)));
  spec.logit_softcap = config.cap_or("final_logit_softcapping", 0);
  return spec;
}

constexpr KeyRule kRecurrentGemmaKeys[] = {{"ssm.conv_kernel"}, {"ssm.inner_size"}, {"final_logit_softcapping"}};
constexpr std::string_view kRecurrentGemmaClasses[] = {"RecurrentGemmaForCausalLM"};
constexpr ConfigRow kRecurrentGemmaConfig[] = {
    {"hidden_act", ConfigRow::Use::harmless},
    {"hidden_activation", ConfigRow::Use::read, "hidden_act"},
    {"block_types", ConfigRow::Use::harmless},   // read with the kinds of layers
    {"_block_types", ConfigRow::Use::harmless},  // the same once more
    {"lru_width", ConfigRow::Use::read, "ssm.inner_size"},
    {"conv1d_width", ConfigRow::Use::read, "ssm.conv_kernel"},
    {"attention_window_size", ConfigRow::Use::read, "attention.sliding_window"},
    {"logits_soft_cap", ConfigRow::Use::zero_if_null, "final_logit_softcapping"},
    {"embeddings_scale_by_sqrt_dim", ConfigRow::Use::only_value, {}, 1},
    {"w_init_variance_scale", ConfigRow::Use::harmless},
    {"final_w_init_variance_scale", ConfigRow::Use::harmless},
    {"RecurrentGemmaForCausalLM", ConfigRow::Use::of_class, "context_length", 1 << 20},
    {"RecurrentGemmaForCausalLM", ConfigRow::Use::of_class, "ssm.conv_kernel", 4},
    {"RecurrentGemmaForCausalLM", ConfigRow::Use::of_class, "attention.sliding_window", 2048},
    {"RecurrentGemmaForCausalLM", ConfigRow::Use::of_class, "final_logit_softcapping", 30},
};
constexpr TensorRow kRecurrentGemmaTensors[] = {
    {"model.final_norm.weight", "output_norm.weight"},
    {"model.layers.{}.temporal_pre_norm.weight", "blk.{}.attn_norm.weight"},
    {"model.layers.{}.channel_pre_norm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.mlp_block.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.mlp_block.gate_proj.bias", "blk.{}.ffn_gate.bias"},
    {"model.layers.{}.mlp_block.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.mlp_block.up_proj.bias", "blk.{}.ffn_up.bias"},
    {"model.layers.{}.mlp_block.down_proj.weight", "blk.{}.ffn_down.weight"},
    {"model.layers.{}.mlp_block.down_proj.bias", "blk.{}.ffn_down.bias"},
    {"model.layers.{}.temporal_block.q_proj.weight", "blk.{}.attn_q.weight"},
    {"model.layers.{}.temporal_block.q_proj.bias", "blk.{}.attn_q.bias"},
    {"model.layers.{}.temporal_block.k_proj.weight", "blk.{}.attn_k.weight"},
    {"model.layers.{}.temporal_block.k_proj.bias", "blk.{}.attn_k.bias"},
    {"model.layers.{}.temporal_block.v_proj.weight", "blk.{}.attn_v.weight"},
    {"model.layers.{}.temporal_block.v_proj.bias", "blk.{}.attn_v.bias"},
    {"model.layers.{}.temporal_block.o_proj.weight", "blk.{}.attn_output.weight"},
    {"model.layers.{}.temporal_block.o_proj.bias", "blk.{}.attn_output.bias"},
    {"model.layers.{}.temporal_block.linear_x.weight", "blk.{}.ssm_in.weight"},
    {"model.layers.{}.temporal_block.linear_x.bias", "blk.{}.ssm_in.bias"},
    {"model.layers.{}.temporal_block.linear_y.weight", "blk.{}.ssm_gate.weight"},
    {"model.layers.{}.temporal_block.linear_y.bias", "blk.{}.ssm_gate.bias"},
    {"model.layers.{}.temporal_block.linear_out.weight", "blk.{}.ssm_out.weight"},
    {"model.layers.{}.temporal_block.linear_out.bias", "blk.{}.ssm_out.bias"},
    {"model.layers.{}.temporal_block.conv_1d.weight", "blk.{}.ssm_conv1d.weight", StoredForm::kernels},
    {"model.layers.{}.temporal_block.conv_1d.bias", "blk.{}.ssm_conv1d.bias"},
    {"model.layers.{}.temporal_block.rg_lru.recurrent_param", "blk.{}.ssm_a"},
    {"model.layers.{}.temporal_block.rg_lru.recurrent_gate_weight", "blk.{}.ssm_gate_a.weight", StoredForm::transposed},
    {"model.layers.{}.temporal_block.rg_lru.recurrent_gate_bias", "blk.{}.ssm_gate_a.bias"},
    {"model.layers.{}.temporal_block.rg_lru.input_gate_weight", "blk.{}.ssm_gate_x.weight", StoredForm::transposed},
    {"model.layers.{}.temporal_block.rg_lru.input_gate_bias", "blk.{}.ssm_gate_x.bias"},
};

}  // namespace

const Architecture kRecurrentGemma = {.name = "recurrentgemma",
                                      .models = "RecurrentGemma",
                                      .describe = describe_recurrent_gemma,
                                      .activation = nn::ActivationKind::gelu_pytorch_tanh,
                                      .recurrent = true,
                                      .keys = kRecurrentGemmaKeys,
                                      .hugging_face = {.classes = kRecurrentGemmaClasses,
                                                       .config = kRecurrentGemmaConfig,
                                                       .tensors = kRecurrentGemmaTensors,
                                                       .tied_by_default = true,
                                                       .norm_offset = 1,
                                                       .usual_rotary_factor = 0.5,
                                                       .halves_width = true}};

}  // namespace wick
