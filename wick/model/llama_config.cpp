#include "wick/model/llama_config.h"

#include <fmt/ranges.h>

#include <array>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/model/metadata_keys.h"

namespace wick {
namespace {

// The architectures with Llama's layers, and how their files order the elements of a rotated head: Llama's converters interleave the
// pairs, Qwen2's keep Hugging Face's halves (its biases on q, k, v are found by their tensors). llama.cpp runs BitNet's first models as
// "bitnet"; the fork of it that Microsoft publishes runs the later ones, BitNet b1.58 2B4T among them, under the other two names.
struct Family {
  std::string_view architecture;
  RopeStyle rope_style;
  Activation activation = Activation::silu;
  bool sub_norms = false;
  std::span<const KeyRule> (*keys)() = llama_keys;
};
constexpr std::array<Family, 5> kFamilies = {{
    {"llama", RopeStyle::interleaved},
    {"qwen2", RopeStyle::half_split},
    {"bitnet", RopeStyle::half_split, Activation::silu, true},
    {"bitnet-25", RopeStyle::half_split, Activation::squared_relu, true},
    {"bitnet-b1.58", RopeStyle::half_split, Activation::squared_relu, true},
}};

// Larger than any model; a bound that keeps products of two sizes far from overflow.
constexpr uint64_t kLargestSize = uint64_t{1} << 31;

// Reads keys under the architecture's prefix and names file and key in its errors.
class KeyReader {
 public:
  KeyReader(const GgufFile& file, std::string architecture) : file_(file), prefix_(std::move(architecture) + ".") {}

  [[nodiscard]] std::string key(std::string_view name) const { return prefix_ + std::string(name); }

  [[nodiscard]] int64_t size(std::string_view name) const { return check_size(name, file_.get_uint(key(name))); }
  [[nodiscard]] int64_t size_or(std::string_view name, int64_t fallback) const {
    const auto value = file_.find_uint(key(name));
    return value ? check_size(name, *value) : fallback;
  }
  [[nodiscard]] double positive_or(std::string_view name, double fallback) const {
    const auto value = file_.find_float(key(name));
    if (!value) return fallback;
    if (!(*value > 0) || !std::isfinite(*value)) fail_value(name, fmt::format("{}", *value), "a positive number is needed");
    return *value;
  }

  // The same where 0 means that the file says nothing, as in files that llama.cpp saves.
  [[nodiscard]] std::optional<double> find_positive_or_zero(std::string_view name) const {
    const auto value = file_.find_float(key(name));
    if (!value || *value == 0) return std::nullopt;
    return positive_or(name, 1);
  }
  [[nodiscard]] std::optional<double> find_number(std::string_view name) const { return file_.find_float(key(name)); }

  [[noreturn]] void fail_value(std::string_view name, const std::string& value, std::string_view want) const {
    fail(ErrorCode::corrupt_file, "{}: metadata {} = {}: {}; the file does not describe a model Wick can run", file_.name(), key(name),
         value, want);
  }

 private:
  [[nodiscard]] int64_t check_size(std::string_view name, uint64_t value) const {
    if (value == 0 || value > kLargestSize) fail_value(name, std::to_string(value), fmt::format("want 1 to {}", kLargestSize));
    return static_cast<int64_t>(value);
  }

