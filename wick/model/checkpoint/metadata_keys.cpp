#include "wick/model/checkpoint/metadata_keys.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/formats/gguf.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {
namespace {

constexpr KeyRule read(std::string_view name) { return {name, KeyUse::read}; }
constexpr KeyRule harmless(std::string_view name) { return {name, KeyUse::harmless}; }
constexpr KeyRule only(std::string_view name, double value, double other = kNoValue) { return {name, KeyUse::only_value, {value, other}}; }

// The keys that decoders share. llama.cpp writes all of them, at values without effect, when it saves a model; it ignores the two soft caps
// for architectures without them and saves them at its own defaults, 50 and 30.
constexpr std::array kSharedKeys = {
    read("context_length"),
    read("embedding_length"),
    read("block_count"),
    read("feed_forward_length"),
    read("attention.head_count"),
    read("attention.head_count_kv"),
    read("attention.key_length"),
    read("attention.value_length"),
    read("attention.layer_norm_rms_epsilon"),
    read("attention.scale"),
    read("attention.sliding_window"),
    read("attention.sliding_window_pattern"),
    read("attention.layer_norm_epsilon"),
    read("hidden_act"),
    read("embedding_length_out"),
    read("expert_count"),
    read("rope.dimension_count"),
    read("rope.freq_base"),
    read("rope.scale_linear"),
    read("rope.scaling.type"),
    read("rope.scaling.factor"),
    read("rope.scaling.dynamic_factor"),
    read("rope.scaling.attn_factor"),
    read("rope.scaling.yarn_attn_factor"),
    read("rope.scaling.original_context_length"),
    read("rope.scaling.low_freq_factor"),
    read("rope.scaling.high_freq_factor"),
    read("rope.scaling.yarn_beta_fast"),
    read("rope.scaling.yarn_beta_slow"),
    read("rope.scaling.yarn_ext_factor"),
    read("rope.scaling.yarn_truncate"),
    // Without experts, without a sliding window and without yarn's correction, these have nothing to act on.
    harmless("expert_used_count"),
    harmless("expert_shared_count"),
    harmless("expert_group_count"),
    harmless("expert_group_used_count"),
    harmless("expert_feed_forward_length"),
    harmless("expert_shared_feed_forward_length"),
    harmless("expert_weights_scale"),
    harmless("expert_weights_norm"),
    harmless("expert_gating_func"),
    harmless("attention.key_length_swa"),
    harmless("attention.value_length_swa"),
    harmless("rope.dimension_count_swa"),
    harmless("rope.freq_base_swa"),
    harmless("expert_group_scale"),
    harmless("token_shift_count"),
    harmless("kda.gate_lower_bound"),
    harmless("deepstack_mapping"),
    read("classifier.output_labels"),
    read("classifier.problem_type"),
    read("classifier.activation"),
    read("classifier.tokens"),
    // The tensors have these sizes.
    harmless("dense_2_feat_in"),
    harmless("dense_2_feat_out"),
    harmless("dense_3_feat_in"),
    harmless("dense_3_feat_out"),
    read("dense_2_activation"),
    read("dense_3_activation"),
    read("dense_4_activation"),
    read("prompt_names"),
    read("prompt_texts"),
    read("default_prompt"),
    harmless("attention.indexer.kpool_select_tail"),
    harmless("attention.group_norm_epsilon"),
    harmless("attention.group_norm_groups"),
    harmless("rope.scaling.finetuned"),
    harmless("vocab_size"),
    harmless("tensor_data_layout"),
    read("pooling_type"),
    read("pooling"),
    read("headless"),
    harmless("decoder_start_token_id"),
    harmless("swin_norm"),
    read("attention.causal"),
    only("attention.clamp_kqv", 0),
    only("attention.max_alibi_bias", 0),
    only("attention.q_lora_rank", 0),
    only("attention.kv_lora_rank", 0),
    only("attention.key_length_mla", 0),
    only("attention.value_length_mla", 0),
    only("attention.relative_buckets_count", 0),
    only("attention.output_scale", 0, 1),
    only("attention.value_scale", 0, 1),
    only("attention.temperature_length", 0),
    only("attention.temperature_scale", 0),
    only("attention.shared_kv_layers", 0),
    only("attn_logit_softcapping", 0, 50),
    only("final_logit_softcapping", 0, 30),
    only("router_logit_softcapping", 0, 30),
    only("logit_scale", 0, 1),
    only("residual_scale", 0, 1),
    only("embedding_scale", 0, 1),
    only("use_parallel_residual", 0),
    only("leading_dense_block_count", 0),
    only("nextn_predict_layers", 0),
    only("rescale_every_n_layers", 0),
    only("time_mix_extra_dim", 0),
    only("time_decay_extra_dim", 0),
    only("ssm.inner_size", 0),
    only("ssm.conv_kernel", 0),
    only("ssm.state_size", 0),
    only("ssm.time_step_rank", 0),
    only("ssm.group_count", 0),
    only("ssm.dt_b_c_rms", 0),
    only("wkv.head_size", 0),
    // What other architectures have, as llama.cpp saves it for those that have not.
    only("activation.situ_beta", 0, 1),
    only("activation.situ_linear_beta", 0),
    only("attention.compress_ratios", 0),
    only("attention.compress_rope_freq_base", 0),
    only("attention.decay_lora_rank", 0),
    only("attention.gate_lora_rank", 0),
    only("attention.iclr_lora_rank", 0),
    only("attention.value_residual_mix_lora_rank", 0),
    only("attention.indexer.block_size", 0),
    only("attention.indexer.head_count", 0),
    only("attention.indexer.key_length", 0),
    only("attention.indexer.kpool", 0),
    only("attention.indexer.local_blocks", 0),
    only("attention.indexer.top_k", 0),
    only("attention.indexer.types", 0),
    only("attention.key_length_mla_swa", 0),
    only("attention.value_length_mla_swa", 0),
    only("attention.kv_lora_rank_swa", 0),
    only("attention.output_group_count", 0),
    only("attention.output_lora_rank", 0),
    only("attention.recurrent_layers", 0),
    only("attention.rope_pattern", 1),
    only("attn_res.block_size", 0),
    only("convnext.block_count", 0),
    only("convnext.embedding_length", 0),
    only("posnet.block_count", 0),
    only("posnet.embedding_length", 0),
    only("decoder_block_count", 0),
    only("expert_chunk_feed_forward_length", 0),
    only("expert_latent_length", 0),
    only("experts_per_group", 0),
    only("moe_every_n_layers", 0),
    only("n_deepstack_layers", 0),
    only("hash_layer_count", 0),
    only("hrm.h_cycles", 0),
    only("hrm.l_cycles", 0),
    only("hrm.layers_per_stack", 0),
    only("hrm.prefix_lm", 0),
    only("hyper_connection.count", 0),
    only("hyper_connection.epsilon", 0),
    only("hyper_connection.low_rank", 0),
    only("hyper_connection.magnitude", 0),
    only("hyper_connection.sinkhorn_iterations", 0),
    only("interleave_moe_layer_step", 0),
    only("kda.head_dim", 0),
    only("kda.safe_gate", 0),
    only("shortconv.l_cache", 0),
    only("swiglu_clamp_exp", 0),
    only("swiglu_clamp_shexp", 0),
    only("rope.dimension_sections", 0),
    only("rope.layers", 1),
    only("rope.scaling.alpha", 0),
    only("rope.scaling.yarn_log_multiplier", 0),
};

constexpr std::array kEncoderKeys = {only("attention.causal", 0)};

// A number, a boolean, or the numbers of an array; none for anything else.
std::vector<double> numbers_of(const GgufValue& value) {
  return std::visit(
      [](const auto& held) -> std::vector<double> {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, GgufArray>) {
          if (held.element_type == GgufType::string || held.element_type == GgufType::array) return {};
          const std::vector<float> numbers = held.template to_vector<float>();
          return {numbers.begin(), numbers.end()};
        } else if constexpr (std::is_same_v<Held, std::string_view>) {
          return {};
        } else {
          return {static_cast<double>(held)};
        }
      },
      value.value);
}

