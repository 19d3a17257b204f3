#include "wick/convert/checkpoint_to_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/convert/gguf_key_types.h"
#include "wick/convert/tokenizer_to_gguf.h"
#include "wick/formats/gguf_writer.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/checkpoint/gguf_names.h"
#include "wick/model/checkpoint/model_config.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

// ggml's numbers for "mostly" that type.
constexpr uint32_t kMostlyF32 = 0, kMostlyF16 = 1;
constexpr std::pair<DType, uint32_t> kMostly[] = {{DType::q4_0, 2},   {DType::q4_1, 3},   {DType::q8_0, 7},
                                                  {DType::q5_0, 8},   {DType::q5_1, 9},   {DType::bf16, 32},
                                                  {DType::tq2_0, 37}, {DType::mxfp4, 38}, {DType::nvfp4, 39}};

uint32_t file_type_of(const Checkpoint& checkpoint) {
  std::map<DType, uint64_t> bytes;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) bytes[weight_dtype(tensor.dtype)] += tensor.bytes();
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& left, const auto& right) { return left.second < right.second; });
  if (most == bytes.end() || most->first == DType::f32) return kMostlyF32;
  for (const auto& [dtype, number] : kMostly) {
    if (most->first == dtype) return number;
  }
  return kMostlyF16;
}

// Its rows in that order.
CheckpointTensor with_rows(const CheckpointTensor& tensor, const std::vector<int64_t>& order) {
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  const auto tail_bytes = static_cast<size_t>(info(tensor.dtype).tail_bytes);
  const size_t row_bytes = (tensor.data.size() - tail_bytes) / std::max<size_t>(order.size(), 1);
  bytes->reserve(tensor.data.size());
  for (const int64_t row : order) {
    const std::span<const std::byte> from = tensor.data.subspan(static_cast<size_t>(row) * row_bytes, row_bytes);
    bytes->insert(bytes->end(), from.begin(), from.end());
  }
  bytes->insert(bytes->end(), tensor.data.end() - static_cast<ptrdiff_t>(tail_bytes), tensor.data.end());
  CheckpointTensor ordered = tensor;
  ordered.data = *bytes;
  ordered.owner = bytes;
  return ordered;
}

// What readers of GGUF files want as f32, whatever the matrices are.
bool is_small(const CheckpointTensor& tensor) {
  constexpr std::array<std::string_view, 6> kOfStates = {".ssm_a", ".ssm_d", ".ssm_norm.", ".ssm_conv1d_", ".time_mix_lerp_", "conv"};
  const bool of_states = tensor.name.starts_with("blk.") && std::any_of(kOfStates.begin(), kOfStates.end(), [&](std::string_view part) {
                           return part == "conv" ? tensor.name.ends_with("conv.weight") || tensor.name.ends_with("conv1d.weight")
                                                 : tensor.name.find(part) != std::string::npos;
                         });
  return of_states || tensor.shape.rank() == 1 || tensor.name.ends_with(".bias") || tensor.name.find("ffn_gate_inp") != std::string::npos;
}

// llama.cpp's name of an architecture whose layers all attend, or of one with experts, where it is another one.
std::string_view gguf_architecture(const Architecture& architecture, const ModelConfig& config) {
  if (architecture.name == "nemotron_h") return config.keys.find_number("expert_count").value_or(0) == 0 ? "nemotron_h" : "nemotron_h_moe";
  if (architecture.name == "nomic-bert") {
    return config.keys.find_number("moe_every_n_layers").value_or(0) == 0 ? "nomic-bert" : "nomic-bert-moe";
  }
  if (architecture.name != "granitehybrid") return architecture.name;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    if (!config.attends(layer)) return architecture.name;
  }
  return config.keys.find_number("expert_count").value_or(0) == 0 ? "granite" : "granitemoe";
}

class GgufConversion {
 public:
  GgufConversion(const Checkpoint& checkpoint, const Architecture& architecture)
      : checkpoint_(checkpoint),
        architecture_(architecture),
        config_(ModelConfig::read(checkpoint, architecture)),
        written_prefix_(std::string(gguf_architecture(architecture, config_)) + ".") {}

