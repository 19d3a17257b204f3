#include "wick/model/checkpoint/state_sizes.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <variant>

#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr std::string_view kLayer = "blk.";

const CheckpointTensor* find_of_layer(const KeyReader& keys, int64_t layer, const char* tensor) {
  return keys.checkpoint().find_tensor(fmt::format("{}{}.{}", kLayer, layer, tensor));
}

// Of one layer. What a layer has not at all is an error where its weights are read.
class LayerSizes {
 public:
  LayerSizes(const KeyReader& keys, int64_t hidden_size, int64_t layer) : keys_(keys), hidden_size_(hidden_size), layer_(layer) {}

  void check(const StateSpaceSpec& spec) const {
    columns("ssm.conv_kernel", spec.kernel, "ssm_conv1d.weight");
    columns("ssm.time_step_rank", spec.heads, "ssm_dt.bias");
    inner(spec.inner(), spec.head_dim, "ssm_out.weight", spec.inner());
    rows("ssm.state_size", spec.state_size, "ssm_conv1d.weight", spec.width(), "ssm.group_count", spec.groups);
    decays();
  }
  void check(const SelectiveScanSpec& spec) const {
    columns("ssm.conv_kernel", spec.kernel, "ssm_conv1d.weight");
    inner(spec.inner, static_cast<double>(spec.inner) / static_cast<double>(hidden_size_), "ssm_out.weight", spec.inner);
    columns("ssm.state_size", spec.state_size, "ssm_a");
    columns("ssm.time_step_rank", spec.rank, "ssm_dt.weight");
    decays();
  }
  void check(const DeltaRuleSpec& spec) const {
    if (spec.by_channel) {
      columns("ssm.conv_kernel", spec.kernel, "ssm_conv1d_q.weight");
      rows("kda.head_count", spec.value_heads, "ssm_beta.weight", spec.value_heads);
      columns("kda.head_dim", spec.key_dim, "ssm_norm.weight");
    } else {
      columns("ssm.conv_kernel", spec.kernel, "ssm_conv1d.weight");
      columns("ssm.time_step_rank", spec.value_heads, "ssm_dt.bias");
      inner(spec.inner(), spec.value_dim, "ssm_norm.weight", spec.value_dim);
      rows("ssm.state_size", spec.key_dim, "ssm_conv1d.weight", spec.width(), "ssm.group_count", spec.key_heads);
    }
    decays();
  }
  void check(const ShortConvolutionSpec& spec) const { columns("shortconv.l_cache", spec.kernel, "shortconv.conv.weight"); }
  void check(const LinearRecurrentUnitSpec& spec) const {
    columns("ssm.conv_kernel", spec.kernel, "ssm_conv1d.weight");
    columns("ssm.inner_size", spec.inner, "ssm_out.weight");
  }
  void check(const TimeMixSpec& spec) const {
    rows("attention.decay_lora_rank", spec.decay_rank, "time_mix_w1.weight", spec.decay_rank);
    rows("attention.iclr_lora_rank", spec.rate_rank, "time_mix_a1.weight", spec.rate_rank);
    if (!spec.first) rows("attention.value_residual_mix_lora_rank", spec.value_rank, "time_mix_v1.weight", spec.value_rank);
    rows("attention.gate_lora_rank", spec.gate_rank, "time_mix_g1.weight", spec.gate_rank);
  }
  void check(const LightningAttentionSpec& spec) const {
    rows("attention.key_length", spec.head_dim, "attn_gate.weight", spec.heads * spec.head_dim);
  }
  template <class Spec>
  void check(const Spec& /*spec*/) const {}

