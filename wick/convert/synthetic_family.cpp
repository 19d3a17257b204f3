#include "wick/convert/synthetic_family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

enum class FamilyAttention { separate, in_one, latent };
enum class FamilyFeedForward { gated, in_one, plain, experts, none };
// What layers have in the place of attention.
enum class FamilyState { none, mamba2, delta_rule, convolution };

struct SyntheticFamily {
  std::string_view name, architecture;
  FamilyAttention attention = FamilyAttention::separate;
  FamilyFeedForward feed_forward = FamilyFeedForward::gated;
  bool tied = true;
  bool head_norms = false, post_norms = false, sub_norms = false;
  bool layer_norms = false;  // and biases of all matrices
  bool sinks = false;        // and biases, as gpt-oss has them
  FamilyState state = FamilyState::none;
  int64_t interval = 0;  // each so many layers attend, the last of them; 0: none does, where layers have states
  // Of the shape 1b; 0 layers: the shape's.
  int64_t heads = 32, kv_heads = 8, head_dim = 64;
  int64_t layers = 0, expert_width = 1024;
};

constexpr int64_t kFamilyExperts = 16, kFamilyExpertsUsed = 4;
constexpr int64_t kFewExperts = 8, kFewExpertsUsed = 2;
// DeepSeek V2 Lite's heads.
constexpr int64_t kLatentRow = 512, kLatentRotated = 64, kLatentKey = 128, kLatentValue = 128;
constexpr int64_t kLearnedPositions = 1024;
// Mamba 2's: of an inner size of twice the width. A delta rule has as many key heads as there are heads, and twice as many value heads.
constexpr int64_t kStateHeadDim = 64, kStateSize = 128, kStateKernel = 4;
constexpr int64_t kDeltaDim = 128, kConvolutionKernel = 3;

constexpr SyntheticFamily kFamilies[] = {
    {.name = "llama", .architecture = "llama"},
    {.name = "bitnet", .architecture = "bitnet", .sub_norms = true},
    {.name = "bitnet-b1.58", .architecture = "bitnet-b1.58", .sub_norms = true},
    {.name = "qwen3", .architecture = "qwen3", .head_norms = true, .heads = 16, .head_dim = 128},
    {.name = "gemma2", .architecture = "gemma2", .post_norms = true, .heads = 8, .kv_heads = 4, .head_dim = 256},
    {.name = "gemma3", .architecture = "gemma3", .head_norms = true, .post_norms = true, .heads = 8, .kv_heads = 4, .head_dim = 256},
    {.name = "phi3",
     .architecture = "phi3",
     .attention = FamilyAttention::in_one,
     .feed_forward = FamilyFeedForward::in_one,
     .tied = false,
     .kv_heads = 32},
    {.name = "gpt2",
     .architecture = "gpt2",
     .attention = FamilyAttention::in_one,
     .feed_forward = FamilyFeedForward::plain,
     .layer_norms = true,
     .kv_heads = 32},
    {.name = "qwen3-moe",
     .architecture = "qwen3moe",
     .feed_forward = FamilyFeedForward::experts,
     .tied = false,
     .head_norms = true,
     .heads = 16,
     .kv_heads = 4,
     .head_dim = 128},
    {.name = "gpt-oss", .architecture = "gpt-oss", .feed_forward = FamilyFeedForward::experts, .tied = false, .sinks = true},
    {.name = "deepseek-v2-lite",
     .architecture = "deepseek2",
     .attention = FamilyAttention::latent,
     .feed_forward = FamilyFeedForward::experts,
     .tied = false,
     .heads = 16,
     .kv_heads = 1,
     .head_dim = kLatentKey + kLatentRotated},
    {.name = "mamba2", .architecture = "mamba2", .feed_forward = FamilyFeedForward::none, .state = FamilyState::mamba2, .layers = 48},
    {.name = "granitehybrid", .architecture = "granitehybrid", .state = FamilyState::mamba2, .interval = 10},
    {.name = "lfm2", .architecture = "lfm2", .head_norms = true, .state = FamilyState::convolution, .interval = 3},
    {.name = "qwen3next",
     .architecture = "qwen3next",
     .feed_forward = FamilyFeedForward::experts,
     .tied = false,
     .head_norms = true,
     .state = FamilyState::delta_rule,
     .interval = 4,
     .heads = 16,
     .kv_heads = 2,
     .head_dim = 256,
     .expert_width = 512},
    {.name = "qwen35",
     .architecture = "qwen35",
     .head_norms = true,
     .state = FamilyState::delta_rule,
     .interval = 4,
     .heads = 8,
     .kv_heads = 2,
     .head_dim = 256},
};

