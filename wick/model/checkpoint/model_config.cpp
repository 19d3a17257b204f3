#include "wick/model/checkpoint/model_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/checkpoint/metadata_keys.h"

namespace wick {
namespace {

// Larger than any model; a bound that keeps products of two sizes far from overflow.
constexpr uint64_t kLargestSize = uint64_t{1} << 31;
// More layers than any model has, and few enough that a description of them is small.
constexpr int64_t kMaxLayers = 1 << 12;

constexpr const char* kLongFactors = "rope_factors_long.weight";

// A file with a factor and no type means a linear one, as in llama.cpp; the type none drops the factor.
RopeScaling parse_scaling(const KeyReader& keys) {
  const auto type = keys.find_text("rope.scaling.type");
  if (!type && keys.checkpoint().find_tensor(kLongFactors) != nullptr) return RopeScaling::longrope;
  if (!type) return RopeScaling::linear;
  // llama.cpp takes the tables, whatever the type is.
  if (keys.checkpoint().find_tensor(kLongFactors) != nullptr && *type != "yarn") return RopeScaling::longrope;
  if (*type == "none") return RopeScaling::none;
  if (*type == "linear") return RopeScaling::linear;
  if (*type == "llama3") return RopeScaling::llama3;
  if (*type == "yarn") return RopeScaling::yarn;
  fail(ErrorCode::unsupported, "{}: {} = {} is not supported; this version knows none, linear, llama3, yarn", keys.checkpoint().name(),
       keys.checkpoint().where(keys.key("rope.scaling.type")), printable(*type));
}

RopeConfig read_rope(const ModelConfig& config) {
  const KeyReader& keys = config.keys;
  RopeConfig rope;
  rope.dims = keys.size_or("rope.dimension_count", config.head_dim);
  if (rope.dims % 2 != 0 || (config.heads > 0 && rope.dims > config.head_dim)) {
    keys.fail_value("rope.dimension_count", std::to_string(rope.dims),
                    fmt::format("want an even number up to the head's {}", config.head_dim));
  }
  rope.base = keys.positive_or("rope.freq_base", 10000);
  if (rope.base <= 1) keys.fail_value("rope.freq_base", fmt::format("{}", rope.base), "a number above 1 is needed");
  rope.scaling = parse_scaling(keys);
  const std::optional<double> factor = keys.find_positive_or_zero("rope.scaling.factor");
  const std::optional<double> linear = keys.find_positive_or_zero("rope.scale_linear");
  // Even a factor of 0 hides the older key, as in llama.cpp.
  rope.factor = keys.find_number("rope.scaling.factor") ? factor.value_or(1) : linear.value_or(1);
  rope.dynamic = keys.has("rope.scaling.dynamic_factor");
  rope.original_context = keys.size_or("rope.scaling.original_context_length", config.context_length);
  rope.low_frequency_factor = keys.positive_or("rope.scaling.low_freq_factor", 1);
  rope.high_frequency_factor = keys.positive_or("rope.scaling.high_freq_factor", 4);
  rope.beta_fast = keys.positive_or("rope.scaling.yarn_beta_fast", 32);
  rope.beta_slow = keys.positive_or("rope.scaling.yarn_beta_slow", 1);
  rope.truncate = keys.find_flag("rope.scaling.yarn_truncate").value_or(true);
  rope.attention_factor = keys.positive_or("rope.scaling.attn_factor", 1);
  // The whole factor of cosines and sines; 1, which llama.cpp saves, says nothing.
  const double whole = keys.find_positive_or_zero("rope.scaling.yarn_attn_factor").value_or(1);
  if (whole != 1) rope.attention_factor *= whole / (rope.scaling == RopeScaling::yarn ? 1 + 0.1 * std::log(rope.factor) : 1);
  // How much of yarn's correction counts; negative: all for yarn, none for the other types.
  const double extrapolation = keys.find_number("rope.scaling.yarn_ext_factor").value_or(-1);
  const double usual = rope.scaling == RopeScaling::yarn ? 1 : 0;
  if (!(extrapolation < 0) && extrapolation != usual) {
    keys.fail_value("rope.scaling.yarn_ext_factor", fmt::format("{}", extrapolation), fmt::format("this version runs -1 and {}", usual));
  }
  // Of a text, positions are the same in all three parts; a fourth has none.
  if (const GgufArray* sections = keys.checkpoint().find_array(keys.key("rope.dimension_sections")); sections != nullptr) {
    const std::vector<int64_t> parts = sections->to_vector<int64_t>();
    const int64_t covered = parts.size() < 3 ? 0 : parts[0] + parts[1] + parts[2];
    if (covered != 0 && covered < rope.dims / 2) {
      keys.fail_value("rope.dimension_sections", fmt::format("{}", fmt::join(parts, " ")),
                      fmt::format("want {} pairs in the first three", rope.dims / 2));
    }
  }
  if (rope.scaling == RopeScaling::llama3 && rope.high_frequency_factor <= rope.low_frequency_factor) {
    keys.fail_value("rope.scaling.high_freq_factor", fmt::format("{}", rope.high_frequency_factor), "it must be above low_freq_factor");
  }
  return rope;
}

int64_t read_window(const ModelConfig& config) {
  const double window = config.keys.find_number("attention.sliding_window").value_or(0);
  if (window == 0) return 0;
  if (!(window >= 1) || window != std::floor(window) || window > static_cast<double>(kLargestSize)) {
    config.keys.fail_value("attention.sliding_window", fmt::format("{}", window), "want a whole number of positions, or 0 for no window");
  }
  return static_cast<int64_t>(window);
}

// For which layers something holds: one boolean each, or a number n: for all but each n-th. Empty where the key is absent.
std::vector<bool> read_layer_flags(const ModelConfig& config, const char* name) {
  const GgufValue* value = config.keys.checkpoint().find(config.keys.key(name));
  if (value == nullptr) return {};
  std::vector<bool> holds(static_cast<size_t>(config.layers));
  if (const auto* array = std::get_if<GgufArray>(&value->value)) {
    if (array->element_type == GgufType::string || array->element_type == GgufType::array || array->size != holds.size()) {
      config.keys.fail_value(name, describe_gguf_value(*value), fmt::format("want a boolean for each of the {} layers", config.layers));
    }
    const std::vector<int64_t> flags = array->to_vector<int64_t>();
    for (size_t index = 0; index < holds.size(); ++index) holds[index] = flags[index] != 0;
    return holds;
  }
  const auto period = static_cast<size_t>(config.keys.size_or(name, 1));
  for (size_t index = 0; index < holds.size(); ++index) holds[index] = index % period < period - 1;
  return holds;
}

// llama.cpp saves both epsilons, and 0 for the one that the architecture has not.
double read_epsilon(const KeyReader& keys) {
  if (keys.find_number("attention.layer_norm_rms_epsilon").value_or(0) == 0) {
    if (const auto epsilon = keys.find_positive_or_zero("attention.layer_norm_epsilon")) return *epsilon;
  }
  return keys.positive_or("attention.layer_norm_rms_epsilon", 1e-5);
}

// Keys whose harmless values depend on the model's sizes.
void check_sizes(const ModelConfig& config, const Architecture& architecture) {
  const double out = config.keys.find_number("embedding_length_out").value_or(0);
  if (out != 0 && out != static_cast<double>(config.hidden_size)) {
    config.keys.fail_value("embedding_length_out", fmt::format("{}", out),
                           fmt::format("it must equal embedding_length {}", config.hidden_size));
  }
  if (config.keys.find_number("expert_count").value_or(0) != 0 && !architecture.experts) {
    fail(ErrorCode::unsupported, "{}: {} is not 0: this version knows no mixture of experts of {}", config.keys.checkpoint().name(),
         config.keys.checkpoint().where(config.keys.key("expert_count")), architecture.name);
  }
}

// The number for all layers, or the largest, the numbers of each then being `each`. A number alone must be above 0.
int64_t read_sizes(const KeyReader& keys, const char* name, int64_t layers, std::vector<int64_t>& each) {
  each = keys.sizes(name, layers);
  const int64_t largest = each.empty() ? 0 : *std::max_element(each.begin(), each.end());
  if (largest == 0) return keys.size(name);
  if (std::all_of(each.begin(), each.end(), [&](int64_t size) { return size == largest; })) each.clear();
  return largest;
}

// Absent, or 0 for all layers.
bool says_none(const KeyReader& keys, const char* name) {
  const GgufValue* value = keys.checkpoint().find(keys.key(name));
  if (value == nullptr) return true;
  const auto* array = std::get_if<GgufArray>(&value->value);
  if (array == nullptr) return as_float(*value) == 0;
  if (array->element_type == GgufType::string || array->element_type == GgufType::array) return false;
  const std::vector<int64_t> sizes = array->to_vector<int64_t>();
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 0; });
}

