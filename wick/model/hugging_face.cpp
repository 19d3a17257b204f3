#include "wick/model/hugging_face.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <system_error>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/formats/sharded_safetensors.h"
#include "wick/quant/block_format.h"

namespace wick {
namespace {

bool is_norm_weight(std::string_view name) { return name.ends_with("norm.weight"); }

// The stored weight plus `offset`, as f32.
void add_offset(CheckpointTensor& tensor, float offset) {
  const auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(tensor.shape.elements()));
  std::vector<float>& numbers = *values;
  find_block_format(tensor.dtype)->unpack(tensor.data.data(), numbers);
  for (float& number : numbers) number += offset;
  tensor.dtype = DType::f32;
  tensor.data = std::as_bytes(std::span(numbers));
  tensor.owner = values;
  tensor.file.reset();
}

// A matrix [in, out] as [out, in].
void transpose(CheckpointTensor& tensor) {
  const int64_t rows = tensor.shape[0];
  const int64_t columns = tensor.shape[1];
  const auto size = static_cast<size_t>(storage_bytes(tensor.dtype, 1));
  const auto turned = std::make_shared<std::vector<std::byte>>(tensor.data.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      std::memcpy(turned->data() + static_cast<size_t>(column * rows + row) * size,
                  tensor.data.data() + static_cast<size_t>(row * columns + column) * size, size);
    }
  }
  tensor.shape = {columns, rows};
  tensor.data = *turned;
  tensor.owner = turned;
  tensor.file.reset();
}

// Rows [heads][q, k, v][head_dim] as [q, k, v][heads][head_dim].
void gather_queries_keys_values(CheckpointTensor& tensor, int64_t heads) {
  const int64_t rows = tensor.shape.rank() == 0 ? 0 : tensor.shape[0];
  if (heads < 1 || rows == 0 || rows % (3 * heads) != 0) return;  // its shape is refused when it is read
  const size_t head_bytes = tensor.data.size() / static_cast<size_t>(3 * heads);
  const auto gathered = std::make_shared<std::vector<std::byte>>(tensor.data.size());
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t part = 0; part < 3; ++part) {
      std::memcpy(gathered->data() + static_cast<size_t>(part * heads + head) * head_bytes,
                  tensor.data.data() + static_cast<size_t>(head * 3 + part) * head_bytes, head_bytes);
    }
  }
  tensor.data = *gathered;
  tensor.owner = gathered;
  tensor.file.reset();
}

// What transformers would compute with another set of biases is not what this folder's tensors mean.
void check_biases(const Checkpoint::Folder& folder, const std::optional<bool>& says, std::initializer_list<std::string_view> tensors,
                  const char* key) {
  if (!says) return;
  const bool has = std::any_of(folder.tensors.begin(), folder.tensors.end(), [&](const CheckpointTensor& each) {
    return std::find(tensors.begin(), tensors.end(), each.name) != tensors.end();
  });
  if (has == *says) return;
  fail(ErrorCode::corrupt_file, "{}: config.json: {} = {}, and the tensors have {} such biases; the files do not belong together",
       folder.path.string(), key, *says, has ? "" : "no");
}

void add_tensors(Checkpoint::Folder& folder, const ShardedSafetensors& stored, const TranslatedConfig& config) {
  const bool tied = config.tied;
  const GgufValue* head_count = config.find(std::string(config.architecture->name) + ".attention.head_count");
  const auto heads = static_cast<int64_t>(head_count == nullptr ? 0 : std::min<uint64_t>(as_uint(*head_count).value_or(0), 1 << 20));
  const HuggingFaceForm& form = folder.architecture->hugging_face;
  std::map<std::string, std::string> taken;
  for (const SafetensorsTensor& tensor : stored.tensors()) {
    std::string name = canonical_tensor_name(tensor.name, form);
    // A head of its own that a tied model brings nevertheless is not used by transformers either.
    if (name.empty() || (tied && name == "output.weight")) continue;
    const auto [entry, is_new] = taken.emplace(name, tensor.name);
    if (!is_new) {
      fail(ErrorCode::corrupt_file, "{}: tensors '{}' and '{}' mean the same; keep one of them", folder.path.string(),
           printable_name(entry->second), printable_name(tensor.name));
    }
    CheckpointTensor& added = folder.tensors.emplace_back(CheckpointTensor{.name = std::move(name),
                                                                           .stored = tensor.name,
                                                                           .dtype = tensor.dtype,
                                                                           .shape = tensor.shape,
                                                                           .data = tensor.data,
                                                                           .file = tensor.file,
                                                                           .owner = tensor.file});
    if (form.norm_offset != 0 && is_norm_weight(added.name) && is_float(added.dtype)) add_offset(added, form.norm_offset);
    if (form.qkv_by_head && added.name.find(".attn_qkv.") != std::string::npos) gather_queries_keys_values(added, heads);
    if (form.transposed && added.name.starts_with("blk.") && added.shape.rank() == 2 && is_float(added.dtype)) transpose(added);
  }
  if (!tied && !taken.contains("output.weight")) {
    fail(ErrorCode::not_found,
         "{}: the head 'lm_head.weight' is missing and config.json does not tie it to the embedding; download the folder again",
         folder.path.string());
  }
}