const SyntheticFamily& family_of(std::string_view name) {
  for (const SyntheticFamily& family : kFamilies) {
    if (family.name == name) return family;
  }
  fail(ErrorCode::unsupported, "architecture '{}': {} can be made up", name, fmt::join(synthetic_architectures(), ", "));
}

bool attends(const SyntheticFamily& family, int64_t layer) {
  return family.state == FamilyState::none || (family.interval > 0 && (layer + 1) % family.interval == 0);
}

struct StateSizes {
  int64_t heads, inner, groups;  // groups: key heads, of a delta rule
  // Rows that go through the convolution.
  [[nodiscard]] int64_t width(int64_t size) const noexcept { return inner + 2 * groups * size; }
};
StateSizes state_sizes(const SyntheticFamily& family, const SyntheticShape& shape) {
  if (family.state == FamilyState::delta_rule) return {2 * shape.heads, 2 * shape.heads * kDeltaDim, shape.heads};
  return {2 * shape.width / kStateHeadDim, 2 * shape.width, 1};
}

// Writes a plan down, layer by layer.
class FamilyPlanner {
 public:
  FamilyPlanner(const SyntheticShape& shape, const SyntheticFamily& family, DType dtype) : shape_(shape), family_(family), dtype_(dtype) {}

  SyntheticPlan plan() {
    matrix("token_embd", shape_.vocabulary, shape_.width);
    if (family_.layer_norms) plan_.matrices.push_back({"position_embd.weight", DType::f32, kLearnedPositions, shape_.width});
    for (int64_t layer = 0; layer < shape_.layers; ++layer) {
      prefix_ = fmt::format("blk.{}.", layer);
      mixer(layer);
      if (family_.feed_forward != FamilyFeedForward::none) feed_forward(layer);
    }
    prefix_.clear();
    if (!shape_.tied) matrix("output", shape_.vocabulary, shape_.width);
    norm("output_norm", shape_.width);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool biased() const { return family_.layer_norms || family_.sinks; }
  void matrix(std::string_view name, int64_t rows, int64_t columns, int64_t stack = 1) {
    plan_.matrices.push_back({fmt::format("{}{}.weight", prefix_, name), dtype_, rows, columns, stack});
  }
  // With a bias, where the family has them.
  void layer_matrix(std::string_view name, int64_t rows, int64_t columns) {
    matrix(name, rows, columns);
    if (biased()) plan_.vectors.push_back({fmt::format("{}{}.bias", prefix_, name), rows, 0});
  }
  void norm(std::string_view name, int64_t width) {
    plan_.vectors.push_back({fmt::format("{}{}.weight", prefix_, name), width});
    if (family_.layer_norms) plan_.vectors.push_back({fmt::format("{}{}.bias", prefix_, name), width, 0});
  }

  void vector(std::string_view name, int64_t width, float value) {
    plan_.vectors.push_back({fmt::format("{}{}", prefix_, name), width, value});
  }
  void column(std::string_view name, int64_t width, float value) {
    plan_.vectors.push_back({fmt::format("{}{}", prefix_, name), width, value, true});
  }
  void kernels(std::string_view name, int64_t width, int64_t kernel) {
    plan_.matrices.push_back({fmt::format("{}{}.weight", prefix_, name), DType::f32, width, kernel});
  }

  void mixer(int64_t layer) {
    norm("attn_norm", shape_.width);
    if (attends(family_, layer)) return attention();
    switch (family_.state) {
      case FamilyState::none: return;
      case FamilyState::mamba2: return mamba2();
      case FamilyState::delta_rule: return delta_rule();
      case FamilyState::convolution: return convolution();
    }
  }

  void mamba2() {
    const StateSizes sizes = state_sizes(family_, shape_);
    const int64_t mixed = sizes.width(kStateSize);
    matrix("ssm_in", sizes.inner + mixed + sizes.heads, shape_.width);
    kernels("ssm_conv1d", mixed, kStateKernel);
    vector("ssm_conv1d.bias", mixed, 0);
    vector("ssm_dt.bias", sizes.heads, -1);
    column("ssm_a", sizes.heads, -1);
    column("ssm_d", sizes.heads, 1);
    norm("ssm_norm", sizes.inner);
    matrix("ssm_out", shape_.width, sizes.inner);
  }

  void delta_rule() {
    const StateSizes sizes = state_sizes(family_, shape_);
    const int64_t width = shape_.width, mixed = sizes.width(kDeltaDim);
    matrix("attn_qkv", mixed, width);
    matrix("attn_gate", sizes.inner, width);
    if (family_.feed_forward == FamilyFeedForward::experts) {
      matrix("ssm_ba", 2 * sizes.heads, width);
    } else {
      matrix("ssm_beta", sizes.heads, width), matrix("ssm_alpha", sizes.heads, width);
    }
    kernels("ssm_conv1d", mixed, kStateKernel);
    vector("ssm_dt.bias", sizes.heads, -1);
    vector("ssm_a", sizes.heads, -1);
    norm("ssm_norm", kDeltaDim);
    matrix("ssm_out", width, sizes.inner);
  }

  void convolution() {
    matrix("shortconv.in_proj", 3 * shape_.width, shape_.width);
    kernels("shortconv.conv", shape_.width, kConvolutionKernel);
    matrix("shortconv.out_proj", shape_.width, shape_.width);
  }

  void attention() {
    const int64_t width = shape_.width, head_dim = shape_.head_dim;
    const int64_t query = shape_.heads * head_dim, kv = shape_.kv_heads * head_dim;
    switch (family_.attention) {
      case FamilyAttention::latent: return latent_attention();
      case FamilyAttention::in_one: layer_matrix("attn_qkv", query + 2 * kv, width); break;
      case FamilyAttention::separate:
        layer_matrix("attn_q", family_.state == FamilyState::delta_rule ? 2 * query : query, width);  // with gates
        layer_matrix("attn_k", kv, width);
        layer_matrix("attn_v", kv, width);
        break;
    }
    layer_matrix("attn_output", width, query);
    if (family_.head_norms) norm("attn_q_norm", head_dim), norm("attn_k_norm", head_dim);
    if (family_.sub_norms) norm("attn_sub_norm", query);
    if (family_.sinks) plan_.vectors.push_back({prefix_ + "attn_sinks.weight", shape_.heads});
    if (family_.post_norms) norm("post_attention_norm", width);
  }

  void latent_attention() {
    matrix("attn_q", shape_.heads * (kLatentKey + kLatentRotated), shape_.width);
    matrix("attn_kv_a_mqa", kLatentRow + kLatentRotated, shape_.width);
    norm("attn_kv_a_norm", kLatentRow);
    matrix("attn_k_b", kLatentRow, kLatentKey, shape_.heads);
    matrix("attn_v_b", kLatentValue, kLatentRow, shape_.heads);
    matrix("attn_output", shape_.width, shape_.heads * kLatentValue);
  }

  void feed_forward(int64_t layer) {
    const int64_t width = shape_.width, inner = shape_.feed_forward;
    norm(family_.sinks || family_.state == FamilyState::delta_rule ? "post_attention_norm" : "ffn_norm", width);
    const bool dense = family_.attention == FamilyAttention::latent && layer == 0;
    if (family_.feed_forward == FamilyFeedForward::experts && !dense) return experts();
    if (family_.feed_forward == FamilyFeedForward::gated || dense) layer_matrix("ffn_gate", inner, width);
    layer_matrix("ffn_up", family_.feed_forward == FamilyFeedForward::in_one ? 2 * inner : inner, width);
    layer_matrix("ffn_down", width, inner);
    if (family_.sub_norms) norm("ffn_sub_norm", inner);
    if (family_.post_norms) norm("post_ffw_norm", width);
  }

  void experts() {
    const int64_t width = shape_.width, inner = shape_.expert_width, count = shape_.experts;
    plan_.matrices.push_back({prefix_ + "ffn_gate_inp.weight", DType::f32, count, width});
    if (family_.sinks) plan_.vectors.push_back({prefix_ + "ffn_gate_inp.bias", count, 0});
    matrix("ffn_gate_exps", inner, width, count);
    matrix("ffn_up_exps", inner, width, count);
    matrix("ffn_down_exps", width, inner, count);
    if (family_.sinks) {
      for (const auto& [name, rows] :
           {std::pair("ffn_gate_exps", inner), std::pair("ffn_up_exps", inner), std::pair("ffn_down_exps", width)}) {
        plan_.matrices.push_back({fmt::format("{}{}.bias", prefix_, name), DType::f32, count, rows});
      }
    }
    const bool shares = family_.attention == FamilyAttention::latent || family_.state == FamilyState::delta_rule;
    if (!shares) return;
    if (family_.state == FamilyState::delta_rule) vector("ffn_gate_inp_shexp.weight", width, 0.02F);
    matrix("ffn_gate_shexp", inner, width);
    matrix("ffn_up_shexp", inner, width);
    matrix("ffn_down_shexp", width, inner);
  }

  const SyntheticShape& shape_;
  const SyntheticFamily& family_;
  DType dtype_;
  std::string prefix_;
  SyntheticPlan plan_;
};

}  // namespace

