#include "wick/model/checkpoint/hugging_face.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <system_error>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/generation_config.h"
#include "wick/model/checkpoint/hugging_face_quantization.h"
#include "wick/model/checkpoint/sentence_transformers.h"

namespace wick {
namespace {

// What transformers would compute with another set of biases is not what this folder's tensors mean.
void check_biases(const Checkpoint::Folder& folder, const std::optional<bool>& says, std::initializer_list<std::string_view> tensors,
                  const char* key) {
  if (!says) return;
  const bool has = std::any_of(folder.tensors.begin(), folder.tensors.end(), [&](const CheckpointTensor& each) {
    return std::any_of(tensors.begin(), tensors.end(), [&](std::string_view name) { return each.name.ends_with(name); });
  });
  if (has == *says) return;
  fail(ErrorCode::corrupt_file, "{}: config.json: {} = {}, and the tensors have {} such biases; the files do not belong together",
       folder.path.string(), key, *says, has ? "" : "no");
}

// As GGUF files have them: both lengths of a head, and how many of its dimensions turn.
void complete_heads(TranslatedConfig& config, const std::string& path) {
  const std::string prefix = std::string(config.architecture->name) + ".";
  const auto number = [&](const char* name) -> uint64_t {
    const GgufValue* value = config.find(prefix + name);
    return value == nullptr ? 0 : as_uint(*value).value_or(0);
  };
  const uint64_t own = number("attention.key_length");
  if (config.architecture->hugging_face.splits_latent_heads) {
    const uint64_t latent = number("attention.kv_lora_rank"), rotated = number("rope.dimension_count"),
                   values = number("attention.value_length");
    const std::pair<const char*, uint64_t> lengths[] = {{"attention.key_length", latent + rotated},
                                                        {"attention.value_length", latent},
                                                        {"attention.key_length_mla", own + rotated},
                                                        {"attention.value_length_mla", values}};
    for (const auto& [name, length] : lengths) {
      const std::string key = prefix + name;
      std::erase_if(config.metadata, [&](const auto& entry) { return entry.first == key; });
      if (length > 0) config.metadata.emplace_back(key, GgufValue{length});
    }
    // One key and value for all heads, where the layers do not differ in it.
    for (auto& [key, value] : config.metadata) {
      if (key == prefix + "attention.head_count_kv" && as_uint(value)) value = GgufValue{uint64_t{1}};
    }
    for (const auto& [name, from] : {std::pair{"attention.key_length_mla", "attention.key_length"},
                                     std::pair{"attention.value_length_mla", "attention.value_length"}}) {
      config.origins.emplace(prefix + name, config.origins[prefix + from]);
    }
    return;
  }
  if (number("attention.kv_lora_rank") > 0) {
    for (auto& [key, value] : config.metadata) {
      if (key == prefix + "attention.key_length") value = GgufValue{own + number("rope.dimension_count")};
    }
    return;
  }
  const uint64_t heads = number("attention.head_count");
  const uint64_t head_dim = own > 0 ? own : heads > 0 ? number("embedding_length") / heads : 0;
  const GgufValue* share = config.find(kRotaryFactor);
  const double factor = share == nullptr ? 1 : std::get<double>(share->value);
  std::erase_if(config.metadata, [](const auto& entry) { return entry.first == kRotaryFactor; });
  if (head_dim == 0) return;
  if (own > 0) config.metadata.emplace_back(prefix + "attention.value_length", GgufValue{own});
  config.origins.emplace(prefix + "attention.value_length", "head_dim");
  if (config.find(prefix + "rope.dimension_count") != nullptr) return;
  const auto rotated = static_cast<uint64_t>(static_cast<double>(head_dim) * factor);
  const auto said = config.origins.find(kRotaryFactor);
  const std::string origin = said == config.origins.end() ? kRotaryFactor : said->second;
  if (factor != 1 && rotated % 2 != 0) {
    fail(ErrorCode::unsupported, "{}: {} = {}: of the head's {} dimensions {} would turn; want an even number", path, origin, factor,
         head_dim, rotated);
  }
  config.metadata.emplace_back(prefix + "rope.dimension_count", GgufValue{rotated});
  config.origins.emplace(prefix + "rope.dimension_count", origin);
}

// The rows of the first layer's queries, keys and values tell how many key/value heads there are.
void count_kv_heads(TranslatedConfig& config, const ShardedSafetensors& stored) {
  const std::string prefix = std::string(config.architecture->name) + ".";
  const auto number = [&](const char* name) -> int64_t {
    const GgufValue* value = config.find(prefix + name);
    return static_cast<int64_t>(value == nullptr ? 0 : std::min<uint64_t>(as_uint(*value).value_or(0), uint64_t{1} << 31));
  };
  const int64_t heads = number("attention.head_count"), hidden = number("embedding_length");
  for (const SafetensorsTensor& tensor : stored.tensors()) {
    if (canonical_tensor(tensor.name, config.architecture->hugging_face).name != "blk.0.attn_qkv.weight") continue;
    if (heads < 1 || hidden % heads != 0 || hidden < heads || tensor.shape.rank() != 2) return;  // refused when they are read
    const int64_t kv_heads = (tensor.shape[0] / (hidden / heads) - heads) / 2;
    if (kv_heads < 1) return;
    std::erase_if(config.metadata, [&](const auto& entry) { return entry.first == prefix + "attention.head_count_kv"; });
    config.metadata.emplace_back(prefix + "attention.head_count_kv", GgufValue{static_cast<uint64_t>(kv_heads)});
    config.origins[prefix + "attention.head_count_kv"] = "num_kv_heads";
  }
}

// The rows of the learned positions before that of a text's first token; the keys that tell them are no model's.
int64_t take_unused_positions(TranslatedConfig& config, const std::string& path) {
  const std::string prefix = std::string(config.architecture->name) + ".";
  const std::string padding_key = prefix + std::string(kPaddingToken), flag_key = prefix + std::string(kPositionsAfterPadding);
  const GgufValue* padding = config.find(padding_key);
  // RoBERTa's own.
  const uint64_t token = padding == nullptr ? 1 : as_uint(*padding).value_or(1);
  const bool after = config.find(flag_key) != nullptr;
  std::erase_if(config.metadata, [&](const auto& entry) { return entry.first == padding_key || entry.first == flag_key; });
  if (!after) return 0;
  for (auto& [key, value] : config.metadata) {
    if (key != prefix + "context_length") continue;
    const uint64_t rows = as_uint(value).value_or(0);
    if (rows <= token + 1) {
      fail(ErrorCode::corrupt_file, "{}: max_position_embeddings = {}, and the first position is number {}, after pad_token_id", path, rows,
           token + 1);
    }
    value = GgufValue{rows - token - 1};
  }
  return static_cast<int64_t>(token + 1);
}

void drop_positions(Checkpoint::Folder& folder, int64_t count) {
  for (CheckpointTensor& tensor : folder.tensors) {
    if (!tensor.name.ends_with("position_embd.weight") || tensor.shape.rank() != 2 || tensor.shape[0] <= count) continue;
    const size_t row_bytes = tensor.data.size() / static_cast<size_t>(tensor.shape[0]);
    tensor.data = tensor.data.subspan(static_cast<size_t>(count) * row_bytes);
    tensor.shape = {tensor.shape[0] - count, tensor.shape[1]};
  }
}

// The pooler of a classifier is its head's first layer, where that has none of its own; else it takes no part.
void settle_pooler(Checkpoint::Folder& folder, const TranslatedConfig& config) {
  constexpr std::string_view kPooler = "cls.pooler.", kHead = "cls.";
  const auto has = [&](std::string_view name) {
    return std::any_of(folder.tensors.begin(), folder.tensors.end(), [&](const CheckpointTensor& each) { return each.name == name; });
  };
  const bool of_tokens = config.find(std::string(config.architecture->name) + ".classifier.tokens") != nullptr;
  if (!has("cls.output.weight") || has("cls.weight") || of_tokens) {
    std::erase_if(folder.tensors, [&](const CheckpointTensor& each) { return each.name.starts_with(kPooler); });
    return;
  }
  for (CheckpointTensor& tensor : folder.tensors) {
    if (tensor.name.starts_with(kPooler)) tensor.name.replace(0, kPooler.size(), kHead);
  }
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

// What GGUF files say by frequencies: pairs beyond the share do not turn.
std::vector<float> divisors_of_pairs(const TranslatedConfig& config) {
  if (!config.rotated_pairs) return {};
  const GgufValue* head_dim = config.find(std::string(config.architecture->name) + ".attention.key_length");
  const uint64_t length = head_dim == nullptr ? 0 : as_uint(*head_dim).value_or(0);
  constexpr float kNever = 1e30F;
  std::vector<float> divisors(std::min<uint64_t>(length / 2, 1 << 16), kNever);
  const auto rotated = static_cast<size_t>(*config.rotated_pairs * static_cast<double>(length) / 2);
  std::fill_n(divisors.begin(), std::min(rotated, divisors.size()), 1.0F);
  return divisors;
}

void check_vocabulary_size(const Checkpoint& checkpoint, const Architecture& architecture) {
  const auto size = checkpoint.find_uint(std::string(architecture.name) + ".vocab_size");
  const CheckpointTensor* embedding = checkpoint.find_tensor("token_embd.weight");
  if (!size || embedding == nullptr || embedding->shape.rank() == 0 || static_cast<uint64_t>(embedding->shape[0]) == *size) return;
  fail(ErrorCode::shape_mismatch, "{}: config.json: vocab_size = {}, and tensor '{}' has {} rows; the files do not belong together",
       checkpoint.name(), *size, embedding->stored, embedding->shape[0]);
}

std::optional<QuantizationConfig> find_modelopt_quantization(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "hf_quant_config.json";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  const auto file = MappedFile::open(path);
  const std::span<const std::byte> text = file->bytes();
  return read_modelopt_quantization(parse_json({reinterpret_cast<const char*>(text.data()), text.size()}), path.string());
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
  complete_heads(config, config_path.string());
  if (!config.quantization) config.quantization = find_modelopt_quantization(path);
  const int64_t unused_positions = take_unused_positions(config, config_path.string());
  const ShardedSafetensors stored = ShardedSafetensors::open(path);
  stored.require_all();
  if (config.architecture->hugging_face.qkv_by_group) count_kv_heads(config, stored);
  Checkpoint::Folder folder{.path = path, .architecture = config.architecture};
  const bool has_head = add_folder_tensors(folder, stored, config);
  settle_pooler(folder, config);
  drop_positions(folder, unused_positions + config.architecture->hugging_face.unused_positions);
  add_factors(folder, "rope_factors_long.weight", std::move(config.long_factors));
  add_factors(folder, "rope_factors_short.weight", std::move(config.short_factors));
  add_factors(folder, "rope_freqs.weight", divisors_of_pairs(config));
  check_biases(folder, config.attention_bias, {".attn_q.bias", ".attn_qkv.bias", ".attn_kv_a_mqa.bias"}, "attention_bias");
  check_biases(folder, config.feed_forward_bias, {".ffn_up.bias"}, "mlp_bias");
  std::set<const MappedFile*> files;
  for (const SafetensorsTensor& tensor : stored.tensors()) files.insert(tensor.file.get());
  for (const MappedFile* file : files) folder.file_bytes += file == nullptr ? 0 : file->bytes().size();
  folder.metadata = std::move(config.metadata);
  for (const auto& [key, origin] : config.origins) folder.origins.emplace(key, "config.json: " + origin);
  folder.values = std::move(config.values);
  if (config.architecture->encoder) {
    folder.metadata.emplace_back(std::string(config.architecture->name) + ".attention.causal", GgufValue{false});
  } else if (!config.encodes && (!has_head || config.classifies)) {
    folder.metadata.emplace_back(std::string(config.architecture->name) + ".headless", GgufValue{true});
  }
  add_generation_config(folder);
  add_sentence_transformers(folder);
  Checkpoint checkpoint(std::move(folder));
  check_vocabulary_size(checkpoint, *config.architecture);
  return checkpoint;
}

}  // namespace wick
