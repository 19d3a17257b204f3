#include "wick/model/checkpoint/checkpoint.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/formats/safetensors_dtype.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/checkpoint/gguf_names.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/quant/block_format.h"
#include "wick/quant/unpack_row.h"
#include "wick/text/tokenizer/special_tokens.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

uint64_t CheckpointTensor::bytes() const { return compose ? static_cast<uint64_t>(tensor_bytes(dtype, shape.elements())) : data.size(); }

CheckpointTensor CheckpointTensor::composed() const {
  CheckpointTensor tensor = *this;
  if (!compose) return tensor;
  const auto elements = std::make_shared<std::vector<std::byte>>(bytes());
  compose(*elements);
  tensor.data = *elements;
  tensor.owner = elements;
  tensor.compose = {};
  return tensor;
}

namespace {

// Rows are whole blocks, and i2_s, whose scale follows its last block, is read with all of its bytes.
template <class Write>
CheckpointTensor converted(const CheckpointTensor& tensor, DType dtype, Write&& write) {
  CheckpointTensor whole = tensor.composed();
  const auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(storage_bytes(dtype, whole.shape.elements())));
  std::vector<float> row(static_cast<size_t>(whole.shape.rank() == 0 ? 1 : whole.shape.last()));
  const int64_t rows = row.empty() ? 0 : whole.shape.elements() / std::ssize(row);
  const size_t row_bytes = row.size() * static_cast<size_t>(info(dtype).block_bytes);
  for (int64_t index = 0; index < rows; ++index) {
    unpack_row(whole.dtype, whole.data.data(), whole.data.size(), index, row);
    write(row, bytes->data() + static_cast<size_t>(index) * row_bytes);
  }
  if (whole.file != nullptr) whole.file->forget(whole.data);
  whole.dtype = dtype;
  whole.data = *bytes;
  whole.owner = bytes;
  whole.file.reset();
  return whole;
}

}  // namespace

CheckpointTensor CheckpointTensor::as_f32() const {
  if (dtype == DType::f32) return composed();
  return converted(*this, DType::f32, find_block_format(DType::f32)->pack);
}

CheckpointTensor CheckpointTensor::as_weight() const {
  const DType to = weight_dtype(dtype);
  return to == dtype ? composed() : converted(*this, to, find_block_format(to)->pack);
}

DType weight_dtype(DType stored) noexcept {
  if (stored == DType::f64) return DType::f32;
  return stored == DType::f8e4m3 ? DType::f16 : stored;
}

void check_weight_dtype(const CheckpointTensor& tensor, std::string_view checkpoint) {
  if (!is_integer(tensor.dtype)) return;
  fail(ErrorCode::unsupported,
       "{}: tensor '{}' has type {}; a weight, norm or bias must be F32, F16, BF16, F64, F8_E4M3 or quantized: "
       "save the model again in one of these",
       checkpoint, printable_name(tensor.stored), file_type_name(tensor.dtype));
}

Checkpoint Checkpoint::open(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_hugging_face(path);
  return Checkpoint(GgufFile::open(path));
}

Checkpoint::Checkpoint(GgufFile file) : gguf_(std::make_shared<const GgufFile>(std::move(file))) { index_tensors(); }

Checkpoint Checkpoint::view(const GgufFile& file) {
  Checkpoint checkpoint(Folder{});
  // Not owned: the caller's file outlives the view.
  checkpoint.gguf_ = std::shared_ptr<const GgufFile>(std::shared_ptr<const void>(), &file);
  checkpoint.index_tensors();
  return checkpoint;
}

Checkpoint::Checkpoint(Folder folder)
    : name_(folder.path.string()),
      file_bytes_(folder.file_bytes),
      folder_(std::move(folder.path)),
      folder_architecture_(folder.architecture),
      metadata_(std::move(folder.metadata)),
      origins_(std::move(folder.origins)),
      values_(std::move(folder.values)),
      tensors_(std::move(folder.tensors)) {
  for (size_t index = 0; index < metadata_.size(); ++index) metadata_index_.emplace(metadata_[index].first, index);
  index_tensors();
}

void Checkpoint::index_tensors() {
  if (gguf_ != nullptr) {
    name_ = gguf_->name();
    file_bytes_ = gguf_->file_bytes();
    const GgufValue* named = gguf_->find("general.architecture");
    const auto* text = named == nullptr ? nullptr : std::get_if<std::string_view>(&named->value);
    const std::string_view architecture = text == nullptr ? std::string_view() : *text;
    tensors_.reserve(gguf_->tensors().size());
    for (const GgufTensor& tensor : gguf_->tensors()) {
      tensors_.push_back({.name = canonical_of_gguf(architecture, tensor.name),
                          .stored = std::string(tensor.name),
                          .dtype = tensor.dtype,
                          .shape = tensor.shape,
                          .data = tensor.data,
                          .file = tensor.file,
                          .owner = tensor.file});
    }
  }
  for (size_t index = 0; index < tensors_.size(); ++index) tensor_index_.emplace(tensors_[index].name, index);
}

