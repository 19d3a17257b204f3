// Architectures with Llama's layers and a name of their own.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_plain(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) { return config.layer(config.attention(layer), config.feed_forward(layer)); });
}

// ERNIE 4.5's bias behind attention counts in folders, and in files that say so: llama.cpp's are run without it.
DecoderSpec describe_ernie(const ModelConfig& config) {
  const bool biased = config.keys.checkpoint().gguf() == nullptr || config.keys.find_flag("attention.output_bias").value_or(false);
  DecoderSpec spec = config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    attention.output_bias = biased;
    return config.layer(std::move(attention), config.feed_forward(layer));
  });
  if (!biased) spec.unused = {".attn_output.bias"};
  return spec;
}

// Seed-OSS's GGUF files call the feed-forward part's norm post_attention_norm.
DecoderSpec describe_seed_oss(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) {
    LayerSpec made = config.layer(config.attention(layer), config.feed_forward(layer));
    made.blocks[1].norm = config.norm("post_attention_norm");
    return made;
  });
}

// A feed-forward part without a gate.
DecoderSpec describe_arcee(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) { return config.layer(config.attention(layer), config.ungated_feed_forward(layer)); });
}

DecoderSpec describe_nemotron(const ModelConfig& config) {
  return config.decoder(
      [&](int64_t layer) { return config.layer(config.attention(layer), config.ungated_feed_forward(layer), NormKind::layer); },
      NormKind::layer);
}

constexpr std::string_view kInternLm2Classes[] = {"InternLM2ForCausalLM"};
constexpr ConfigRow kInternLm2Config[] = {{"bias", ConfigRow::Use::only_value, {}, 0}};
constexpr TensorRow kInternLm2Tensors[] = {
    {"model.tok_embeddings.weight", "token_embd.weight"},
    {"output.weight", "output.weight"},
    {"model.layers.{}.attention_norm.weight", "blk.{}.attn_norm.weight"},
    {"model.layers.{}.ffn_norm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.attention.wqkv.weight", "blk.{}.attn_qkv.weight"},
    {"model.layers.{}.attention.wo.weight", "blk.{}.attn_output.weight"},
    {"model.layers.{}.feed_forward.w1.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.feed_forward.w2.weight", "blk.{}.ffn_down.weight"},
    {"model.layers.{}.feed_forward.w3.weight", "blk.{}.ffn_up.weight"},
};
constexpr std::string_view kExaoneClasses[] = {"ExaoneForCausalLM"};
constexpr ConfigRow kExaoneConfig[] = {
    {"num_layers", ConfigRow::Use::read, "block_count"},
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_rms_epsilon"},
    {"activation_function", ConfigRow::Use::read, "hidden_act"},
    {"embed_dropout", ConfigRow::Use::harmless},
};
constexpr TensorRow kExaoneTensors[] = {
    {"transformer.wte.weight", "token_embd.weight"},
    {"transformer.ln_f.weight", "output_norm.weight"},
    {"transformer.h.{}.ln_1.weight", "blk.{}.attn_norm.weight"},
    {"transformer.h.{}.ln_2.weight", "blk.{}.ffn_norm.weight"},
    {"transformer.h.{}.attn.attention.q_proj.weight", "blk.{}.attn_q.weight"},
    {"transformer.h.{}.attn.attention.k_proj.weight", "blk.{}.attn_k.weight"},
    {"transformer.h.{}.attn.attention.v_proj.weight", "blk.{}.attn_v.weight"},
    {"transformer.h.{}.attn.attention.out_proj.weight", "blk.{}.attn_output.weight"},
    {"transformer.h.{}.attn.attention.rotary.inv_freq", ""},
    {"transformer.h.{}.mlp.c_fc_0.weight", "blk.{}.ffn_gate.weight"},
    {"transformer.h.{}.mlp.c_fc_1.weight", "blk.{}.ffn_up.weight"},
    {"transformer.h.{}.mlp.c_proj.weight", "blk.{}.ffn_down.weight"},
};
constexpr KeyRule kErnieKeys[] = {{"rope.dimension_sections"}, {"attention.output_bias"}};
constexpr std::string_view kErnieClasses[] = {"Ernie4_5ForCausalLM"};
constexpr std::string_view kSeedOssClasses[] = {"SeedOssForCausalLM"};
constexpr std::string_view kArceeClasses[] = {"ArceeForCausalLM"};
constexpr std::string_view kNemotronClasses[] = {"NemotronForCausalLM"};
constexpr ConfigRow kErnieConfig[] = {
    {"use_bias", ConfigRow::Use::read, "attention.output_bias"},
    {"fuse_rms_norm", ConfigRow::Use::harmless},  // how a training program computes it
};
constexpr ConfigRow kSeedOssConfig[] = {{"attention_out_bias", ConfigRow::Use::harmless}, {"residual_dropout", ConfigRow::Use::harmless}};
constexpr ConfigRow kNemotronConfig[] = {
    {"norm_eps", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"rope_percent", ConfigRow::Use::harmless},  // partial_rotary_factor again
    {"rotary_percent", ConfigRow::Use::harmless},
};
constexpr TensorRow kSeedOssTensors[] = {
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
};

}  // namespace

const Architecture kInternLm2 = {
    .name = "internlm2",
    .models = "InternLM 2 and 2.5",
    .describe = describe_plain,
    .gguf_rope = RopeStyle::interleaved,
    .hugging_face = {
        .classes = kInternLm2Classes, .config = kInternLm2Config, .tensors = kInternLm2Tensors, .qkv_by_group = true, .splits_qkv = true}};
const Architecture kExaone = {
    .name = "exaone",
    .models = "EXAONE 3 and 3.5",
    .describe = describe_plain,
    .hugging_face = {.classes = kExaoneClasses, .config = kExaoneConfig, .tensors = kExaoneTensors, .tied_by_default = true}};
const Architecture kErnie = {
    .name = "ernie4_5",
    .models = "ERNIE 4.5 (dense)",
    .describe = describe_ernie,
    .gguf_rope = RopeStyle::interleaved,
    .experts = true,
    .keys = kErnieKeys,
    .hugging_face = {.classes = kErnieClasses, .config = kErnieConfig, .rope = RopeStyle::interleaved, .tied_by_default = true}};
const Architecture kSeedOss = {.name = "seed_oss",
                               .models = "Seed-OSS",
                               .describe = describe_seed_oss,
                               .hugging_face = {.classes = kSeedOssClasses, .config = kSeedOssConfig, .tensors = kSeedOssTensors}};
const Architecture kArcee = {.name = "arcee",
                             .models = "Arcee AFM 4.5B",
                             .describe = describe_arcee,
                             .gguf_rope = RopeStyle::interleaved,
                             .activation = nn::ActivationKind::relu2,
                             .hugging_face = {.classes = kArceeClasses}};
const Architecture kNemotron = {
    .name = "nemotron",
    .models = "Nemotron 4, Minitron",
    .describe = describe_nemotron,
    .activation = nn::ActivationKind::relu2,
    .hugging_face = {.classes = kNemotronClasses, .config = kNemotronConfig, .norm_offset = 1, .usual_rotary_factor = 0.5}};

}  // namespace wick
