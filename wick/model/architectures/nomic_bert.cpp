// Nomic BERT (Nussbaum et al. 2024): BERT's post-norm blocks with RoPE in the place of learned positions and a gated feed-forward part;
// the second version has experts in each other layer, and no gates (Nussbaum & Duderstadt 2025).
#include <fmt/format.h>

#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_nomic_bert(const ModelConfig& config) {
  const Checkpoint& file = config.keys.checkpoint();
  const auto has = [&](int64_t layer, const char* name) { return file.find_tensor(fmt::format("blk.{}.{}", layer, name)) != nullptr; };
  const auto feed_forward = [&](int64_t layer) {
    FeedForwardSpec spec = config.feed_forward(layer);
    spec.gated = has(layer, "ffn_gate.weight");
    if (!spec.gated) spec.activation = nn::ActivationKind::gelu;
    return spec;
  };
  DecoderSpec spec = describe_post_norm_encoder(config, feed_forward, 0);
  ExpertsSpec experts = config.experts(Routing::softmax, config.normalizes_experts(false));
  experts.gated = false;
  experts.activation = nn::ActivationKind::gelu;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    if (has(layer, "ffn_gate_inp.weight")) spec.layers[static_cast<size_t>(layer)].blocks[1].parts[0].mixer = experts;
  }
  return spec;
}

constexpr KeyRule kNomicBertKeys[] = {{"moe_every_n_layers", KeyUse::harmless},  // the tensors tell
                                      {"expert_used_count"},
                                      {"expert_weights_norm"}};
