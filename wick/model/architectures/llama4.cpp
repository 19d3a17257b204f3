// Llama 4's text model: experts in every second layer or in all, chunks of attention but in every fourth layer, which does not rotate and
// sharpens far positions instead (Meta 2025).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// What GGUF files leave out.
constexpr int64_t kDefaultChunk = 8192, kUnrotatedLlama4Period = 4;
constexpr double kDefaultTemperatureLength = 8192, kDefaultTemperatureScale = 0.1;

DecoderSpec describe_llama4(const ModelConfig& config) {
  const KeyReader& keys = config.keys;
  const int64_t chunk = keys.size_or("attention.chunk_size", kDefaultChunk);
  const bool norms = keys.find_flag("attention.bare_head_norms").value_or(true);
  const QueryTemperature temperature{
      .length = keys.find_positive_or_zero("attention.temperature_length").value_or(kDefaultTemperatureLength),
      .scale = keys.find_positive_or_zero("attention.temperature_scale").value_or(kDefaultTemperatureScale),
      .first = 1};
  const bool tempered = keys.find_choice("attention.temperature_tuning").value_or(true);
  const std::vector<bool> rotated = config.rotated_layers(kUnrotatedLlama4Period);
  ExpertsSpec experts = config.experts(Routing::sigmoid, false);
  experts.weights_input = true;
  return config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    if (!rotated[static_cast<size_t>(layer)]) {
      attention.rope = -1;
      if (tempered) attention.temperature = temperature;
    } else {
      if (norms) attention.head_norms = HeadNorms::bare;
      if (chunk < config.context_length) attention.retention = {Retention::Kind::chunk, chunk};
    }
    return config.layer(std::move(attention), config.feed_forward_parts(layer, experts));
  });
}

constexpr KeyRule kLlama4Keys[] = {
    {"attention.chunk_size"},         {"attention.bare_head_norms"},   {"attention.temperature_tuning"}, {"rope.layers"},
    {"attention.temperature_length"}, {"attention.temperature_scale"}, {"interleave_moe_layer_step"}};
constexpr std::string_view kLlama4Classes[] = {"Llama4ForCausalLM"};
constexpr ConfigRow kLlama4Config[] = {
    {"intermediate_size_mlp", ConfigRow::Use::read, "feed_forward_length"},
    {"intermediate_size", ConfigRow::Use::read, "expert_feed_forward_length"},
    {"num_local_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"interleave_moe_layer_step", ConfigRow::Use::read, "interleave_moe_layer_step"},
    {"moe_layers", ConfigRow::Use::harmless},  // the tensors tell
    {"attention_chunk_size", ConfigRow::Use::read, "attention.chunk_size"},
    {"layer_types", ConfigRow::Use::harmless},  // as no_rope_layers
    {"no_rope_layer_interval", ConfigRow::Use::layer_flags, "rope.layers", static_cast<double>(kUnrotatedLlama4Period)},
    {"no_rope_layers", ConfigRow::Use::layer_flags, "rope.layers", static_cast<double>(kUnrotatedLlama4Period)},
    {"attn_temperature_tuning", ConfigRow::Use::read, "attention.temperature_tuning"},
    {"floor_scale", ConfigRow::Use::read, "attention.temperature_length"},
    {"attn_scale", ConfigRow::Use::read, "attention.temperature_scale"},
    {"use_qk_norm", ConfigRow::Use::read, "attention.bare_head_norms"},
};
constexpr TensorRow kLlama4Tensors[] = {
    {"model.layers.{}.feed_forward.router.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.feed_forward.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight", StoredForm::transposed_halves,
     "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.feed_forward.experts.down_proj", "blk.{}.ffn_down_exps.weight", StoredForm::transposed},
    {"model.layers.{}.feed_forward.shared_expert.gate_proj.weight", "blk.{}.ffn_gate_shexp.weight"},
    {"model.layers.{}.feed_forward.shared_expert.up_proj.weight", "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.feed_forward.shared_expert.down_proj.weight", "blk.{}.ffn_down_shexp.weight"},
    {"model.layers.{}.feed_forward.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.feed_forward.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.feed_forward.down_proj.weight", "blk.{}.ffn_down.weight"},
};

}  // namespace

const Architecture kLlama4 = {
    .name = "llama4",
    .models = "Llama 4 (text)",
    .describe = describe_llama4,
    .gguf_rope = RopeStyle::interleaved,
    .experts = true,
    .keys = kLlama4Keys,
    .hugging_face = {.classes = kLlama4Classes, .config = kLlama4Config, .tensors = kLlama4Tensors, .rope = RopeStyle::interleaved}};

}  // namespace wick
