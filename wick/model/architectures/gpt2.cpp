// GPT-2 (Radford et al. 2019): learned positions, layer norms with biases, a feed-forward part without a gate. StarCoder has one key/value
// head (Li et al. 2023).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_gpt2(const ModelConfig& config) {
  // As in the models of Mistral (Stanford CRFM 2021).
  const bool inverse = config.keys.find_flag("attention.scaled_by_layer").value_or(false);
  DecoderSpec spec = config.decoder(
      [&](int64_t layer) {
        AttentionSpec attention = config.attention(layer);
        attention.rope = -1;
        if (inverse) attention.scale /= static_cast<float>(layer + 1);
        return config.layer(std::move(attention), config.ungated_feed_forward(layer), NormKind::layer);
      },
      NormKind::layer);
  spec.learned_positions = true;
  return spec;
}

constexpr KeyRule kGpt2Keys[] = {{"attention.scaled_by_layer"}};
constexpr std::string_view kGpt2Classes[] = {"GPT2LMHeadModel"};
constexpr std::string_view kStarCoderClasses[] = {"GPTBigCodeForCausalLM"};
constexpr ConfigRow kStarCoderConfig[] = {
    {"n_embd", ConfigRow::Use::read, "embedding_length"},
    {"n_layer", ConfigRow::Use::read, "block_count"},
    {"n_head", ConfigRow::Use::read, "attention.head_count"},
    {"n_inner", ConfigRow::Use::read, "feed_forward_length"},
    {"n_positions", ConfigRow::Use::read, "context_length"},
    {"activation_function", ConfigRow::Use::read, "hidden_act"},
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"scale_attn_weights", ConfigRow::Use::only_value, {}, 1},
    {"multi_query", ConfigRow::Use::harmless},  // the tensors tell
    {"attention_softmax_in_fp32", ConfigRow::Use::harmless},
    {"scale_attention_softmax_in_fp32", ConfigRow::Use::harmless},
    {"inference_runner", ConfigRow::Use::harmless},
    {"validate_runner_input", ConfigRow::Use::harmless},
    {"pre_allocate_kv_cache", ConfigRow::Use::harmless},
    {"summary_activation", ConfigRow::Use::harmless},
};
constexpr ConfigRow kGpt2Config[] = {
    {"n_embd", ConfigRow::Use::read, "embedding_length"},
    {"n_layer", ConfigRow::Use::read, "block_count"},
    {"n_head", ConfigRow::Use::read, "attention.head_count"},
    {"n_inner", ConfigRow::Use::read, "feed_forward_length"},
    {"n_positions", ConfigRow::Use::read, "context_length"},
    {"n_ctx", ConfigRow::Use::harmless},
    {"activation_function", ConfigRow::Use::read, "hidden_act"},
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"scale_attn_weights", ConfigRow::Use::only_value, {}, 1},
    {"scale_attn_by_inverse_layer_idx", ConfigRow::Use::read, "attention.scaled_by_layer"},
    {"reorder_and_upcast_attn", ConfigRow::Use::harmless},
    {"summary_type", ConfigRow::Use::harmless},
    {"summary_use_proj", ConfigRow::Use::harmless},
    {"summary_activation", ConfigRow::Use::harmless},
    {"summary_proj_to_labels", ConfigRow::Use::harmless},
    {"summary_first_dropout", ConfigRow::Use::harmless},
};
constexpr TensorRow kGpt2Tensors[] = {
    {"transformer.wte.weight", "token_embd.weight"},
    {"transformer.wpe.weight", "position_embd.weight"},
    {"transformer.ln_f.weight", "output_norm.weight"},
    {"transformer.ln_f.bias", "output_norm.bias"},
    {"transformer.h.{}.ln_1.weight", "blk.{}.attn_norm.weight"},
    {"transformer.h.{}.ln_1.bias", "blk.{}.attn_norm.bias"},
    {"transformer.h.{}.attn.c_attn.weight", "blk.{}.attn_qkv.weight"},
    {"transformer.h.{}.attn.c_attn.bias", "blk.{}.attn_qkv.bias"},
    {"transformer.h.{}.attn.c_proj.weight", "blk.{}.attn_output.weight"},
    {"transformer.h.{}.attn.c_proj.bias", "blk.{}.attn_output.bias"},
    {"transformer.h.{}.ln_2.weight", "blk.{}.ffn_norm.weight"},
    {"transformer.h.{}.ln_2.bias", "blk.{}.ffn_norm.bias"},
    {"transformer.h.{}.mlp.c_fc.weight", "blk.{}.ffn_up.weight"},
    {"transformer.h.{}.mlp.c_fc.bias", "blk.{}.ffn_up.bias"},
    {"transformer.h.{}.mlp.c_proj.weight", "blk.{}.ffn_down.weight"},
    {"transformer.h.{}.mlp.c_proj.bias", "blk.{}.ffn_down.bias"},
    {"transformer.h.{}.attn.bias", ""},  // the causal mask
    {"transformer.h.{}.attn.masked_bias", ""},
};

}  // namespace

const Architecture kGpt2 = {.name = "gpt2",
                            .models = "GPT-2",
                            .describe = describe_gpt2,
                            .activation = nn::ActivationKind::new_gelu,
                            .keys = kGpt2Keys,
                            .hugging_face = {.classes = kGpt2Classes,
                                             .config = kGpt2Config,
                                             .tensors = kGpt2Tensors,
                                             .tied_by_default = true,
                                             .transposed = true,
                                             .inner_multiple = 4}};
const Architecture kStarCoder = {.name = "starcoder",
                                 .models = "StarCoder, SantaCoder",
                                 .describe = describe_gpt2,
                                 .activation = nn::ActivationKind::gelu_pytorch_tanh,
                                 .hugging_face = {.classes = kStarCoderClasses,
                                                  .config = kStarCoderConfig,
                                                  .tensors = kGpt2Tensors,
                                                  .tied_by_default = true,
                                                  .qkv_by_group = true,
                                                  .inner_multiple = 4}};

}  // namespace wick