void read_heads(ModelConfig& config, bool recurrent) {
  const KeyReader& keys = config.keys;
  const bool no_heads = says_none(keys, "attention.head_count");
  if (recurrent && (no_heads || (keys.has("attention.head_count_kv") && says_none(keys, "attention.head_count_kv")))) return;
  config.heads = read_sizes(keys, "attention.head_count", config.layers, config.heads_of);
  config.kv_heads = config.heads;
  config.kv_heads_of = config.heads_of;
  if (keys.has("attention.head_count_kv")) config.kv_heads = read_sizes(keys, "attention.head_count_kv", config.layers, config.kv_heads_of);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const int64_t heads = config.heads_of.empty() ? config.heads : config.heads_of[static_cast<size_t>(layer)];
    const int64_t kv_heads = config.kv_heads_of.empty() ? config.kv_heads : config.kv_heads_of[static_cast<size_t>(layer)];
    if (kv_heads > 0 ? heads % kv_heads == 0 : heads == 0 || recurrent) continue;
    keys.fail_value("attention.head_count_kv", std::to_string(kv_heads), fmt::format("it must divide the {} heads", heads));
  }
  const bool own_length = keys.checkpoint().find(keys.key("attention.key_length")) != nullptr;
  if (!own_length && config.hidden_size % config.heads != 0) {
    keys.fail_value("attention.head_count", std::to_string(config.heads),
                    fmt::format("it must divide embedding_length {}", config.hidden_size));
  }
  config.head_dim = keys.size_or("attention.key_length", own_length ? 0 : config.hidden_size / config.heads);
  config.value_dim = keys.size_or("attention.value_length", config.head_dim);
  const bool latent = keys.find_number("attention.kv_lora_rank").value_or(0) != 0;
  if (!latent && config.value_dim != config.head_dim) {
    keys.fail_value("attention.value_length", std::to_string(config.value_dim),
                    fmt::format("it must equal key_length {}", config.head_dim));
  }
  config.attention_scale = keys.find_positive_or_zero("attention.scale").value_or(0);
}

}  // namespace

