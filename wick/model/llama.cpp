#include "wick/model/llama.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/embedding.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/rope.h"

namespace wick {
namespace {

// Tokens that go through the layers together: enough to use each weight many times, few enough that their activations stay small.
// On a GPU, whose many groups share a matrix by blocks of tokens and which may round the weights for each batch, those are more.
constexpr size_t kHostBatch = 512, kKernelBatch = 2048;

// Tensors that no model computes with: the rotations' frequencies, which early converters kept and the metadata tell again.
constexpr std::array<std::string_view, 2> kHarmlessTensors = {".attn_rot_embd.", ".rope.freqs"};

int64_t vocabulary_rows(const GgufFile& file) {
  const GgufTensor* embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr) {
    fail(ErrorCode::not_found, "{}: tensor 'token_embd.weight' is missing; the file holds no model (a vocabulary alone?)", file.name());
  }
  return embedding->shape.rank() == 0 ? 0 : embedding->shape[0];
}

LlamaLayer read_layer(WeightReader& weights, const LlamaConfig& config, int64_t index) {
  const std::string prefix = fmt::format("blk.{}.", index);
  const int64_t query_width = config.heads * config.head_dim;
  const int64_t kv_width = config.kv_heads * config.head_dim;
  const auto sub_norm = [&](const char* name, int64_t length) {
    return config.sub_norms ? std::optional<Tensor>(weights.vector(prefix + name, length)) : std::nullopt;
  };
  return {
      .attention_norm = weights.vector(prefix + "attn_norm.weight", config.width),
      .query = weights.matrix(prefix + "attn_q", query_width, config.width),
      .key = weights.matrix(prefix + "attn_k", kv_width, config.width),
      .value = weights.matrix(prefix + "attn_v", kv_width, config.width),
      .output = weights.matrix(prefix + "attn_output", config.width, query_width),
      .query_bias = weights.find_vector(prefix + "attn_q.bias", query_width),
      .key_bias = weights.find_vector(prefix + "attn_k.bias", kv_width),
      .value_bias = weights.find_vector(prefix + "attn_v.bias", kv_width),
      .output_bias = weights.find_vector(prefix + "attn_output.bias", config.width),
      .attention_sub_norm = sub_norm("attn_sub_norm.weight", query_width),
      .feed_forward_norm = weights.vector(prefix + "ffn_norm.weight", config.width),
      .gate = weights.matrix(prefix + "ffn_gate", config.feed_forward_width, config.width),
      .up = weights.matrix(prefix + "ffn_up", config.feed_forward_width, config.width),
      .down = weights.matrix(prefix + "ffn_down", config.width, config.feed_forward_width),
      .gate_bias = weights.find_vector(prefix + "ffn_gate.bias", config.feed_forward_width),
      .up_bias = weights.find_vector(prefix + "ffn_up.bias", config.feed_forward_width),
      .down_bias = weights.find_vector(prefix + "ffn_down.bias", config.width),
      .feed_forward_sub_norm = sub_norm("ffn_sub_norm.weight", config.feed_forward_width),
  };
}

LlamaWeights read_weights(const GgufFile& file, WeightReader& reader, const LlamaConfig& config, int64_t vocabulary) {
  const bool tied = file.find_tensor("output.weight") == nullptr;
  ScaledMatrix embedding =
      tied ? reader.matrix("token_embd", vocabulary, config.width) : reader.table("token_embd", vocabulary, config.width);
  std::vector<LlamaLayer> layers;
  for (int64_t index = 0; index < config.layers; ++index) layers.push_back(read_layer(reader, config, index));
  Tensor output_norm = reader.vector("output_norm.weight", config.width);
  std::optional<ScaledMatrix> head;
  if (!tied) head = reader.matrix("output", vocabulary, config.width);
  std::optional<Tensor> head_bias = reader.find_vector("output.bias", vocabulary);
  return {std::move(embedding), std::move(layers), std::move(output_norm), std::move(head), std::move(head_bias)};
}

Tensor biased(const Tensor& product, const std::optional<Tensor>& bias) { return bias ? product + *bias : product; }

// All of these, or none where memory is short.
bool rearrange_together(std::span<ScaledMatrix* const> matrices) {
  std::vector<Tensor> rearranged;
  try {
    for (const ScaledMatrix* matrix : matrices) {
      if (matrix != nullptr) rearranged.push_back(repack_for_linear(matrix->weight));
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return false;
  }
  for (size_t index = 0; index < rearranged.size(); ++index) matrices[index]->replace(std::move(rearranged[index]));
  return true;
}

}  // namespace

std::unique_ptr<Llama> Llama::load(const GgufFile& file, const Device& device, const LoadOptions& options) {
  LlamaConfig config = LlamaConfig::from_gguf(file);
  const DType kv_type = options.cache_dtype();
  KvCache::check_dtype(kv_type, config.head_dim);
  const int64_t vocabulary = vocabulary_rows(file);
  WeightReader reader(file, device, options.progress);
  LlamaWeights weights = read_weights(file, reader, config, vocabulary);
  // Llama 3.1 files bring the divisors of their frequencies as a tensor.
  if (const auto divisors = reader.find_vector("rope_freqs.weight", config.rope.dims / 2)) {
    config.rope.frequency_divisors = divisors->to_vector<float>();
  }
  reader.require_all_read(kHarmlessTensors);
  const std::optional<std::string_view> own_name = file.find_string("general.name");
  ModelInfo info{config.architecture,   own_name ? printable_name(*own_name) : file.name(),
                 config.context_length, vocabulary,
                 config.layers,         config.width,
                 reader.parameters(),   file.file_bytes()};
  return std::unique_ptr<Llama>(new Llama(device, config, std::move(weights), std::move(info), kv_type, options));
}

Llama::Llama(const Device& device, const LlamaConfig& config, LlamaWeights weights, ModelInfo info, DType kv_type,
             const LoadOptions& options)
    : device_(device),
      config_(config),
      weights_(std::move(weights)),
      info_(std::move(info)),
      linear_{options.precise, options.fast},
      rope_(config.rope),
      kv_type_(kv_type),
      observe_(options.observe) {
  if (linear_.precise) return;
  const auto rearrange_later = [&](std::initializer_list<ScaledMatrix*> group) {
    plain_.emplace_back();
    std::copy(group.begin(), group.end(), plain_.back().begin());
  };
  rearrange_later({weights_.own_head ? &*weights_.own_head : &weights_.embedding});
  for (LlamaLayer& layer : weights_.layers) {
    rearrange_later({&layer.query, &layer.key, &layer.value});
    rearrange_later({&layer.output});
    rearrange_later({&layer.gate, &layer.up});
    rearrange_later({&layer.down});
  }
}

bool Llama::rearrange(double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  while (!plain_.empty()) {
    if (!rearrange_together(plain_.back())) {
      plain_.clear();  // the rest stays where it is
      break;
    }
    plain_.pop_back();
    if (std::chrono::duration<double>(Clock::now() - start).count() >= seconds) break;
  }
  return plain_.empty();
}

void Llama::show_input(int64_t layer, std::initializer_list<const char*> weights, const Tensor& input) const {
  if (!observe_) return;
  for (const char* weight : weights) observe_(fmt::format("blk.{}.{}.weight", layer, weight), input);
}

std::unique_ptr<KvCache> Llama::new_cache(int64_t capacity) const {
  if (capacity < 1 || capacity > config_.context_length) {
    fail(ErrorCode::context_full, "a context of {} tokens was asked for; {} takes 1 to {}", capacity, info_.name, config_.context_length);
  }
  return std::make_unique<KvCache>(config_.layers, config_.kv_heads, capacity, config_.head_dim, kv_type_, device_);
}

void Llama::check_cache(const KvCache& cache) const {
  const KvCache::Sizes sizes = cache.sizes();
  if (sizes.layers == config_.layers && sizes.kv_heads == config_.kv_heads && sizes.head_dim == config_.head_dim) {
    if (cache.device().same_device(device_)) return;
    fail(ErrorCode::device_mismatch, "forward: the key/value cache is on {} and {} on {}; make it with the model's new_cache()",
         cache.device().location().to_string(), info_.name, device_.location().to_string());
  }
  fail(ErrorCode::invalid_argument,
       "forward: the key/value cache has {} layers, {} heads and head_dim {}, and {} has {}, {} and {}; make it with the model's "
       "new_cache()",
       sizes.layers, sizes.kv_heads, sizes.head_dim, info_.name, config_.layers, config_.kv_heads, config_.head_dim);
}

Tensor Llama::forward(std::span<const int32_t> tokens, KvCache& cache, LogitRows rows, const StopCheck& stop) const {
  if (tokens.empty()) fail(ErrorCode::invalid_argument, "forward: no tokens; give at least one");
  for (const int32_t token : tokens) {
    if (token < 0 || token >= info_.vocab_size) {
      fail(ErrorCode::index_out_of_range, "token {} is outside the vocabulary of {}, which has {} tokens", token, info_.name,
           info_.vocab_size);
    }
  }
  check_cache(cache);
  cache.require_room(static_cast<int64_t>(tokens.size()));
  const bool all = rows == LogitRows::all;
  const int64_t length_before = cache.length();
  std::optional<Tensor> result;
  if (all) result = Tensor::empty({static_cast<int64_t>(tokens.size()), info_.vocab_size}, DType::f32, device_);
  const size_t most = device_.runtime().runs_kernels() ? kKernelBatch : kHostBatch;
  for (size_t first = 0; first < tokens.size(); first += most) {
    const size_t count = std::min(most, tokens.size() - first);
    // A device that runs behind the host would take all parts at once.
    if (stop && first > 0) device_.synchronize();
    Hidden hidden = run_layers(tokens.subspan(first, count), cache, stop);
    if (!hidden.x.defined()) {
      cache.truncate(length_before);
      return {};
    }
    const auto batch = static_cast<int64_t>(count);
    if (all) {
      copy(logits_of(std::move(hidden)), result->narrow(0, static_cast<int64_t>(first), batch));
    } else if (first + count == tokens.size()) {
      const auto last = [&](const Tensor& rows) { return rows.narrow(0, batch - 1, 1); };
      hidden.x = last(hidden.x);
      if (hidden.added) hidden.added = last(*hidden.added);
      result = logits_of(std::move(hidden));
    }
  }
  return *result;
}

Tensor Llama::normalize(Hidden& hidden, const Tensor& weight) const {
  if (!hidden.added) return rms_norm(hidden.x, weight, config_.norm_epsilon);
  SumAndNorm result = add_rms_norm(hidden.x, *hidden.added, weight, config_.norm_epsilon);
  hidden = {std::move(result.sum), std::nullopt};
  return std::move(result.norm);
}

Llama::Hidden Llama::run_layers(std::span<const int32_t> tokens, KvCache& cache, const StopCheck& stop) const {
  const auto count = static_cast<int64_t>(tokens.size());
  const Tensor ids = Tensor::from_span(tokens, {count}, device_);
  const Places places = places_of(count, cache);
  Hidden hidden{weights_.embedding.scaled(embedding(weights_.embedding.weight, ids)), std::nullopt};
  for (int64_t index = 0; index < config_.layers; ++index) {
    if (stop && stop()) return {};
    const LlamaLayer& layer = weights_.layers[static_cast<size_t>(index)];
    hidden.added = attend(layer, index, normalize(hidden, layer.attention_norm), places, cache);
    hidden.added = feed_forward(layer, index, normalize(hidden, layer.feed_forward_norm));
  }
  cache.advance(count);
  return hidden;
}

Tensor Llama::angles_of(int64_t positions) const {
  const std::lock_guard lock(angles_mutex_);
  if (!angles_.defined() || angles_.dim(0) < positions) angles_ = rope_.table(0, positions, device_);
  return angles_;
}

Llama::Places Llama::places_of(int64_t count, const KvCache& cache) const {
  const int64_t past = cache.length(), length = past + count;
  std::vector<int32_t> numbers;  // positions, starts, length, and the one block that holds them all
  numbers.reserve(static_cast<size_t>(count) + 4);
  for (int64_t position = past; position < length; ++position) numbers.push_back(static_cast<int32_t>(position));
  for (const int64_t number : {int64_t{0}, count, length, int64_t{0}}) numbers.push_back(static_cast<int32_t>(number));
  const Tensor all = Tensor::from_vector(numbers, {count + 4}, device_);
  const Tensor positions = all.narrow(0, 0, count);
  AttentionPlan plan{all.narrow(0, count, 2), all.narrow(0, count + 2, 1), all.narrow(0, count + 3, 1).reshape({1, 1})};
  return {angles_of(cache.capacity()), {positions, positions}, std::move(plan), length};
}

Tensor Llama::attend(const LlamaLayer& layer, int64_t index, const Tensor& normed, const Places& places, KvCache& cache) const {
  const int64_t tokens = normed.dim(0);
  show_input(index, {"attn_q", "attn_k", "attn_v"}, normed);
  const std::array<const Tensor*, 3> projections{&layer.query.weight, &layer.key.weight, &layer.value.weight};
  std::vector<Tensor> qkv = linear(normed, projections, linear_);
  qkv[0] = biased(layer.query.scaled(qkv[0]), layer.query_bias);
  qkv[1] = biased(layer.key.scaled(qkv[1]), layer.key_bias);
  qkv[2] = biased(layer.value.scaled(qkv[2]), layer.value_bias);
  const auto heads_of = [&](const Tensor& x, int64_t heads) { return x.reshape({tokens, heads, config_.head_dim}); };
  const Tensor query =
      rope_into_cache(heads_of(qkv[0], config_.heads), heads_of(qkv[1], config_.kv_heads), heads_of(qkv[2], config_.kv_heads), places.cache,
                      places.angles, config_.rope_style, cache.keys(index), cache.values(index));
  const AttentionParams params{.scale = 1.0F / std::sqrt(static_cast<float>(config_.head_dim)),
                               .block_size = cache.capacity(),
                               .longest = places.length,
                               .precise = linear_.precise};
  const Tensor mixed = attention(query, cache.keys(index), cache.values(index), places.plan, params);
  Tensor heads = mixed.reshape({tokens, config_.heads * config_.head_dim});
  if (layer.attention_sub_norm) heads = rms_norm(heads, *layer.attention_sub_norm, config_.norm_epsilon);
  show_input(index, {"attn_output"}, heads);
  return biased(layer.output.scaled(linear(heads, layer.output.weight, linear_)), layer.output_bias);
}

Tensor Llama::gate(const LlamaLayer& layer, const Tensor& normed) const {
  const LinearParams params = linear_;
  const bool fused = layer.gate.weight.dtype() == layer.up.weight.dtype() && layer.gate.scale == 1 && !layer.gate_bias && !layer.up_bias;
  if (config_.activation == Activation::silu && fused) {
    return layer.up.scaled(gated_linear(normed, layer.gate.weight, layer.up.weight, params));
  }
  const std::array<const Tensor*, 2> projections{&layer.gate.weight, &layer.up.weight};
  const std::vector<Tensor> products = linear(normed, projections, params);
  const Tensor gate = biased(layer.gate.scaled(products[0]), layer.gate_bias);
  const Tensor activated = config_.activation == Activation::silu ? gate.silu() : gate.relu().sqr();
  return activated * biased(layer.up.scaled(products[1]), layer.up_bias);
}

Tensor Llama::feed_forward(const LlamaLayer& layer, int64_t index, const Tensor& normed) const {
  show_input(index, {"ffn_gate", "ffn_up"}, normed);
  Tensor inner = gate(layer, normed);
  if (layer.feed_forward_sub_norm) inner = rms_norm(inner, *layer.feed_forward_sub_norm, config_.norm_epsilon);
  show_input(index, {"ffn_down"}, inner);
  return biased(layer.down.scaled(linear(inner, layer.down.weight, linear_)), layer.down_bias);
}

Tensor Llama::logits_of(Hidden hidden) const {
  const Tensor normed = normalize(hidden, weights_.output_norm);
  const ScaledMatrix& head = weights_.head();
  return biased(head.scaled(linear(normed, head.weight, linear_)), weights_.head_bias);
}

}  // namespace wick
