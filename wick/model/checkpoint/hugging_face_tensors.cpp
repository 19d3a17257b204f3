// The tensors of a folder under their canonical names, in the forms that GGUF files have them.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/base/log.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/model/checkpoint/multipliers.h"
#include "wick/model/checkpoint/sentence_transformers.h"
#include "wick/model/checkpoint/stored_form.h"
#include "wick/model/checkpoint/stored_view.h"
#include "wick/quant/unpack_row.h"

namespace wick {
namespace {

// Of the norms that `norm_offset` is about; that of states is stored as it is.
bool is_norm_weight(std::string_view name) { return name.ends_with("norm.weight") && !name.ends_with(".ssm_norm.weight"); }

// A function of the stored weight's numbers, as f32.
template <class Function>
void replace_numbers(CheckpointTensor& tensor, const Function& function) {
  const auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(tensor.shape.elements()));
  std::vector<float>& numbers = *values;
  unpack_row(tensor.dtype, tensor.data.data(), tensor.data.size(), 0, numbers);
  for (float& number : numbers) number = function(number);
  tensor.dtype = DType::f32;
  tensor.data = std::as_bytes(std::span(numbers));
  tensor.owner = values;
  tensor.file.reset();
}

// Rows [kv_heads][queries…, key, value][head_dim] as [all queries, all keys, all values][head_dim].
void gather_queries_keys_values(CheckpointTensor& tensor, int64_t heads, int64_t kv_heads) {
  const int64_t rows = tensor.shape.rank() == 0 ? 0 : tensor.shape[0];
  const bool fits = heads > 0 && kv_heads > 0 && heads % kv_heads == 0 && rows > 0 && rows % (heads + 2 * kv_heads) == 0;
  if (!fits) return;  // its shape is refused when it is read
  const int64_t queries = heads / kv_heads;
  const size_t head_bytes = tensor.data.size() / static_cast<size_t>(heads + 2 * kv_heads);
  const auto gathered = std::make_shared<std::vector<std::byte>>(tensor.data.size());
  for (int64_t group = 0; group < kv_heads; ++group) {
    for (int64_t part = 0; part < queries + 2; ++part) {
      const int64_t to = part < queries ? group * queries + part : heads + (part - queries) * kv_heads + group;
      std::memcpy(gathered->data() + static_cast<size_t>(to) * head_bytes,
                  tensor.data.data() + static_cast<size_t>(group * (queries + 2) + part) * head_bytes, head_bytes);
    }
  }
  tensor.data = *gathered;
  tensor.owner = gathered;
  tensor.file.reset();
}

// "blk.3.ssm_a" without its layer.
std::string_view name_in_layer(std::string_view name) {
  const size_t end = name.starts_with("blk.") ? name.find('.', 4) : std::string_view::npos;
  return end == std::string_view::npos ? name : name.substr(end + 1);
}

// Whether rows or columns are those of a delta rule's value heads.
bool is_of_value_heads(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames = {"attn_qkv.weight", "attn_gate.weight", "ssm_conv1d.weight",
                                                      "ssm_out.weight",  "ssm_alpha.weight", "ssm_beta.weight",
                                                      "ssm_a",           "ssm_dt.bias"};
  return std::find(kNames.begin(), kNames.end(), name_in_layer(name)) != kNames.end();
}

class FolderTensors {
 public:
  FolderTensors(Checkpoint::Folder& folder, const ShardedSafetensors& stored, const TranslatedConfig& config)
      : folder_(folder),
        stored_(stored),
        config_(config),
        form_(folder.architecture->hugging_face),
        layers_(number("block_count")),
        heads_(number("attention.head_count")),
        kv_heads_(number("attention.head_count_kv")) {
    if (config.quantization) quantized_.emplace(stored, *config.quantization, folder.path.string());
  }

  void add(const SafetensorsTensor& tensor);
  // The stacks of experts that came one by one.
  void add_stacks();
  // One matrix that is embedding and head, or both.
  void tie();
  // Names what was left out.
  void tell_other_media() const;
  [[nodiscard]] bool has(const std::string& name) const { return taken_.contains(name); }