int64_t KeyReader::size(std::string_view name) const { return check_size(name, checkpoint_->get_uint(key(name))); }

int64_t KeyReader::size_or(std::string_view name, int64_t fallback) const {
  const auto value = checkpoint_->find_uint(key(name));
  return value ? check_size(name, *value) : fallback;
}

double KeyReader::positive_or(std::string_view name, double fallback) const {
  const auto value = checkpoint_->find_float(key(name));
  if (!value) return fallback;
  if (!(*value > 0) || !std::isfinite(*value)) fail_value(name, fmt::format("{}", *value), "a positive number is needed");
  return *value;
}

std::optional<double> KeyReader::find_positive_or_zero(std::string_view name) const {
  const auto value = checkpoint_->find_float(key(name));
  if (!value || *value == 0) return std::nullopt;
  return positive_or(name, 1);
}

std::vector<int64_t> KeyReader::sizes(std::string_view name, int64_t layers) const {
  const GgufValue* value = checkpoint_->find(key(name));
  if (value == nullptr) return {};
  const auto* array = std::get_if<GgufArray>(&value->value);
  if (array == nullptr) return std::vector<int64_t>(static_cast<size_t>(layers), size(name));
  const bool numbers = array->element_type != GgufType::string && array->element_type != GgufType::array;
  if (!numbers || array->size != static_cast<uint64_t>(layers)) {
    fail_value(name, describe_gguf_value(*value), fmt::format("want a number for each of the {} layers", layers));
  }
  std::vector<int64_t> sizes = array->to_vector<int64_t>();
  for (const int64_t each : sizes) {
    if (each < 0 || static_cast<uint64_t>(each) > kLargestSize)
      fail_value(name, std::to_string(each), fmt::format("want 0 to {}", kLargestSize));
  }
  return sizes;
}

