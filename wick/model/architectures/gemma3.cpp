// Gemma 3's text models: Gemma 2's norms, a norm of each head's queries and keys, five layers with a window for each without, and a RoPE
// of their own for those (Gemma Team 2025).
#include <cmath>

#include "wick/base/fail.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// What GGUF files leave out.
constexpr int64_t kDefaultPeriod = 6;
constexpr double kDefaultLocalBase = 10000;
// The only model whose scores are scaled by the width of all heads has so many layers.
constexpr int64_t kGemma3LayersOf27B = 62;
constexpr const char* kBidirectional = "attention.bidirectional";

DecoderSpec describe_gemma3_layers(const ModelConfig& config, bool causal) {
  ModelConfig own = config;
  if (own.windowed.empty()) {
    for (int64_t layer = 0; layer < own.layers; ++layer) own.windowed.push_back(layer % kDefaultPeriod < kDefaultPeriod - 1);
  }
  if (own.attention_scale == 0 && own.layers == kGemma3LayersOf27B) {
    own.attention_scale = 1 / std::sqrt(static_cast<double>(own.hidden_size) / static_cast<double>(own.heads));
  }
  DecoderSpec spec = own.decoder([&](int64_t layer) {
    AttentionSpec attention = own.attention(layer);
    attention.head_norms = HeadNorms::each_head;
    attention.causal = causal;
    attention.softcap = own.cap_or("attn_logit_softcapping", 0);
    attention.rope = own.window > 0 && own.windowed[static_cast<size_t>(layer)] ? 1 : 0;
    LayerSpec made = own.layer(std::move(attention), own.feed_forward(layer));
    made.blocks[0].post_norm = own.norm("post_attention_norm");
    made.blocks[1].post_norm = own.norm("post_ffw_norm");
    return made;
  });
  RopeConfig local;
  local.dims = own.rope.dims;
  local.base = own.keys.positive_or("rope.freq_base_swa", kDefaultLocalBase);
  spec.ropes.push_back(local);
  spec.embedding_scale = std::sqrt(static_cast<float>(own.hidden_size));
  spec.logit_softcap = own.cap_or("final_logit_softcapping", 0);
  return spec;
}

DecoderSpec describe_gemma3(const ModelConfig& config) { return describe_gemma3_layers(config, true); }

// EmbeddingGemma: the same layers, whose tokens see later ones too.
DecoderSpec describe_gemma_embedding(const ModelConfig& config) {
  const Checkpoint& file = config.keys.checkpoint();
  if (file.gguf() == nullptr && config.keys.find_flag(kBidirectional) != true) {
    fail(ErrorCode::unsupported, "{}: config.json: use_bidirectional_attention is not true: the folder has a Gemma 3 without a head",
         file.name());
  }
  ModelConfig own = config;
  // Of so many positions, half are before a token's own and half after it.
  if (own.window > 0) own.window = own.window / 2 + 1;
  DecoderSpec spec = describe_gemma3_layers(own, false);
  const float scale = spec.embedding_scale;
  make_encoder(spec, own);
  spec.embedding_norm.reset();
  spec.embedding_scale = scale;
  return spec;
}

constexpr KeyRule kGemma3Keys[] = {{"attn_logit_softcapping"}, {"final_logit_softcapping"}, {"rope.freq_base_swa"}};
constexpr std::string_view kGemma3Classes[] = {"Gemma3ForCausalLM"};
constexpr ConfigRow kGemma3Config[] = {
    {"hidden_act", ConfigRow::Use::harmless},
    {"hidden_activation", ConfigRow::Use::read, "hidden_act"},
    {"attn_logit_softcapping", ConfigRow::Use::zero_if_null, "attn_logit_softcapping"},
    {"final_logit_softcapping", ConfigRow::Use::zero_if_null, "final_logit_softcapping"},
    {"_sliding_window_pattern", ConfigRow::Use::harmless},  // layer_types says it
    // Transformers' values, which configurations of the models that read images leave out.
    {"Gemma3ForCausalLM", ConfigRow::Use::of_class, "embedding_length", 2304},
    {"Gemma3ForCausalLM", ConfigRow::Use::of_class, "feed_forward_length", 9216},
    {"Gemma3ForCausalLM", ConfigRow::Use::of_class, "block_count", 26},
    {"Gemma3ForCausalLM", ConfigRow::Use::of_class, "attention.head_count", 8},
    {"Gemma3ForCausalLM", ConfigRow::Use::of_class, "attention.head_count_kv", 4},
    {"Gemma3ForCausalLM", ConfigRow::Use::of_class, "attention.key_length", 256},
    {"Gemma3ForCausalLM", ConfigRow::Use::of_class, "attention.scale", 0.0625},
    {"Gemma3ForCausalLM", ConfigRow::Use::of_class, "attention.sliding_window", 4096},
    {"Gemma3ForCausalLM", ConfigRow::Use::of_class, "context_length", 131072},
    {"Gemma3ForCausalLM", ConfigRow::Use::of_class, "rope.freq_base", 1e6},
};
constexpr KeyRule kGemmaEmbeddingKeys[] = {
    {"attn_logit_softcapping"}, {"final_logit_softcapping", KeyUse::harmless}, {"rope.freq_base_swa"}, {kBidirectional}};
constexpr std::string_view kGemmaEmbeddingClasses[] = {"Gemma3TextModel"};
constexpr ConfigRow kGemmaEmbeddingConfig[] = {
    {"hidden_act", ConfigRow::Use::harmless},
    {"hidden_activation", ConfigRow::Use::read, "hidden_act"},
    {"attn_logit_softcapping", ConfigRow::Use::zero_if_null, "attn_logit_softcapping"},
    {"final_logit_softcapping", ConfigRow::Use::harmless},
    {"_sliding_window_pattern", ConfigRow::Use::harmless},
    {"use_bidirectional_attention", ConfigRow::Use::read, kBidirectional},
};
constexpr TensorRow kGemma3Tensors[] = {
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.pre_feedforward_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.post_feedforward_layernorm.weight", "blk.{}.post_ffw_norm.weight"},
};

}  // namespace

const Architecture kGemma3 = {
    .name = "gemma3",
    .models = "Gemma 3 (text)",
    .describe = describe_gemma3,
    .activation = nn::ActivationKind::gelu_pytorch_tanh,
    .keys = kGemma3Keys,
    .hugging_face = {
        .classes = kGemma3Classes, .config = kGemma3Config, .tensors = kGemma3Tensors, .tied_by_default = true, .norm_offset = 1}};

const Architecture kGemmaEmbedding = {.name = "gemma-embedding",
                                      .models = "EmbeddingGemma",
                                      .describe = describe_gemma_embedding,
                                      .activation = nn::ActivationKind::gelu_pytorch_tanh,
                                      .encoder = true,
                                      .keys = kGemmaEmbeddingKeys,
                                      .hugging_face = {.classes = kGemmaEmbeddingClasses,
                                                       .config = kGemmaEmbeddingConfig,
                                                       .tensors = kGemma3Tensors,
                                                       .tied_by_default = true,
                                                       .norm_offset = 1}};

}  // namespace wick
