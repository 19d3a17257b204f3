// EXAONE 4: norms behind attention and feed-forward part, none before them, and a norm of each head's queries and keys; where there are
// windows, only the layers with one rotate (LG AI Research 2025). K-EXAONE has the same attention, norms before both, and experts.
#include <cmath>

#include "wick/model/architectures/expert_rows.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// Of the layers with a window, where a file does not say: every fourth has none.
constexpr int64_t kDefaultExaone4Period = 4;
constexpr int64_t kLayersOfWindowed = 64;

// Sets which layers have the window, where the file does not say.
void set_windowed(ModelConfig& config) {
  if (config.window == 0 || !config.windowed.empty()) return;
  for (int64_t layer = 0; layer < config.layers; ++layer)
    config.windowed.push_back(layer % kDefaultExaone4Period < kDefaultExaone4Period - 1);
}

AttentionSpec attention_of(const ModelConfig& config, int64_t layer) {
  AttentionSpec attention = config.attention(layer);
  attention.head_norms = HeadNorms::each_head;
  if (config.window > 0 && !config.windowed[static_cast<size_t>(layer)]) attention.rope = -1;
  return attention;
}

DecoderSpec describe_exaone_moe(const ModelConfig& config) {
  ModelConfig own = config;
  own.drop_further_layers();
  set_windowed(own);
  const ExpertsSpec experts = own.experts(Routing::sigmoid, own.normalizes_experts(true));
  return own.decoder([&](int64_t layer) { return own.layer(attention_of(own, layer), own.feed_forward_parts(layer, experts)); });
}

// Attention has a gate with its own matrix; attention and feed-forward part each have a norm before and after (Arcee AI 2025).
DecoderSpec describe_afmoe(const ModelConfig& config) {
  ModelConfig own = config;
  set_windowed(own);
  const ExpertsSpec experts = own.experts(Routing::sigmoid, own.normalizes_experts(true));
  DecoderSpec spec = own.decoder([&](int64_t layer) {
    AttentionSpec attention = attention_of(own, layer);
    attention.gate_matrix = true;
    LayerSpec made = own.layer(std::move(attention), own.feed_forward_parts(layer, experts));
    made.blocks[0].post_norm = own.norm("post_attention_norm");
    made.blocks[1].post_norm = own.norm("post_ffw_norm");
    return made;
  });
  spec.embedding_scale = std::sqrt(static_cast<float>(own.hidden_size));
  return spec;
}

DecoderSpec describe_exaone4(const ModelConfig& config) {
  ModelConfig own = config;
  // Of a file that does not say which layers have it, the window counts in the model with 64 layers alone, as in llama.cpp.
  if (own.windowed.empty() && own.layers != kLayersOfWindowed) own.window = 0;
  set_windowed(own);
  return own.decoder([&](int64_t layer) {
    LayerSpec made = own.layer(attention_of(own, layer), own.feed_forward(layer));
    made.blocks[0].norm.reset();
    made.blocks[0].post_norm = own.norm("post_attention_norm");
    made.blocks[1].norm.reset();
    made.blocks[1].post_norm = own.norm("post_ffw_norm");
    return made;
  });
}

