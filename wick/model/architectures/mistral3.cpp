// Ministral 3 and Mistral Large 3's kin: Llama's layers, whose queries grow with the logarithm of far positions (Mistral AI 2025).
#include <cmath>

#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_mistral3(const ModelConfig& config) {
  ModelConfig own = config;
  QueryTemperature temperature;
  temperature.scale = own.keys.find_positive_or_zero("attention.temperature_scale").value_or(0);
  if (temperature.scale > 0) temperature.length = static_cast<double>(own.rope.original_context);
  // The key takes YaRN's own factor away from cosines and sines: what is left is its quotient with the factor of 1.
  const double multiplier = own.keys.find_number("rope.scaling.yarn_log_multiplier").value_or(0);
  if (own.rope.scaling == RopeScaling::yarn && multiplier != 0) {
    own.rope.attention_factor = 1 / (1 + 0.1 * multiplier * std::log(own.rope.factor));
  }
  const ExpertsSpec experts = own.experts(Routing::softmax, true);
  return own.decoder([&](int64_t layer) {
    AttentionSpec attention = own.attention(layer);
    attention.temperature = temperature;
    return own.layer(std::move(attention), own.feed_forward_parts(layer, experts));
  });
}

constexpr KeyRule kMistral3Keys[] = {{"attention.temperature_scale"}, {"rope.scaling.yarn_log_multiplier"}};
constexpr std::string_view kMistral3Classes[] = {"Ministral3ForCausalLM"};

}  // namespace

const Architecture kMistral3 = {.name = "mistral3",
                                .models = "Ministral 3",
                                .describe = describe_mistral3,
                                .gguf_rope = RopeStyle::interleaved,
                                .experts = true,
                                .scaled_feed_forward = true,
                                .keys = kMistral3Keys,
                                .hugging_face = {.classes = kMistral3Classes, .yarn_log_unit = 1}};

}  // namespace wick
