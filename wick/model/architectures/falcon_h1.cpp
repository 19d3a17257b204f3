// Falcon-H1: in each layer, attention and Mamba 2 side by side (TII 2025). The factors of its configurations are in the weights of GGUF
// files.
#include "wick/model/architectures/rows.h"
#include "wick/model/architectures/state_space_rows.h"

namespace wick {
namespace {

DecoderSpec describe_falcon_h1(const ModelConfig& config) {
  const StateSpaceSpec space = config.state_space();
  return config.decoder([&](int64_t layer) {
    return LayerSpec{{{.norm = config.norm("attn_norm"), .parts = {{config.attention(layer)}, {space}}},
                      {.norm = config.norm("ffn_norm"), .parts = {{config.feed_forward(layer)}}}}};
  });
}

constexpr std::string_view kFalconH1Classes[] = {"FalconH1ForCausalLM"};
constexpr ConfigRow kFalconH1OwnConfig[] = {
    {"mamba_d_ssm", ConfigRow::Use::harmless},  // heads · d_head
    {"mamba_use_mlp", ConfigRow::Use::only_value, {}, 1},
    {"projectors_bias", ConfigRow::Use::only_value},
    {"mamba_rms_norm", ConfigRow::Use::only_value},
    {"mamba_norm_before_gate", ConfigRow::Use::harmless},  // without a norm
    {"num_logits_to_keep", ConfigRow::Use::harmless},
    // Read together: the weights are multiplied.
    {"attention_in_multiplier", ConfigRow::Use::harmless},
    {"attention_out_multiplier", ConfigRow::Use::harmless},
    {"embedding_multiplier", ConfigRow::Use::harmless},
    {"key_multiplier", ConfigRow::Use::harmless},
    {"lm_head_multiplier", ConfigRow::Use::harmless},
    {"mlp_multipliers", ConfigRow::Use::harmless},
    {"ssm_in_multiplier", ConfigRow::Use::harmless},
    {"ssm_multipliers", ConfigRow::Use::harmless},
    {"ssm_out_multiplier", ConfigRow::Use::harmless},
};
constexpr auto kFalconH1Config = joined(kMambaConfig, kFalconH1OwnConfig);
constexpr auto kFalconH1Tensors = joined(kMambaProjectionTensors, kMamba2Tensors, kPreFeedForwardTensors);

}  // namespace

const Architecture kFalconH1 = {.name = "falcon-h1",
                                .models = "Falcon-H1",
                                .describe = describe_falcon_h1,
                                .recurrent = true,
                                .keys = kStateSpaceKeys,
                                .hugging_face = {.classes = kFalconH1Classes, .config = kFalconH1Config, .tensors = kFalconH1Tensors}};

}  // namespace wick
