// A quantization plan says which type each tensor of a model gets when the model is turned into a mix such as Q4_K_M.
// The rules are llama.cpp's (2026-08), so that files come out with the same types.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/formats/gguf.h"
#include "wick/layout/dtype.h"
#include "wick/quant/block_format.h"

namespace wick {

class Regex;

// The types that models are quantized to: a block format, or a mix of several.
#define WICK_MIX(name, ...) name,
enum class Mix {
  WICK_BLOCK_FORMATS(WICK_MIX) mxfp4_moe,
  q2_k_s,
  q3_k_s,
  q3_k_m,
  q3_k_l,
  q4_k_s,
  q4_k_m,
  q5_k_s,
  q5_k_m,
  iq2_m,
  iq3_xs,
  iq3_m,
};
#undef WICK_MIX

struct MixInfo {
  Mix mix;
  std::string_view name;  // "Q4_K_M"
  DType base;             // the type that most tensors get
  uint32_t file_type;     // general.file_type
  std::string_view use;   // "a good balance: the usual choice"
};

// Those that models come in: the formats with a file type, then the others.
[[nodiscard]] std::span<const MixInfo> mix_infos() noexcept;
// The mix of that name in any case; Q3_K, Q4_K and Q5_K mean their _M. Errors: invalid_argument, listing the names.
[[nodiscard]] const MixInfo& parse_mix(std::string_view name);

// Tensors whose name the pattern finds get this type, whatever the mix says.
struct KeepRule {
  std::string text;  // "attn_v=q8_0"
  std::shared_ptr<const Regex> pattern;
  DType dtype;
};
// REGEX is written as in tokenizer files (text/regex/regex.h). Errors: invalid_argument, naming what is
// wrong with "REGEX=TYPE"; and Regex's.
[[nodiscard]] KeepRule parse_keep_rule(const std::string& text);

struct PlannedType {
  DType dtype = DType::f32;
  DType wanted = DType::f32;      // by mix or rule; another than dtype if rows are no multiple of its block
  bool needs_importance = false;  // it is garbage without
};

// Input of the rules: a file, or a model that is yet to be written.
struct QuantizeSource {
  std::string architecture;
  int64_t layers = 0;
  int64_t experts = 0;
  int64_t heads = 1;
  int64_t kv_heads = 1;
  std::span<const GgufTensor> tensors;  // names, types and shapes
};
[[nodiscard]] QuantizeSource quantize_source(const GgufFile& file);

// The types of all tensors, in their order. has_importance: weights will be given. Errors: unsupported, if no type of a smaller
// block replaces one whose block does not divide the rows, or if a rule's pattern needs too many steps.
[[nodiscard]] std::vector<PlannedType> plan_quantization(const QuantizeSource& source, const MixInfo& mix, std::span<const KeepRule> keep,
                                                         bool has_importance);

}  // namespace wick