std::vector<std::string> synthetic_architectures() {
  std::vector<std::string> names;
  for (const SyntheticFamily& family : kFamilies) names.emplace_back(family.name);
  return names;
}

std::string_view gguf_architecture_of(std::string_view name) { return family_of(name).architecture; }

SyntheticShape shape_of_architecture(const SyntheticShape& shape, std::string_view name) {
  const SyntheticFamily& family = family_of(name);
  SyntheticShape own = shape;
  const bool named = shape.name == "1b";
  if (named) {
    own.heads = family.heads, own.kv_heads = family.kv_heads, own.head_dim = family.head_dim;
    own.tied = family.tied;
    if (family.layers > 0) own.layers = family.layers;
  } else if (shape.name == "8b" && name != "llama" && !family.sub_norms) {
    fail(ErrorCode::invalid_argument, "shape 8b: it is Llama's; {} has 1b, or six numbers", name);
  }
  if (own.head_dim == 0) own.head_dim = own.width / own.heads;
  if (family.attention == FamilyAttention::latent) own.kv_heads = 1, own.head_dim = kLatentKey + kLatentRotated;
  if (family.layer_norms) own.kv_heads = own.heads;
  if (family.state == FamilyState::mamba2 && own.width % (kStateHeadDim / 2) != 0) {
    fail(ErrorCode::invalid_argument, "shape: the width {} must be a multiple of {}: {}'s heads of {} have twice the width together",
         own.width, kStateHeadDim / 2, name, kStateHeadDim);
  }
  if (family.state != FamilyState::none && family.interval == 0) own.heads = own.kv_heads = own.head_dim = 0;
  if (family.feed_forward == FamilyFeedForward::none) own.feed_forward = 0;
  if (family.feed_forward != FamilyFeedForward::experts) return own;
  own.experts = named ? kFamilyExperts : kFewExperts;
  own.experts_used = named ? kFamilyExpertsUsed : kFewExpertsUsed;
  own.expert_width = named ? family.expert_width : own.feed_forward;
  return own;
}

