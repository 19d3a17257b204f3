// The forward pass of a DecoderModel.
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "wick/base/fail.h"
#include "wick/model/decoder_model.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/embedding.h"
#include "wick/tensor/ops/linear.h"

namespace wick {
namespace {

// Positions whose rotations are made at first.
constexpr int64_t kFirstAngles = 512;

}  // namespace

void DecoderModel::check_tokens(const Batch& batch) const {
  for (const int32_t token : batch.tokens) {
    if (token >= 0 && token < info_.vocab_size) continue;
    fail(ErrorCode::index_out_of_range, "token {} is outside the vocabulary of {}, which has {} tokens", token, info_.name,
         info_.vocab_size);
  }
}

void DecoderModel::check_pool(const KvPool& pool) const {
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

Tensor DecoderModel::forward(const Batch& batch, KvPool& pool, const ForwardOptions& options) const {
  check_tokens(batch);
  check_pool(pool);
  KvStep step = pool.begin(batch);
  const std::vector<int32_t> wanted = wanted_rows(batch, options.result);
  const int64_t width = options.result == ModelResult::logits ? info_.vocab_size : info_.width;
  const int64_t most = std::min(rows_at_once(device_), pool.options().step);
  std::optional<Tensor> result;  // of all parts
  if (batch.rows() > most || wanted.empty()) result = Tensor::empty({std::ssize(wanted), width}, DType::f32, device_);
  auto next = wanted.begin();
  for (int64_t first = 0; first < batch.rows(); first += most) {
    const int64_t count = std::min(most, batch.rows() - first);
    // A device that runs behind the host would take all parts at once.
    if (options.stop && first > 0) device_.synchronize();
    const auto tokens = std::span(batch.tokens).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    Residual residual = run_layers(tokens, step.plan(first, count), pool, options.stop);
    if (!residual.x.defined()) return {};
    step.advance();
    const auto end = std::lower_bound(next, wanted.end(), first + count);
    if (next == end) continue;
    std::vector<int32_t> rows(next, end);
    for (int32_t& row : rows) row -= static_cast<int32_t>(first);
    if (std::ssize(rows) < count) {
      residual.x = rows_of(residual.x, rows);
      if (residual.added) residual.added = rows_of(*residual.added, rows);
    }
    const Tensor normed = normalize(residual, *output_norm_);
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

void DecoderModel::settle(Residual& residual) {
  if (residual.added) residual = {residual.x + *residual.added, std::nullopt};
}

Tensor DecoderModel::normalize(Residual& residual, const Norm& norm) {
  if (!residual.added) return norm(residual.x);
  const Tensor added = *std::move(residual.added);
  residual.added.reset();
  return norm.add(residual.x, added);
}

std::vector<Tensor> DecoderModel::angles_of(int64_t positions, bool long_context) const {
  const std::lock_guard lock(angles_mutex_);
  Angles& angles = angles_[long_context ? 1 : 0];
  if (angles.positions < positions) {
    // By powers of two, so that a text that grows has few made.
    const auto grown = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(positions, kFirstAngles))));
    angles.tables = {some_without_rope_ ? Tensor::empty({grown, 0, 2}, DType::f32, device_) : Tensor()};
    for (const RopeTable& rope : long_context ? long_ropes_ : ropes_) angles.tables.push_back(rope.table(0, grown, device_));
    angles.positions = grown;
  }
  return angles.tables;
}

BatchPlaces DecoderModel::places_of(const KvPlan& plan, const KvPool& pool) const {
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
  BatchPlaces places{.groups = {},
                     .angles = {},
                     .positions = all.narrow(0, positions, rows),
                     .longest = *std::max_element(plan.lengths.begin(), plan.lengths.end())};
  // Which of longrope's tables turns a text must not change while it grows: what its pool has room for decides.
  const bool long_context = !spec_.ropes.empty() && spec_.ropes.front().scaling == RopeScaling::longrope &&
                            pool.options().context > spec_.ropes.front().original_context;
  places.angles = angles_of(places.longest, long_context);
  for (size_t index = 0; index < of_groups.size(); ++index) {
    const int64_t blocks = plan.groups[index].blocks;
    const auto [slots, table] = of_groups[index];
    places.groups.push_back({{places.positions, all.narrow(0, slots, rows)},
                             {all.narrow(0, starts, plan.sequences + 1), all.narrow(0, lengths, plan.sequences),
                              all.narrow(0, table, plan.sequences * blocks).reshape({plan.sequences, blocks})}});
  }
  return places;
}

Tensor DecoderModel::embed(std::span<const int32_t> tokens, const BatchPlaces& places) const {
  const Tensor ids = Tensor::from_span(tokens, {std::ssize(tokens)}, device_);
  Tensor x = embedding_.scaled(embedding(embedding_.weight, ids));
  if (spec_.embedding_scale != 1) x = x * spec_.embedding_scale;
  if (learned_positions_) x = x + embedding(learned_positions_->weight, places.positions);
  return x;
}

DecoderModel::Residual DecoderModel::run_layers(std::span<const int32_t> tokens, const KvPlan& plan, const KvPool& pool,
                                                const StopCheck& stop) const {
  const BatchPlaces places = places_of(plan, pool);
  const MixerContext context{.places = places, .pool = pool, .linear = linear_, .rope_style = spec_.rope_style, .observe = observe_};
  Residual residual{embed(tokens, places), std::nullopt};
  for (const DecoderLayer& layer : layers_) {
    if (stop && stop()) return {};
    for (const DecoderBlock& block : layer.blocks) run_block(block, residual, context);
  }
  return residual;
}

void DecoderModel::run_block(const DecoderBlock& block, Residual& residual, const MixerContext& context) {
  std::optional<Tensor> normed;
  if (block.norm) normed = normalize(residual, *block.norm);
  std::optional<Tensor> sum;
  for (const DecoderBlock::Part& part : block.parts) {
    if (part.norm) {
      normed = normalize(residual, *part.norm);
    } else if (!normed) {
      settle(residual);
      normed = residual.x;
    }
    Tensor result = part.mixer->forward(*normed, context);
    sum = sum ? *sum + result : std::move(result);
  }
  if (block.post_norm) sum = (*block.post_norm)(*sum);
  if (block.residual_scale != 1) sum = *sum * block.residual_scale;
  settle(residual);
  residual.added = std::move(sum);
}

Tensor DecoderModel::logits_of(const Tensor& normed) const {
  Tensor logits = biased(head().scaled(linear(normed, head().weight, linear_)), head_bias_);
  if (spec_.logit_scale != 1) logits = logits * spec_.logit_scale;
  if (spec_.logit_softcap != 0) logits = (logits * (1 / spec_.logit_softcap)).tanh() * spec_.logit_softcap;
  return logits;
}

}  // namespace wick
