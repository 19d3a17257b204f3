// The forward pass of a DecoderModel.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/linked_kernels.h"
#include "wick/model/decoder_model.h"
#include "wick/model/relative_bias.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/embedding.h"
#include "wick/tensor/ops/linear.h"

namespace wick {
namespace {

// Positions whose rotations are made at first.
constexpr int64_t kFirstAngles = 512;
// Products of so few rows are memory-bound, and no device uses its library for them.
constexpr int64_t kRowsWithoutLibrary = 8;

}  // namespace

void DecoderModel::check_tokens(const Batch& batch, const Tensor& earlier) const {
  const int64_t count = earlier.defined() ? earlier.elements() : 0;
  for (const int32_t token : batch.tokens) {
    if (token >= 0 && token < info_.vocab_size) continue;
    if (token < 0 && -1 - int64_t{token} < count) continue;
    fail(ErrorCode::index_out_of_range, "token {} is outside the vocabulary of {}, which has {} tokens", token, info_.name,
         info_.vocab_size);
  }
}

void DecoderModel::check_pool(const KvPool& pool) const {
  if (!pool.device().same_device(device_)) {
    fail(ErrorCode::device_mismatch, "forward: the pool is on {} and {} on {}; make it with the model's new_pool()",
         pool.device().location().to_string(), info_.name, device_.location().to_string());
  }
  if (pool.layout() == layout_ && !placement_.is_single()) {
    const std::vector<Device> wanted = cache_devices();
    for (size_t layer = 0; layer < wanted.size(); ++layer) {
      const auto index = static_cast<int64_t>(layer), attending = std::ssize(layout_.layers);
      const Device& there = index < attending ? pool.keys(index).device() : pool.states(index - attending).device();
      if (there.same_device(wanted[layer])) continue;
      fail(ErrorCode::device_mismatch, "forward: layer {} of the pool is on {} and of {} on {}; make it with the model's new_pool()", layer,
           there.location().to_string(), info_.name, wanted[layer].location().to_string());
    }
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

// What a score is of, as a pooling; none: of each token.
std::optional<Pooling> pooling_of(ScoreHeadSpec::Input input) {
  switch (input) {
    case ScoreHeadSpec::Input::first_token: return Pooling::cls;
    case ScoreHeadSpec::Input::last_token: return Pooling::last;
    case ScoreHeadSpec::Input::mean: return Pooling::mean;
    case ScoreHeadSpec::Input::each_token: return std::nullopt;
  }
  return std::nullopt;
}

// The rows that want a result, each once and in ascending order. `pooling`: of pooled results; none: these are of each token.
std::vector<int32_t> wanted_rows(const Batch& batch, ModelResult result, const std::optional<Pooling>& pooling) {
  std::vector<int32_t> rows = batch.logit_rows;
  if (result == ModelResult::pooled && (pooling == Pooling::cls || pooling == Pooling::last)) {
    rows.clear();
    for (const SequenceSlice& slice : batch.sequences) {
      rows.push_back(static_cast<int32_t>(pooling == Pooling::last ? slice.first + slice.count - 1 : slice.first));
    }
  } else if (result == ModelResult::pooled) {
    rows.resize(batch.tokens.size());
    std::iota(rows.begin(), rows.end(), 0);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Takes the place of Batch::earlier_token in the numbers of a step, whose first are its tokens, by what they stand for.
void put_earlier(std::span<const int32_t> tokens, const Tensor& earlier, const Tensor& numbers) {
  constexpr size_t kBytes = sizeof(int32_t);
  for (size_t row = 0; row < tokens.size();) {
    size_t end = row + 1;
    if (tokens[row] < 0) {
      while (end < tokens.size() && tokens[end] == tokens[end - 1] - 1) ++end;
      const auto first = static_cast<size_t>(earlier.layout().offset() - 1 - tokens[row]);
      earlier.device().runtime().queue().copy(earlier.storage()->buffer(), first * kBytes, numbers.storage()->buffer(), row * kBytes,
                                              (end - row) * kBytes);
    }
    row = end;
  }
}

// Of the hidden states [tokens, width] of one text: [1, width].
Tensor pooled(const Tensor& hidden, Pooling pooling) {
  const int64_t count = hidden.dim(0);
  switch (pooling) {
    case Pooling::max: return hidden.max_keepdim(0);
    case Pooling::mean_sqrt: return hidden.mean_keepdim(0) * std::sqrt(static_cast<double>(count));
    case Pooling::weighted_mean: {
      std::vector<float> weights;
      const double sum = 0.5 * static_cast<double>(count) * static_cast<double>(count + 1);
      for (int64_t index = 0; index < count; ++index) weights.push_back(static_cast<float>(static_cast<double>(index + 1) / sum));
      return (hidden * Tensor::from_vector(weights, {count, 1}, hidden.device())).sum_keepdim(0);
    }
    case Pooling::mean:
    case Pooling::cls:
    case Pooling::last:
    case Pooling::rank: break;
  }
  return hidden.mean_keepdim(0);
}

Tensor pool_slices(const Tensor& hidden, const Batch& batch, Pooling pooling) {
  // The rows that were wanted.
  if (pooling == Pooling::cls || pooling == Pooling::last) return hidden;
  std::vector<Tensor> vectors;
  for (const SequenceSlice& slice : batch.sequences) vectors.push_back(pooled(hidden.narrow(0, slice.first, slice.count), pooling));
  return Tensor::cat(vectors, 0);
}

// Errors: unsupported for what the model has not.
void check_result(const ModelInfo& model, ModelResult result, Pooling pooling, bool has_score) {
  if (result == ModelResult::logits && model.headless) {
    fail(ErrorCode::unsupported, "{}: the model has no head, so that it gives vectors of texts (wick embed), and no logits", model.name);
  }
  if (result == ModelResult::pooled && model.source_length > 0) {
    fail(ErrorCode::unsupported, "{}: an encoder–decoder writes texts and gives no vectors of them; take an encoder", model.name);
  }
  if (result == ModelResult::pooled && pooling == Pooling::rank && !has_score) {
    fail(ErrorCode::unsupported, "{}: pooling_type = 4: a reranker scores pairs of texts, and the model has no head for that; choose {}",
         model.name, pooling_words());
  }
}

}  // namespace

Tensor DecoderModel::forward(const Batch& batch, KvPool& pool, const ForwardOptions& options) const {
  check_tokens(batch, options.earlier);
  check_pool(pool);
  const Pooling pooling = options.pooling.value_or(info_.pooling);
  check_result(info_, options.result, pooling, score_head_.has_value());
  if (spec_.encoder) check_whole_texts(batch);
  if (source_ != nullptr) check_sources(batch);
  KvStep step = pool.begin(batch);
  const std::optional<Pooling> of_rows = pooling == Pooling::rank && score_head_ ? pooling_of(score_head_->input()) : pooling;
  const std::vector<int32_t> wanted = wanted_rows(batch, options.result, of_rows);
  Tensor result =
      is_recorded(batch, wanted, options) ? run_recorded(batch, step, pool, options) : run_parts(batch, wanted, step, pool, options);
  if (!result.defined()) return {};
  step.commit();
  if (options.result == ModelResult::pooled) {
    const Tensor vectors = of_rows ? pool_slices(result, batch, *of_rows) : result;
    return pooling == Pooling::rank ? score_head_->forward(vectors, linear_) : dense_->forward(vectors, linear_);
  }
  const std::vector<int32_t> order = places_in_order(batch.logit_rows, wanted);
  if (order.empty()) return result;
  return result.index_select(Tensor::from_vector(order, {std::ssize(order)}, device_), 0);
}

void DecoderModel::check_whole_texts(const Batch& batch) const {
  for (const SequenceSlice& slice : batch.sequences) {
    const int32_t position = batch.positions[static_cast<size_t>(slice.first)];
    if (position == 0) continue;
    fail(ErrorCode::invalid_argument, "forward: a sequence of {} positions is to be continued, and {} is an encoder: give each text whole",
         position, info_.name);
  }
}

void DecoderModel::check_sources(const Batch& batch) const {
  for (const SequenceSlice& slice : batch.sequences) {
    const int64_t position = batch.positions[static_cast<size_t>(slice.first)], end = position + slice.count;
    if (slice.source < 1) {
      fail(ErrorCode::unsupported, "{} is an encoder–decoder: it writes a text from a source, and none is given here; use wick run",
           info_.name);
    }
    if (position == 0 ? slice.count < slice.source : position < slice.source) {
      fail(
          ErrorCode::invalid_argument,
          "forward: rows for positions {} to {} with a source of {} tokens, and {} is an encoder–decoder: give each source whole, with its "
          "length",
          position, end, slice.source, info_.name);
    }
    if (slice.source > info_.source_length || end - slice.source > info_.target_length) {
      fail(ErrorCode::context_full, "forward: a source of {} tokens and a target of {}; {} takes {} and {}", slice.source,
           end - slice.source, info_.name, info_.source_length, info_.target_length);
    }
  }
  for (const int32_t row : batch.logit_rows) {
    if (!is_source(batch, row)) continue;
    fail(ErrorCode::invalid_argument, "forward: a result of row {} is wanted, which is of a source; {} has results of targets alone", row,
         info_.name);
  }
}

bool DecoderModel::is_source(const Batch& batch, int64_t row) const {
  if (source_ == nullptr) return false;
  const auto after = std::find_if(batch.sequences.begin(), batch.sequences.end(),
                                  [&](const SequenceSlice& slice) { return row < slice.first + slice.count; });
  return batch.positions[static_cast<size_t>(row)] < after->source;
}

int64_t DecoderModel::rows_of_source_or_targets(const Batch& batch, int64_t first, int64_t most) {
  int64_t rows = 0;
  for (const SequenceSlice& slice : batch.sequences) {
    const int64_t end = slice.first + slice.count;
    if (end <= first) continue;
    const int64_t left = end - std::max(first, slice.first);
    const int64_t of_source = slice.source - batch.positions[static_cast<size_t>(end - left)];
    if (of_source > 0) return rows > 0 ? rows : of_source;
    // Attention takes no more rows of a sequence than there are positions that they see.
    const int64_t taken = std::min({left, slice.source, most - rows});
    rows += taken;
    if (taken < left || rows == most) break;
  }
  return rows;
}

int64_t DecoderModel::rows_of_part(const Batch& batch, int64_t first, int64_t most) const {
  if (source_ != nullptr) return rows_of_source_or_targets(batch, first, most);
  if (!spec_.encoder) return std::min(most, batch.rows() - first);
  int64_t rows = 0;
  for (const SequenceSlice& slice : batch.sequences) {
    if (slice.first < first) continue;
    if (rows > 0 && rows + slice.count > most) break;
    rows += slice.count;
  }
  return rows;
}

Tensor DecoderModel::run_parts(const Batch& batch, std::span<const int32_t> wanted, KvStep& step, const KvPool& pool,
                               const ForwardOptions& options) const {
  const int64_t width = options.result == ModelResult::logits ? info_.vocab_size : info_.width;
  const int64_t most = std::min(rows_at_once(device_), pool.options().step);
  Tensor result;  // of all parts
  if (batch.rows() > most || wanted.empty() || source_ != nullptr) result = Tensor::empty({std::ssize(wanted), width}, DType::f32, device_);
  auto next = wanted.begin();
  for (int64_t first = 0, count = 0; first < batch.rows(); first += count) {
    count = rows_of_part(batch, first, most);
    // A device that runs behind the host would take all parts at once.
    if (options.stop && first > 0) device_.synchronize();
    if (is_source(batch, first)) {
      if (!run_source(source_->inputs_of(batch, first, count, step.plan(first, count), {}), pool, options.stop)) return {};
      step.advance();
      continue;
    }
    const std::vector<StepInputs> inputs = inputs_of(batch, first, count, step.plan(first, count), options.earlier);
    const auto end = std::lower_bound(next, wanted.end(), first + count);
    std::vector<int32_t> rows(next, end);
    for (int32_t& row : rows) row -= static_cast<int32_t>(first);
    compile_first(count, options, inputs.front().adapters.has_value(), [&] {
      Residual residual = run_layers(inputs, pool, {});
      if (!rows.empty()) (void)result_of_rows(residual, rows, options.result, inputs.front().adapters);
    });
    Residual residual = run_layers(inputs, pool, options.stop);
    if (!residual.x.defined()) return {};
    step.advance();
    if (rows.empty()) continue;
    Tensor part = result_of_rows(residual, rows, options.result, inputs.front().adapters);
    if (!result.defined()) {
      result = std::move(part);
    } else {
      copy(part, result.narrow(0, next - wanted.begin(), std::ssize(rows)));
    }
    next = end;
  }
  return result;
}

std::vector<StepInputs> DecoderModel::inputs_of(const Batch& batch, int64_t first, int64_t count, const KvPlan& plan,
                                                const Tensor& earlier) const {
  const auto tokens = std::span(batch.tokens).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
  const StepNumbers numbers(tokens, plan, adapter_numbers(batch, first, count));
  std::vector<StepInputs> inputs;
  for (const Device& device : placement_.devices) {
    const Tensor on_device = Tensor::from_span(numbers.values(), {std::ssize(numbers.values())}, device);
    // The first device embeds them.
    if (inputs.empty()) put_earlier(tokens, earlier, on_device);
    inputs.push_back(numbers.inputs(on_device));
  }
  inputs.front().types = types_of(batch, first, count);
  if (spec_.relative_bias) {
    for (size_t device = 0; device < inputs.size(); ++device) {
      inputs[device].score_bias = relative_bias(*relative_bias_, *spec_.relative_bias, plan.positions, inputs[device].longest);
    }
  }
  if (source_ != nullptr) add_target_inputs(batch, first, count, plan, inputs.front());
  return inputs;
}

void DecoderModel::add_target_inputs(const Batch& batch, int64_t first, int64_t count, const KvPlan& plan, StepInputs& inputs) const {
  std::vector<int32_t> lengths, positions;
  std::vector<float> hidden(static_cast<size_t>(count * inputs.longest), 0.0F);
  for (const SequenceSlice& slice : batch.sequences) {
    const int64_t begin = std::max(first, slice.first), end = std::min(first + count, slice.first + slice.count);
    if (begin >= end) continue;
    lengths.push_back(static_cast<int32_t>(slice.source));
    for (int64_t row = begin; row < end; ++row) {
      const auto of_row = hidden.begin() + (row - first) * inputs.longest;
      std::fill(of_row, of_row + slice.source, -std::numeric_limits<float>::infinity());
      positions.push_back(static_cast<int32_t>(plan.positions[static_cast<size_t>(row - first)] - slice.source));
    }
  }
  inputs.target = {.source_lengths = Tensor::from_vector(lengths, {std::ssize(lengths)}, device_),
                   .positions = Tensor::from_vector(positions, {count}, device_)};
  const Tensor mask = Tensor::from_vector(hidden, {1, count, inputs.longest}, device_);
  inputs.score_bias = inputs.score_bias ? *inputs.score_bias + mask : mask.broadcast_to({score_bias_heads_, count, inputs.longest});
}

bool DecoderModel::run_source(std::span<const StepInputs> inputs, const KvPool& pool, const StopCheck& stop) const {
  Residual residual = source_->run_layers(inputs, pool, stop);
  if (!residual.x.defined()) return false;
  const Tensor encoded = source_->result_of(residual, ModelResult::hidden, {});
  const BatchPlaces places{inputs.front(), angles_of(inputs.front().longest, pool, 0)};
  const MixerContext context{.places = places, .pool = pool, .linear = linear_, .rope_style = spec_.rope_style, .observe = observe_};
  for (const DecoderLayer& layer : layers_) {
    for (const DecoderBlock& block : layer.blocks) {
      for (const DecoderBlock::Part& part : block.parts) part.mixer->take_source(encoded, context);
    }
  }
  return true;
}

std::optional<Tensor> DecoderModel::types_of(const Batch& batch, int64_t first, int64_t count) const {
  if (!token_types_ || token_types_->dim(0) < 2) return std::nullopt;
  std::vector<int32_t> types(static_cast<size_t>(count));
  bool any = false;
  for (const SequenceSlice& slice : batch.sequences) {
    if (slice.second == 0) continue;
    for (int64_t row = std::max(slice.first + slice.second, first); row < std::min(slice.first + slice.count, first + count); ++row) {
      types[static_cast<size_t>(row - first)] = 1;
      any = true;
    }
  }
  if (!any) return std::nullopt;
  return Tensor::from_vector(types, {count}, device_);
}

int64_t DecoderModel::recorded_rows() const {
  const Runtime& runtime = device_.runtime();
  // A recording is one device's, and knows no numbers but those of StepNumbers.
  if (spec_.relative_bias || token_types_ || source_ != nullptr) return 0;
  if (!record_ || !placement_.is_single() || observe_ || !runtime.runs_kernels() || runtime.op_fallback() != nullptr) return 0;
  // What a device's own library multiplies is not recorded, nor what runs on the CPU instead.
  const bool has_library = runtime.override_for(OpId::linear, 0, DType::f16) != nullptr;
  return has_library ? kRowsWithoutLibrary : RecordedSteps::kMaxRows;
}

bool DecoderModel::is_recorded(const Batch& batch, std::span<const int32_t> wanted, const ForwardOptions& options) const {
  // Where layers keep states, how many rows each sequence has decides what is queued: one of each.
  if (!layout_.states.empty() && std::ssize(batch.sequences) != batch.rows()) return false;
  return options.result != ModelResult::pooled && batch.rows() <= recorded_rows() && std::ssize(wanted) == batch.rows();
}

Tensor DecoderModel::run_recorded(const Batch& batch, KvStep& step, KvPool& pool, const ForwardOptions& options) const {
  if (options.stop && options.stop()) return {};
  const KvPlan& plan = step.plan(0, batch.rows());
  const int64_t longest = *std::max_element(plan.lengths.begin(), plan.lengths.end());
  // A further row would need a state to write.
  const StepShape shape = layout_.states.empty() ? StepShape::with_room_for(batch.rows(), plan.sequences, longest)
                                                 : StepShape::with_room_for_positions(plan.sequences, longest);
  const AdapterNumbers adapters = adapter_numbers(batch, 0, batch.rows());
  const bool has_adapters = adapters.of_row > 0;
  const StepNumbers numbers(batch.tokens, plan, adapters, shape, pool.block_size());
  (void)angles_of(shape.positions, pool, 0);  // not among what is recorded
  const RecordedSteps::Key key{2 * id_ + (options.result == ModelResult::logits ? 0 : 1), shape, has_adapters ? std::ssize(adapters_) : 0,
                               adapters.of_row};
  const auto run = [&](const Tensor& on_device) {
    const StepInputs inputs = numbers.inputs(on_device);
    Residual residual = run_layers(std::span(&inputs, 1), pool, {});
    return result_of(residual, options.result, inputs.adapters);
  };
  compile_first(shape.rows, options, has_adapters,
                [&] { (void)run(Tensor::from_span(numbers.values(), {std::ssize(numbers.values())}, device_)); });
  const Tensor all = pool.recorded_steps().run(device_, key, numbers.values(), run,
                                               [&](const Tensor& on_device) { put_earlier(batch.tokens, options.earlier, on_device); });
  step.advance();
  return all.narrow(0, 0, batch.rows());
}

// Which kernels a step has depends on how many rows there are, by and large on the power of two.
void DecoderModel::compile_first(int64_t rows, const ForwardOptions& options, bool has_adapters, const std::function<void()>& step) const {
  constexpr int kWidths = 16;
  const Runtime& runtime = device_.runtime();
  if (!placement_.is_single() || observe_ || !runtime.runs_kernels() || runtime.op_fallback() != nullptr) return;
  const int kind = has_adapters ? 3 : static_cast<int>(options.result);
  const int width = std::min(static_cast<int>(std::bit_width(static_cast<uint64_t>(rows - 1))), kWidths - 1);
  const uint64_t bit = uint64_t{1} << static_cast<unsigned>(kWidths * kind + width);
  if ((compiled_.fetch_or(bit) & bit) != 0) return;
  try {
    // A program with a device that runs kernels has the recorder.
    linked_graph_recorder()->compile_together(device_, step);
  } catch (const Error& error) {
    // The step that is to come may have the memory that was wanted twice.
    if (error.code() != ErrorCode::out_of_memory) throw;
  }
}

void DecoderModel::settle(Residual& residual) {
  if (residual.added) residual = {residual.x + *residual.added, std::nullopt};
}

void DecoderModel::move(Residual& residual, const Device& device) {
  if (&residual.x.device().runtime() == &device.runtime()) return;
  settle(residual);
  residual.x = residual.x.to_device(device);
}

Tensor DecoderModel::normalize(Residual& residual, const Norm& norm, DType dtype) {
  if (!residual.added) return norm(residual.x, dtype);
  const Tensor added = *std::move(residual.added);
  residual.added.reset();
  return norm.add(residual.x, added, dtype);
}

std::vector<Tensor> DecoderModel::angles_of(int64_t positions, const KvPool& pool, size_t device) const {
  // Which of longrope's tables turns a text must not change while it grows: what its pool has room for decides.
  const bool long_context = !spec_.ropes.empty() && spec_.ropes.front().scaling == RopeScaling::longrope &&
                            pool.options().context > spec_.ropes.front().original_context;
  const std::lock_guard lock(angles_mutex_);
  const Device& target = placement_.devices[device];
  Angles& angles = angles_[device][long_context ? 1 : 0];
  if (angles.positions < positions) {
    // By powers of two, so that a text that grows has few made.
    const auto grown = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(positions, kFirstAngles))));
    angles.tables = {some_without_rope_ ? Tensor::empty({grown, 0, 2}, DType::f32, target) : Tensor()};
    for (const RopeTable& rope : long_context ? long_ropes_ : ropes_) angles.tables.push_back(rope.table(0, grown, target));
    angles.positions = grown;
  }
  return angles.tables;
}

Tensor DecoderModel::embed(const StepInputs& inputs) const {
  Tensor x = embedding_.scaled(embedding(embedding_.weight, inputs.tokens));
  if (spec_.embedding_scale != 1) x = x * spec_.embedding_scale;
  if (token_types_) x = x + (inputs.types ? embedding(*token_types_, *inputs.types) : token_types_->narrow(0, 0, 1));
  if (learned_positions_) x = x + embedding(learned_positions_->weight, inputs.target ? inputs.target->positions : inputs.positions);
  if (embedding_norm_) x = (*embedding_norm_)(x);
  if (projection_) x = biased(projection_->scaled(linear(x, projection_->weight, linear_)), projection_bias_);
  return x;
}

DecoderModel::Residual DecoderModel::run_layers(std::span<const StepInputs> inputs, const KvPool& pool, const StopCheck& stop) const {
  const Tensor embedded = embed(inputs.front());
  const Tensor rows = layer_rows_ ? layer_rows_->of(embedded, inputs.front().tokens, linear_) : Tensor();
  std::vector<BatchPlaces> places;
  std::vector<MixerContext> contexts;
  places.reserve(inputs.size());
  contexts.reserve(inputs.size());
  const auto first_values = std::make_shared<Tensor>();
  for (size_t device = 0; device < inputs.size(); ++device) {
    places.push_back({inputs[device], angles_of(inputs[device].longest, pool, device)});
    places.back().first_values = first_values;
    if (layer_rows_) places.back().layer_inputs = rows.to_device(placement_.devices[device]);
    contexts.push_back({.places = places.back(), .pool = pool, .linear = linear_, .rope_style = spec_.rope_style, .observe = observe_});
  }
  Residual residual{streams_ ? streams_->spread(embedded, linear_) : embedded, std::nullopt};
  for (const DecoderLayer& layer : layers_) {
    if (stop && stop()) return {};
    move(residual, placement_.devices[layer.device]);
    for (int64_t time = 0; time < layer.times; ++time) run_layer(layer, residual, contexts);
  }
  move(residual, device_);
  return residual;
}

void DecoderModel::run_layer(const DecoderLayer& layer, Residual& residual, std::span<const MixerContext> contexts) const {
  if (!layer.updates) {
    for (const DecoderBlock& block : layer.blocks) run_block(block, residual, contexts, layer.device);
    return;
  }
  const Tensor predicted = layer.updates->predict(residual.x);
  Residual active{layer.updates->active(predicted), std::nullopt};
  for (const DecoderBlock& block : layer.blocks) run_block(block, active, contexts, layer.device);
  settle(active);
  residual.x = layer.updates->correct(predicted, active.x, contexts[layer.device]);
}

bool DecoderModel::run_fused(const DecoderBlock& block, Residual& residual, const MixerContext& context, size_t device) {
  // An adapter's part needs what the products are of.
  if (context.places.step.adapters) return false;
  const bool plain = block.norm && block.norm->is_rms() && block.parts.size() == 1 && block.parts[0].device == device &&
                     !block.parts[0].norm && !block.parts[0].post_norm && !block.post_norm && !block.sum_norm && !block.sum_scale &&
                     !block.norms_stream && block.residual_scale == 1;
  // A sum that is pending costs a pass of its own here, and none beside a norm.
  if (!plain || residual.added || context.observe) return false;
  std::optional<Tensor> sum = block.parts[0].mixer->forward_fused(residual.x, *block.norm, context);
  if (!sum) return false;
  residual.x = *std::move(sum);
  return true;
}

DType DecoderModel::norm_dtype(const DecoderBlock& block, int64_t rows, std::span<const MixerContext> contexts, size_t device) {
  const bool halves = !block.norms_stream && std::ranges::all_of(block.parts, [&](const DecoderBlock::Part& part) {
    return part.device == device && part.mixer->input_dtype(rows, contexts[device]) == DType::f16;
  });
  return halves ? DType::f16 : DType::f32;
}

void DecoderModel::run_block(const DecoderBlock& block, Residual& residual, std::span<const MixerContext> contexts, size_t device) const {
  if (run_fused(block, residual, contexts[device], device)) return;
  const DType dtype = norm_dtype(block, residual.x.dim(0), contexts, device);
  std::optional<Tensor> normed;
  if (block.norm) normed = normalize(residual, *block.norm, dtype);
  if (block.norms_stream) residual.x = *normed;
  std::optional<Tensor> sum;
  for (const DecoderBlock::Part& part : block.parts) {
    if (part.norm) {
      normed = normalize(residual, *part.norm, dtype);
    } else if (!normed) {
      settle(residual);
      normed = residual.x;
    }
    const bool is_here = part.device == device;
    Tensor result = part.mixer->forward(is_here ? *normed : normed->to_device(placement_.devices[part.device]), contexts[part.device]);
    if (!is_here) result = result.to_device(placement_.devices[device]);
    if (part.post_norm) result = (*part.post_norm)(result);
    sum = sum ? *sum + result : std::move(result);
  }
  if (block.post_norm) sum = (*block.post_norm)(*sum);
  if (block.residual_scale != 1) sum = *sum * block.residual_scale;
  settle(residual);
  residual.added = std::move(sum);
  if (block.sum_norm) residual.x = normalize(residual, *block.sum_norm);
  if (!block.sum_scale) return;
  settle(residual);
  residual.x = residual.x * *block.sum_scale;
}

Tensor DecoderModel::result_of(Residual& residual, ModelResult result, const std::optional<AdapterRows>& adapters) const {
  if (streams_) residual.x = streams_->merge(residual.x, linear_);
  if (!output_norm_) settle(residual);
  const Tensor normed = output_norm_ ? normalize(residual, *output_norm_) : residual.x;
  return result == ModelResult::logits ? logits_of(normed, adapters) : normed;
}

Tensor DecoderModel::result_of_rows(Residual& residual, std::span<const int32_t> rows, ModelResult result,
                                    std::optional<AdapterRows> adapters) const {
  if (std::ssize(rows) < residual.x.dim(0)) {
    residual.x = rows_of(residual.x, rows);
    if (residual.added) residual.added = rows_of(*residual.added, rows);
    if (adapters) adapters = AdapterRows{rows_of(adapters->ids, rows), rows_of(adapters->scales, rows)};
  }
  return result_of(residual, result, adapters);
}

Tensor DecoderModel::logits_of(const Tensor& normed, const std::optional<AdapterRows>& adapters) const {
  Tensor product = head().scaled(linear(normed, head().weight, linear_));
  if (adapters && head().adapters != nullptr) product = product + adapter_product(normed, *head().adapters, *adapters, linear_);
  Tensor logits = biased(product, head_bias_);
  if (spec_.logit_scale != 1) logits = logits * spec_.logit_scale;
  if (spec_.logit_softcap != 0) logits = (logits * (1 / spec_.logit_softcap)).tanh() * spec_.logit_softcap;
  return logits;
}

}  // namespace wick