std::optional<double> KeyReader::find_number(std::string_view name) const { return checkpoint_->find_float(key(name)); }

std::optional<bool> KeyReader::find_flag(std::string_view name) const {
  const GgufValue* value = checkpoint_->find(key(name));
  if (value == nullptr) return std::nullopt;
  const bool* flag = std::get_if<bool>(&value->value);
  if (flag == nullptr) fail_value(name, describe_gguf_value(*value), "true or false is needed");
  return *flag;
}

std::optional<bool> KeyReader::find_choice(std::string_view name) const {
  const GgufValue* value = checkpoint_->find(key(name));
  if (value == nullptr) return std::nullopt;
  return std::holds_alternative<bool>(value->value) ? find_flag(name) : std::optional(find_number(name) != 0);
}

std::optional<std::string_view> KeyReader::find_text(std::string_view name) const { return checkpoint_->find_string(key(name)); }

nn::ActivationKind KeyReader::activation_or(std::string_view name, nn::ActivationKind fallback) const {
  const auto text = find_text(name);
  if (!text) return fallback;
  try {
    return nn::Activation::parse(*text).kind();
  } catch (const Error&) {
    fail(ErrorCode::unsupported, "{}: {} = {}: this version has no such activation; it has silu, gelu, gelu_new, relu, relu2 and their kin",
         checkpoint_->name(), checkpoint_->where(key(name)), printable(*text));
  }
}

void KeyReader::fail_value(std::string_view name, const std::string& value, std::string_view want) const {
  fail(ErrorCode::corrupt_file, "{}: {} = {}: {}; the file does not describe a model Wick can run", checkpoint_->name(),
       checkpoint_->where(key(name)), value, want);
}

int64_t KeyReader::check_size(std::string_view name, uint64_t value) const {
  if (value == 0 || value > kLargestSize) fail_value(name, std::to_string(value), fmt::format("want 1 to {}", kLargestSize));
  return static_cast<int64_t>(value);
}

ModelConfig ModelConfig::read(const Checkpoint& checkpoint, const Architecture& architecture) {
  check_metadata_keys(checkpoint, architecture.name, architecture.keys, architecture.encoder);
  ModelConfig config{.keys = KeyReader(checkpoint, architecture.name), .windowed = {}, .rope = {}};
  const KeyReader& keys = config.keys;
  config.layers = keys.size("block_count");
  if (config.layers > kMaxLayers) keys.fail_value("block_count", std::to_string(config.layers), fmt::format("want 1 to {}", kMaxLayers));
  config.hidden_size = keys.size("embedding_length");
  const bool experts_alone = architecture.experts && keys.has("expert_feed_forward_length");
  const bool said = keys.has("feed_forward_length");
  const bool none = architecture.recurrent && says_none(keys, "feed_forward_length");
  if (!none && (!experts_alone || said))
    config.intermediate_size = read_sizes(keys, "feed_forward_length", config.layers, config.intermediate_of);
  config.context_length = keys.size("context_length");
  config.norm_epsilon = static_cast<float>(read_epsilon(keys));
  read_heads(config, architecture.recurrent);
  config.rope = read_rope(config);
  config.rope_style = checkpoint.rope_style(architecture);
  config.window = read_window(config);
  if (config.window > 0) config.windowed = read_layer_flags(config, "attention.sliding_window_pattern");
  config.activation = keys.activation_or("hidden_act", architecture.activation);
  check_sizes(config, architecture);
  return config;
}

