// What metadata say about a mixture of experts.
#include <fmt/format.h>

#include "wick/base/fail.h"
#include "wick/model/checkpoint/model_config.h"

namespace wick {
namespace {

// GGUF's numbers.
constexpr double kSoftmaxGating = 1, kSigmoidGating = 2, kSoftmaxOfUsedGating = 3;

Routing read_routing(const KeyReader& keys, Routing usual) {
  const char* const name = "expert_gating_func";
  const double number = keys.find_number(name).value_or(0);
  if (number == 0) return usual;
  if (number == kSoftmaxGating) return Routing::softmax;
  if (number == kSigmoidGating) return Routing::sigmoid;
  if (number == kSoftmaxOfUsedGating) return Routing::softmax_of_used;
  fail(ErrorCode::unsupported, "{}: {} = {} is not supported; this version knows 1 (softmax), 2 (sigmoid) and 3 (softmax of the chosen)",
       keys.checkpoint().name(), keys.checkpoint().where(keys.key(name)), number);
}

GateKind gate_of(const ModelConfig& config) {
  if (const std::optional<GateKind> kind = gate_kind_of(config.activation)) return *kind;
  fail(ErrorCode::unsupported, "{}: {} = {}: this version's experts have silu, gelu, gelu_new and relu2", config.keys.checkpoint().name(),
       config.keys.checkpoint().where(config.keys.key("hidden_act")), nn::Activation(config.activation).name());
}

void read_groups(const KeyReader& keys, ExpertsSpec& spec) {
  // 0 in files that llama.cpp saves.
  if (keys.find_number("expert_group_count").value_or(0) <= 1) return;
  // DeepSeek V2's way of choosing that does not look at groups, whatever their number.
  if (spec.routing == Routing::softmax && keys.find_text("expert_choice") == "greedy") return;
  spec.groups = keys.size("expert_group_count");
  spec.groups_used = keys.size("expert_group_used_count");
  if (spec.count % spec.groups != 0) {
    keys.fail_value("expert_group_count", std::to_string(spec.groups), fmt::format("it must divide the {} experts", spec.count));
  }
  if (spec.groups_used > spec.groups) {
    keys.fail_value("expert_group_used_count", std::to_string(spec.groups_used), fmt::format("there are {} groups", spec.groups));
  }
  if (const int64_t within = spec.groups_used * (spec.count / spec.groups); spec.used > within) {
    keys.fail_value("expert_group_used_count", std::to_string(spec.groups_used),
                    fmt::format("{} experts are used, and so many groups have {}", spec.used, within));
  }
}

}  // namespace

void ModelConfig::drop_further_layers() {
  const double further = keys.find_number("nextn_predict_layers").value_or(0);
  if (!(further >= 0) || further >= static_cast<double>(layers)) {
    keys.fail_value("nextn_predict_layers", fmt::format("{}", further), fmt::format("there are {} layers", layers));
  }
  layers -= static_cast<int64_t>(further);
}

ExpertsSpec ModelConfig::experts(Routing usual, bool normalized) const {
  ExpertsSpec spec;
  if (keys.find_number("expert_count").value_or(0) == 0) return spec;
  spec.count = keys.size("expert_count");
  spec.used = keys.size("expert_used_count");
  if (spec.used > spec.count) {
    keys.fail_value("expert_used_count", std::to_string(spec.used), fmt::format("there are {} experts", spec.count));
  }
  const bool own_width = keys.find_number("expert_feed_forward_length").value_or(0) != 0;
  spec.width = own_width ? keys.size("expert_feed_forward_length") : intermediate_size;
  spec.routing = read_routing(keys, usual);
  spec.normalized = normalized;
  spec.weight_scale = static_cast<float>(keys.find_positive_or_zero("expert_weights_scale").value_or(1));
  spec.gate = gate_of(*this);
  read_groups(keys, spec);
  return spec;
}

std::vector<PartSpec> ModelConfig::feed_forward_parts(int64_t index, const ExpertsSpec& experts) const {
  const Checkpoint& file = keys.checkpoint();
  const std::string prefix = fmt::format("blk.{}.", index);
  const bool routed = experts.count > 0 && file.find_tensor(prefix + "ffn_gate_inp.weight") != nullptr;
  if (!routed) return {{experts.gated ? feed_forward(index) : ungated_feed_forward(index)}};
  std::vector<PartSpec> parts = {{experts}};
  const CheckpointTensor* shared = file.find_tensor(prefix + "ffn_up_shexp.weight");
  if (shared == nullptr && keys.find_number("expert_shared_count").value_or(0) == 0) return parts;
  FeedForwardSpec spec = experts.gated ? feed_forward(index) : ungated_feed_forward(index);
  spec.suffix = "_shexp";
  const bool in_one = spec.gated && file.find_tensor(prefix + "ffn_gate_shexp.weight") == nullptr;
  const int64_t rows = shared == nullptr || shared->shape.rank() == 0 ? experts.width : shared->shape[0];
  spec.width = in_one ? std::max<int64_t>(rows / 2, 1) : rows;
  if (file.find_tensor(prefix + "ffn_gate_inp_shexp.weight") != nullptr) spec.scaled_by = "ffn_gate_inp_shexp";
  parts.push_back({std::move(spec)});
  return parts;
}

}  // namespace wick
