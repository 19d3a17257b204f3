#include "wick/convert/gguf_key_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace wick {
namespace {

constexpr GgufKeyType whole(std::string_view name) { return {name, GgufType::u32}; }
constexpr GgufKeyType decimal(std::string_view name) { return {name, GgufType::f32}; }
constexpr GgufKeyType flag(std::string_view name) { return {name, GgufType::boolean}; }

constexpr std::array kTypes = {
    whole("vocab_size"),
    whole("context_length"),
    whole("embedding_length"),
    whole("embedding_length_out"),
    whole("block_count"),
    whole("leading_dense_block_count"),
    whole("feed_forward_length"),
    whole("expert_feed_forward_length"),
    whole("expert_shared_feed_forward_length"),
    flag("use_parallel_residual"),
    whole("expert_count"),
    whole("expert_used_count"),
    whole("expert_shared_count"),
    whole("expert_group_count"),
    whole("expert_group_used_count"),
    decimal("expert_weights_scale"),
    flag("expert_weights_norm"),
    whole("expert_gating_func"),
    whole("nextn_predict_layers"),
    whole("n_deepstack_layers"),
    whole("pooling_type"),
    decimal("logit_scale"),
    decimal("attn_logit_softcapping"),
    decimal("router_logit_softcapping"),
    decimal("final_logit_softcapping"),
    decimal("residual_scale"),
    decimal("embedding_scale"),
    whole("interleave_moe_layer_step"),
    whole("moe_every_n_layers"),
    whole("attention.head_count"),
    whole("attention.head_count_kv"),
    decimal("attention.max_alibi_bias"),
    decimal("attention.clamp_kqv"),
    whole("attention.key_length"),
    whole("attention.value_length"),
    decimal("attention.layer_norm_epsilon"),
    decimal("attention.layer_norm_rms_epsilon"),
    flag("attention.causal"),
    whole("attention.q_lora_rank"),
    whole("attention.kv_lora_rank"),
    whole("attention.key_length_mla"),
    whole("attention.value_length_mla"),
    whole("attention.sliding_window"),
    decimal("attention.scale"),
    whole("attention.temperature_length"),
    decimal("attention.temperature_scale"),
    whole("attention.chunk_size"),
    whole("wkv.head_size"),
    whole("attention.decay_lora_rank"),
    whole("attention.iclr_lora_rank"),
    whole("attention.value_residual_mix_lora_rank"),
    whole("attention.gate_lora_rank"),
    whole("kda.head_dim"),
    whole("kda.head_count"),
    decimal("full_attention.alpha"),
    decimal("full_attention.beta"),
    decimal("linear_attention.alpha"),
    decimal("linear_attention.beta"),
    decimal("feed_forward.alpha"),
    decimal("feed_forward.beta"),
    whole("shortconv.l_cache"),
    whole("ssm.conv_kernel"),
    whole("ssm.inner_size"),
    whole("ssm.state_size"),
    whole("ssm.time_step_rank"),
    whole("ssm.group_count"),
    decimal("ssm.time_step_min"),
    whole("rope.dimension_count"),
    decimal("rope.freq_base"),
    decimal("rope.freq_base_swa"),
    decimal("rope.scaling.factor"),
    decimal("rope.scaling.attn_factor"),
    whole("rope.scaling.original_context_length"),
    flag("rope.scaling.finetuned"),
    decimal("rope.scaling.yarn_log_multiplier"),
    decimal("rope.scaling.yarn_ext_factor"),
    decimal("rope.scaling.yarn_attn_factor"),
    decimal("rope.scaling.yarn_beta_fast"),
    decimal("rope.scaling.yarn_beta_slow"),
};

}  // namespace

std::span<const GgufKeyType> gguf_key_types() { return kTypes; }

std::optional<GgufType> gguf_type_of_key(std::string_view name) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const GgufKeyType& each) { return each.name == name; });
  return found == kTypes.end() ? std::nullopt : std::optional(found->type);
}

GgufValue in_type_of_key(std::string_view name, const GgufValue& value) {
  const std::optional<GgufType> type = gguf_type_of_key(name);
  std::optional<double> number = as_float(value);
  if (const bool* held = std::get_if<bool>(&value.value)) number = *held ? 1 : 0;
  if (!number) return value;
  if (type == GgufType::f32) return {static_cast<float>(*number)};
  if (type == GgufType::boolean && (*number == 0 || *number == 1)) return {*number == 1};
  const bool fits = *number >= 0 && *number <= UINT32_MAX && *number == std::floor(*number);
  if (type == GgufType::u32 && fits) return {static_cast<uint32_t>(*number)};
  return value;
}

}  // namespace wick