AttentionSpec ModelConfig::attention(int64_t layer) const {
  const auto of_layer = [&](const std::vector<int64_t>& each, int64_t same, const char* name) {
    const int64_t size = each.empty() ? same : each[static_cast<size_t>(layer)];
    if (size > 0) return size;
    fail(ErrorCode::unsupported, "{}: {} is 0 for layer {}: this version has no layers without attention for the architecture",
         keys.checkpoint().name(), keys.checkpoint().where(keys.key(name)), layer);
  };
  AttentionSpec spec{.heads = of_layer(heads_of, heads, "attention.head_count"),
                     .kv_heads = of_layer(kv_heads_of, kv_heads, "attention.head_count_kv"),
                     .head_dim = head_dim};
  spec.scale = attention_scale > 0 ? static_cast<float>(attention_scale) : 1.0F / std::sqrt(static_cast<float>(head_dim));
  spec.norm_epsilon = norm_epsilon;
  // A window that is not smaller than the context hides nothing.
  const bool within = windowed.empty() || windowed[static_cast<size_t>(layer)];
  if (window > 0 && window < context_length && within) spec.retention = {Retention::Kind::window, window};
  return spec;
}

FeedForwardSpec ModelConfig::feed_forward(int64_t layer) const {
  const int64_t width = intermediate_of.empty() ? intermediate_size : intermediate_of[static_cast<size_t>(layer)];
  if (width == 0 && !intermediate_of.empty()) {
    fail(ErrorCode::unsupported, "{}: {} is 0 for layer {}: this version has no layers without a feed-forward part for the architecture",
         keys.checkpoint().name(), keys.checkpoint().where(keys.key("feed_forward_length")), layer);
  }
  return {.width = width, .activation = activation, .gated = true, .sub_norm = {}};
}

FeedForwardSpec ModelConfig::ungated_feed_forward(int64_t layer) const {
  FeedForwardSpec spec = feed_forward(layer);
  spec.gated = false;
  return spec;
}

std::vector<bool> ModelConfig::rotated_layers(int64_t unrotated) const {
  std::vector<bool> rotated = read_layer_flags(*this, "rope.layers");
  for (int64_t layer = std::ssize(rotated); layer < layers; ++layer) rotated.push_back((layer + 1) % unrotated != 0);
  return rotated;
}

std::vector<bool> ModelConfig::recurrent_layers(int64_t usual_interval) const {
  std::vector<bool> recurrent = read_layer_flags(*this, "attention.recurrent_layers");
  if (recurrent.empty()) recurrent = read_layer_flags(*this, "full_attention_interval");
  for (int64_t layer = std::ssize(recurrent); layer < layers; ++layer) recurrent.push_back((layer + 1) % usual_interval != 0);
  return recurrent;
}

StateSpaceSpec ModelConfig::state_space() const {
  StateSpaceSpec spec{.heads = keys.size("ssm.time_step_rank"),
                      .groups = keys.size_or("ssm.group_count", 1),
                      .state_size = keys.size("ssm.state_size"),
                      .kernel = keys.size("ssm.conv_kernel"),
                      .least_step = keys.positive_or("ssm.time_step_min", 0),
                      .norm_epsilon = norm_epsilon};
  const int64_t inner = keys.size("ssm.inner_size");
  if (inner % spec.heads != 0) {
    keys.fail_value("ssm.inner_size", std::to_string(inner), fmt::format("want a multiple of the {} heads", spec.heads));
  }
  if (spec.heads % spec.groups != 0) {
    keys.fail_value("ssm.group_count", std::to_string(spec.groups), fmt::format("it must divide the {} heads", spec.heads));
  }
  if (spec.kernel < 2) keys.fail_value("ssm.conv_kernel", std::to_string(spec.kernel), "want at least 2 positions");
  spec.head_dim = inner / spec.heads;
  // As the norm's vectors are.
  const std::string_view end = ".ssm_norm.weight";
  for (const CheckpointTensor& tensor : keys.checkpoint().tensors()) {
    if (!tensor.name.ends_with(end)) continue;
    spec.norm_groups = tensor.shape.rank() == 2 ? tensor.shape[0] : 1;
    break;
  }
  if (spec.norm_groups < 1 || inner % spec.norm_groups != 0) {
    keys.fail_value("ssm.inner_size", std::to_string(inner), fmt::format("ssm_norm has {} groups, which must divide it", spec.norm_groups));
  }
  return spec;
}

