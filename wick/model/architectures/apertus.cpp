// Apertus (Swiss AI 2025): Llama's layers with a norm of each head's queries and keys, and feed-forward parts without a gate, whose
// activation xIELU (Huang & Schlag 2024) has numbers of its own in each layer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "wick/base/fail.h"
#include "wick/model/architectures/rows.h"
#include "wick/model/mixers/mixer.h"

namespace wick {
namespace {

// xIELU(x) = p · x² + b · x for positive x, and n · (eˣ - 1 - x) + b · x for others.
struct Xielu {
  double positive = 0, negative = 0, linear = 0;

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    const Tensor above = x.relu(), below = x - above;
    return above.sqr() * positive + x * linear + (below.elu(1) - below) * negative;
  }
};

double softplus_of(double x) { return std::log1p(std::exp(-std::fabs(x))) + std::max(x, 0.0); }

// A number of each layer: an array of a GGUF file, "xielu.<name>" without the architecture, and a tensor of a folder.
double number_of_layer(const ModelConfig& config, const char* name, int64_t layer) {
  const Checkpoint& file = config.keys.checkpoint();
  const std::string key = fmt::format("xielu.{}", name);
  if (const GgufValue* value = file.find(key)) {
    if (const std::optional<double> same = as_float(*value)) return *same;
    const auto* array = std::get_if<GgufArray>(&value->value);
    const bool numbers = array != nullptr && (array->element_type == GgufType::f32 || array->element_type == GgufType::f64);
    if (!numbers || array->size < static_cast<uint64_t>(config.layers)) {
      fail(ErrorCode::corrupt_file, "{}: {}: want a number for each of the {} layers", file.name(), key, config.layers);
    }
    return array->to_vector<double>()[static_cast<size_t>(layer)];
  }
  const CheckpointTensor* tensor = file.find_tensor(fmt::format("blk.{}.{}", layer, key));
  if (tensor == nullptr || tensor->shape.elements() != 1 || !is_float(tensor->dtype)) {
    fail(ErrorCode::corrupt_file, "{}: no number {} of layer {}; the activation of its feed-forward part needs it", file.name(), key,
         layer);
  }
  const CheckpointTensor own = tensor->as_f32();
  float number = 0;
  std::memcpy(&number, own.data.data(), sizeof(number));
  return number;
}

class XieluMixer final : public Mixer {
 public:
  XieluMixer(WeightReader& weights, int64_t layer, int64_t hidden_size, int64_t width, const Xielu& activation)
      : activation_(activation),
        up_(weights.matrix(fmt::format("blk.{}.ffn_up", layer), width, hidden_size)),
        down_(weights.matrix(fmt::format("blk.{}.ffn_down", layer), hidden_size, width)) {}

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override {
    context.show_input({up_.name}, normed);
    const Tensor inner = activation_(context.product(up_, normed));
    context.show_input({down_.name}, inner);
    return context.product(down_, inner);
  }
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override { return {&up_, &down_}; }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override { return {&up_, &down_}; }

 private:
  Xielu activation_;
  ScaledMatrix up_, down_;
};

DecoderSpec describe_apertus(const ModelConfig& config) {
  DecoderSpec spec = config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    attention.head_norms = HeadNorms::each_head;
    Xielu activation{.linear = number_of_layer(config, "beta", layer)};
    activation.positive = softplus_of(number_of_layer(config, "alpha_p", layer));
    activation.negative = activation.linear + softplus_of(number_of_layer(config, "alpha_n", layer));
    const int64_t width = config.feed_forward(layer).width, hidden_size = config.hidden_size;
    const OwnSpec part{.name = fmt::format("feed-forward {}, xielu, no gate", width),
                       .build = [=](WeightReader& weights, int64_t of) -> std::unique_ptr<Mixer> {
                         return std::make_unique<XieluMixer>(weights, of, hidden_size, width, activation);
                       }};
    return config.layer(std::move(attention), std::vector<PartSpec>{{part}});
  });
  spec.unused = {".xielu."};
  return spec;
}

constexpr std::string_view kApertusClasses[] = {"ApertusForCausalLM"};
constexpr ConfigRow kApertusConfig[] = {
    {"hidden_act", ConfigRow::Use::only_text, "xielu"},
    {"qk_norm", ConfigRow::Use::only_value, {}, 1},
    {"post_norm", ConfigRow::Use::only_value},
};
constexpr TensorRow kApertusTensors[] = {
    {"model.layers.{}.attention_layernorm.weight", "blk.{}.attn_norm.weight"},
    {"model.layers.{}.feedforward_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.mlp.act_fn.alpha_p", "blk.{}.xielu.alpha_p"},
    {"model.layers.{}.mlp.act_fn.alpha_n", "blk.{}.xielu.alpha_n"},
    {"model.layers.{}.mlp.act_fn.beta", "blk.{}.xielu.beta"},
    {"model.layers.{}.mlp.act_fn.eps", "blk.{}.xielu.eps"},
};

}  // namespace

const Architecture kApertus = {.name = "apertus",
                               .models = "Apertus",
                               .describe = describe_apertus,
                               .hugging_face = {.classes = kApertusClasses, .config = kApertusConfig, .tensors = kApertusTensors}};

}  // namespace wick