// As GGUF files have them: both lengths of a head, and how many of its dimensions turn.
void complete_heads(TranslatedConfig& config) {
  const std::string prefix = std::string(config.architecture->name) + ".";
  const auto number = [&](const char* name) -> uint64_t {
    const GgufValue* value = config.find(prefix + name);
    return value == nullptr ? 0 : as_uint(*value).value_or(0);
  };
  const uint64_t own = number("attention.key_length");
  const uint64_t heads = number("attention.head_count");
  const uint64_t head_dim = own > 0 ? own : heads > 0 ? number("embedding_length") / heads : 0;
  const GgufValue* share = config.find(kRotaryFactor);
  const double factor = share == nullptr ? 1 : std::get<double>(share->value);
  std::erase_if(config.metadata, [](const auto& entry) { return entry.first == kRotaryFactor; });
  if (head_dim == 0) return;
  if (own > 0) config.metadata.emplace_back(prefix + "attention.value_length", GgufValue{own});
  config.origins.emplace(prefix + "attention.value_length", "head_dim");
  config.metadata.emplace_back(prefix + "rope.dimension_count", GgufValue{static_cast<uint64_t>(static_cast<double>(head_dim) * factor)});
  config.origins.emplace(prefix + "rope.dimension_count", "partial_rotary_factor");
}

// longrope's tables as GGUF files have them.
void add_factors(Checkpoint::Folder& folder, const char* name, std::vector<float> factors) {
  if (factors.empty()) return;
  const auto kept = std::make_shared<const std::vector<float>>(std::move(factors));
  folder.tensors.push_back({.name = name,
                            .stored = std::string("config.json: ") + name,
                            .dtype = DType::f32,
                            .shape = {std::ssize(*kept)},
                            .data = std::as_bytes(std::span(*kept)),
                            .file = {},
                            .owner = kept});
}

void check_vocabulary_size(const Checkpoint& checkpoint, const Architecture& architecture) {
  const auto size = checkpoint.find_uint(std::string(architecture.name) + ".vocab_size");
  const CheckpointTensor* embedding = checkpoint.find_tensor("token_embd.weight");
  if (!size || embedding == nullptr || embedding->shape.rank() == 0 || static_cast<uint64_t>(embedding->shape[0]) == *size) return;
  fail(ErrorCode::shape_mismatch, "{}: config.json: vocab_size = {}, and tensor '{}' has {} rows; the files do not belong together",
       checkpoint.name(), *size, embedding->stored, embedding->shape[0]);
}

}  // namespace

const GgufValue* TranslatedConfig::find(std::string_view key) const {
  const auto found = std::find_if(metadata.begin(), metadata.end(), [&](const auto& entry) { return entry.first == key; });
  return found == metadata.end() ? nullptr : &found->second;
}

bool is_hugging_face_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / "config.json", ignored);
}

Checkpoint open_hugging_face(const std::filesystem::path& path) {
  const std::filesystem::path config_path = path / "config.json";
  TranslatedConfig config = parse_model_config(MappedFile::open(config_path)->bytes(), config_path.string());
  complete_heads(config);
  const ShardedSafetensors stored = ShardedSafetensors::open(path);
  stored.require_all();
  Checkpoint::Folder folder{.path = path, .architecture = config.architecture};
  add_tensors(folder, stored, config);
  add_factors(folder, "rope_factors_long.weight", std::move(config.long_factors));
  add_factors(folder, "rope_factors_short.weight", std::move(config.short_factors));
  check_biases(folder, config.attention_bias, {"blk.0.attn_q.bias", "blk.0.attn_qkv.bias"}, "attention_bias");
  check_biases(folder, config.feed_forward_bias, {"blk.0.ffn_up.bias"}, "mlp_bias");
  std::set<const MappedFile*> files;
  for (const SafetensorsTensor& tensor : stored.tensors()) files.insert(tensor.file.get());
  for (const MappedFile* file : files) folder.file_bytes += file == nullptr ? 0 : file->bytes().size();
  folder.metadata = std::move(config.metadata);
  folder.origins = std::move(config.origins);
  folder.values = std::move(config.values);
  Checkpoint checkpoint(std::move(folder));
  check_vocabulary_size(checkpoint, *config.architecture);
  return checkpoint;
}

}  // namespace wick
