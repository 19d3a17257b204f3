// Mamba 2: layers that keep a state, and nothing else (Dao & Gu 2024).
#include "wick/model/architectures/rows.h"
#include "wick/model/architectures/state_space_rows.h"

namespace wick {
namespace {

DecoderSpec describe_mamba2(const ModelConfig& config) {
  const StateSpaceSpec space = config.state_space();
  DecoderSpec spec = config.decoder([&](int64_t) { return LayerSpec{{{.norm = config.norm("attn_norm"), .parts = {{space}}}}}; });
  spec.ropes.clear();
  return spec;
}

constexpr std::string_view kMamba2Classes[] = {"Mamba2ForCausalLM"};
constexpr ConfigRow kMamba2OwnConfig[] = {
    {"state_size", ConfigRow::Use::read, "ssm.state_size"},
    {"num_heads", ConfigRow::Use::read, "ssm.time_step_rank"},
    {"head_dim", ConfigRow::Use::read, "ssm.head_dim"},
    {"hidden_act", ConfigRow::Use::only_text, "silu swish"},
    {"norm_before_gate", ConfigRow::Use::harmless},  // read by no version
    {"rms_norm", ConfigRow::Use::only_value, {}, 1},
    {"intermediate_size", ConfigRow::Use::harmless},
    {"time_step_rank", ConfigRow::Use::harmless},
    {"time_step_min", ConfigRow::Use::harmless},
    {"Mamba2ForCausalLM", ConfigRow::Use::of_class, "context_length", 1 << 20},
    {"Mamba2ForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_rms_epsilon", 1e-5},
};
constexpr auto kMamba2Config = joined(kMixerConfig, kMamba2OwnConfig);

}  // namespace

const Architecture kMamba2 = {
    .name = "mamba2",
    .models = "Mamba 2",
    .describe = describe_mamba2,
    .recurrent = true,
    .keys = kStateSpaceKeys,
    .hugging_face = {.classes = kMamba2Classes, .config = kMamba2Config, .tensors = kMixerTensors, .state_norm_by_version = true}};

}  // namespace wick