  const GgufFile& file_;
  std::string prefix_;
};

const Family& family_of(const GgufFile& file, std::string_view architecture) {
  for (const Family& family : kFamilies) {
    if (family.architecture == architecture) return family;
  }
  fail(ErrorCode::unsupported, "{}: metadata general.architecture = {} is not supported; this version runs {}", file.name(),
       printable(architecture), fmt::join(LlamaConfig::architectures(), ", "));
}

// A file with a factor and no type means a linear one, as in llama.cpp; the type none drops the factor.
RopeScaling parse_scaling(const GgufFile& file, const KeyReader& keys) {
  const auto type = file.find_string(keys.key("rope.scaling.type"));
  if (!type) return RopeScaling::linear;
  if (*type == "none") return RopeScaling::none;
  if (*type == "linear") return RopeScaling::linear;
  if (*type == "llama3") return RopeScaling::llama3;
  if (*type == "yarn") return RopeScaling::yarn;
  fail(ErrorCode::unsupported, "{}: metadata {} = {} is not supported; this version knows none, linear, llama3, yarn", file.name(),
       keys.key("rope.scaling.type"), printable(*type));
}

RopeConfig read_rope(const GgufFile& file, const KeyReader& keys, const LlamaConfig& config) {
  RopeConfig rope;
  rope.dims = keys.size_or("rope.dimension_count", config.head_dim);
  if (rope.dims % 2 != 0 || rope.dims > config.head_dim) {
    keys.fail_value("rope.dimension_count", std::to_string(rope.dims),
                    fmt::format("want an even number up to the head's {}", config.head_dim));
  }
  rope.base = keys.positive_or("rope.freq_base", 10000);
  if (rope.base <= 1) keys.fail_value("rope.freq_base", fmt::format("{}", rope.base), "a number above 1 is needed");
  rope.scaling = parse_scaling(file, keys);
  const std::optional<double> factor = keys.find_positive_or_zero("rope.scaling.factor");
  const std::optional<double> linear = keys.find_positive_or_zero("rope.scale_linear");
  // Even a factor of 0 hides the older key, as in llama.cpp.
  rope.factor = keys.find_number("rope.scaling.factor") ? factor.value_or(1) : linear.value_or(1);
  rope.original_context = keys.size_or("rope.scaling.original_context_length", config.context_length);
  rope.low_frequency_factor = keys.positive_or("rope.scaling.low_freq_factor", 1);
  rope.high_frequency_factor = keys.positive_or("rope.scaling.high_freq_factor", 4);
  rope.beta_fast = keys.positive_or("rope.scaling.yarn_beta_fast", 32);
  rope.beta_slow = keys.positive_or("rope.scaling.yarn_beta_slow", 1);
  rope.attention_factor = keys.positive_or("rope.scaling.attn_factor", 1);
  // How much of yarn's correction counts; negative: all for yarn, none for the other types.
  const double extrapolation = keys.find_number("rope.scaling.yarn_ext_factor").value_or(-1);
  const double usual = rope.scaling == RopeScaling::yarn ? 1 : 0;
  if (!(extrapolation < 0) && extrapolation != usual) {
    keys.fail_value("rope.scaling.yarn_ext_factor", fmt::format("{}", extrapolation), fmt::format("this version runs -1 and {}", usual));
  }
  if (rope.scaling == RopeScaling::llama3 && rope.high_frequency_factor <= rope.low_frequency_factor) {
    keys.fail_value("rope.scaling.high_freq_factor", fmt::format("{}", rope.high_frequency_factor), "it must be above low_freq_factor");
  }
  return rope;
}

// Keys whose harmless values depend on the model's sizes.
void check_sizes(const KeyReader& keys, const LlamaConfig& config) {
  const double usual = 1 / std::sqrt(static_cast<double>(config.head_dim));
  if (const double scale = keys.find_number("attention.scale").value_or(0); scale != 0 && std::fabs(scale / usual - 1) > 1e-6) {
    keys.fail_value("attention.scale", fmt::format("{}", scale), fmt::format("this version runs 0 and 1/sqrt(head_dim) = {:.6}", usual));
  }
  const double window = keys.find_number("attention.sliding_window").value_or(0);
  if (window != 0 && !(window >= static_cast<double>(config.context_length))) {
    keys.fail_value(
        "attention.sliding_window", fmt::format("{}", window),
        fmt::format("attention within a window is not supported; 0, or at least the context's {}, runs", config.context_length));
  }
  const double out = keys.find_number("embedding_length_out").value_or(0);
  if (out != 0 && out != static_cast<double>(config.width)) {
    keys.fail_value("embedding_length_out", fmt::format("{}", out), fmt::format("it must equal embedding_length {}", config.width));
  }
}

}  // namespace

std::vector<std::string_view> LlamaConfig::architectures() {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.architecture);
  return names;
}

LlamaConfig LlamaConfig::from_gguf(const GgufFile& file) {
  LlamaConfig config;
  config.architecture = std::string(file.get_string("general.architecture"));
  const Family& family = family_of(file, config.architecture);
  config.rope_style = family.rope_style;
  config.activation = family.activation;
  config.sub_norms = family.sub_norms;
  check_metadata_keys(file, config.architecture, family.keys());
  const KeyReader keys(file, config.architecture);
  config.layers = keys.size("block_count");
  config.width = keys.size("embedding_length");
  config.feed_forward_width = keys.size("feed_forward_length");
  config.heads = keys.size("attention.head_count");
  config.kv_heads = keys.size_or("attention.head_count_kv", config.heads);
  config.context_length = keys.size("context_length");
  config.norm_epsilon = static_cast<float>(keys.positive_or("attention.layer_norm_rms_epsilon", 1e-5));
  if (config.heads % config.kv_heads != 0) {
    keys.fail_value("attention.head_count_kv", std::to_string(config.kv_heads), fmt::format("it must divide the {} heads", config.heads));
  }
  const auto key_length = file.find_uint(keys.key("attention.key_length"));
  if (!key_length && config.width % config.heads != 0) {
    keys.fail_value("attention.head_count", std::to_string(config.heads), fmt::format("it must divide embedding_length {}", config.width));
  }
  config.head_dim = keys.size_or("attention.key_length", key_length ? 0 : config.width / config.heads);
  if (const int64_t value_dim = keys.size_or("attention.value_length", config.head_dim); value_dim != config.head_dim) {
    keys.fail_value("attention.value_length", std::to_string(value_dim), fmt::format("it must equal key_length {}", config.head_dim));
  }
  if (file.find_uint(keys.key("expert_count")).value_or(0) != 0) {
    fail(ErrorCode::unsupported, "{}: metadata {} is not 0: mixtures of experts are not supported in this version", file.name(),
         keys.key("expert_count"));
  }
  config.rope = read_rope(file, keys, config);
  check_sizes(keys, config);
  return config;
}

}  // namespace wick