 private:
  [[nodiscard]] const CheckpointTensor* find(const char* tensor) const {
    const CheckpointTensor* found = find_of_layer(keys_, layer_, tensor);
    return found == nullptr || found->shape.rank() == 0 || found->shape.elements() == 0 ? nullptr : found;
  }
  // The extent of a tensor's last dimension is the size.
  void columns(const char* key, int64_t size, const char* tensor) const {
    const CheckpointTensor* found = find(tensor);
    if (found != nullptr && found->shape.last() != size) refuse(key, std::to_string(size), *found, "");
  }
  // All others are `wanted` together. `second`: a key that decides about it, too.
  void rows(const char* key, int64_t size, const char* tensor, int64_t wanted, const char* second = nullptr, int64_t of_second = 0) const {
    const CheckpointTensor* found = find(tensor);
    if (found == nullptr || found->shape.elements() / found->shape.last() == wanted) return;
    refuse(key, std::to_string(size), *found, second == nullptr ? "" : fmt::format("with {} = {}, ", where(second), of_second));
  }
  // A folder says it by `said`, the size of a head or a multiple of the hidden size.
  template <class Said>
  void inner(int64_t size, Said said, const char* tensor, int64_t wanted) const {
    const CheckpointTensor* found = find(tensor);
    if (found == nullptr || found->shape.last() == wanted) return;
    const bool in_folder = keys_.checkpoint().gguf() == nullptr;
    refuse("ssm.inner_size", in_folder ? fmt::format("{}", said) : std::to_string(size), *found, "");
  }
  void decays() const {
    const CheckpointTensor* found = keys_.checkpoint().gguf() == nullptr ? nullptr : find("ssm_a");
    if (found == nullptr) return;
    const CheckpointTensor whole = found->as_f32();
    for (size_t index = 0; index < whole.data.size() / sizeof(float); ++index) {
      float number = 0;
      std::memcpy(&number, whole.data.data() + index * sizeof(float), sizeof(float));
      if (number <= 0) continue;
      fail(ErrorCode::corrupt_file,
           "{}: tensor '{}' has {} as number {}: a state must decay, so that each number is at most 0; convert the model again",
           keys_.checkpoint().name(), found->stored, number, index);
    }
  }
  [[nodiscard]] std::string where(const char* key) const { return keys_.checkpoint().where(keys_.key(key)); }
  [[noreturn]] void refuse(const char* key, const std::string& value, const CheckpointTensor& tensor, const std::string& with) const {
    keys_.fail_value(key, value,
                     fmt::format("{}it does not fit tensor '{}', which has shape {}", with, tensor.stored, tensor.shape.to_string()));
  }

  const KeyReader& keys_;
  int64_t hidden_size_, layer_;
};

// Patterns of layers say how many there are.
void check_layers(const KeyReader& keys, int64_t layers) {
  const int64_t blocks = keys.size("block_count");  // with those that predict further tokens
  const CheckpointTensor* last = nullptr;
  int64_t highest = -1;
  for (const CheckpointTensor& tensor : keys.checkpoint().tensors()) {
    int64_t layer = -1;
    const char* const begin = tensor.name.data() + kLayer.size();
    if (!tensor.name.starts_with(kLayer)) continue;
    if (std::from_chars(begin, tensor.name.data() + tensor.name.size(), layer).ec != std::errc() || layer <= highest) continue;
    highest = layer;
    last = &tensor;
  }
  if (last == nullptr || (highest + 1 >= layers && highest < blocks)) return;
  keys.fail_value("block_count", std::to_string(blocks),
                  fmt::format("the last layer with a tensor is number {}, '{}'", highest, last->stored));
}

// One of the layers that a pattern says.
void check_kind(const KeyReader& keys, int64_t layer, bool keeps_state) {
  const CheckpointTensor* of_state = nullptr;
  for (const char* name : {"ssm_conv1d.weight", "ssm_conv1d_q.weight", "shortconv.conv.weight"}) {
    if (of_state == nullptr) of_state = find_of_layer(keys, layer, name);
  }
  if ((of_state != nullptr) == keeps_state) return;
  const char* pattern = "attention.head_count_kv";
  for (const char* key : {"full_attention_interval", "attention.recurrent_layers"}) {
    if (keys.has(key)) pattern = key;
  }
  fail(ErrorCode::corrupt_file, "{}: {}: layer {} keeps {}; the file does not describe a model Wick can run", keys.checkpoint().name(),
       keys.checkpoint().where(keys.key(pattern)), layer,
       keeps_state ? "a state, and has no tensors for it" : fmt::format("no state, and has tensor '{}'", of_state->stored));
}

template <class Spec>
constexpr bool kHasConvolution =
    std::is_same_v<Spec, StateSpaceSpec> || std::is_same_v<Spec, SelectiveScanSpec> || std::is_same_v<Spec, DeltaRuleSpec> ||
    std::is_same_v<Spec, ShortConvolutionSpec> || std::is_same_v<Spec, LinearRecurrentUnitSpec>;

}  // namespace

void check_state_sizes(const KeyReader& keys, const DecoderSpec& spec) {
  check_layers(keys, std::ssize(spec.layers));
  for (int64_t layer = 0; layer < std::ssize(spec.layers); ++layer) {
    const LayerSizes sizes(keys, spec.hidden_size, layer);
    bool has_convolution = false;
    for (const BlockSpec& block : spec.layers[static_cast<size_t>(layer)].blocks) {
      for (const PartSpec& part : block.parts) {
        has_convolution |= std::visit([]<class Spec>(const Spec& /*mixer*/) { return kHasConvolution<Spec>; }, part.mixer);
      }
    }
    check_kind(keys, layer, has_convolution);
    for (const BlockSpec& block : spec.layers[static_cast<size_t>(layer)].blocks) {
      for (const PartSpec& part : block.parts) std::visit([&](const auto& mixer) { sizes.check(mixer); }, part.mixer);
    }
  }
}

}  // namespace wick
