#include "wick/model/description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace wick {
namespace {

std::string describe_norm(const std::optional<NormSpec>& norm) {
  if (!norm) return "";
  return fmt::format("{}({}) → ", norm->kind == NormKind::rms ? "rms_norm" : "layer_norm", norm->bare ? "no weights" : norm->name);
}

std::string describe_spec(const AttentionSpec& spec) {
  std::string text = fmt::format("attention {} × {}, {} kv heads, scale {:.6g}", spec.heads, spec.head_dim, spec.kv_heads, spec.scale);
  switch (spec.head_norms) {
    case HeadNorms::none: break;
    case HeadNorms::each_head: text += ", q/k norm a head"; break;
    case HeadNorms::all_heads: text += ", q/k norm"; break;
    case HeadNorms::own: text += ", q/k layer_norm, its own for each head"; break;
    case HeadNorms::bare: text += ", q/k norm a head without weights"; break;
    case HeadNorms::each_head_rotated: text += ", q/k norm a head after rope"; break;
  }
  if (!spec.causal) text += ", in both directions";
  text += spec.rope < 0 ? ", no rope" : spec.rope == 0 ? "" : fmt::format(", rope {}", spec.rope);
  if (spec.retention.kind == Retention::Kind::window) text += fmt::format(", window {}", spec.retention.size);
  if (spec.retention.kind == Retention::Kind::chunk) text += fmt::format(", chunks of {}", spec.retention.size);
  if (spec.softcap != 0) text += fmt::format(", softcap {}", spec.softcap);
  if (spec.clamp != 0) text += fmt::format(", clamped to {}", spec.clamp);
  if (spec.alibi != 0) text += fmt::format(", ALiBi {}", spec.alibi);
  if (spec.gated) text += ", gated";
  if (spec.cache_of >= 0) text += fmt::format(", keys and values of layer {}", spec.cache_of);
  if (spec.keys_are_values) text += ", keys are values";
  if (spec.relative_bias) text += ", relative bias";
  if (spec.after_source) text += ", to the target alone";
  if (spec.own_bias) text += ", " + spec.own_bias->name;
  if (spec.sinks) text += ", sinks";
  if (spec.temperature.length != 0) text += fmt::format(", temperature by {} from {}", spec.temperature.scale, spec.temperature.length);
  if (spec.sub_norm) text += fmt::format(", {}", spec.sub_norm->name);
  return text;
}

std::string describe_spec(const CrossAttentionSpec& spec) {
  return fmt::format("attention {} × {} to the source, scale {:.6g}", spec.heads, spec.head_dim, spec.scale);
}

std::string describe_spec(const LatentAttentionSpec& spec) {
  std::string text = fmt::format("latent attention {} × ({} + {}), values of {}, rows of {}, scale {:.6g}", spec.heads, spec.key_dim,
                                 spec.rope_dim, spec.value_dim, spec.latent_dim, spec.scale);
  if (spec.query_rank > 0) text += fmt::format(", queries of rank {}", spec.query_rank);
  if (!spec.rotates) text += ", no rope";
  return text;
}

std::string describe_spec(const FeedForwardSpec& spec) {
  std::string text = fmt::format("{} {}, {}{}", spec.suffix.empty() ? "feed-forward" : "shared expert", spec.width,
                                 spec.gated ? "gated " : "", nn::Activation(spec.activation).name());
  if (spec.cutoff) text += fmt::format(", cut off at {:.4g} deviations", *spec.cutoff);
  if (!spec.scaled_by.empty()) text += ", scaled by a gate";
  if (spec.sub_norm) text += fmt::format(", {}", spec.sub_norm->name);
  return text;
}

std::string_view name_of(Routing routing) {
  switch (routing) {
    case Routing::softmax: return "softmax";
    case Routing::softmax_of_used: return "softmax of the chosen";
    case Routing::sigmoid: return "sigmoid";
    case Routing::sparse_mixer: return "sparse mixer";
  }
  return "";
}

std::string describe_spec(const ExpertsSpec& spec) {
  std::string text =
      fmt::format("{} of {} experts of {}, {}, by {}", spec.used, spec.count, spec.width, to_string(spec.gate), name_of(spec.routing));
  if (spec.groups > 1) text += fmt::format(" in {} of {} groups", spec.groups_used, spec.groups);
  if (spec.normalized) text += ", normalized";
  if (spec.weight_scale != 1) text += fmt::format(", × {:.6g}", spec.weight_scale);
  return text;
}

std::string describe_spec(const ShortConvolutionSpec& spec) { return fmt::format("gated convolution of {}", spec.kernel); }

std::string describe_spec(const StateSpaceSpec& spec) {
  return fmt::format("mamba2 {} × {}, states of {}, {} groups, convolution of {}", spec.heads, spec.head_dim, spec.state_size, spec.groups,
                     spec.kernel);
}

std::string describe_spec(const SelectiveScanSpec& spec) {
  return fmt::format("mamba {}, states of {}, steps of rank {}, convolution of {}{}", spec.inner, spec.state_size, spec.rank, spec.kernel,
                     spec.bare_norms ? ", normed" : "");
}

std::string describe_spec(const LayerInputSpec& spec) { return fmt::format("the token's input of the layer, {}", spec.width); }

std::string describe_spec(const DeltaRuleSpec& spec) {
  return fmt::format("gated delta rule {} × {}, {} key heads of {}, convolution of {}{}", spec.value_heads, spec.value_dim, spec.key_heads,
                     spec.key_dim, spec.kernel, spec.by_channel ? ", decay by channel" : "");
}

std::string describe_spec(const TimeMixSpec& spec) {
  return fmt::format("time mixing {} × {}, ranks {} of decays, {} of rates, {} of gates", spec.heads, spec.head_dim, spec.decay_rank,
                     spec.rate_rank, spec.gate_rank);
}

std::string describe_spec(const ChannelMixSpec& spec) { return fmt::format("channel mixing {}", spec.width); }

std::string describe_spec(const LinearRecurrentUnitSpec& spec) {
  return fmt::format("linear recurrent unit {} × {}, convolution of {}", spec.heads, spec.inner / spec.heads, spec.kernel);
}

std::string describe_spec(const LightningAttentionSpec& spec) {
  return fmt::format("lightning attention {} × {}, rate {:.6g}", spec.heads, spec.head_dim, spec.rate);
}

std::string describe_spec(const OwnSpec& spec) { return spec.name; }

std::string describe_block(const BlockSpec& block) {
  std::vector<std::string> parts;
  for (const PartSpec& part : block.parts) {
    parts.push_back(describe_norm(part.norm) + std::visit([](const auto& spec) { return describe_spec(spec); }, part.mixer) +
                    (part.post_norm ? " → " + part.post_norm->name : ""));
  }
  std::string text = describe_norm(block.norm) + fmt::format("{}", fmt::join(parts, " + "));
  if (block.post_norm)
    text += " → " + fmt::format("{}({})", block.post_norm->kind == NormKind::rms ? "rms_norm" : "layer_norm", block.post_norm->name);
  if (block.residual_scale != 1) text += fmt::format(" × {}", block.residual_scale);
  if (block.norms_stream) text += " → sum with what is normalized";
  if (block.sum_norm)
    text += fmt::format(" → sum → {}({})", block.sum_norm->kind == NormKind::rms ? "rms_norm" : "layer_norm", block.sum_norm->name);
  return text;
}

std::string describe_rope(const RopeConfig& rope) {
  std::string text = fmt::format("{} dims, base {}", rope.dims, rope.base);
  switch (rope.scaling) {
    case RopeScaling::none: break;
    case RopeScaling::linear:
      if (rope.factor != 1) text += fmt::format(", linear by {}", rope.factor);
      break;
    case RopeScaling::llama3: text += fmt::format(", llama3 by {} from {}", rope.factor, rope.original_context); break;
    case RopeScaling::longrope: text += fmt::format(", longrope from {}", rope.original_context); break;
    case RopeScaling::yarn: text += fmt::format(", yarn by {} from {}", rope.factor, rope.original_context); break;
  }
  return text;
}

std::string describe_input(ScoreHeadSpec::Input input) {
  switch (input) {
    case ScoreHeadSpec::Input::first_token: return "score of the first token";
    case ScoreHeadSpec::Input::last_token: return "score of the last token";
    case ScoreHeadSpec::Input::mean: return "score of the tokens' mean";
    case ScoreHeadSpec::Input::each_token: return "score of each token";
  }
  return "";
}

bool has_experts(const LayerSpec& layer) {
  return std::any_of(layer.blocks.begin(), layer.blocks.end(), [](const BlockSpec& block) {
    return std::any_of(block.parts.begin(), block.parts.end(),
                       [](const PartSpec& part) { return std::holds_alternative<ExpertsSpec>(part.mixer); });
  });
}

}  // namespace