// GGUF files hold heads' widths in two ways: with one key/value head as wide as the cached rows, those of heads are under keys that end in
// "_mla"; with as many key/value heads as heads, under the usual ones.
LatentAttentionSpec ModelConfig::latent_attention() const {
  const auto or_own = [&](const char* name, int64_t fallback) {
    return keys.find_number(name).value_or(0) == 0 ? fallback : keys.size(name);
  };
  LatentAttentionSpec spec;
  spec.heads = heads;
  spec.rope_dim = rope.dims;
  spec.latent_dim = keys.size("attention.kv_lora_rank");
  spec.query_rank = or_own("attention.q_lora_rank", 0);
  spec.value_dim = or_own("attention.value_length_mla", value_dim);
  const int64_t whole = or_own("attention.key_length_mla", head_dim);
  spec.key_dim = whole - spec.rope_dim;
  if (spec.key_dim < 1) {
    keys.fail_value("rope.dimension_count", std::to_string(spec.rope_dim), fmt::format("it must be below the head's {}", whole));
  }
  // YaRN's own factor is of the scores here (Peng et al. 2023, by DeepSeek's scale), not of cosines and sines.
  const double multiplier = keys.find_number("rope.scaling.yarn_log_multiplier").value_or(0);
  const double factor = rope.scaling == RopeScaling::yarn ? 1 + multiplier * std::log(rope.factor) : 1;
  spec.scale = static_cast<float>(factor * factor / std::sqrt(static_cast<double>(whole)));
  spec.norm_epsilon = static_cast<float>(keys.positive_or("attention.latent_norm_rms_epsilon", norm_epsilon));
  return spec;
}

SelectiveScanSpec ModelConfig::selective_scan() const {
  SelectiveScanSpec spec{.inner = keys.size("ssm.inner_size"),
                         .state_size = keys.size("ssm.state_size"),
                         .rank = keys.size("ssm.time_step_rank"),
                         .kernel = keys.size("ssm.conv_kernel"),
                         .bare_norms = keys.find_flag("ssm.dt_b_c_rms").value_or(false)};
  spec.norm_epsilon = static_cast<float>(keys.positive_or("ssm.dt_b_c_rms_epsilon", norm_epsilon));
  if (spec.kernel < 2) keys.fail_value("ssm.conv_kernel", std::to_string(spec.kernel), "want at least 2 positions");
  return spec;
}

float ModelConfig::cap_or(std::string_view name, double usual) const {
  return keys.has(name) ? static_cast<float>(keys.find_positive_or_zero(name).value_or(0)) : static_cast<float>(usual);
}

DecoderSpec ModelConfig::decoder(const std::function<LayerSpec(int64_t)>& layer, NormKind output_norm) const {
  DecoderSpec spec;
  spec.hidden_size = hidden_size;
  spec.context_length = context_length;
  spec.ropes = {rope};
  spec.rope_style = rope_style;
  spec.output_norm = norm("output_norm", output_norm);
  for (int64_t index = 0; index < layers; ++index) spec.layers.push_back(layer(index));
  return spec;
}

LayerSpec ModelConfig::layer(AttentionSpec attention, FeedForwardSpec feed_forward, NormKind norms) const {
  return {{{.norm = norm("attn_norm", norms), .parts = {{std::move(attention)}}},
           {.norm = norm("ffn_norm", norms), .parts = {{std::move(feed_forward)}}}}};
}

LayerSpec ModelConfig::layer(AttentionSpec attention, std::vector<PartSpec> parts, NormKind norms) const {
  return {{{.norm = norm("attn_norm", norms), .parts = {{std::move(attention)}}},
           {.norm = norm("ffn_norm", norms), .parts = std::move(parts)}}};
}

LayerSpec ModelConfig::parallel_layer(AttentionSpec attention, FeedForwardSpec feed_forward, NormKind norms) const {
  return {{{.norm = norm("attn_norm", norms), .parts = {{std::move(attention)}, {std::move(feed_forward)}}}}};
}

}  // namespace wick