RopeStyle Checkpoint::rope_style(const Architecture& architecture) const noexcept {
  return gguf_ != nullptr ? architecture.gguf_rope : architecture.hugging_face.rope;
}

const CheckpointTensor* Checkpoint::find_tensor(std::string_view name) const noexcept {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

std::vector<std::string_view> Checkpoint::keys() const {
  std::vector<std::string_view> keys;
  if (gguf_ != nullptr) {
    for (const auto& [key, value] : gguf_->metadata()) keys.push_back(key);
  } else {
    for (const auto& [key, value] : metadata_) keys.push_back(key);
  }
  return keys;
}

const GgufValue* Checkpoint::find(std::string_view key) const noexcept {
  if (gguf_ != nullptr) return gguf_->find(key);
  const auto found = metadata_index_.find(key);
  return found == metadata_index_.end() ? nullptr : &metadata_[found->second].second;
}

std::string Checkpoint::where(std::string_view key) const {
  if (gguf_ != nullptr) return "metadata " + std::string(key);
  const auto origin = origins_.find(key);
  if (origin != origins_.end()) return origin->second;
  const std::string prefix = folder_architecture_ == nullptr ? "" : std::string(folder_architecture_->name) + ".";
  return "config.json: " + std::string(key.starts_with(prefix) ? key.substr(prefix.size()) : key);
}

void Checkpoint::fail_kind(std::string_view key, const GgufValue& value, const char* wanted) const {
  fail(ErrorCode::corrupt_file, "{}: {} is {}, but {} is needed; the configuration is damaged: download it again", name_, where(key),
       describe_gguf_value(value), wanted);
}

void Checkpoint::fail_absent(std::string_view key) const {
  fail(ErrorCode::not_found, "{}: {} is absent; the configuration is incomplete: download it again", name_, where(key));
}

std::optional<uint64_t> Checkpoint::find_uint(std::string_view key) const {
  if (gguf_ != nullptr) return gguf_->find_uint(key);
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = as_uint(*value);
  if (!number) fail_kind(key, *value, "an integer that is not negative");
  return number;
}

std::optional<double> Checkpoint::find_float(std::string_view key) const {
  if (gguf_ != nullptr) return gguf_->find_float(key);
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = as_float(*value);
  if (!number) fail_kind(key, *value, "a number");
  return number;
}

std::optional<std::string_view> Checkpoint::find_string(std::string_view key) const {
  if (gguf_ != nullptr) return gguf_->find_string(key);
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* text = std::get_if<std::string_view>(&value->value);
  if (text == nullptr) fail_kind(key, *value, "a string");
  return *text;
}

const GgufArray* Checkpoint::find_array(std::string_view key) const {
  if (gguf_ != nullptr) return gguf_->find_array(key);
  const GgufValue* value = find(key);
  if (value == nullptr) return nullptr;
  const auto* array = std::get_if<GgufArray>(&value->value);
  if (array == nullptr) fail_kind(key, *value, "an array");
  return array;
}

uint64_t Checkpoint::get_uint(std::string_view key) const {
  if (gguf_ != nullptr) return gguf_->get_uint(key);
  const auto value = find_uint(key);
  if (!value) fail_absent(key);
  return *value;
}

std::string_view Checkpoint::get_string(std::string_view key) const {
  if (gguf_ != nullptr) return gguf_->get_string(key);
  const auto value = find_string(key);
  if (!value) fail_absent(key);
  return *value;
}

namespace {

// Beside a tokenizer.json in a GGUF file.
SpecialTokens special_tokens_of(const GgufFile& file) {
  SpecialTokens special{.origin = file.name()};
  const auto read = [&](const char* key, SpecialTokens::Token& token) {
    if (const auto id = file.find_uint(key)) token.id = static_cast<int64_t>(std::min<uint64_t>(*id, uint64_t{1} << 40));
  };
  read("tokenizer.ggml.bos_token_id", special.bos);
  read("tokenizer.ggml.eos_token_id", special.eos);
  read("tokenizer.ggml.padding_token_id", special.pad);
  if (const GgufArray* ends = file.find_array("tokenizer.ggml.eos_token_ids")) special.ends = ends->to_vector<int64_t>();
  special.adds_bos = file.find_bool("tokenizer.ggml.add_bos_token");
  return special;
}

}  // namespace

std::shared_ptr<const Tokenizer> load_tokenizer(const Checkpoint& checkpoint) {
  if (checkpoint.gguf() == nullptr) return Tokenizer::load(checkpoint.folder());
  const auto json = checkpoint.find_string("tokenizer.huggingface.json");
  // Where both are there, the keys are the JSON's as far as GGUF has them.
  if (json) {
    return parse_tokenizer(*json, checkpoint.name(), special_tokens_of(*checkpoint.gguf()));
  }
  return Tokenizer::from_gguf(*checkpoint.gguf());
}

std::vector<ChatTemplateSource> find_chat_templates(const Checkpoint& checkpoint) {
  return checkpoint.gguf() != nullptr ? find_chat_templates(*checkpoint.gguf()) : find_chat_templates(checkpoint.folder());
}

}  // namespace wick
