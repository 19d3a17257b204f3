#include "wick/model/llama.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>
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
constexpr int64_t kHostBatch = 512, kKernelBatch = 2048;

// Positions whose rotations are made at first.
constexpr int64_t kFirstAngles = 512;

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
  KvPool::check_dtype(kv_type, config.head_dim);
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
      observe_(options.observe) {
  const KvLayer kept{
      .kv_heads = config.kv_heads, .key_dim = config.head_dim, .value_dim = config.head_dim, .dtype = kv_type, .retention = {}};
  // Without the folder of a file that gives the model no name: it may move.
  layout_.model = fmt::format("{} ({}, {} parameters, {} bytes)", std::filesystem::path(info_.name).filename().string(), info_.architecture,
                              info_.parameters, info_.file_bytes);
  layout_.layers.assign(static_cast<size_t>(config.layers), kept);
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

void Llama::check_tokens(const Batch& batch) const {
  for (const int32_t token : batch.tokens) {
    if (token >= 0 && token < info_.vocab_size) continue;
    fail(ErrorCode::index_out_of_range, "token {} is outside the vocabulary of {}, which has {} tokens", token, info_.name,
         info_.vocab_size);
  }
}

void Llama::check_pool(const KvPool& pool) const {
  if (!pool.device().same_device(device_)) {
    fail(ErrorCode::device_mismatch, "forward: the pool is on {} and {} on {}; make it with the model's new_pool()",
         pool.device().location().to_string(), info_.name, device_.location().to_string());
  }
  if (pool.layout() == layout_) return;
  fail(ErrorCode::invalid_argument, "forward: the pool is one for {}, not for {}; make it with the model's new_pool()",
       pool.layout().model == layout_.model ? "other layers" : pool.layout().model, layout_.model);
}

namespace {

// These rows of a matrix, in ascending order; a view where they are neighbours.
Tensor rows_of(const Tensor& matrix, std::span<const int32_t> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  if (rows.back() - rows.front() == count - 1) return matrix.narrow(0, rows.front(), count);
  return matrix.index_select(Tensor::from_span(rows, {count}, matrix.device()), 0);
}

// The place of each number of `rows` among them in ascending order; empty where that is their own.
std::vector<int32_t> places_in_order(std::span<const int32_t> rows, std::span<const int32_t> ascending) {
  if (std::equal(rows.begin(), rows.end(), ascending.begin(), ascending.end())) return {};
  std::vector<int32_t> places;
  for (const int32_t row : rows) {
    places.push_back(static_cast<int32_t>(std::lower_bound(ascending.begin(), ascending.end(), row) - ascending.begin()));
  }
  return places;
}

// The rows that want a result, each once and in ascending order.
std::vector<int32_t> wanted_rows(const Batch& batch, ModelResult result) {
  std::vector<int32_t> rows = batch.logit_rows;
  if (result == ModelResult::pooled) {
    rows.resize(batch.tokens.size());
    std::iota(rows.begin(), rows.end(), 0);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

Tensor means_of_slices(const Tensor& hidden, const Batch& batch) {
  std::vector<Tensor> means;
  for (const SequenceSlice& slice : batch.sequences) means.push_back(hidden.narrow(0, slice.first, slice.count).mean_keepdim(0));
  return Tensor::cat(means, 0);
}

}  // namespace

Tensor Llama::forward(const Batch& batch, KvPool& pool, const ForwardOptions& options) const {
  check_tokens(batch);
  check_pool(pool);
  KvStep step = pool.begin(batch);
  const std::vector<int32_t> wanted = wanted_rows(batch, options.result);
  const int64_t width = options.result == ModelResult::logits ? info_.vocab_size : info_.width;
  const int64_t most = device_.runtime().runs_kernels() ? kKernelBatch : kHostBatch;
  std::optional<Tensor> result;  // of all parts
  if (batch.rows() > most || wanted.empty()) result = Tensor::empty({std::ssize(wanted), width}, DType::f32, device_);
  auto next = wanted.begin();
  for (int64_t first = 0; first < batch.rows(); first += most) {
    const int64_t count = std::min(most, batch.rows() - first);
    // A device that runs behind the host would take all parts at once.
    if (options.stop && first > 0) device_.synchronize();
    const auto tokens = std::span(batch.tokens).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    Hidden hidden = run_layers(tokens, step.plan(first, count), pool, options.stop);
    if (!hidden.x.defined()) return {};
    step.advance();
    const auto end = std::lower_bound(next, wanted.end(), first + count);
    if (next == end) continue;
    std::vector<int32_t> rows(next, end);
    for (int32_t& row : rows) row -= static_cast<int32_t>(first);
    if (std::ssize(rows) < count) {
      hidden.x = rows_of(hidden.x, rows);
      if (hidden.added) hidden.added = rows_of(*hidden.added, rows);
    }
    const Tensor normed = normalize(hidden, weights_.output_norm);
    Tensor part = options.result == ModelResult::logits ? logits_of(normed) : normed;
    if (!result) {
      result = std::move(part);
    } else {
      copy(part, result->narrow(0, next - wanted.begin(), std::ssize(rows)));
    }
    next = end;
  }
  step.commit();
  if (options.result == ModelResult::pooled) return means_of_slices(*result, batch);
  const std::vector<int32_t> order = places_in_order(batch.logit_rows, wanted);
  if (order.empty()) return *result;
  return result->index_select(Tensor::from_vector(order, {std::ssize(order)}, device_), 0);
}

Tensor Llama::normalize(Hidden& hidden, const Tensor& weight) const {
  if (!hidden.added) return rms_norm(hidden.x, weight, config_.norm_epsilon);
  SumAndNorm result = add_rms_norm(hidden.x, *hidden.added, weight, config_.norm_epsilon);
  hidden = {std::move(result.sum), std::nullopt};
  return std::move(result.norm);
}

Tensor Llama::angles_of(int64_t positions) const {
  const std::lock_guard lock(angles_mutex_);
  if (!angles_.defined() || angles_.dim(0) < positions) {
    // By powers of two, so that a text that grows has few made.
    const auto grown = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(positions, kFirstAngles))));
    angles_ = rope_.table(0, grown, device_);
  }
  return angles_;
}

