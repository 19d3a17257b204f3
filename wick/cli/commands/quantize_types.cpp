#include "wick/cli/commands/quantize_types.h"

#include <fmt/format.h>

#include <deque>
#include <vector>

#include "wick/cli/text_format.h"

namespace wick {
namespace {

// The tensors of Llama 3 8B.
class ReferenceModel {
 public:
  ReferenceModel() {
    constexpr int64_t kWidth = 4096;
    constexpr int64_t kKeys = 1024;
    constexpr int64_t kFeedForward = 14336;
    constexpr int64_t kVocabulary = 128256;
    add("token_embd.weight", {kVocabulary, kWidth});
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      const std::string prefix = fmt::format("blk.{}.", layer);
      add(prefix + "attn_norm.weight", {kWidth});
      add(prefix + "attn_q.weight", {kWidth, kWidth});
      add(prefix + "attn_k.weight", {kKeys, kWidth});
      add(prefix + "attn_v.weight", {kKeys, kWidth});
      add(prefix + "attn_output.weight", {kWidth, kWidth});
      add(prefix + "ffn_norm.weight", {kWidth});
      add(prefix + "ffn_gate.weight", {kFeedForward, kWidth});
      add(prefix + "ffn_up.weight", {kFeedForward, kWidth});
      add(prefix + "ffn_down.weight", {kWidth, kFeedForward});
    }
    add("output_norm.weight", {kWidth});
    add("output.weight", {kVocabulary, kWidth});
  }

  [[nodiscard]] QuantizeSource source() const {
    return {.architecture = "llama", .layers = kLayers, .heads = 32, .kv_heads = 8, .tensors = tensors_};
  }

 private:
  static constexpr int64_t kLayers = 32;

  void add(std::string name, const Shape& shape) {
    names_.push_back(std::move(name));
    tensors_.push_back({.name = names_.back(), .dtype = DType::f32, .shape = shape, .data = {}, .file = {}});
  }

  std::deque<std::string> names_;
  std::vector<GgufTensor> tensors_;
};

struct Size {
  double bytes = 0;
  double elements = 0;
};

Size size_of(const MixInfo& mix) {
  static const ReferenceModel model;
  const QuantizeSource source = model.source();
  const std::vector<PlannedType> plan = plan_quantization(source, mix, {}, true);
  Size size;
  for (size_t index = 0; index < plan.size(); ++index) {
    const int64_t elements = source.tensors[index].shape.elements();
    size.bytes += static_cast<double>(storage_bytes(plan[index].dtype, elements));
    size.elements += static_cast<double>(elements);
  }
  return size;
}

}  // namespace

double bits_per_weight(const MixInfo& mix) {
  const Size size = size_of(mix);
  return 8 * size.bytes / size.elements;
}

std::string_view advice(Mix mix) noexcept {
  switch (mix) {
    case Mix::f32: return "exact; to quantize from";
    case Mix::f16: return "exact for most models; to quantize from";
    case Mix::bf16: return "exact for models trained in bf16; to quantize from";
    case Mix::q8_0: return "no visible loss; fast on CPUs";
    case Mix::q6_k: return "hardly any loss";
    case Mix::q5_k_m: return "little loss";
    case Mix::q5_k_s: return "little loss, slightly smaller";
    case Mix::q4_k_m: return "a good balance: the usual choice";
    case Mix::q4_k_s: return "a good balance, slightly smaller";
    case Mix::q3_k_l: return "visible loss";
    case Mix::q3_k_m: return "visible loss, smaller";
    case Mix::q3_k_s: return "large loss";
    case Mix::q2_k: return "large loss: for models that fit no other way";
    case Mix::q2_k_s: return "very large loss; needs --imatrix";
    case Mix::q4_0: return "older; fast on CPUs, more loss than Q4_K_S";
    case Mix::q4_1: return "older; Q4_K_M is better";
    case Mix::q5_0: return "older; Q5_K_S is better";
    case Mix::q5_1: return "older; Q5_K_M is better";
    case Mix::iq4_nl: return "less loss than Q4_0 at its size; --imatrix helps";
    case Mix::iq4_xs: return "slightly smaller than Q4_K_S; --imatrix helps";
    case Mix::iq3_m: return "less loss than Q3_K_M; --imatrix helps";
    case Mix::iq3_s: return "less loss than Q3_K_S; --imatrix helps";
    case Mix::iq3_xs: return "visible loss; --imatrix helps";
    case Mix::iq3_xxs:
    case Mix::iq2_m:
    case Mix::iq2_s: return "large loss; needs --imatrix";
    case Mix::iq2_xs:
    case Mix::iq2_xxs: return "very large loss; needs --imatrix";
    case Mix::iq1_m:
    case Mix::iq1_s: return "for experiments; needs --imatrix";
    case Mix::tq1_0: return "for ternary models such as BitNet: exact there";
    case Mix::tq2_0: return "for ternary models such as BitNet: exact there, faster";
    case Mix::mxfp4_moe: return "for mixtures of experts trained in MXFP4";
    case Mix::nvfp4: return "for models trained in NVFP4";
    case Mix::q1_0: return "for models trained with 1-bit weights";
    case Mix::q2_0: return "for models trained with 2-bit weights";
  }
  return "";
}

std::string quantization_table() {
  std::string table = fmt::format("{:<10} {:>8} {:>10}  {}\n", "TYPE", "bits", "8B model", "use");
  for (const MixInfo& mix : mix_infos()) {
    const Size size = size_of(mix);
    table += fmt::format("{:<10} {:>8.2f} {:>10}  {}\n", mix.name, 8 * size.bytes / size.elements,
                         format_bytes(static_cast<uint64_t>(size.bytes)), advice(mix.mix));
  }
  return table;
}

}  // namespace wick
