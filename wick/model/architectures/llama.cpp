// Llama (Touvron et al. 2023) and what has its layers: Mistral, with a window, Mixtral, with experts (Jiang et al. 2024), and the many
// models that are trained in its form.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_llama(const ModelConfig& config) {
  const ExpertsSpec experts = config.experts(Routing::softmax, true);
  return config.decoder([&](int64_t layer) { return config.layer(config.attention(layer), config.feed_forward_parts(layer, experts)); });
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

}  // namespace

// Converters of Llama's checkpoints interleave the rotated pairs.
const Architecture kLlama = {.name = "llama",
                             .models = "Llama 1 to 3.3, Mistral, Ministral 8B, Mixtral, SmolLM, Yi, TinyLlama",
                             .describe = describe_llama,
                             .gguf_rope = RopeStyle::interleaved,
                             .experts = true,
                             .scaled_feed_forward = true,
                             .hugging_face = {.classes = kLlamaClasses, .config = kLlamaConfig, .tensors = kLlamaTensors}};

}  // namespace wick
