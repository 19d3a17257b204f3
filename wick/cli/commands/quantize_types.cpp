#include "wick/cli/commands/quantize_types.h"

#include <fmt/format.h>

#include <algorithm>
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

std::string quantization_table() {
  struct Line {
    const MixInfo* mix;
    Size size;
  };
  std::vector<Line> lines;
  for (const MixInfo& mix : mix_infos()) lines.push_back({&mix, size_of(mix)});
  std::stable_sort(lines.begin(), lines.end(), [](const Line& lhs, const Line& rhs) { return lhs.size.bytes > rhs.size.bytes; });
  std::string table = fmt::format("{:<10} {:>8} {:>10}  {}\n", "TYPE", "bits", "8B model", "use");
  for (const auto& [mix, size] : lines) {
    table += fmt::format("{:<10} {:>8.2f} {:>10}  {}\n", mix->name, 8 * size.bytes / size.elements,
                         format_bytes(static_cast<uint64_t>(size.bytes)), mix->use);
  }
  return table;
}

}  // namespace wick