  void write(const std::filesystem::path& path) {
    add_metadata();
    add_tokenizer(writer_, checkpoint_, rows_of("token_embd.weight"));
    if (architecture_.encoder)
      writer_.add_uint("tokenizer.ggml.token_type_count", static_cast<uint32_t>(std::max<int64_t>(rows_of("token_types.weight"), 1)));
    add_frequencies();
    add_layer_numbers();
    for (const CheckpointTensor& tensor : checkpoint_.tensors()) add_tensor(tensor, gguf_of_canonical(architecture_.name, tensor.name));
    // llama.cpp wants tensors of the first layer that no layer reads: the shapes of these are right.
    for (const char* part : {"0", "1", "2"}) {
      const CheckpointTensor* like = checkpoint_.find_tensor(fmt::format("blk.0.time_mix_a{}.weight", part));
      const std::string name = fmt::format("blk.0.time_mix_v{}.weight", part);
      if (like != nullptr && checkpoint_.find_tensor(name) == nullptr) add_tensor(*like, name);
    }
    writer_.write(path);
  }

 private:
  void add_metadata();
  void add_value(std::string_view name, const GgufValue& value);
  void add_wanted();
  void add_wanted_key(const WantedKey& wanted);
  void add_sampling(std::string_view key, const GgufValue& value);
  [[nodiscard]] bool is_usual(std::string_view name, const GgufValue& value) const;
  // 0 where there is no such tensor.
  [[nodiscard]] int64_t rows_of(std::string_view name) const {
    const CheckpointTensor* tensor = checkpoint_.find_tensor(name);
    return tensor == nullptr || tensor->shape.rank() == 0 ? 0 : tensor->shape[0];
  }
  void add_frequencies();
  void add_layer_numbers();
  void add_layer_inputs(const CheckpointTensor& tensor, DType dtype);
  void add_tensor(const CheckpointTensor& tensor, const std::string& name);
  [[nodiscard]] bool is_rotated(std::string_view name) const {
    return name.ends_with(".attn_q.weight") || name.ends_with(".attn_k.weight") || name.ends_with(".attn_q.bias") ||
           name.ends_with(".attn_k.bias");
  }

  const Checkpoint& checkpoint_;
  const Architecture& architecture_;
  ModelConfig config_;
  std::string written_prefix_;  // of the architecture's keys in the file
  GgufWriter writer_;
  std::vector<float> divisors_;
};

void GgufConversion::add_metadata() {
  writer_.add_string("general.architecture", written_prefix_.substr(0, written_prefix_.size() - 1));
  writer_.add_string("general.type", "model");
  const std::filesystem::path folder = checkpoint_.folder().has_filename() ? checkpoint_.folder() : checkpoint_.folder().parent_path();
  writer_.add_string("general.name", std::filesystem::weakly_canonical(folder).filename().string());
  writer_.add_uint("general.file_type", file_type_of(checkpoint_));
  writer_.add_uint("general.quantization_version", 2);
  const std::string prefix = std::string(architecture_.name) + ".";
  for (const std::string_view key : checkpoint_.keys()) {
    const GgufValue& value = *checkpoint_.find(key);
    if (key.starts_with("general.sampling.")) add_sampling(key, value);
    if (!key.starts_with(prefix)) continue;
    const std::string_view name = key.substr(prefix.size());
    // Of states that no layer has.
    if (written_prefix_.starts_with("granite") && prefix != written_prefix_ && name.starts_with("ssm.")) continue;
    if (!is_usual(name, value)) add_value(name, value);
  }
  add_wanted();
}

// What GGUF files leave out, as their readers assume it.
bool GgufConversion::is_usual(std::string_view name, const GgufValue& value) const {
  if (name == "hidden_act") return config_.activation == architecture_.activation;
  if (name == "attention.scale") {
    const double usual = 1 / std::sqrt(static_cast<double>(config_.head_dim));
    return std::fabs(as_float(value).value_or(0) / usual - 1) < 1e-6;
  }
  // DeepSeek V2's way of choosing experts that does not look at groups; llama.cpp looks at all that a file has.
  if (name == "expert_choice" || name.starts_with("expert_group_")) {
    return config_.keys.find_text("expert_choice") == "greedy" && config_.keys.find_number("expert_gating_func").value_or(1) == 1;
  }
  if (name == "kda.head_count") return as_uint(value) == static_cast<uint64_t>(config_.heads);
  // What tensors say there.
  if (config_.rope.scaling == RopeScaling::longrope && name == "rope.scaling.type") return true;
  return config_.rope.scaling == RopeScaling::llama3 && name.starts_with("rope.scaling.");
}

