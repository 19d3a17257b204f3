#include "wick/convert/quantize_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <numeric>
#include <optional>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/convert/quantize_rules.h"
#include "wick/formats/gguf_type.h"
#include "wick/text/regex/regex.h"

namespace wick {
namespace {

constexpr MixInfo kMixesOfSeveral[] = {
    {Mix::mxfp4_moe, "MXFP4_MOE", DType::mxfp4, 38, "for mixtures of experts trained in MXFP4"},
    {Mix::q2_k_s, "Q2_K_S", DType::q2_k, 21, "very large loss; needs --imatrix"},
    {Mix::q3_k_s, "Q3_K_S", DType::q3_k, 11, "large loss"},
    {Mix::q3_k_m, "Q3_K_M", DType::q3_k, 12, "visible loss, smaller"},
    {Mix::q3_k_l, "Q3_K_L", DType::q3_k, 13, "visible loss"},
    {Mix::q4_k_s, "Q4_K_S", DType::q4_k, 14, "a good balance, slightly smaller"},
    {Mix::q4_k_m, "Q4_K_M", DType::q4_k, 15, "a good balance: the usual choice"},
    {Mix::q5_k_s, "Q5_K_S", DType::q5_k, 16, "little loss, slightly smaller"},
    {Mix::q5_k_m, "Q5_K_M", DType::q5_k, 17, "little loss"},
    {Mix::iq2_s, "IQ2_S", DType::iq2_xs, 28, "large loss; needs --imatrix"},
    {Mix::iq2_m, "IQ2_M", DType::iq2_s, 29, "large loss; needs --imatrix"},
    {Mix::iq3_xs, "IQ3_XS", DType::iq3_s, 22, "visible loss; --imatrix helps"},
    {Mix::iq3_m, "IQ3_M", DType::iq3_s, 27, "less loss than Q3_K_M; --imatrix helps"},
};

const std::vector<MixInfo>& mixes() {
  static const std::vector<MixInfo> kAll = [] {
    std::vector<MixInfo> all;
    const std::span<const BlockFormat> formats = block_formats();
    for (size_t row = 0; row < formats.size(); ++row) {
      const BlockFormat& format = formats[row];
      if (format.file_type < 0) continue;
      // The enumerators begin with the rows of the table.
      all.push_back({static_cast<Mix>(row), format.ggml_name, format.dtype, static_cast<uint32_t>(format.file_type), format.use});
    }
    all.insert(all.end(), std::begin(kMixesOfSeveral), std::end(kMixesOfSeveral));
    return all;
  }();
  return kAll;
}

// Vectors and what models are known to suffer from.
bool may_be_quantized(const GgufTensor& tensor) {
  int dims = tensor.shape.rank();
  while (dims > 0 && tensor.shape[tensor.shape.rank() - dims] == 1) --dims;  // ggml does not count leading dimensions of 1
  if (dims < 2 || !tensor.name.ends_with("weight")) return false;
  if (is_integer(tensor.dtype)) return false;
  constexpr std::string_view kExempt[] = {"_norm.weight",
                                          "ffn_gate_inp.weight",
                                          "ffn_gate_tid2eid.weight",
                                          "altup",
                                          "laurel",
                                          "per_layer_model_proj",
                                          "ssm_conv1d",
                                          "shortconv.conv.weight",
                                          "indexer.k_proj.weight",
                                          "indexer.q_proj.weight",
                                          "time_mix_first.weight",
                                          "time_mix_w0.weight",
                                          "time_mix_w1.weight",
                                          "time_mix_w2.weight",
                                          "time_mix_v0.weight",
                                          "time_mix_v1.weight",
                                          "time_mix_v2.weight",
                                          "time_mix_a0.weight",
                                          "time_mix_a1.weight",
                                          "time_mix_a2.weight",
                                          "time_mix_g1.weight",
                                          "time_mix_g2.weight",
                                          "time_mix_decay_w1.weight",
                                          "time_mix_decay_w2.weight",
                                          "time_mix_lerp_fused.weight",
                                          "attn_rel_b.weight",
                                          ".position_embd",
                                          "sam.pos_embd",
                                          "sam.neck.",
                                          "sam.net_",
                                          ".rel_pos",
                                          ".patch_embd",
                                          ".patch_merger",
                                          "a.rvq.codebook",
                                          "mm.a.code_embd"};
  if (tensor.name == "position_embd.weight" || tensor.name == "token_types.weight" || tensor.name.ends_with("attn_rel_b.weight") ||
      tensor.name == "rel_embd.weight")
    return false;
  return std::none_of(std::begin(kExempt), std::end(kExempt),
                      [&](std::string_view part) { return tensor.name.find(part) != std::string_view::npos; });
}

// The number of "blk.7.attn_v.weight"; -1 for tensors of no layer.
int64_t layer_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return -1;
  int64_t layer = -1;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return layer;
}

// Layer by layer, then by name: the order in which llama.cpp counts tensors of a kind.
std::vector<size_t> counting_order(std::span<const GgufTensor> tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t lhs, size_t rhs) {
    const int64_t left = layer_of(tensors[lhs].name);
    const int64_t right = layer_of(tensors[rhs].name);
    return left != right ? left < right : tensors[lhs].name < tensors[rhs].name;
  });
  return order;
}

