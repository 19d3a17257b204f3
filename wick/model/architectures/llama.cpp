// Llama (Touvron et al. 2023) and what has its layers: Mistral, with a window, Mixtral, with experts (Jiang et al. 2024), and the many
// models that are trained in its form; NVIDIA's encoders have its layers without the mask (Babakhin et al. 2025).
#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_llama(const ModelConfig& config) {
  const ExpertsSpec experts = config.experts(Routing::softmax, true);
  return config.decoder([&](int64_t layer) { return config.layer(config.attention(layer), config.feed_forward_parts(layer, experts)); });
}

DecoderSpec describe_llama_embed(const ModelConfig& config) {
  DecoderSpec spec = describe_llama(config);
  attend_both_ways(spec, config.keys);
  const Checkpoint& file = config.keys.checkpoint();
  const std::string_view pooling = config.keys.find_text("text_pooling").value_or("avg");
  const bool scores = file.find_tensor("cls.output.weight") != nullptr;
  // Without a module for it; its scores are of the same vector.
  if (pooling != "avg" && (scores || !config.keys.has("pooling_type"))) {
    fail(ErrorCode::unsupported, "{}: {} = {}: this version knows avg", file.name(), file.where(config.keys.key("text_pooling")),
         printable(pooling));
  }
  if (!scores) return spec;
  if (const double temperature = config.keys.positive_or("score_temperature", 1); temperature != 1) {
    fail(ErrorCode::unsupported, "{}: {} = {}: this version scores texts with 1", file.name(),
         file.where(config.keys.key("score_temperature")), temperature);
  }
  spec.score_head = {.input = ScoreHeadSpec::Input::mean};
  return spec;
}

constexpr std::string_view kLlamaClasses[] = {"LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM", "MinistralForCausalLM"};
constexpr ConfigRow kLlamaConfig[] = {
    {"num_local_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
};
constexpr TensorRow kLlamaTensors[] = {
    {"model.layers.{}.block_sparse_moe.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w1.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w2.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w3.weight", "blk.{}.ffn_up_exps.weight"},
};
constexpr KeyRule kLlamaEmbedKeys[] = {{"text_pooling"}, {"score_temperature"}};
constexpr std::string_view kLlamaEmbedClasses[] = {"LlamaBidirectionalModel", "LlamaBidirectionalForSequenceClassification"};
constexpr ConfigRow kLlamaEmbedConfig[] = {
    {"pooling", ConfigRow::Use::read, "text_pooling"},
    {"temperature", ConfigRow::Use::read, "score_temperature"},  // of a loss where there are no scores
    {"is_causal", ConfigRow::Use::only_value, {}, 0},
    {"use_bidirectional_attention", ConfigRow::Use::only_value, {}, 1},
};

}  // namespace

// Converters of Llama's checkpoints interleave the rotated pairs.
const Architecture kLlama = {.name = "llama",
                             .models = "Llama 1 to 3.3, Mistral, Ministral 8B, Mixtral, SmolLM, Yi, TinyLlama",
                             .describe = describe_llama,
                             .gguf_rope = RopeStyle::interleaved,
                             .experts = true,
                             .scaled_feed_forward = true,
                             .hugging_face = {.classes = kLlamaClasses, .config = kLlamaConfig, .tensors = kLlamaTensors}};
const Architecture kLlamaEmbed = {.name = "llama-embed",
                                  .models = "Llama Embed Nemotron, Llama Nemotron Embed and Rerank",
                                  .describe = describe_llama_embed,
                                  .gguf_rope = RopeStyle::interleaved,
                                  .experts = true,
                                  .encoder = true,
                                  .scaled_feed_forward = true,
                                  .keys = kLlamaEmbedKeys,
                                  .hugging_face = {.classes = kLlamaEmbedClasses, .config = kLlamaEmbedConfig}};

}  // namespace wick
