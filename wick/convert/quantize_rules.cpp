#include "wick/convert/quantize_rules.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "wick/formats/gguf_type.h"
#include "wick/quant/block_format.h"

namespace wick {
namespace {

bool contains(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

bool holds_values(std::string_view name) {
  return contains(name, "attn_qkv.weight") || contains(name, "attn_kv_b.weight") || contains(name, "attn_v.weight");
}

bool is_embedding(std::string_view name) { return name == "token_embd.weight" || name == "per_layer_token_embd.weight"; }

}  // namespace

bool is_quantization_target(DType dtype) noexcept {
  if (!ggml_id(dtype) || find_block_format(dtype) == nullptr) return false;
  return dtype != DType::q8_1 && dtype != DType::q8_k;
}

QuantizeRules::QuantizeRules(const QuantizeSource& source, const MixInfo& mix, bool has_importance)
    : mix_(mix),
      has_importance_(has_importance),
      falcon_(source.architecture == "falcon"),
      is_70b_(source.architecture == "llama" && source.layers == 80 && source.heads != source.kv_heads),
      layers_(source.layers),
      experts_(source.experts),
      queries_per_key_(source.kv_heads > 0 ? source.heads / source.kv_heads : 0) {
  for (const GgufTensor& tensor : source.tensors) {
    values_ += holds_values(tensor.name) ? 1 : 0;
    tied_ = tied_ && tensor.name != "output.weight";
  }
}

bool QuantizeRules::is(std::initializer_list<Mix> mixes) const { return std::find(mixes.begin(), mixes.end(), mix_.mix) != mixes.end(); }

bool QuantizeRules::use_more_bits(int64_t layer, int64_t layers) const {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

int64_t QuantizeRules::layer_of(const GgufTensor& tensor, int64_t counted) const {
  if (experts_ <= 1) return counted;
  int64_t layer = counted;
  constexpr std::string_view kPrefix = "blk.";
  if (tensor.name.starts_with(kPrefix)) {
    std::from_chars(tensor.name.data() + kPrefix.size(), tensor.name.data() + tensor.name.size(), layer);
  }
  return layer;
}

DType QuantizeRules::choose(const GgufTensor& tensor) {
  const std::string_view name = tensor.name;
  if (name == "output.weight" || (tied_ && is_embedding(name))) return choose_head(tensor);
  if (is({Mix::mxfp4_moe})) return tensor.shape.rank() > 2 && tensor.shape[tensor.shape.rank() - 3] > 1 ? DType::mxfp4 : DType::q8_0;
  if (is_embedding(name)) return choose_embedding();
  if (is({Mix::iq2_xxs, Mix::iq2_xs, Mix::iq1_s, Mix::iq2_s, Mix::iq2_m, Mix::iq1_m})) return choose_low(tensor);
  if (holds_values(name)) {
    const DType chosen = choose_value(values_seen_++);
    if (experts_ == 8) return DType::q8_0;
    // The values of eight query heads are one tensor there: more bits cost little.
    return is_70b_ && (chosen == DType::q3_k || chosen == DType::q4_k) ? DType::q5_k : chosen;
  }
  if (contains(name, "attn_k.weight") || contains(name, "attn_q.weight")) {
    if (experts_ == 8 && contains(name, "attn_k.weight")) return DType::q8_0;
    return is({Mix::iq3_xs}) ? DType::iq3_xxs : is({Mix::iq3_xxs}) ? DType::iq2_s : mix_.base;
  }
  if (contains(name, "attn_output.weight")) return choose_attention_output();
  const bool up = contains(name, "ffn_up");
  if (up || contains(name, "ffn_gate")) {
    const int64_t layer = layer_of(tensor, up ? ups_seen_++ : gates_seen_++);
    return is({Mix::iq3_xs}) && layer >= layers_ / 8 && layer < 7 * layers_ / 8 ? DType::iq3_xxs : mix_.base;
  }
  return contains(name, "ffn_down") ? choose_down(tensor) : mix_.base;
}

DType QuantizeRules::choose_head(const GgufTensor& tensor) const {
  if (is({Mix::mxfp4_moe}) || falcon_ || tensor.shape.last() % info(mix_.base).block_elements != 0) return DType::q8_0;
  if (is({Mix::iq2_xxs, Mix::iq2_xs, Mix::iq3_xxs, Mix::iq1_s, Mix::iq2_s, Mix::iq2_m, Mix::iq1_m})) return DType::q5_k;
  return mix_.base == DType::q8_0 ? DType::q8_0 : DType::q6_k;
}

DType QuantizeRules::choose_embedding() const {
  if (is({Mix::iq2_xxs, Mix::iq2_xs, Mix::iq1_s, Mix::iq1_m})) return DType::q2_k;
  if (is({Mix::iq2_s, Mix::iq2_m, Mix::iq3_xxs})) return DType::iq3_s;
  if (is({Mix::tq1_0, Mix::tq2_0, Mix::q2_0})) return DType::q4_k;
  return mix_.base;
}

DType QuantizeRules::choose_low(const GgufTensor& tensor) {
  const std::string_view name = tensor.name;
  const bool upper = is({Mix::iq2_s, Mix::iq2_m});
  if (holds_values(name)) {
    if (queries_per_key_ >= 4 || experts_ >= 4) return DType::q4_k;
    return upper ? DType::iq3_s : DType::q2_k;
  }
  if (experts_ == 8 && contains(name, "attn_k.weight")) return DType::q4_k;
  if (contains(name, "attn_output.weight")) {
    if (experts_ == 8) return DType::q5_k;
    return is({Mix::iq1_s, Mix::iq1_m}) ? DType::iq2_xxs : upper ? DType::iq3_s : mix_.base;
  }
  if (!contains(name, "ffn_down") || downs_seen_++ >= layers_ / 8) return mix_.base;
  return upper ? DType::iq3_s : DType::q2_k;
}

DType QuantizeRules::choose_value(int64_t index) const {
  const bool shared = queries_per_key_ >= 4;
  switch (mix_.mix) {
    case Mix::q2_k: return shared ? DType::q4_k : DType::q3_k;
    case Mix::q2_k_s: return shared ? DType::q4_k : mix_.base;
    case Mix::iq3_xxs: return shared ? DType::q4_k : has_importance_ ? DType::iq3_xxs : DType::iq3_s;
    case Mix::iq3_xs:
    case Mix::iq3_s: return shared ? DType::q4_k : mix_.base;
    case Mix::iq3_m: return DType::q4_k;
    case Mix::q3_k_m: return index < 2 ? DType::q5_k : DType::q4_k;
    case Mix::q3_k_l: return DType::q5_k;
    case Mix::iq4_nl:
    case Mix::iq4_xs: return shared ? DType::q5_k : mix_.base;
    case Mix::q4_k_m:
    case Mix::q5_k_m: return use_more_bits(index, values_) ? DType::q6_k : mix_.base;
    case Mix::q4_k_s: return index < 4 ? DType::q5_k : mix_.base;
    default: return mix_.base;
  }
}

DType QuantizeRules::choose_down(const GgufTensor& tensor) {
  const int64_t layer = layer_of(tensor, downs_seen_++);
  const bool first = layer < layers_ / 8;
  const bool more = use_more_bits(layer, layers_);
  switch (mix_.mix) {
    case Mix::q2_k: return DType::q3_k;
    case Mix::q2_k_s: return first ? DType::q4_k : mix_.base;
    case Mix::iq3_xxs: return has_importance_ ? mix_.base : first ? DType::q4_k : DType::q3_k;
    case Mix::q3_k_m: return layer < layers_ / 16 ? DType::q5_k : !falcon_ || more ? DType::q4_k : DType::q3_k;
    case Mix::iq3_m: return first || (experts_ == 8 && more) ? DType::q4_k : mix_.base;
    case Mix::q3_k_l: return falcon_ ? DType::q4_k : DType::q5_k;
    case Mix::q4_k_m:
      if (!falcon_) return more ? DType::q6_k : mix_.base;
      return layer < layers_ / 16 ? DType::q6_k : more ? DType::q5_k : DType::q4_k;
    case Mix::iq4_nl:
    case Mix::iq4_xs: return first && !has_importance_ ? DType::q5_k : mix_.base;
    case Mix::q5_k_m: return more ? DType::q6_k : mix_.base;
    case Mix::q4_k_s: return !falcon_ && first ? DType::q5_k : mix_.base;
    case Mix::q4_0: return first && has_importance_ ? DType::q4_1 : mix_.base;
    case Mix::q5_0: return first && has_importance_ ? DType::q5_1 : mix_.base;
    default: return mix_.base;
  }
}

DType QuantizeRules::choose_attention_output() const {
  if (falcon_) return is({Mix::q3_k_l}) ? DType::q4_k : mix_.base;
  if (experts_ == 8) {
    return is({Mix::q2_k, Mix::iq3_xs, Mix::iq3_xxs, Mix::q3_k_s, Mix::q3_k_m, Mix::iq4_nl, Mix::q4_k_s, Mix::q4_k_m, Mix::iq3_s,
               Mix::iq3_m, Mix::iq4_xs})
               ? DType::q5_k
               : mix_.base;
  }
  switch (mix_.mix) {
    case Mix::q2_k: return DType::q3_k;
    case Mix::iq3_xxs: return DType::iq3_s;
    case Mix::q3_k_m:
    case Mix::iq3_m: return DType::q4_k;
    case Mix::q3_k_l: return DType::q5_k;
    default: return mix_.base;
  }
}

}  // namespace wick