Llama::Places Llama::places_of(const KvPlan& plan) const {
  // All numbers in one tensor: one upload.
  std::vector<int32_t> numbers;
  const auto add = [&](const std::vector<int32_t>& more) {
    numbers.insert(numbers.end(), more.begin(), more.end());
    return static_cast<int64_t>(numbers.size() - more.size());
  };
  const int64_t positions = add(plan.positions), starts = add(plan.starts), lengths = add(plan.lengths);
  std::vector<std::array<int64_t, 2>> of_groups;
  for (const KvPlan::Group& group : plan.groups) of_groups.push_back({add(group.slots), add(group.table)});
  const Tensor all = Tensor::from_span(std::span<const int32_t>(numbers), {std::ssize(numbers)}, device_);
  const int64_t rows = std::ssize(plan.positions);
  Places places{.angles = {}, .groups = {}, .longest = *std::max_element(plan.lengths.begin(), plan.lengths.end())};
  places.angles = angles_of(places.longest);
  for (size_t index = 0; index < of_groups.size(); ++index) {
    const int64_t blocks = plan.groups[index].blocks;
    const auto [slots, table] = of_groups[index];
    places.groups.push_back({{all.narrow(0, positions, rows), all.narrow(0, slots, rows)},
                             {all.narrow(0, starts, plan.sequences + 1), all.narrow(0, lengths, plan.sequences),
                              all.narrow(0, table, plan.sequences * blocks).reshape({plan.sequences, blocks})}});
  }
  return places;
}

Llama::Hidden Llama::run_layers(std::span<const int32_t> tokens, const KvPlan& plan, const KvPool& pool, const StopCheck& stop) const {
  const Tensor ids = Tensor::from_span(tokens, {std::ssize(tokens)}, device_);
  const Places places = places_of(plan);
  Hidden hidden{weights_.embedding.scaled(embedding(weights_.embedding.weight, ids)), std::nullopt};
  for (int64_t index = 0; index < config_.layers; ++index) {
    if (stop && stop()) return {};
    const LlamaLayer& layer = weights_.layers[static_cast<size_t>(index)];
    hidden.added = attend(layer, index, normalize(hidden, layer.attention_norm), places, pool);
    hidden.added = feed_forward(layer, index, normalize(hidden, layer.feed_forward_norm));
  }
  return hidden;
}

Tensor Llama::attend(const LlamaLayer& layer, int64_t index, const Tensor& normed, const Places& places, const KvPool& pool) const {
  const int64_t tokens = normed.dim(0);
  show_input(index, {"attn_q", "attn_k", "attn_v"}, normed);
  const std::array<const Tensor*, 3> projections{&layer.query.weight, &layer.key.weight, &layer.value.weight};
  std::vector<Tensor> qkv = linear(normed, projections, linear_);
  qkv[0] = biased(layer.query.scaled(qkv[0]), layer.query_bias);
  qkv[1] = biased(layer.key.scaled(qkv[1]), layer.key_bias);
  qkv[2] = biased(layer.value.scaled(qkv[2]), layer.value_bias);
  const auto heads_of = [&](const Tensor& x, int64_t heads) { return x.reshape({tokens, heads, config_.head_dim}); };
  const Places::Group& group = places.groups[static_cast<size_t>(pool.group_of(index))];
  const Tensor& keys = pool.keys(index);
  const Tensor& values = pool.values(index);
  const Tensor query = rope_into_cache(heads_of(qkv[0], config_.heads), heads_of(qkv[1], config_.kv_heads),
                                       heads_of(qkv[2], config_.kv_heads), group.cache, places.angles, config_.rope_style, keys, values);
  const AttentionParams params{.scale = 1.0F / std::sqrt(static_cast<float>(config_.head_dim)),
                               .block_size = pool.block_size(),
                               .longest = places.longest,
                               .precise = linear_.precise};
  const Tensor mixed = attention(query, keys, values, group.plan, params);
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

Tensor Llama::logits_of(const Tensor& normed) const {
  const ScaledMatrix& head = weights_.head();
  return biased(head.scaled(linear(normed, head.weight, linear_)), weights_.head_bias);
}

}  // namespace wick