constexpr std::string_view kNomicBertClasses[] = {"NomicBertModel"};
constexpr ConfigRow kNomicBertConfig[] = {
    {"layer_norm_eps", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"type_vocab_size", ConfigRow::Use::harmless},
    {"attention_probs_dropout_prob", ConfigRow::Use::harmless},
    {"hidden_dropout_prob", ConfigRow::Use::harmless},
    {"classifier_dropout", ConfigRow::Use::harmless},
    // As Nomic publishes it.
    {"n_embd", ConfigRow::Use::read, "embedding_length"},
    {"n_layer", ConfigRow::Use::read, "block_count"},
    {"n_head", ConfigRow::Use::read, "attention.head_count"},
    {"n_inner", ConfigRow::Use::read, "feed_forward_length"},
    {"n_positions", ConfigRow::Use::read, "context_length"},
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"rotary_emb_base", ConfigRow::Use::read, "rope.freq_base"},
    {"activation_function", ConfigRow::Use::only_text, "swiglu gelu"},
    {"moe_every_n_layers", ConfigRow::Use::read, "moe_every_n_layers"},
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"moe_top_k", ConfigRow::Use::read, "expert_used_count"},
    {"moe_normalize_expert_weights", ConfigRow::Use::read, "expert_weights_norm"},
    {"num_shared_experts", ConfigRow::Use::only_value, {}, 0},
    {"expert_choice_router", ConfigRow::Use::only_value, {}, 0},
    {"ffn_div", ConfigRow::Use::only_value, {}, 1},
    {"moe_impl", ConfigRow::Use::harmless},
    {"moe_resid_pdrop", ConfigRow::Use::harmless},
    {"rotary_emb_fraction", ConfigRow::Use::only_value, {}, 1},
    {"rotary_emb_interleaved", ConfigRow::Use::only_value, {}, 0},
    {"rotary_emb_scale_base", ConfigRow::Use::only_value, {}, 0},
    {"rotary_scaling_factor", ConfigRow::Use::only_value, {}, 0},
    {"causal", ConfigRow::Use::only_value, {}, 0},
    {"prenorm", ConfigRow::Use::only_value, {}, 0},
    {"parallel_block", ConfigRow::Use::only_value, {}, 0},
    {"parallel_block_tied_norm", ConfigRow::Use::harmless},
    {"use_rms_norm", ConfigRow::Use::only_value, {}, 0},
    {"scale_attn_weights", ConfigRow::Use::only_value, {}, 1},
    {"scale_attn_by_inverse_layer_idx", ConfigRow::Use::only_value, {}, 0},
    {"reorder_and_upcast_attn", ConfigRow::Use::harmless},
    {"max_trained_positions", ConfigRow::Use::harmless},
    {"qkv_proj_bias", ConfigRow::Use::harmless},  // the tensors tell
    {"mlp_fc1_bias", ConfigRow::Use::harmless},
    {"mlp_fc2_bias", ConfigRow::Use::harmless},
    {"fused_bias_fc", ConfigRow::Use::harmless},
    {"fused_dropout_add_ln", ConfigRow::Use::harmless},
    {"dense_seq_output", ConfigRow::Use::harmless},
    {"pad_vocab_size_multiple", ConfigRow::Use::harmless},
    {"use_xentropy", ConfigRow::Use::harmless},
    {"summary_activation", ConfigRow::Use::harmless},
    {"summary_first_dropout", ConfigRow::Use::harmless},
    {"summary_proj_to_labels", ConfigRow::Use::harmless},
    {"summary_type", ConfigRow::Use::harmless},
    {"summary_use_proj", ConfigRow::Use::harmless},
};
constexpr TensorRow kNomicBertTensors[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"emb_ln.weight", "token_embd_norm.weight"},
    {"emb_ln.bias", "token_embd_norm.bias"},
    {"encoder.layers.{}.attn.Wqkv.weight", "blk.{}.attn_qkv.weight"},
    {"encoder.layers.{}.attn.Wqkv.bias", "blk.{}.attn_qkv.bias"},
    {"encoder.layers.{}.attn.out_proj.weight", "blk.{}.attn_output.weight"},
    {"encoder.layers.{}.attn.out_proj.bias", "blk.{}.attn_output.bias"},
    {"encoder.layers.{}.norm1.weight", "blk.{}.attn_output_norm.weight"},
    {"encoder.layers.{}.norm1.bias", "blk.{}.attn_output_norm.bias"},
    {"encoder.layers.{}.mlp.fc11.weight", "blk.{}.ffn_up.weight"},
    {"encoder.layers.{}.mlp.fc11.bias", "blk.{}.ffn_up.bias"},
    {"encoder.layers.{}.mlp.fc12.weight", "blk.{}.ffn_gate.weight"},
    {"encoder.layers.{}.mlp.fc12.bias", "blk.{}.ffn_gate.bias"},
    {"encoder.layers.{}.mlp.fc1.weight", "blk.{}.ffn_up.weight"},
    {"encoder.layers.{}.mlp.fc1.bias", "blk.{}.ffn_up.bias"},
    {"encoder.layers.{}.mlp.router.layer.weight", "blk.{}.ffn_gate_inp.weight"},
    {"encoder.layers.{}.mlp.experts.mlp.w1", "blk.{}.ffn_up_exps.weight", StoredForm::row_stack},
    {"encoder.layers.{}.mlp.experts.mlp.w2", "blk.{}.ffn_down_exps.weight", StoredForm::row_stack_transposed},
    {"encoder.layers.{}.mlp.experts.bias", "blk.{}.ffn_exps.bias"},
    {"encoder.layers.{}.mlp.fc2.weight", "blk.{}.ffn_down.weight"},
    {"encoder.layers.{}.mlp.fc2.bias", "blk.{}.ffn_down.bias"},
    {"encoder.layers.{}.norm2.weight", "blk.{}.layer_output_norm.weight"},
    {"encoder.layers.{}.norm2.bias", "blk.{}.layer_output_norm.bias"},
};

}  // namespace

const Architecture kNomicBert = {.name = "nomic-bert",
                                 .models = "Nomic Embed Text 1 and 1.5; folders of 2",
                                 .describe = describe_nomic_bert,
                                 .experts = true,
                                 .encoder = true,
                                 .keys = kNomicBertKeys,
                                 .hugging_face = {.classes = kNomicBertClasses, .config = kNomicBertConfig, .tensors = kNomicBertTensors}};
const Architecture kNomicBertMoe = {.name = "nomic-bert-moe",
                                    .models = "Nomic Embed Text 2",
                                    .describe = describe_nomic_bert,
                                    .experts = true,
                                    .encoder = true,
                                    .keys = kNomicBertKeys};

}  // namespace wick
