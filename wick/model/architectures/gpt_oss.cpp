// gpt-oss (OpenAI 2025): a window in every second layer, sinks, biases everywhere, and experts with a clamped swish.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_gpt_oss(const ModelConfig& config) {
  ModelConfig own = config;
  // GGUF files do not say which layers have the window.
  if (own.windowed.empty()) {
    for (int64_t layer = 0; layer < own.layers; ++layer) own.windowed.push_back(layer % 2 == 0);
  }
  ExpertsSpec experts = own.experts(Routing::softmax_of_used, false);
  experts.gate = GateKind::swiglu_oai;
  return own.decoder([&](int64_t layer) {
    AttentionSpec attention = own.attention(layer);
    attention.sinks = true;
    LayerSpec made = own.layer(std::move(attention), own.feed_forward_parts(layer, experts));
    made.blocks[1].norm = own.norm("post_attention_norm");
    return made;
  });
}

constexpr std::string_view kGptOssClasses[] = {"GptOssForCausalLM"};
constexpr ConfigRow kGptOssConfig[] = {
    {"num_local_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"experts_per_token", ConfigRow::Use::harmless},  // num_experts_per_tok again
    {"intermediate_size", ConfigRow::Use::read, "expert_feed_forward_length"},
    {"hidden_act", ConfigRow::Use::harmless},  // what swiglu_alpha and swiglu_limit belong to
    {"swiglu_alpha", ConfigRow::Use::only_value, {}, 1.702},
    {"swiglu_limit", ConfigRow::Use::only_value, {}, 7},
    {"initial_context_length", ConfigRow::Use::harmless},
    {"quantization_config.quant_method", ConfigRow::Use::only_text, "mxfp4"},
    {"quantization_config.modules_to_not_convert", ConfigRow::Use::harmless},  // the tensors tell
};
constexpr TensorRow kGptOssTensors[] = {
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.self_attn.sinks", "blk.{}.attn_sinks.weight"},
    {"model.layers.{}.mlp.router.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.mlp.router.bias", "blk.{}.ffn_gate_inp.bias"},
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight", StoredForm::interleaved_transposed,
     "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.gate_up_proj_blocks", "blk.{}.ffn_gate_exps.weight", StoredForm::interleaved_mxfp4,
     "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.gate_up_proj_scales", ""},  // read with the blocks
    {"model.layers.{}.mlp.experts.down_proj_blocks", "blk.{}.ffn_down_exps.weight", StoredForm::mxfp4},
    {"model.layers.{}.mlp.experts.down_proj_scales", ""},
    {"model.layers.{}.mlp.experts.gate_up_proj_bias", "blk.{}.ffn_gate_exps.bias", StoredForm::in_turns, "blk.{}.ffn_up_exps.bias"},
    {"model.layers.{}.mlp.experts.down_proj", "blk.{}.ffn_down_exps.weight", StoredForm::transposed},
    {"model.layers.{}.mlp.experts.down_proj_bias", "blk.{}.ffn_down_exps.bias"},
};

}  // namespace

const Architecture kGptOss = {.name = "gpt-oss",
                              .models = "gpt-oss 20b and 120b",
                              .describe = describe_gpt_oss,
                              .experts = true,
                              .hugging_face = {.classes = kGptOssClasses, .config = kGptOssConfig, .tensors = kGptOssTensors}};

}  // namespace wick