// `name`: without the architecture.
void GgufConversion::add_value(std::string_view name, const GgufValue& value) {
  const std::string key = written_prefix_ + std::string(name);
  const GgufValue typed = in_type_of_key(name, value);
  if (gguf_type_of_key(name)) return writer_.add(key, typed);
  if (const auto* number = std::get_if<double>(&value.value)) return writer_.add_float(key, static_cast<float>(*number));
  const bool plain = std::holds_alternative<bool>(value.value) || std::holds_alternative<std::string_view>(value.value) ||
                     std::holds_alternative<GgufArray>(value.value);
  const std::optional<uint64_t> size = plain ? std::nullopt : as_uint(value);
  if (size && *size <= UINT32_MAX) return writer_.add_uint(key, static_cast<uint32_t>(*size));
  writer_.add(key, value);
}

// What llama.cpp wants of an architecture and a folder does not say.
void GgufConversion::add_wanted() {
  const std::string prefix = std::string(architecture_.name) + ".";
  if (checkpoint_.find(prefix + "expert_count") != nullptr) add_wanted_key({"expert_feed_forward_length", {"feed_forward_length"}});
  // The first layers without experts, which the tensors tell Wick.
  const auto knows = [&](std::string_view name) {
    return std::any_of(architecture_.keys.begin(), architecture_.keys.end(), [&](const KeyRule& rule) { return rule.name == name; });
  };
  constexpr std::string_view kDenseLayers = "leading_dense_block_count";
  if (knows(kDenseLayers) && checkpoint_.find(prefix + std::string(kDenseLayers)) == nullptr) {
    uint32_t dense = 0;
    while (dense < config_.layers && checkpoint_.find_tensor(fmt::format("blk.{}.ffn_gate_inp.weight", dense)) == nullptr) ++dense;
    if (dense < config_.layers) writer_.add_uint(written_prefix_ + std::string(kDenseLayers), dense);
  }
  // Of the experts that all tokens share, which the tensors tell Wick.
  const auto shared = std::find_if(checkpoint_.tensors().begin(), checkpoint_.tensors().end(),
                                   [](const CheckpointTensor& each) { return each.name.ends_with(".ffn_up_shexp.weight"); });
  const bool unsaid = checkpoint_.find(prefix + "expert_shared_feed_forward_length") == nullptr;
  if (shared != checkpoint_.tensors().end() && unsaid && shared->shape.rank() == 2) {
    writer_.add_uint(written_prefix_ + "expert_shared_feed_forward_length", static_cast<uint32_t>(shared->shape[0]));
  }
  if (checkpoint_.find(prefix + "vocab_size") == nullptr)
    writer_.add_uint(written_prefix_ + "vocab_size", static_cast<uint32_t>(rows_of("token_embd.weight")));
  if (architecture_.name == "rwkv7") {
    constexpr std::pair<const char*, const char*> kRanks[] = {{"attention.decay_lora_rank", "blk.0.time_mix_w1.weight"},
                                                              {"attention.iclr_lora_rank", "blk.0.time_mix_a1.weight"},
                                                              {"attention.value_residual_mix_lora_rank", "blk.1.time_mix_v1.weight"},
                                                              {"attention.gate_lora_rank", "blk.0.time_mix_g1.weight"}};
    for (const auto& [name, tensor] : kRanks) {
      if (checkpoint_.find(prefix + name) == nullptr) writer_.add_uint(written_prefix_ + name, static_cast<uint32_t>(rows_of(tensor)));
    }
    writer_.add_uint(written_prefix_ + "attention.head_count", 0);
  }
  for (const WantedKey& wanted : architecture_.wanted) add_wanted_key(wanted);
  if (architecture_.wants_sections && checkpoint_.find(prefix + "rope.dimension_sections") == nullptr) {
    const auto pairs = static_cast<int32_t>(config_.rope.dims / 2);
    writer_.add_array<int32_t>(written_prefix_ + "rope.dimension_sections",
                               std::array<int32_t, 4>{(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3, 0});
  }
}

void GgufConversion::add_wanted_key(const WantedKey& wanted) {
  const std::string prefix = std::string(architecture_.name) + ".";
  const GgufValue* common = nullptr;
  for (const std::string_view source : wanted.sources) {
    if (source.empty()) continue;
    const GgufValue* value = checkpoint_.find(prefix + std::string(source));
    if (value == nullptr || (common != nullptr && as_float(*value) != as_float(*common))) return;
    common = value;
  }
  if (common != nullptr && checkpoint_.find(prefix + std::string(wanted.name)) == nullptr) add_value(wanted.name, *common);
}

// The types that llama.cpp's converter writes.
void GgufConversion::add_sampling(std::string_view key, const GgufValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value.value)) return writer_.add(key, {static_cast<int32_t>(*whole)});
  writer_.add_float(key, static_cast<float>(as_float(value).value_or(0)));
}

