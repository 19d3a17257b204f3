#include "wick/convert/checkpoint_to_gguf.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/mapped_file.h"
#include "wick/formats/gguf_writer.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/checkpoint/model_config.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

// ggml's numbers for "mostly" that type.
constexpr uint32_t kMostlyF32 = 0, kMostlyF16 = 1, kMostlyBf16 = 32, kMostlyMxfp4 = 38;

uint32_t file_type_of(const Checkpoint& checkpoint) {
  std::map<DType, uint64_t> bytes;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) bytes[weight_dtype(tensor.dtype)] += tensor.bytes();
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& left, const auto& right) { return left.second < right.second; });
  if (most == bytes.end() || most->first == DType::f32) return kMostlyF32;
  if (most->first == DType::mxfp4) return kMostlyMxfp4;
  return most->first == DType::bf16 ? kMostlyBf16 : kMostlyF16;
}

// Its rows in that order.
CheckpointTensor with_rows(const CheckpointTensor& tensor, const std::vector<int64_t>& order) {
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  const size_t row_bytes = tensor.data.size() / std::max<size_t>(order.size(), 1);
  bytes->reserve(tensor.data.size());
  for (const int64_t row : order) {
    const std::span<const std::byte> from = tensor.data.subspan(static_cast<size_t>(row) * row_bytes, row_bytes);
    bytes->insert(bytes->end(), from.begin(), from.end());
  }
  CheckpointTensor ordered = tensor;
  ordered.data = *bytes;
  ordered.owner = bytes;
  return ordered;
}

// What readers of GGUF files want as f32, whatever the matrices are.
bool is_small(const CheckpointTensor& tensor) {
  return tensor.shape.rank() == 1 || tensor.name.ends_with(".bias") || tensor.name.find("ffn_gate_inp") != std::string::npos;
}

class GgufConversion {
 public:
  GgufConversion(const Checkpoint& checkpoint, const Architecture& architecture)
      : checkpoint_(checkpoint), architecture_(architecture), config_(ModelConfig::read(checkpoint, architecture)) {}

  void write(const std::filesystem::path& path) {
    add_metadata();
    add_tokenizer();
    add_frequencies();
    for (const CheckpointTensor& tensor : checkpoint_.tensors()) add_tensor(tensor);
    writer_.write(path);
  }

 private:
  void add_metadata();
  void add_value(std::string_view key, const GgufValue& value);
  void add_sampling(std::string_view key, const GgufValue& value);
  [[nodiscard]] bool is_usual(std::string_view name, const GgufValue& value) const;
  void add_tokenizer();
  void add_frequencies();
  void add_tensor(const CheckpointTensor& tensor);
  [[nodiscard]] bool is_rotated(std::string_view name) const {
    return name.ends_with(".attn_q.weight") || name.ends_with(".attn_k.weight") || name.ends_with(".attn_q.bias") ||
           name.ends_with(".attn_k.bias");
  }

  const Checkpoint& checkpoint_;
  const Architecture& architecture_;
  ModelConfig config_;
  GgufWriter writer_;
  std::vector<float> divisors_;
  std::vector<TokenId> ends_;
};

void GgufConversion::add_metadata() {
  writer_.add_string("general.architecture", architecture_.name);
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
    if (!is_usual(key.substr(prefix.size()), value)) add_value(key, value);
  }
}

// What GGUF files leave out, as their readers assume it.
bool GgufConversion::is_usual(std::string_view name, const GgufValue& value) const {
  if (name == "hidden_act") return config_.activation == architecture_.activation;
  if (name == "attention.scale") {
    const double usual = 1 / std::sqrt(static_cast<double>(config_.head_dim));
    return std::fabs(as_float(value).value_or(0) / usual - 1) < 1e-6;
  }
  // What tensors say there.
  if (config_.rope.scaling == RopeScaling::longrope && name == "rope.scaling.type") return true;
  return config_.rope.scaling == RopeScaling::llama3 && name.starts_with("rope.scaling.");
}