std::vector<bool> layers_with_experts(const DecoderSpec& spec) {
  std::vector<bool> with;
  for (const LayerSpec& layer : spec.layers) with.push_back(has_experts(layer));
  return with;
}

std::optional<GateKind> gate_kind_of(nn::ActivationKind activation) {
  switch (activation) {
    case nn::ActivationKind::silu:
    case nn::ActivationKind::swish: return GateKind::silu;
    case nn::ActivationKind::new_gelu:
    case nn::ActivationKind::gelu_pytorch_tanh: return GateKind::gelu;
    case nn::ActivationKind::gelu: return GateKind::gelu_erf;
    case nn::ActivationKind::relu2: return GateKind::relu_sqr;
    default: return std::nullopt;
  }
}

std::string describe_layer(const LayerSpec& layer) {
  std::vector<std::string> blocks;
  for (const BlockSpec& block : layer.blocks) blocks.push_back(describe_block(block));
  return fmt::format("{}{}", fmt::join(blocks, "; "), layer.times == 1 ? "" : fmt::format("; {} times", layer.times));
}

std::vector<std::string> describe_model(const DecoderSpec& model) {
  std::vector<std::string> lines;
  if (model.source) {
    for (const std::string& line : describe_model(*model.source)) lines.push_back("source: " + line);
  }
  lines.push_back(fmt::format("embedding {}{}{}", model.hidden_size,
                              model.embedding_scale == 1 ? "" : fmt::format(" × {:.6g}", model.embedding_scale),
                              model.learned_positions ? " + learned positions" : "") +
                  (model.token_types ? " + token type" : ""));
  if (model.layer_inputs) lines.back() += fmt::format(", inputs of {} for each layer", model.layer_inputs->width);
  if (model.alternating) lines.back() += fmt::format(", {} alternating streams", model.alternating->streams);
  if (model.embedding_size != 0) lines.back() += fmt::format(", projected from {}", model.embedding_size);
  if (model.embedding_norm) lines.back() += fmt::format(" → {}", model.embedding_norm->name);
  for (size_t index = 0; index < model.ropes.size(); ++index) {
    lines.push_back(fmt::format("rope {}: {}, {}", index, describe_rope(model.ropes[index]),
                                model.rope_style == RopeStyle::interleaved ? "interleaved pairs" : "split halves"));
  }
  std::vector<std::string> layers;
  for (const LayerSpec& layer : model.layers) layers.push_back(describe_layer(layer));
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1] == layers[first]) ++last;
    const std::string range = last == first ? fmt::format("layer {}", first) : fmt::format("layers {}–{}", first, last);
    lines.push_back(range + ": " + layers[first]);
    first = last + 1;
  }
  if (model.encoder) {
    lines.push_back(describe_norm(model.output_norm) + (model.score_head ? describe_input(model.score_head->input) : "vectors"));
    return lines;
  }
  std::string head = describe_norm(model.output_norm) + (model.score_head ? describe_input(model.score_head->input) : "head");
  if (model.logit_scale != 1) head += fmt::format(" × {:.6g}", model.logit_scale);
  if (model.logit_softcap != 0) head += fmt::format(", softcap {}", model.logit_softcap);
  lines.push_back(head);
  return lines;
}

}  // namespace wick