void GgufConversion::add_frequencies() {
  const RopeConfig& rope = config_.rope;
  if (rope.scaling != RopeScaling::llama3) return;
  RopeConfig plain = rope;
  plain.scaling = RopeScaling::none;
  const std::vector<double> scaled = RopeTable(rope).frequencies();
  const std::vector<double> own = RopeTable(plain).frequencies();
  for (size_t pair = 0; pair < own.size(); ++pair) divisors_.push_back(static_cast<float>(own[pair] / scaled[pair]));
  writer_.add_tensor("rope_freqs.weight", DType::f32, {std::ssize(divisors_)}, std::as_bytes(std::span(divisors_)));
}

// Tensors of one number in each layer, which are arrays of the metadata there.
void GgufConversion::add_layer_numbers() {
  for (const char* name : {"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"}) {
    std::vector<float> numbers;
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      const CheckpointTensor* tensor = checkpoint_.find_tensor(fmt::format("blk.{}.{}", layer, name));
      if (tensor == nullptr || tensor->shape.elements() != 1) break;
      const CheckpointTensor number = tensor->as_f32();
      std::memcpy(&numbers.emplace_back(), number.data.data(), sizeof(float));
    }
    if (std::ssize(numbers) == config_.layers) writer_.add_array<float>(name, numbers);
  }
}

// Inputs of each token for each layer. Tokens of other media, which folders leave out there and other programs want, have the first one's.
void GgufConversion::add_layer_inputs(const CheckpointTensor& tensor, DType dtype) {
  const int64_t rows = tensor.shape.rank() == 2 ? tensor.shape[0] : 0;
  const int64_t missing = rows < 1 ? 0 : std::max<int64_t>(rows_of("token_embd.weight") - rows, 0);
  const Shape shape = missing == 0 ? tensor.shape : Shape{rows + missing, tensor.shape[1]};
  writer_.add_tensor(tensor.name, dtype, shape, [source = &tensor, dtype, rows, missing](const GgufWriter::Sink& sink) {
    const CheckpointTensor whole = source->composed();
    const CheckpointTensor written = dtype == DType::f32 ? whole.as_f32() : whole.as_weight();
    sink(written.data);
    for (int64_t row = 0; row < missing; ++row) sink(written.data.first(written.data.size() / static_cast<size_t>(rows)));
  });
}

void GgufConversion::add_tensor(const CheckpointTensor& tensor, const std::string& name) {
  if (tensor.name.find(".xielu.") != std::string::npos) return;
  const bool permuted = is_rotated(tensor.name) && config_.rope_style != architecture_.gguf_rope;
  check_weight_dtype(tensor, checkpoint_.name());
  const DType dtype = is_small(tensor) ? DType::f32 : weight_dtype(tensor.dtype);
  if (tensor.name == "per_layer_token_embd.weight") return add_layer_inputs(tensor, dtype);
  if (!permuted && dtype == tensor.dtype && !tensor.compose) return writer_.add_tensor(name, dtype, tensor.shape, tensor.data);
  if (permuted && architecture_.gguf_rope != RopeStyle::interleaved) {
    fail(ErrorCode::unsupported, "{}: rotated pairs that are interleaved in a folder cannot be written for {}", checkpoint_.name(),
         architecture_.name);
  }
  const int64_t rows = tensor.shape.rank() == 0 ? 0 : tensor.shape[0];
  std::vector<int64_t> order;
  if (permuted) order = interleaved_rows(rows, config_.head_dim, config_.rope.dims);
  writer_.add_tensor(name, dtype, tensor.shape, [source = &tensor, order, dtype](const GgufWriter::Sink& sink) {
    CheckpointTensor whole = source->composed();
    if (!order.empty()) whole = with_rows(whole, order);
    sink((dtype == DType::f32 ? whole.as_f32() : whole.as_weight()).data);
  });
}

}  // namespace

void write_gguf(const Checkpoint& checkpoint, const std::filesystem::path& path) {
  if (checkpoint.gguf() != nullptr) {
    fail(ErrorCode::unsupported, "{}: this is a GGUF file already; name a folder with config.json and safetensors", checkpoint.name());
  }
  const Architecture* architecture = find_architecture(checkpoint.get_string("general.architecture"));
  WICK_ASSERT(architecture != nullptr);
  GgufConversion(checkpoint, *architecture).write(path);
}

}  // namespace wick
