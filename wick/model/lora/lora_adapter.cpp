#include "wick/model/lora/lora_adapter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/hash.h"
#include "wick/formats/gguf.h"
#include "wick/formats/printable.h"
#include "wick/model/lora/lora_pairs.h"
#include "wick/quant/block_format.h"

namespace wick {
namespace {

// Fixed, so that prefixes which are kept in files are found by the next process.
constexpr HashKey kIdentityKey{.first = 0x6A09E667F3BCC908u, .second = 0xBB67AE8584CAA73Bu, .odd = 0x3C6EF372FE94F82Bu};

uint64_t add_to_hash(uint64_t hash, std::string_view bytes) { return split_mix(hash ^ keyed_hash(bytes, kIdentityKey)); }
uint64_t add_to_hash(uint64_t hash, std::span<const std::byte> bytes) {
  return add_to_hash(hash, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// The attention of the layer that a tensor "blk.N.…" is of; nullptr where there is none.
const AttentionSpec* attention_of(const DecoderSpec& spec, std::string_view weight) {
  const std::string text(weight.substr(std::min<size_t>(weight.size(), 4)));
  const size_t layer = std::strtoul(text.c_str(), nullptr, 10);
  if (layer >= spec.layers.size()) return nullptr;
  for (const BlockSpec& block : spec.layers[layer].blocks) {
    for (const PartSpec& part : block.parts) {
      if (const auto* attention = std::get_if<AttentionSpec>(&part.mixer)) return attention;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<float> LoraMatrix::to_floats() const {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  find_block_format(dtype)->unpack(data.data(), values);
  return values;
}

LoraMatrix& LoraPairs::half(const std::string& weight, bool is_a) {
  for (LoraPair& pair : pairs_) {
    if (pair.weight == weight) return is_a ? pair.a : pair.b;
  }
  LoraPair& added = pairs_.emplace_back();
  added.weight = weight;
  return is_a ? added.a : added.b;
}

void LoraPairs::add(const std::string& weight, bool is_a, LoraMatrix matrix) {
  LoraMatrix& place = half(weight, is_a);
  if (!place.stored.empty()) {
    fail(ErrorCode::corrupt_file, "{}: tensors '{}' and '{}' mean the same; keep one of them", name_, printable_name(place.stored),
         printable_name(matrix.stored));
  }
  place = std::move(matrix);
}

std::vector<LoraPair> LoraPairs::checked() && {
  if (pairs_.empty()) fail(ErrorCode::corrupt_file, "{}: no tensors of an adapter in it; save the adapter again", name_);
  for (const LoraPair& pair : pairs_) {
    const LoraMatrix &a = pair.a, &b = pair.b;
    if (a.stored.empty() || b.stored.empty()) {
      fail(ErrorCode::corrupt_file, "{}: tensor '{}' has no {} beside it; save the adapter again", name_,
           printable_name(a.stored.empty() ? b.stored : a.stored), a.stored.empty() ? "A" : "B");
    }
    if (a.shape.rank() != 2 || b.shape.rank() != 2) {
      const LoraMatrix& wrong = a.shape.rank() != 2 ? a : b;
      fail(ErrorCode::shape_mismatch, "{}: tensor '{}' has shape {}; a matrix is needed", name_, printable_name(wrong.stored),
           wrong.shape.to_string());
    }
    if (a.shape[0] != b.shape[1]) {
      fail(ErrorCode::shape_mismatch, "{}: tensor '{}' has rank {} (shape {}), and '{}' has rank {} (shape {}); they must be equal", name_,
           printable_name(a.stored), a.shape[0], a.shape.to_string(), printable_name(b.stored), b.shape[1], b.shape.to_string());
    }
    if (a.shape.elements() == 0 || b.shape.elements() == 0) {
      fail(ErrorCode::shape_mismatch, "{}: tensor '{}' has shape {}: a rank of 0 adapts nothing; save the adapter again", name_,
           printable_name(a.stored), a.shape.to_string());
    }
    for (const LoraMatrix* each : {&a, &b}) {
      if (find_block_format(each->dtype) != nullptr) continue;
      fail(ErrorCode::unsupported, "{}: tensor '{}' has type {}; save the adapter as F32, F16 or BF16", name_, printable_name(each->stored),
           to_string(each->dtype));
    }
  }
  return std::move(pairs_);
}

std::shared_ptr<const LoraAdapter> LoraAdapter::open(const std::filesystem::path& path, const Architecture& architecture) {
  std::shared_ptr<LoraAdapter> adapter(new LoraAdapter());
  adapter->name_ = path.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    adapter->read_peft(path, architecture);
  } else {
    adapter->read_gguf(path, architecture);
  }
  uint64_t hash = static_cast<uint64_t>(adapter->rope_style_) << 1 | static_cast<uint64_t>(adapter->qkv_by_head_);
  for (const LoraPair& pair : adapter->pairs_) {
    hash = add_to_hash(hash, pair.weight);
    hash = add_to_hash(hash, std::as_bytes(std::span(&pair.scale, 1)));
    hash = add_to_hash(hash, pair.a.data);
    hash = add_to_hash(hash, pair.b.data);
  }
  adapter->identity_ = hash;
  return adapter;
}

void LoraAdapter::read_gguf(const std::filesystem::path& path, const Architecture& architecture) {
  auto file = std::make_shared<const GgufFile>(GgufFile::open(path));
  const std::string_view type = file->find_string("general.type").value_or("model");
  if (type != "adapter") {
    fail(ErrorCode::unsupported, "{}: metadata general.type = {}: this is no adapter; name a file of type 'adapter' or a PEFT folder",
         name_, printable(type));
  }
  const std::string_view kind = file->get_string("adapter.type");
  if (kind != "lora") {
    fail(ErrorCode::unsupported, "{}: metadata adapter.type = {}: only 'lora' is supported", name_, printable(kind));
  }
  const std::string_view of = file->get_string("general.architecture");
  if (of != architecture.name) {
    fail(ErrorCode::unsupported, "{}: metadata general.architecture = {}: the adapter is for another model; this one is {}", name_,
         printable(of), architecture.name);
  }
  if (file->find("adapter.alora.invocation_tokens") != nullptr) {
    fail(ErrorCode::unsupported, "{}: metadata adapter.alora.invocation_tokens: adapters that begin at a token are not supported", name_);
  }
  alpha_ = file->find_float("adapter.lora.alpha").value_or(0);
  if (!std::isfinite(alpha_)) fail(ErrorCode::corrupt_file, "{}: metadata adapter.lora.alpha = {}: must be finite", name_, alpha_);
  LoraPairs pairs(name_);
  for (const GgufTensor& tensor : file->tensors()) {
    constexpr std::string_view kA = ".lora_a", kB = ".lora_b";
    const bool is_a = tensor.name.ends_with(kA);
    if (!is_a && !tensor.name.ends_with(kB)) {
      fail(ErrorCode::unsupported,
           "{}: tensor '{}' is neither a .lora_a nor a .lora_b; without it the adapter would compute something else", name_,
           printable_name(tensor.name));
    }
    pairs.add(std::string(tensor.name.substr(0, tensor.name.size() - kA.size())), is_a,
              {std::string(tensor.name), tensor.dtype, tensor.shape, tensor.data});
  }
  pairs_ = std::move(pairs).checked();
  // Without alpha nothing is scaled.
  for (LoraPair& pair : pairs_) pair.scale = alpha_ == 0 ? 1 : alpha_ / static_cast<double>(pair.a.shape[0]);
  rope_style_ = architecture.gguf_rope;
  file_ = std::move(file);
}

std::vector<int64_t> LoraAdapter::source_rows(const LoraPair& pair, const DecoderSpec& spec, RopeStyle style) const {
  const int64_t rows = pair.b.shape[0];
  std::vector<int64_t> sources(static_cast<size_t>(rows));
  std::iota(sources.begin(), sources.end(), 0);
  const AttentionSpec* attention = attention_of(spec, pair.weight);
  if (attention == nullptr) return sources;
  const bool rotated = pair.weight.ends_with(".attn_q.weight") || pair.weight.ends_with(".attn_k.weight");
  if (rotated && attention->rope >= 0 && rope_style_ != style) {
    const int64_t dims = spec.ropes[static_cast<size_t>(attention->rope)].dims;
    const std::vector<int64_t> from_halves = interleaved_rows(rows, attention->head_dim, dims);
    if (style == RopeStyle::interleaved) return from_halves;
    for (size_t row = 0; row < sources.size(); ++row) sources[static_cast<size_t>(from_halves[row])] = static_cast<int64_t>(row);
  }
  if (qkv_by_head_ && pair.weight.ends_with(".attn_qkv.weight") && rows == 3 * attention->heads * attention->head_dim) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t within = row % attention->head_dim, head = row / attention->head_dim % attention->heads;
      const int64_t part = row / attention->head_dim / attention->heads;
      sources[static_cast<size_t>(row)] = (head * 3 + part) * attention->head_dim + within;
    }
  }
  return sources;
}

}  // namespace wick