std::string shown(const GgufValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, GgufArray>) {
          return fmt::format("an array of {} {}", held.size, to_string(held.element_type));
        } else if constexpr (std::is_same_v<Held, std::string_view>) {
          return printable(held);
        } else {
          return fmt::format("{}", held);
        }
      },
      value.value);
}

bool is_neutral(const KeyRule& rule, const GgufValue& value) {
  const std::vector<double> numbers = numbers_of(value);
  return !numbers.empty() &&
         std::all_of(numbers.begin(), numbers.end(), [&](double number) { return number == rule.neutral[0] || number == rule.neutral[1]; });
}

const KeyRule* find_rule(std::span<const KeyRule> rules, std::string_view name) {
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const KeyRule& each) { return each.name == name; });
  return rule == rules.end() ? nullptr : &*rule;
}

std::string shown_key(const Checkpoint& checkpoint, std::string_view key) {
  return checkpoint.gguf() != nullptr ? "metadata " + printable(key) : checkpoint.where(key);
}

std::string neutral_values(const KeyRule* rule) {
  if (rule == nullptr) return "";
  const std::string other = std::isnan(rule->neutral[1]) ? "" : fmt::format(" or {}", rule->neutral[1]);
  return fmt::format(" or {}{}", rule->neutral[0], other);
}

}  // namespace

void check_metadata_keys(const Checkpoint& checkpoint, std::string_view architecture, std::span<const KeyRule> own, bool encoder) {
  const std::string prefix = std::string(architecture) + ".";
  std::vector<std::string> unknown;
  for (const std::string_view key : checkpoint.keys()) {
    if (!key.starts_with(prefix)) continue;
    const std::string_view name = key.substr(prefix.size());
    const KeyRule* rule = find_rule(own, name);
    if (rule == nullptr && encoder) rule = find_rule(kEncoderKeys, name);
    if (rule == nullptr) rule = find_rule(kSharedKeys, name);
    const GgufValue& value = *checkpoint.find(key);
    if (rule != nullptr && (rule->use != KeyUse::only_value || is_neutral(*rule, value))) continue;
    if (rule == nullptr && !name.starts_with("attention.") && !name.starts_with("rope.")) {
      unknown.push_back(printable(key));
      continue;
    }
    fail(ErrorCode::unsupported,
         "{}: {} = {} changes what the model computes, and this version cannot compute it for {}; it runs files without the key{}",
         checkpoint.name(), shown_key(checkpoint, key), shown(value), architecture, neutral_values(rule));
  }
  if (unknown.empty()) return;
  const size_t count = unknown.size();
  unknown.resize(std::min<size_t>(count, 4));
  log_warning("{}: {} metadata keys of the model are not known and are ignored: {}{}", checkpoint.name(), count, fmt::join(unknown, ", "),
              count > unknown.size() ? ", …" : "");
}

}  // namespace wick