SyntheticPlan plan_synthetic(const SyntheticShape& shape, std::string_view name, DType dtype) {
  return FamilyPlanner(shape, family_of(name), dtype).plan();
}

namespace {

void add_state_keys(GgufWriter& writer, const SyntheticShape& shape, const SyntheticFamily& family, const std::string& prefix) {
  const auto add = [&](const char* name, int64_t value) { writer.add_uint(prefix + name, static_cast<uint32_t>(value)); };
  if (family.state == FamilyState::none) return;
  if (family.state == FamilyState::convolution) return add("shortconv.l_cache", kConvolutionKernel);
  const StateSizes sizes = state_sizes(family, shape);
  const bool delta = family.state == FamilyState::delta_rule;
  add("ssm.conv_kernel", kStateKernel);
  add("ssm.inner_size", sizes.inner);
  add("ssm.state_size", delta ? kDeltaDim : kStateSize);
  add("ssm.time_step_rank", sizes.heads);
  add("ssm.group_count", sizes.groups);
  if (delta) add("full_attention_interval", family.interval);
  if (delta && shape.experts > 0) add("expert_shared_feed_forward_length", shape.expert_width);
}

// Layers without attention have no key/value heads, but for those of a delta rule, which another key tells.
void add_head_counts(GgufWriter& writer, const SyntheticShape& shape, const SyntheticFamily& family, const std::string& prefix) {
  writer.add_uint(prefix + "attention.head_count", static_cast<uint32_t>(shape.heads));
  const std::string key = prefix + "attention.head_count_kv";
  if (family.interval == 0 || family.state == FamilyState::delta_rule) return writer.add_uint(key, static_cast<uint32_t>(shape.kv_heads));
  std::vector<int32_t> each;
  for (int64_t layer = 0; layer < shape.layers; ++layer) each.push_back(attends(family, layer) ? static_cast<int32_t>(shape.kv_heads) : 0);
  writer.add_array<int32_t>(key, each);
}

}  // namespace

