// Phi 3 and 4: Llama's layers with q, k, v in one matrix and gate, up in one, which are split by their rows (Abdin et al. 2024).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_phi3(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) { return config.layer(config.attention(layer), config.feed_forward(layer)); });
}

constexpr std::string_view kPhi3Classes[] = {"Phi3ForCausalLM"};
constexpr ConfigRow kPhi3Config[] = {
    {"full_attn_mod", ConfigRow::Use::only_value, {}, 1},  // which layers have no window: all have one, which Phi 4 mini's context fills
    {"interpolate_factor", ConfigRow::Use::only_value, {}, 1},
    {"lm_head_bias", ConfigRow::Use::only_value, {}, 0},
};

}  // namespace

const Architecture kPhi3 = {.name = "phi3",
                            .models = "Phi 3, Phi 3.5 mini, Phi 4, Phi 4 mini",
                            .describe = describe_phi3,
                            .hugging_face = {.classes = kPhi3Classes, .config = kPhi3Config, .turns_partly = true}};

}  // namespace wick
