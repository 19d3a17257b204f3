// DeepSeek V2 and V3, Kimi K2: latent attention, and experts behind some dense layers (DeepSeek-AI 2024). V2 chooses by a softmax, V3 by
// sigmoids with a bias that balances the load. DeepSeek V3.2 and GLM 5 have sparse attention (DeepSeek-AI 2025).
#include <fmt/format.h>

#include <cmath>

#include "wick/formats/printable.h"
#include "wick/model/architectures/expert_rows.h"
#include "wick/model/architectures/latent_attention_rows.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_latent(const ModelConfig& config, Routing usual) {
  ModelConfig own = config;
  own.drop_further_layers();
  const LatentAttentionSpec attention = own.latent_attention();
  const ExpertsSpec experts = own.experts(usual, own.normalizes_experts(false));
  const std::string_view choice = own.keys.find_text("expert_choice").value_or("noaux_tc");
  if (choice != "greedy" && choice != "group_limited_greedy" && choice != "noaux_tc") {
    own.keys.fail_value("expert_choice", printable(choice), "this version knows greedy, group_limited_greedy and noaux_tc");
  }
  const bool scores_scaled = own.keys.find_number("rope.scaling.yarn_log_multiplier").value_or(0) != 0;
  if (own.rope.scaling == RopeScaling::yarn && scores_scaled) own.rope.attention_factor = 1 / (1 + 0.1 * std::log(own.rope.factor));
  return own.decoder([&](int64_t layer) {
    return LayerSpec{{{.norm = own.norm("attn_norm"), .parts = {{attention}}},
                      {.norm = own.norm("ffn_norm"), .parts = own.feed_forward_parts(layer, experts)}}};
  });
}

DecoderSpec describe_deepseek2(const ModelConfig& config) { return describe_latent(config, Routing::softmax); }

// A position attends to the `top_k` positions that an indexer scores highest. Up to so many positions that is all of them; beyond, scores
// would be needed, and this version has none.
DecoderSpec describe_indexed(const ModelConfig& config) {
  DecoderSpec spec = describe_latent(config, Routing::sigmoid);
  const int64_t top_k = config.keys.size("attention.indexer.top_k");
  if (top_k < spec.context_length) {
    spec.context_length = top_k;
    spec.context_limit = fmt::format("{} = {}: the sparse attention beyond so many positions is not supported",
                                     config.keys.checkpoint().where(config.keys.key("attention.indexer.top_k")), top_k);
  }
  spec.unused.emplace_back(".indexer.");
  return spec;
}

constexpr KeyRule kLatentExpertKeys[] = {
    {"leading_dense_block_count"}, {kLatentNormEpsilon},         {"nextn_predict_layers"},       {"attention.q_lora_rank"},
    {"attention.kv_lora_rank"},    {"attention.key_length_mla"}, {"attention.value_length_mla"}, {"rope.scaling.yarn_log_multiplier"}};
constexpr KeyRule kChoiceKeys[] = {{"expert_choice"}};
constexpr auto kDeepSeek2Keys = joined(kChoiceKeys, kLatentExpertKeys);
constexpr KeyRule kIndexerKeys[] = {{"attention.indexer.top_k"},
                                    {"attention.indexer.head_count", KeyUse::harmless},
                                    {"attention.indexer.key_length", KeyUse::harmless},
                                    {"attention.indexer.types", KeyUse::harmless}};