void add_synthetic_keys(GgufWriter& writer, const SyntheticShape& shape, std::string_view name) {
  const SyntheticFamily& family = family_of(name);
  const std::string prefix = std::string(family.architecture) + ".";
  const auto count = [](int64_t value) { return static_cast<uint32_t>(value); };
  const bool latent = family.attention == FamilyAttention::latent;
  add_head_counts(writer, shape, family, prefix);
  add_state_keys(writer, shape, family, prefix);
  if (!family.layer_norms) {
    writer.add_float(prefix + "attention.layer_norm_rms_epsilon", 1e-5F);
    if (shape.heads > 0) {
      writer.add_uint(prefix + "rope.dimension_count", count(latent ? kLatentRotated : shape.head_dim));
      writer.add_float(prefix + "rope.freq_base", 500000);
    }
  }
  if (family.layer_norms) writer.add_float(prefix + "attention.layer_norm_epsilon", 1e-5F);
  if (latent || (shape.heads > 0 && shape.head_dim != shape.width / shape.heads)) {
    writer.add_uint(prefix + "attention.key_length", count(latent ? kLatentRow + kLatentRotated : shape.head_dim));
    writer.add_uint(prefix + "attention.value_length", count(latent ? kLatentRow : shape.head_dim));
  }
  if (family.post_norms) {
    writer.add_uint(prefix + "attention.sliding_window", family.head_norms ? 1024 : 4096);
    if (!family.head_norms)
      writer.add_float(prefix + "attn_logit_softcapping", 50), writer.add_float(prefix + "final_logit_softcapping", 30);
  }
  if (family.sinks) writer.add_uint(prefix + "attention.sliding_window", 128);
  if (latent) {
    writer.add_uint(prefix + "attention.kv_lora_rank", count(kLatentRow));
    writer.add_uint(prefix + "attention.key_length_mla", count(kLatentKey + kLatentRotated));
    writer.add_uint(prefix + "attention.value_length_mla", count(kLatentValue));
    writer.add_uint(prefix + "leading_dense_block_count", 1);
    writer.add_uint(prefix + "expert_shared_count", 1);
  }
  if (shape.experts == 0) return;
  writer.add_uint(prefix + "expert_count", count(shape.experts));
  writer.add_uint(prefix + "expert_used_count", count(shape.experts_used));
  writer.add_uint(prefix + "expert_feed_forward_length", count(shape.expert_width));
}

}  // namespace wick