void GgufConversion::add_value(std::string_view key, const GgufValue& value) {
  if (const auto* number = std::get_if<double>(&value.value)) return writer_.add_float(key, static_cast<float>(*number));
  if (const auto* flag = std::get_if<bool>(&value.value)) return writer_.add_bool(key, *flag);
  if (std::holds_alternative<std::string_view>(value.value) || std::holds_alternative<GgufArray>(value.value))
    return writer_.add(key, value);
  const std::optional<uint64_t> size = as_uint(value);
  if (!size || *size > UINT32_MAX) return writer_.add(key, value);
  // A number that files hold as a float may be whole in a configuration: rope_theta.
  const bool is_float = key.ends_with("freq_base") || key.ends_with("_epsilon") || key.ends_with("softcapping") ||
                        key.ends_with("factor") || key.ends_with("freq_base_swa");
  if (is_float) return writer_.add_float(key, static_cast<float>(*size));
  writer_.add_uint(key, static_cast<uint32_t>(*size));
}

// The types that llama.cpp's converter writes.
void GgufConversion::add_sampling(std::string_view key, const GgufValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value.value)) return writer_.add(key, {static_cast<int32_t>(*whole)});
  writer_.add_float(key, static_cast<float>(as_float(value).value_or(0)));
}

// tokenizer.json as it is, under the key that GGUF has for it, special tokens and the chat templates.
void GgufConversion::add_tokenizer() {
  std::error_code ignored;
  const auto add_file = [&](std::string_view key, const std::filesystem::path& file) {
    if (!std::filesystem::is_regular_file(file, ignored)) return;
    const std::shared_ptr<MappedFile> mapped = MappedFile::open(file);
    writer_.add_string(key, std::string_view(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()));
  };
  for (const ChatTemplateSource& source : find_chat_templates(checkpoint_)) {
    writer_.add_string(source.name == "default" ? "tokenizer.chat_template" : "tokenizer.chat_template." + source.name, source.text);
  }
  const std::filesystem::path json = checkpoint_.folder() / "tokenizer.json";
  if (!std::filesystem::is_regular_file(json, ignored)) return;
  add_file("tokenizer.huggingface.json", json);
  const std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(checkpoint_);
  const auto add_id = [&](const char* key, std::optional<TokenId> id) {
    if (id) writer_.add_uint(key, static_cast<uint32_t>(*id));
  };
  add_id("tokenizer.ggml.bos_token_id", tokenizer->bos());
  add_id("tokenizer.ggml.eos_token_id", tokenizer->eos());
  add_id("tokenizer.ggml.padding_token_id", tokenizer->pad());
  writer_.add_bool("tokenizer.ggml.add_bos_token", tokenizer->adds_bos());
  ends_ = tokenizer->end_of_generation();
  writer_.add(
      "tokenizer.ggml.eos_token_ids",
      {GgufArray{
          .element_type = GgufType::i32, .size = ends_.size(), .packed = std::as_bytes(std::span(ends_)), .strings = {}, .arrays = {}}});
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

void GgufConversion::add_tensor(const CheckpointTensor& tensor) {
  const bool permuted = is_rotated(tensor.name) && config_.rope_style != architecture_.gguf_rope;
  check_weight_dtype(tensor, checkpoint_.name());
  const DType dtype = is_small(tensor) ? DType::f32 : weight_dtype(tensor.dtype);
  if (!permuted && dtype == tensor.dtype && !tensor.compose) return writer_.add_tensor(tensor.name, dtype, tensor.shape, tensor.data);
  if (permuted && architecture_.gguf_rope != RopeStyle::interleaved) {
    fail(ErrorCode::unsupported, "{}: rotated pairs that are interleaved in a folder cannot be written for {}", checkpoint_.name(),
         architecture_.name);
  }
  const int64_t rows = tensor.shape.rank() == 0 ? 0 : tensor.shape[0];
  std::vector<int64_t> order;
  if (permuted) order = interleaved_rows(rows, config_.head_dim, config_.rope.dims);
  writer_.add_tensor(tensor.name, dtype, tensor.shape, [source = &tensor, order, dtype](const GgufWriter::Sink& sink) {
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