 private:
  // 0 where the configuration does not say.
  [[nodiscard]] int64_t number(const char* key) const {
    const GgufValue* value = config_.find(std::string(config_.architecture->name) + "." + key);
    return static_cast<int64_t>(value == nullptr ? 0 : std::min<uint64_t>(as_uint(*value).value_or(0), 1 << 20));
  }
  [[nodiscard]] bool is_further_layer(std::string_view name) const;
  [[nodiscard]] CheckpointTensor* find(std::string_view name);
  void take(const std::string& name, const std::string& stored);
  void add_part(const SafetensorsTensor& tensor, const std::string& name, StoredForm form, int64_t part);
  void add_reshaped(const SafetensorsTensor& tensor, const CanonicalTensor& canonical);
  void add_query_key_value_gate(const SafetensorsTensor& tensor, const CanonicalTensor& canonical);
  void add_latent_heads(const SafetensorsTensor& tensor, const CanonicalTensor& canonical);
  void add_row_stack(const SafetensorsTensor& tensor, const CanonicalTensor& canonical);
  void interleave_value_heads(CheckpointTensor& tensor) const;
  void multiply(CheckpointTensor& tensor) const;
  void add_mxfp4(const SafetensorsTensor& blocks, const CanonicalTensor& canonical);
  void add_quantized(QuantizedMatrix matrix);
  void add_scales(const std::string& name, const std::string& stored, std::vector<float> scales);
  void add_quantized_stack(const std::string& name, const std::map<int64_t, QuantizedMatrix>& experts);
  void split_queries_keys_values();
  void add_stack(const std::string& name, const std::map<int64_t, SafetensorsTensor>& experts);