constexpr std::string_view kExaone4Classes[] = {"Exaone4ForCausalLM"};
constexpr TensorRow kExaone4Tensors[] = {
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.post_feedforward_layernorm.weight", "blk.{}.post_ffw_norm.weight"},
};
constexpr KeyRule kExaoneMoeKeys[] = {{"leading_dense_block_count"}, {"nextn_predict_layers"}};
constexpr std::string_view kExaoneMoeClasses[] = {"ExaoneMoeForCausalLM", "ExaoneMoEForCausalLM"};
constexpr ConfigRow kExaoneMoeOwnConfig[] = {
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"num_shared_experts", ConfigRow::Use::read, "expert_shared_count"},
    {"first_k_dense_replace", ConfigRow::Use::read, "leading_dense_block_count"},
    {"mlp_layer_types", ConfigRow::Use::harmless},           // the tensors tell
    {"is_moe_layer", ConfigRow::Use::harmless},              // the same
    {"num_nextn_predict_layers", ConfigRow::Use::harmless},  // their layers are dropped
    {"scoring_func", ConfigRow::Use::only_text, "sigmoid"},
    {"topk_method", ConfigRow::Use::only_text, "noaux_tc"},
    {"ExaoneMoeForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
    {"ExaoneMoEForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
};
constexpr auto kExaoneMoeConfig = joined(kExaoneMoeOwnConfig, kRoutingConfig);
// Of both architectures with experts.
constexpr TensorRow kRoutedOwnTensors[] = {
    {"model.layers.{}.mlp.router.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.mlp.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.mlp.expert_bias", "blk.{}.exp_probs_b.bias"},
};
constexpr auto kRoutedTensors = joined(kRoutedOwnTensors, kRoutedExpertTensors);

constexpr KeyRule kAfmoeKeys[] = {{"leading_dense_block_count"}};
constexpr std::string_view kAfmoeClasses[] = {"AfmoeForCausalLM"};
constexpr ConfigRow kAfmoeConfig[] = {
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"moe_intermediate_size", ConfigRow::Use::read, "expert_feed_forward_length"},
    {"num_shared_experts", ConfigRow::Use::read, "expert_shared_count"},
    {"num_dense_layers", ConfigRow::Use::read, "leading_dense_block_count"},
    {"route_scale", ConfigRow::Use::read, "expert_weights_scale"},
    {"route_norm", ConfigRow::Use::only_value, {}, 1},
    {"score_func", ConfigRow::Use::only_text, "sigmoid"},
    {"n_group", ConfigRow::Use::only_value, {}, 1},
    {"topk_group", ConfigRow::Use::only_value, {}, 1},
    {"num_expert_groups", ConfigRow::Use::only_value, {}, 1},
    {"num_limited_groups", ConfigRow::Use::only_value, {}, 1},
    {"mup_enabled", ConfigRow::Use::only_value, {}, 1},
    {"global_attn_every_n_layers", ConfigRow::Use::harmless},  // layer_types says it
    {"load_balance_coeff", ConfigRow::Use::harmless},          // of training
    {"use_grouped_mm", ConfigRow::Use::harmless},              // how a program computes it
    {"AfmoeForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
    {"AfmoeForCausalLM", ConfigRow::Use::flag_of_class, "expert_weights_norm", 1},
};
constexpr TensorRow kAfmoeOwnTensors[] = {
    {"model.layers.{}.self_attn.gate_proj.weight", "blk.{}.attn_gate.weight"},
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.pre_mlp_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.post_mlp_layernorm.weight", "blk.{}.post_ffw_norm.weight"},
};
constexpr auto kAfmoeTensors = joined(kRoutedOwnTensors, kRoutedExpertTensors, kAfmoeOwnTensors);

}  // namespace

const Architecture kExaoneMoe = {
    .name = "exaone-moe",
    .models = "K-EXAONE",
    .describe = describe_exaone_moe,
    .experts = true,
    .keys = kExaoneMoeKeys,
    .hugging_face = {.classes = kExaoneMoeClasses, .config = kExaoneMoeConfig, .tensors = kRoutedTensors, .ignore_mtp_layers = true}};
const Architecture kAfmoe = {.name = "afmoe",
                             .models = "Arcee Trinity",
                             .describe = describe_afmoe,
                             .experts = true,
                             .keys = kAfmoeKeys,
                             .hugging_face = {.classes = kAfmoeClasses, .config = kAfmoeConfig, .tensors = kAfmoeTensors}};
const Architecture kExaone4 = {.name = "exaone4",
                               .models = "EXAONE 4",
                               .describe = describe_exaone4,
                               .hugging_face = {.classes = kExaone4Classes, .tensors = kExaone4Tensors}};

}  // namespace wick