constexpr auto kIndexedKeys = joined(kIndexerKeys, kLatentExpertKeys);
constexpr std::string_view kDeepSeek2Classes[] = {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "Glm4MoeLiteForCausalLM"};
constexpr ConfigRow kLatentExpertConfig[] = {
    {"rope_interleave", ConfigRow::Use::only_value, {}, 1},
    {"n_routed_experts", ConfigRow::Use::read, "expert_count"},
    {"n_shared_experts", ConfigRow::Use::read, "expert_shared_count"},
    {"first_k_dense_replace", ConfigRow::Use::read, "leading_dense_block_count"},
    {"moe_layer_freq", ConfigRow::Use::only_value, {}, 1},
    {"num_nextn_predict_layers", ConfigRow::Use::harmless},  // their layers are dropped
    {"mlp_layer_types", ConfigRow::Use::harmless},           // the tensors tell
};
constexpr ConfigRow kDeepSeek2OwnConfig[] = {
    {"scoring_func", ConfigRow::Use::only_text, "softmax sigmoid"},  // the class says which
    {"topk_method", ConfigRow::Use::read, "expert_choice"},
    {"DeepseekV2ForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 1},
    {"DeepseekV3ForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
    {"Glm4MoeLiteForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
};
constexpr auto kDeepSeek2Config = joined(kDeepSeek2OwnConfig, kLatentExpertConfig, kLatentAttentionConfig, kRoutingConfig);
constexpr TensorRow kLatentBiases[] = {
    {"model.layers.{}.self_attn.q_a_proj.bias", "blk.{}.attn_q_a.bias"},
    {"model.layers.{}.self_attn.kv_a_proj_with_mqa.bias", "blk.{}.attn_kv_a_mqa.bias"},
};
constexpr TensorRow kJointHeads[] = {{"model.layers.{}.self_attn.kv_b_proj.weight", "blk.{}.attn_kv_b.weight"}};
constexpr auto kDeepSeek2Tensors = joined(kJointHeads, kLatentBiases, kLatentAttentionTensors, kRoutedExpertTensors);

constexpr std::string_view kDeepSeek32Classes[] = {"DeepseekV32ForCausalLM"};
constexpr std::string_view kGlmDsaClasses[] = {"GlmMoeDsaForCausalLM"};
constexpr ConfigRow kIndexerConfig[] = {
    {"index_topk", ConfigRow::Use::read, "attention.indexer.top_k"},
    {"index_n_heads", ConfigRow::Use::read, "attention.indexer.head_count"},
    {"index_head_dim", ConfigRow::Use::read, "attention.indexer.key_length"},
    {"indexer_rope_interleave", ConfigRow::Use::harmless},
    {"index_share_for_mtp_iteration", ConfigRow::Use::harmless},
    // Which layers have an indexer: ConfigTranslator::translate_indexers.
    {"indexer_types", ConfigRow::Use::harmless},
    {"index_topk_pattern", ConfigRow::Use::harmless},
    {"index_topk_freq", ConfigRow::Use::harmless},
    {"index_skip_topk_offset", ConfigRow::Use::harmless},
    {"layer_types", ConfigRow::Use::harmless},  // all of them are indexed_attention
    {"scoring_func", ConfigRow::Use::only_text, "sigmoid"},
    {"topk_method", ConfigRow::Use::only_text, "noaux_tc"},
    {"moe_router_dtype", ConfigRow::Use::harmless},
    {"DeepseekV32ForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
    {"GlmMoeDsaForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
    {"DeepseekV32ForCausalLM", ConfigRow::Use::flag_of_class, "expert_weights_norm", 1},
    {"GlmMoeDsaForCausalLM", ConfigRow::Use::flag_of_class, "expert_weights_norm", 1},
};
constexpr auto kIndexedConfig = joined(kIndexerConfig, kLatentExpertConfig, kLatentAttentionConfig, kRoutingConfig);
constexpr TensorRow kIndexerTensors[] = {
    {"model.layers.{}.self_attn.kv_b_proj.weight", "blk.{}.attn_k_b.weight", StoredForm::latent_heads, "blk.{}.attn_v_b.weight"},
    {"model.layers.{}.self_attn.indexer.wq_b.weight", "blk.{}.indexer.attn_q_b.weight"},
    {"model.layers.{}.self_attn.indexer.wk.weight", "blk.{}.indexer.attn_k.weight"},
    {"model.layers.{}.self_attn.indexer.k_norm.weight", "blk.{}.indexer.k_norm.weight"},
    {"model.layers.{}.self_attn.indexer.k_norm.bias", "blk.{}.indexer.k_norm.bias"},
    {"model.layers.{}.self_attn.indexer.weights_proj.weight", "blk.{}.indexer.proj.weight"},
};
constexpr auto kIndexedTensors = joined(kIndexerTensors, kLatentBiases, kLatentAttentionTensors, kRoutedExpertTensors);

constexpr HuggingFaceForm indexed_form(std::span<const std::string_view> classes) {
  return {.classes = classes,
          .config = kIndexedConfig,
          .tensors = kIndexedTensors,
          .rope = RopeStyle::interleaved,
          .ignore_mtp_layers = true,
          .splits_latent_heads = true,
          .yarn_log_unit = 0.1};
}

}  // namespace

const Architecture kDeepSeek2 = {.name = "deepseek2",
                                 .models = "DeepSeek V2 and V2 Lite, DeepSeek V3 and R1, Kimi K2, GLM 4.7 Flash",
                                 .describe = describe_deepseek2,
                                 .gguf_rope = RopeStyle::interleaved,
                                 .experts = true,
                                 .keys = kDeepSeek2Keys,
                                 .hugging_face = {.classes = kDeepSeek2Classes,
                                                  .config = kDeepSeek2Config,
                                                  .tensors = kDeepSeek2Tensors,
                                                  .rope = RopeStyle::interleaved,
                                                  .ignore_mtp_layers = true,
                                                  .yarn_log_unit = 0.1}};
const Architecture kDeepSeek32 = {.name = "deepseek32",
                                  .models = "DeepSeek V3.2",
                                  .describe = describe_indexed,
                                  .gguf_rope = RopeStyle::interleaved,
                                  .experts = true,
                                  .keys = kIndexedKeys,
                                  .hugging_face = indexed_form(kDeepSeek32Classes)};
const Architecture kGlmDsa = {.name = "glm-dsa",
                              .models = "GLM 5, 5.1 and 5.2",
                              .describe = describe_indexed,
                              .gguf_rope = RopeStyle::interleaved,
                              .experts = true,
                              .keys = kIndexedKeys,
                              .hugging_face = indexed_form(kGlmDsaClasses)};

}  // namespace wick
