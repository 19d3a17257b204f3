// Command R and its kin: attention and feed-forward part in parallel behind one layer norm without biases, scaled logits, interleaved
// pairs. Command R7B and Command A have windows too, and rotate only in the layers with one.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// Of the layers with a window, where a GGUF file does not say: every fourth has none.
constexpr int64_t kDefaultCoherePeriod = 4;

void finish_cohere(const ModelConfig& config, DecoderSpec& spec) {
  spec.output_norm = config.norm("output_norm", NormKind::layer);
  spec.logit_scale = static_cast<float>(config.keys.find_positive_or_zero("logit_scale").value_or(1));
}

DecoderSpec describe_cohere(const ModelConfig& config) {
  // Command R+ has them.
  const bool norms = config.keys.checkpoint().find_tensor("blk.0.attn_q_norm.weight") != nullptr;
  DecoderSpec spec = config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    if (norms) attention.head_norms = HeadNorms::own;
    return config.parallel_layer(std::move(attention), config.feed_forward(layer), NormKind::layer);
  });
  finish_cohere(config, spec);
  return spec;
}

DecoderSpec describe_cohere2(const ModelConfig& config) {
  ModelConfig own = config;
  if (own.windowed.empty()) {
    for (int64_t layer = 0; layer < own.layers; ++layer) own.windowed.push_back(layer % kDefaultCoherePeriod < kDefaultCoherePeriod - 1);
  }
  DecoderSpec spec = own.decoder([&](int64_t layer) {
    AttentionSpec attention = own.attention(layer);
    if (!own.windowed[static_cast<size_t>(layer)]) attention.rope = -1;
    return own.parallel_layer(std::move(attention), own.feed_forward(layer), NormKind::layer);
  });
  finish_cohere(own, spec);
  return spec;
}

constexpr KeyRule kCohereKeys[] = {{"logit_scale"}};
constexpr std::string_view kCohereClasses[] = {"CohereForCausalLM"};
constexpr std::string_view kCohere2Classes[] = {"Cohere2ForCausalLM"};
constexpr ConfigRow kCohereConfig[] = {
    {"layer_norm_eps", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"logit_scale", ConfigRow::Use::read, "logit_scale"},
    {"use_qk_norm", ConfigRow::Use::harmless},              // the tensors tell
    {"_sliding_window_pattern", ConfigRow::Use::harmless},  // layer_types says it
    {"layer_switch", ConfigRow::Use::harmless},             // sliding_window_pattern again
    {"order_of_interleaved_layers", ConfigRow::Use::only_text, "local_attn_first"},
    {"position_embedding_type", ConfigRow::Use::only_text, "rope_gptj"},
    {"use_gated_activation", ConfigRow::Use::only_value, {}, 1},
    {"use_parallel_block", ConfigRow::Use::only_value, {}, 1},
    {"use_parallel_embedding", ConfigRow::Use::harmless},  // how training shares it between devices
    {"use_embedding_sharing", ConfigRow::Use::harmless},   // tie_word_embeddings again
};

}  // namespace

const Architecture kCohere = {
    .name = "command-r",
    .models = "Command R, Command R+",
    .describe = describe_cohere,
    .gguf_rope = RopeStyle::interleaved,
    .keys = kCohereKeys,
    .hugging_face = {.classes = kCohereClasses, .config = kCohereConfig, .rope = RopeStyle::interleaved, .tied_by_default = true}};
const Architecture kCohere2 = {
    .name = "cohere2",
    .models = "Command R7B, Command A",
    .describe = describe_cohere2,
    .gguf_rope = RopeStyle::interleaved,
    .scaled_feed_forward = true,
    .keys = kCohereKeys,
    .hugging_face = {.classes = kCohere2Classes, .config = kCohereConfig, .rope = RopeStyle::interleaved, .tied_by_default = true}};

}  // namespace wick