// What replaces a type whose block does not divide the rows.
DType fall_back(const GgufTensor& tensor, DType wanted) {
  const int64_t columns = tensor.shape.last();
  if (columns % info(wanted).block_elements == 0) return wanted;
  const DType stand_in = find_block_format(wanted)->stand_in;
  if (stand_in == wanted && info(wanted).block_elements > 32) {
    fail(ErrorCode::unsupported, "tensor '{}': rows of {} elements are no multiple of {}'s block of {}, and no type stands in for it",
         tensor.name, columns, ggml_name(wanted), info(wanted).block_elements);
  }
  return columns % info(stand_in).block_elements == 0 ? stand_in : DType::f16;
}

bool needs_importance(std::string_view name, DType dtype, Mix mix) {
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight" || name == "output.weight") return false;
  const BlockFormat* const format = find_block_format(dtype);
  return (format != nullptr && format->needs_importance) || (dtype == DType::q2_k && mix == Mix::q2_k_s);
}

// The number, or the first of an array with one for each layer.
int64_t first_number(const GgufFile& file, const std::string& key, int64_t absent) {
  const GgufValue* value = file.find(key);
  if (value == nullptr) return absent;
  if (const auto* array = std::get_if<GgufArray>(&value->value)) {
    return array->size == 0 ? absent : array->to_vector<int64_t>().front();
  }
  return static_cast<int64_t>(file.get_uint(key));
}

}  // namespace

std::span<const MixInfo> mix_infos() noexcept { return mixes(); }

const MixInfo& parse_mix(std::string_view name) {
  std::string wanted = ascii_uppercase(name);
  if (wanted == "Q3_K" || wanted == "Q4_K" || wanted == "Q5_K") wanted += "_M";
  std::string known;
  for (const MixInfo& entry : mixes()) {
    if (entry.name == wanted) return entry;
    known += known.empty() ? "" : " ";
    known += entry.name;
  }
  fail(ErrorCode::invalid_argument, "type '{}' is unknown; there are {}", name, known);
}

KeepRule parse_keep_rule(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    fail(ErrorCode::invalid_argument, "'{}' is no rule; write REGEX=TYPE, such as 'attn_v=q8_0'", text);
  }
  const std::string type = ascii_lowercase(text.substr(equals + 1));
  const std::optional<DType> dtype = parse_dtype(type);
  if (!dtype || !is_quantization_target(*dtype)) {
    fail(ErrorCode::invalid_argument, "rule '{}': '{}' is no type that tensors can be quantized to, such as q8_0, q6_k or f16", text, type);
  }
  return {text, std::make_shared<Regex>(std::string_view(text).substr(0, equals), "rule '" + text + "'"), *dtype};
}

QuantizeSource quantize_source(const GgufFile& file) {
  QuantizeSource source{.architecture = std::string(file.find_string("general.architecture").value_or("")), .tensors = file.tensors()};
  const auto number = [&](const char* key, int64_t absent) { return first_number(file, source.architecture + key, absent); };
  source.layers = number(".block_count", 0);
  source.experts = number(".expert_count", 0);
  source.heads = number(".attention.head_count", 1);
  source.kv_heads = number(".attention.head_count_kv", source.heads);
  return source;
}

std::vector<PlannedType> plan_quantization(const QuantizeSource& source, const MixInfo& mix, std::span<const KeepRule> keep,
                                           bool has_importance) {
  QuantizeRules rules(source, mix, has_importance);
  RegexScratch scratch;
  std::vector<PlannedType> plan(source.tensors.size());
  for (const size_t index : counting_order(source.tensors)) {
    const GgufTensor& tensor = source.tensors[index];
    PlannedType& planned = plan[index];
    planned.dtype = planned.wanted = tensor.dtype;
    if (!may_be_quantized(tensor)) continue;
    const auto rule =
        std::find_if(keep.begin(), keep.end(), [&](const KeepRule& entry) { return entry.pattern->matches(tensor.name, scratch); });
    planned.wanted = rule != keep.end() ? rule->dtype : is_quantized(mix.base) ? rules.choose(tensor) : mix.base;
    planned.dtype = fall_back(tensor, planned.wanted);
    planned.needs_importance = needs_importance(tensor.name, planned.dtype, mix.mix);
  }
  return plan;
}

}  // namespace wick