  Checkpoint::Folder& folder_;
  const ShardedSafetensors& stored_;
  const TranslatedConfig& config_;
  const HuggingFaceForm& form_;
  int64_t layers_, heads_, kv_heads_;
  std::map<std::string, std::string> taken_;
  std::map<std::string, std::map<int64_t, SafetensorsTensor>> stacks_;
  std::map<std::string, std::map<int64_t, QuantizedMatrix>> quantized_stacks_;
  std::optional<QuantizedFolder> quantized_;  // none: no tensor is
  std::vector<std::string> other_media_;      // tensors of images and sound
};

constexpr const char* kHead = "output.weight";
constexpr const char* kEmbeddingTensor = "token_embd.weight";

// By their names, in models of text and other media.
bool is_of_other_media(std::string_view name) {
  constexpr std::array<std::string_view, 10> kParts = {"vision", "visual",       "image",      "audio",      "multi_modal_projector",
                                                       "mm_",    "patch_merger", "projector.", "connector.", "speech"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

bool FolderTensors::is_further_layer(std::string_view name) const {
  constexpr std::string_view kPrefix = "model.layers.";
  if (form_.ignore_mtp_layers && name.starts_with("mtp.")) return true;
  if (!form_.ignore_mtp_layers || !name.starts_with(kPrefix)) return false;
  int64_t layer = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return layers_ > 0 && layer >= layers_;
}

void FolderTensors::take(const std::string& name, const std::string& stored) {
  const auto [entry, is_new] = taken_.emplace(name, stored);
  if (is_new) return;
  fail(ErrorCode::corrupt_file, "{}: tensors '{}' and '{}' mean the same; keep one of them", folder_.path.string(),
       printable_name(entry->second), printable_name(stored));
}

void FolderTensors::add(const SafetensorsTensor& tensor) {
  if (is_further_layer(name_in_tables(tensor.name, form_))) return;
  if (quantized_ && quantized_->is_part(tensor.name)) return;
  CanonicalTensor canonical = canonical_tensor(tensor.name, form_);
  if (canonical.name.empty()) return;
  if (folder_.architecture->recurrent && number("expert_count") == 0) {
    for (std::string* name : {&canonical.name, &canonical.second}) {
      if (const size_t at = name->find("_shexp."); at != std::string::npos) name->erase(at, std::string_view("_shexp").size());
    }
  }
  if (config_.reads_media && canonical.name == tensor.name && is_of_other_media(tensor.name)) {
    other_media_.emplace_back(tensor.name);
    return;
  }
  if (quantized_) {
    if (std::optional<QuantizedMatrix> matrix = quantized_->find_matrix(tensor)) return add_quantized(*std::move(matrix));
  }
  if (canonical.expert >= 0) {
    SafetensorsTensor& part = stacks_[canonical.name].emplace(canonical.expert, tensor).first->second;
    if (canonical.form == StoredForm::stacked) part.shape = {1, 1, part.shape.elements()};
    return;
  }
  if (canonical.form == StoredForm::row_stack || canonical.form == StoredForm::row_stack_transposed)
    return add_row_stack(tensor, canonical);
  if (is_mxfp4(canonical.form)) return add_mxfp4(tensor, canonical);
  if (canonical.form == StoredForm::query_key_value_gate) return add_query_key_value_gate(tensor, canonical);
  if (canonical.form == StoredForm::latent_heads) return add_latent_heads(tensor, canonical);
  if (is_reshaped(canonical.form)) {
    add_reshaped(tensor, canonical);
    return interleave_value_heads(folder_.tensors.back());
  }
  const bool is_matrix = tensor.shape.rank() >= 2 && is_float(tensor.dtype);
  if (form_.transposed && canonical.name.starts_with("blk.") && tensor.shape.rank() == 2) canonical.form = StoredForm::transposed;
  if (canonical.form != StoredForm::as_it_is && !is_matrix) canonical.form = StoredForm::as_it_is;  // its shape is refused when it is read
  add_part(tensor, canonical.name, canonical.form, 0);
  if (holds_two(canonical.form)) add_part(tensor, canonical.second, canonical.form, 1);
  if (canonical.form == StoredForm::as_it_is) {
    interleave_value_heads(folder_.tensors.back());
    multiply(folder_.tensors.back());
  }
}

void FolderTensors::add_row_stack(const SafetensorsTensor& tensor, const CanonicalTensor& canonical) {
  const int64_t count = number("expert_count");
  if (tensor.shape.rank() != 2 || count < 1 || tensor.shape[0] % count != 0) {
    fail(ErrorCode::shape_mismatch, "{}: tensor '{}' is {}: rows of {} experts are needed, one below the other", folder_.path.string(),
         printable_name(tensor.name), tensor.shape.to_string(), count);
  }
  SafetensorsTensor stack = tensor;
  stack.shape = {count, tensor.shape[0] / count, tensor.shape[1]};
  add_part(stack, canonical.name, canonical.form == StoredForm::row_stack ? StoredForm::as_it_is : StoredForm::transposed, 0);
}

// The matrix times the factors of its rows (kMultiplier), in its own type.
void FolderTensors::multiply(CheckpointTensor& tensor) const {
  const GgufValue* value = config_.find(std::string(kMultiplier) + std::string(name_in_layer(tensor.name)));
  if (value == nullptr || tensor.shape.rank() != 2) return;  // another shape is refused when it is read
  if (tensor.dtype != DType::f32 && tensor.dtype != DType::f16 && tensor.dtype != DType::bf16) {
    fail(ErrorCode::unsupported, "{}: '{}' is {}: this version multiplies f32, f16 and bf16 as config.json's multipliers say",
         folder_.path.string(), printable_name(tensor.stored), to_string(tensor.dtype));
  }
  std::vector<float> factors;
  if (const auto* parts = std::get_if<GgufArray>(&value->value)) {
    const int64_t inner = number("ssm.inner_size"), columns = number("ssm.group_count") * number("ssm.state_size");
    const std::array<int64_t, 5> rows = {inner, inner, columns, columns, number("ssm.time_step_rank")};
    const std::vector<float> each = parts->to_vector<float>();
    for (size_t part = 0; part < rows.size(); ++part) factors.insert(factors.end(), static_cast<size_t>(rows[part]), each.at(part));
    if (std::ssize(factors) != tensor.shape[0]) return;
  } else {
    factors.assign(static_cast<size_t>(tensor.shape[0]), static_cast<float>(as_float(*value).value_or(1)));
  }
  tensor.compose = [source = tensor, factors = std::move(factors)](std::span<std::byte> to) {
    std::vector<float> row(static_cast<size_t>(source.shape[1]));
    std::byte* at = to.data();
    const auto write = [&](auto number) {
      std::memcpy(at, &number, sizeof(number));
      at += sizeof(number);
    };
    for (size_t index = 0; index < factors.size(); ++index) {
      unpack_row(source.dtype, source.data.data(), source.data.size(), static_cast<int64_t>(index), row);
      for (const float element : row) {
        const float product = element * factors[index];
        if (source.dtype == DType::f32) {
          write(product);
        } else {
          write(source.dtype == DType::f16 ? float_to_f16_bits(product) : float_to_bf16_bits(product));
        }
      }
    }
  };
  tensor.data = {};
  tensor.file.reset();
}

void FolderTensors::add_reshaped(const SafetensorsTensor& tensor, const CanonicalTensor& canonical) {
  add_part(tensor, canonical.name, StoredForm::as_it_is, 0);
  CheckpointTensor& added = folder_.tensors.back();
  const Shape& shape = tensor.shape;
  if (canonical.form == StoredForm::flat) {
    added.shape = {shape.elements()};
    return;
  }
  // Another shape is refused when it is read.
  if (canonical.form == StoredForm::kernels) {
    if (shape.rank() == 3 && shape[1] == 1) added.shape = {shape[0], shape[2]};
    return;
  }
  const bool is_power = canonical.form == StoredForm::minus_exp || canonical.form == StoredForm::minus_exp_column;
  if (is_power && is_float(tensor.dtype)) replace_numbers(added, [](float number) { return -std::exp(number); });
  if (shape.rank() != 1 || canonical.form == StoredForm::minus_exp) return;
  if (canonical.form == StoredForm::state_norm) {
    const int64_t groups = config_.whole_state_norm ? 1 : std::max<int64_t>(number("ssm.group_count"), 1);
    if (shape[0] % groups == 0) added.shape = {groups, shape[0] / groups};
    return;
  }
  added.shape = {shape[0], 1};
}

// The rows of each key head, as "blk.N.attn_qkv", with all queries, all keys and all values, and "blk.N.attn_gate".
void FolderTensors::add_query_key_value_gate(const SafetensorsTensor& tensor, const CanonicalTensor& canonical) {
  const int64_t keys = number("ssm.group_count"), key_dim = number("ssm.state_size"), inner = number("ssm.inner_size");
  const int64_t values = keys > 0 ? inner / keys : 0;  // rows of a key head's values
  const bool fits = keys > 0 && inner % keys == 0 && is_float(tensor.dtype) &&
                    tensor.shape == Shape{keys * 2 * (key_dim + values), number("embedding_length")};
  if (!fits) return add_part(tensor, canonical.name, StoredForm::as_it_is, 0);  // refused when it is read
  const int64_t columns = tensor.shape[1], group = 2 * (key_dim + values) * columns;
  const auto view = [&](int64_t first, int64_t rows) {
    return StoredView{.data = tensor.data,
                      .file = tensor.file,
                      .element_bytes = static_cast<size_t>(storage_bytes(tensor.dtype, 1)),
                      .first = first * columns,
                      .extents = {keys, rows, columns},
                      .strides = {group, columns, 1}};
  };
  const auto add_views = [&](const std::string& name, std::vector<StoredView> views, int64_t rows) {
    add_part(tensor, name, StoredForm::as_it_is, 0);
    CheckpointTensor& added = folder_.tensors.back();
    added.shape = {rows, columns};
    added.data = {};
    added.file.reset();
    added.compose = [kept = std::move(views)](std::span<std::byte> to) { write_views(kept, to); };
  };
  add_views(canonical.name, {view(0, key_dim), view(key_dim, key_dim), view(2 * key_dim, values)}, 2 * keys * key_dim + inner);
  add_views(canonical.second, {view(2 * key_dim + values, values)}, inner);
}

// The rows of each head's keys, turned, as "blk.N.attn_k_b", and those of its values as "blk.N.attn_v_b".
void FolderTensors::add_latent_heads(const SafetensorsTensor& tensor, const CanonicalTensor& canonical) {
  const int64_t latent = number("attention.kv_lora_rank"), values = number("attention.value_length_mla");
  const int64_t keys = number("attention.key_length_mla") - number("rope.dimension_count");
  const bool fits =
      heads_ > 0 && keys > 0 && values > 0 && is_float(tensor.dtype) && tensor.shape == Shape{heads_ * (keys + values), latent};
  if (!fits) {
    fail(ErrorCode::shape_mismatch, "{}: tensor '{}' is {}: the configuration asks for [{} heads · ({} + {}), {}]", folder_.path.string(),
         printable_name(tensor.name), tensor.shape.to_string(), heads_, keys, values, latent);
  }
  const auto add_view = [&](const std::string& name, int64_t first, const Shape& shape, bool turned) {
    const StoredView view{.data = tensor.data,
                          .file = tensor.file,
                          .element_bytes = static_cast<size_t>(storage_bytes(tensor.dtype, 1)),
                          .first = first * latent,
                          .extents = {shape[0], shape[1], shape[2]},
                          .strides = {(keys + values) * latent, turned ? 1 : latent, turned ? latent : 1}};
    add_part(tensor, name, StoredForm::as_it_is, 0);
    CheckpointTensor& added = folder_.tensors.back();
    added.shape = shape;
    added.data = {};
    added.file.reset();
    added.compose = [view](std::span<std::byte> to) { write_views(std::span(&view, 1), to); };
  };
  add_view(canonical.name, 0, {heads_, latent, keys}, true);
  add_view(canonical.second, keys, {heads_, values, latent}, false);
}

// The value heads in turns of the key heads: of rows, and of the columns of ssm_out.
void FolderTensors::interleave_value_heads(CheckpointTensor& tensor) const {
  const int64_t keys = number("ssm.group_count"), heads = number("ssm.time_step_rank"), inner = number("ssm.inner_size");
  if (!form_.interleaves_value_heads || !is_of_value_heads(tensor.name)) return;
  if (keys < 1 || heads % keys != 0 || heads == keys || inner % heads != 0 || tensor.shape.rank() == 0) return;
  const std::string_view name = name_in_layer(tensor.name);
  const int64_t before = 2 * keys * number("ssm.state_size"), rows = tensor.shape[0];
  const bool columns = name == "ssm_out.weight", mixed = name == "attn_qkv.weight" || name == "ssm_conv1d.weight";
  const bool single = !columns && !mixed && name != "attn_gate.weight";
  const int64_t head = single ? 1 : inner / heads;  // rows, or columns, of one
  const int64_t fits = columns ? tensor.shape.last() : mixed ? rows - before : rows;
  if (fits != head * heads) return;  // refused when it is read
  const auto bytes = static_cast<int64_t>(tensor.data.size());
  const int64_t skipped = mixed ? bytes / rows * before : 0, times = columns ? rows : 1;
  const int64_t unit = (bytes - skipped) / times / heads;
  tensor.compose = [data = tensor.data, owner = tensor.owner, skipped, times, unit, keys, each = heads / keys](std::span<std::byte> to) {
    std::memcpy(to.data(), data.data(), static_cast<size_t>(skipped));
    for (int64_t time = 0; time < times; ++time) {
      const int64_t first = skipped + time * keys * each * unit;
      for (int64_t index = 0; index < keys * each; ++index) {
        const int64_t from = index % keys * each + index / keys;
        std::memcpy(to.data() + first + index * unit, data.data() + first + from * unit, static_cast<size_t>(unit));
      }
    }
  };
  tensor.data = {};
  tensor.file.reset();
}

void FolderTensors::add_mxfp4(const SafetensorsTensor& blocks, const CanonicalTensor& canonical) {
  constexpr std::string_view kBlocks = "_blocks";
  const std::string scales_name = std::string(blocks.name.substr(0, blocks.name.size() - kBlocks.size())) + "_scales";
  const SafetensorsTensor& scales = stored_.get(scales_name);
  const bool in_turns = canonical.form == StoredForm::interleaved_mxfp4;
  const Shape& shape = blocks.shape;
  const bool fits = blocks.dtype == DType::u8 && scales.dtype == DType::u8 && shape.rank() == 4 && shape[3] == 16 &&
                    scales.shape == Shape{shape[0], shape[1], shape[2]} && (!in_turns || shape[1] % 2 == 0);
  if (!fits) {
    fail(ErrorCode::shape_mismatch,
         "{}: tensors '{}' {} {} and '{}' {} {}: MXFP4 needs bytes [experts, rows, columns / 32, 16] and [experts, rows, columns / 32]",
         folder_.path.string(), printable_name(blocks.name), to_string(blocks.dtype), shape.to_string(), printable_name(scales_name),
         to_string(scales.dtype), scales.shape.to_string());
  }
  const int64_t parts = in_turns ? 2 : 1;
  for (int64_t part = 0; part < parts; ++part) {
    const std::string& name = part == 0 ? canonical.name : canonical.second;
    take(name, std::string(blocks.name));
    folder_.tensors.push_back({.name = name,
                               .stored = std::string(blocks.name),
                               .dtype = DType::mxfp4,
                               .shape = {shape[0], shape[1] / parts, shape[2] * 32},
                               .owner = blocks.file,
                               .compose = [view = Mxfp4View{blocks, scales, part, parts}](std::span<std::byte> to) { view.write(to); }});
  }
}

void FolderTensors::add_part(const SafetensorsTensor& tensor, const std::string& name, StoredForm form, int64_t part) {
  take(name, tensor.name);
  CheckpointTensor& added = folder_.tensors.emplace_back(CheckpointTensor{.name = name,
                                                                          .stored = tensor.name,
                                                                          .dtype = tensor.dtype,
                                                                          .shape = shape_of(tensor.shape, form),
                                                                          .data = tensor.data,
                                                                          .file = tensor.file,
                                                                          .owner = tensor.file});
  if (form_.norm_offset != 0 && is_norm_weight(name) && is_float(tensor.dtype)) {
    replace_numbers(added, [offset = form_.norm_offset](float number) { return number + offset; });
  }
  const bool gathered = form_.qkv_by_head || form_.qkv_by_group;
  if (gathered && name.find(".attn_qkv.") != std::string::npos)
    gather_queries_keys_values(added, heads_, form_.qkv_by_head ? heads_ : kv_heads_);
  if (form_.splits_qkv && name.find(".attn_qkv.") != std::string::npos) return split_queries_keys_values();
  if (form == StoredForm::as_it_is) return;
  added.data = {};
  added.file.reset();
  added.compose = [view = view_of(tensor, form, part)](std::span<std::byte> to) { write_views(std::span(&view, 1), to); };
}

// The last tensor, whose rows are all queries, all keys and all values, as three.
void FolderTensors::split_queries_keys_values() {
  const CheckpointTensor whole = folder_.tensors.back();
  const int64_t heads = heads_ + 2 * kv_heads_;
  if (whole.shape.rank() == 0 || heads_ < 1 || kv_heads_ < 1 || whole.shape[0] % heads != 0) return;  // refused when it is read
  folder_.tensors.pop_back();
  const size_t head_bytes = whole.data.size() / static_cast<size_t>(heads);
  int64_t first = 0;
  for (const auto& [part, count] : {std::pair{"attn_q.", heads_}, {"attn_k.", kv_heads_}, {"attn_v.", kv_heads_}}) {
    CheckpointTensor& added = folder_.tensors.emplace_back(whole);
    added.name.replace(added.name.find("attn_qkv."), std::string_view("attn_qkv.").size(), part);
    std::vector<int64_t> extents(whole.shape.dims().begin(), whole.shape.dims().end());
    extents[0] = extents[0] / heads * count;
    added.shape = Shape(extents);
    added.data = whole.data.subspan(static_cast<size_t>(first) * head_bytes, static_cast<size_t>(count) * head_bytes);
    take(added.name, added.stored);
    first += count;
  }
}

void FolderTensors::add_stacks() {
  for (const auto& [name, experts] : stacks_) add_stack(name, experts);
  for (const auto& [name, experts] : quantized_stacks_) add_quantized_stack(name, experts);
}

void FolderTensors::add_quantized(QuantizedMatrix matrix) {
  const CanonicalTensor canonical = canonical_tensor(matrix.module + ".weight", form_);
  const bool gathered =
      ((form_.qkv_by_head || form_.qkv_by_group || form_.splits_qkv) && canonical.name.find(".attn_qkv.") != std::string::npos) ||
      (form_.interleaves_value_heads && is_of_value_heads(canonical.name));
  if (canonical.form != StoredForm::as_it_is || gathered || (form_.transposed && canonical.name.starts_with("blk."))) {
    fail(ErrorCode::unsupported,
         "{}: tensor '{}' is quantized, and {} stores such matrices in another order, which this version reads unquantized; take the model "
         "unquantized, or a GGUF file of it",
         folder_.path.string(), printable_name(matrix.stored), folder_.architecture->name);
  }
  if (canonical.expert >= 0) {
    quantized_stacks_[canonical.name].emplace(canonical.expert, std::move(matrix));
    return;
  }
  take(canonical.name, matrix.stored);
  folder_.tensors.push_back({.name = canonical.name,
                             .stored = matrix.stored,
                             .dtype = matrix.dtype,
                             .shape = matrix.shape,
                             .owner = matrix.owner,
                             .compose = [write = matrix.write, dtype = matrix.dtype](std::span<std::byte> to) { write(dtype, to); }});
  if (matrix.scale != 1) add_scales(canonical.name, matrix.stored, {matrix.scale});
}

// "blk.0.ffn_up.scale" of "blk.0.ffn_up.weight": one number, or one for each expert.
void FolderTensors::add_scales(const std::string& name, const std::string& stored, std::vector<float> scales) {
  constexpr std::string_view kWeight = ".weight";
  std::string scale_name = name.substr(0, name.size() - (name.ends_with(kWeight) ? kWeight.size() : 0)) + ".scale";
  take(scale_name, stored);
  const auto kept = std::make_shared<const std::vector<float>>(std::move(scales));
  folder_.tensors.push_back({.name = std::move(scale_name),
                             .stored = stored,
                             .dtype = DType::f32,
                             .shape = {std::ssize(*kept)},
                             .data = std::as_bytes(std::span(*kept)),
                             .owner = kept});
}

// The format that all of them fit in.
DType common_dtype(const std::map<int64_t, QuantizedMatrix>& experts) {
  constexpr std::array kFromNarrow = {DType::q4_0, DType::q5_0, DType::q8_0, DType::f16, DType::f32};
  const auto place_of = [&](DType dtype) { return std::find(kFromNarrow.begin(), kFromNarrow.end(), dtype) - kFromNarrow.begin(); };
  constexpr ptrdiff_t kF16 = 3;
  const DType first = experts.begin()->second.dtype;
  // I2_S has one scale for a whole tensor.
  bool equal = first != DType::i2_s;
  ptrdiff_t widest = 0;
  for (const auto& [number, matrix] : experts) {
    equal = equal && matrix.dtype == first;
    const ptrdiff_t place = place_of(matrix.dtype);
    widest = std::max(widest, place == std::ssize(kFromNarrow) ? kF16 : place);
  }
  return equal ? first : kFromNarrow[static_cast<size_t>(widest)];
}

void FolderTensors::add_quantized_stack(const std::string& name, const std::map<int64_t, QuantizedMatrix>& experts) {
  const QuantizedMatrix& first = experts.begin()->second;
  take(name, first.stored);
  std::vector<float> scales;
  int64_t next = 0;
  for (const auto& [number, matrix] : experts) {
    if (number != next++ || !(matrix.shape == first.shape)) {
      fail(ErrorCode::corrupt_file,
           "{}: tensor '{}' is expert {} of a layer, where expert {} of shape {} is needed; download the folder again",
           folder_.path.string(), printable_name(matrix.stored), number, next - 1, first.shape.to_string());
    }
    scales.push_back(matrix.scale);
  }
  const DType dtype = common_dtype(experts);
  const bool scaled = dtype == first.dtype && std::any_of(scales.begin(), scales.end(), [](float scale) { return scale != 1; });
  const auto kept = std::make_shared<const std::map<int64_t, QuantizedMatrix>>(experts);
  folder_.tensors.push_back({.name = name,
                             .stored = first.stored,
                             .dtype = dtype,
                             .shape = {std::ssize(experts), first.shape[0], first.shape[1]},
                             .owner = kept,
                             .compose = [kept, dtype](std::span<std::byte> to) {
                               const size_t bytes = to.size() / kept->size();
                               for (const auto& [number, matrix] : *kept)
                                 matrix.write(dtype, to.subspan(static_cast<size_t>(number) * bytes, bytes));
                             }});
  if (scaled) add_scales(name, first.stored, std::move(scales));
}

void FolderTensors::add_stack(const std::string& name, const std::map<int64_t, SafetensorsTensor>& experts) {
  const SafetensorsTensor& first = experts.begin()->second;
  take(name, first.name);
  std::vector<StoredView> views;
  for (const auto& [number, tensor] : experts) {
    const bool fits = number == std::ssize(views) && tensor.shape == first.shape && tensor.dtype == first.dtype;
    if (!fits) {
      fail(ErrorCode::corrupt_file,
           "{}: tensor '{}' is expert {} of a layer, where expert {} of shape {} and type {} is needed; download "
           "the folder again",
           folder_.path.string(), printable_name(tensor.name), number, views.size(), first.shape.to_string(), to_string(first.dtype));
    }
    views.push_back(view_of(tensor, StoredForm::as_it_is, 0));
  }
  std::vector<int64_t> extents{std::ssize(views)};
  extents.insert(extents.end(), first.shape.dims().begin(), first.shape.dims().end());
  folder_.tensors.push_back({.name = name,
                             .stored = first.name,
                             .dtype = first.dtype,
                             .shape = Shape(extents),
                             .owner = first.file,
                             .compose = [kept = std::move(views)](std::span<std::byte> to) { write_views(kept, to); }});
}

CheckpointTensor* FolderTensors::find(std::string_view name) {
  const auto found = std::find_if(folder_.tensors.begin(), folder_.tensors.end(), [&](const auto& each) { return each.name == name; });
  return found == folder_.tensors.end() ? nullptr : &*found;
}

// As transformers does: a head of its own that a tied model brings nevertheless counts where it differs, and a head alone is the embedding
// too.
void FolderTensors::tie() {
  if (!config_.tied) return;
  const CheckpointTensor* head = find(kHead);
  if (head == nullptr) return;
  const CheckpointTensor* embedding = find(kEmbeddingTensor);
  if (embedding == nullptr) {
    CheckpointTensor both = *head;
    both.name = kEmbeddingTensor;
    take(both.name, both.stored);
    std::erase_if(folder_.tensors, [](const CheckpointTensor& each) { return each.name == kHead; });
    folder_.tensors.push_back(std::move(both));
    return;
  }
  const CheckpointTensor left = head->composed(), right = embedding->composed();
  const bool equal = left.dtype == right.dtype && left.shape == right.shape && left.data.size() == right.data.size() &&
                     std::memcmp(left.data.data(), right.data.data(), left.data.size()) == 0;
  if (equal) {
    std::erase_if(folder_.tensors, [](const CheckpointTensor& each) { return each.name == kHead; });
  } else if (config_.ties_by_word) {
    log_warning("{}: config.json: tie_word_embeddings = true, but '{}' and '{}' differ: the head is '{}'", folder_.path.string(),
                printable_name(head->stored), printable_name(embedding->stored), printable_name(head->stored));
  }
}

void FolderTensors::tell_other_media() const {
  if (other_media_.empty()) return;
  std::vector<std::string> parts;  // "vision_tower", "multi_modal_projector"
  for (const std::string& name : other_media_) {
    const size_t first = name.starts_with("model.") ? std::string_view("model.").size() : 0;
    std::string part = printable_name(name.substr(0, name.find('.', first)));
    if (std::find(parts.begin(), parts.end(), part) == parts.end() && parts.size() < 8) parts.push_back(std::move(part));
  }
  log_warning("{}: the text model alone is used; {} tensors of other media are not: {}", folder_.path.string(), other_media_.size(),
              fmt::join(parts, ", "));
}

}  // namespace

bool add_folder_tensors(Checkpoint::Folder& folder, const ShardedSafetensors& stored, const TranslatedConfig& config) {
  FolderTensors tensors(folder, stored, config);
  bool has_base = false;  // whether a tensor has the name of a base model alone
  for (const SafetensorsTensor& tensor : stored.tensors()) {
    tensors.add(tensor);
    has_base = has_base || name_in_tables(tensor.name, folder.architecture->hugging_face).size() > tensor.name.size();
  }
  tensors.add_stacks();
  tensors.tie();
  tensors.tell_other_media();
  if (config.encodes) return false;
  if (config.tied || tensors.has(kHead)) return true;
  if (config.base_class || has_base || is_sentence_transformer(folder.path)) return false;
  fail(ErrorCode::not_found,
       "{}: the head 'lm_head.weight' is missing and config.json does not tie it to the embedding; download the folder again",
       folder.path.string());
}

}  // namespace wick
