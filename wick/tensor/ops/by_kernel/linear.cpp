#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/kernels/linear.h"
#include "wick/kernels/linear_tiles.h"
#include "wick/kernels/quantized_matvec.h"
#include "wick/tensor/ops/by_kernel/by_kernel.h"
#include "wick/tensor/ops/by_kernel/quantized.h"

namespace wick::by_kernel {
namespace {

using kernels::LinearForm;
using kernels::RowAccess;
using Operands = std::span<const Operand* const>;

// x as the kernels want it: dense rows of `columns`, of which the first element is at `offset`.
struct Activations {
  const Buffer* buffer;
  int64_t offset, rows, columns;
  std::unique_ptr<Buffer> aligned;  // a copy of them, where they began between vectors
};

Activations activations_of(Runtime& runtime, const Operand& x) {
  Activations result{x.buffer, x.layout->offset(), 0, x.layout->shape().last(), nullptr};
  result.rows = x.layout->elements() / result.columns;
  if (result.offset % 4 == 0) return result;
  const size_t bytes = static_cast<size_t>(x.layout->elements()) * sizeof(float);
  result.aligned = runtime.allocate(bytes, Lifetime::transient);
  runtime.queue().copy(*x.buffer, static_cast<size_t>(result.offset) * sizeof(float), *result.aligned, 0, bytes);
  result.buffer = result.aligned.get();
  result.offset = 0;
  return result;
}

RowAccess access_of(const Operand& weight) {
  if (is_quantized(weight.dtype)) return RowAccess::blocks;
  const int64_t vector = 16 / info(weight.dtype).block_bytes;
  const Layout& layout = *weight.layout;
  const bool wide = weight.dtype == DType::f32 || weight.dtype == DType::f16 || weight.dtype == DType::bf16;
  const bool whole = layout.shape()[1] % vector == 0 && layout.offset() % vector == 0 && layout.stride(0) % vector == 0;
  return wide && whole && layout.stride(1) == 1 && layout.stride(0) >= 0 ? RowAccess::vectors : RowAccess::elements;
}

// Buffers and parameters of kernels::WeightRows, and the buffers of further weights of the same layout.
Arguments weight_arguments(Runtime& runtime, Operands weights) {
  const Operand& weight = *weights[0];
  Arguments arguments = is_quantized(weight.dtype) ? quantized_arguments(runtime, weight) : Arguments().buffer(weight);
  for (const Operand* further : weights.subspan(1)) arguments.buffer(*further);
  const Layout& layout = *weight.layout;
  if (is_quantized(weight.dtype)) return arguments.size(layout.offset() / 16).size(layout.shape()[1] / 16).size(1);
  return arguments.size(layout.offset()).stride(layout.stride(0)).stride(layout.stride(1));
}

bool is_laid_out_as(const Operand& a, const Operand& b) {
  const Layout &x = *a.layout, &y = *b.layout;
  return a.dtype == b.dtype && x.offset() == y.offset() && x.stride(0) == y.stride(0) && x.stride(1) == y.stride(1);
}

int64_t rows_of(const Operand& weight) { return weight.layout->shape()[0]; }

ir::Grid over_rows(int64_t groups, const DeviceCaps& caps) {
  const auto x = std::min<int64_t>(groups, caps.max_group_count[0]);
  return {static_cast<uint32_t>(x), static_cast<uint32_t>((groups + x - 1) / x), 1};
}

// What a call of several weights shares.
class LinearCall {
 public:
  explicit LinearCall(const OpCall& call)
      : runtime_(*call.runtime),
        precise_(call.parameters<LinearParams>().precise),
        deterministic_(call.parameters<LinearParams>().deterministic),
        x_(activations_of(runtime_, call.inputs[0])) {}

  // results[i] = x · weights[i]ᵀ, with as few launches as the device's limits allow.
  void multiply(Operands weights, Operands results) {
    while (!weights.empty()) {
      size_t count = 1;
      while (count < weights.size() && share_launch(weights.first(count + 1))) ++count;
      multiply_together(weights.first(count), results.first(count), false);
      weights = weights.subspan(count);
      results = results.subspan(count);
    }
  }

  // y = silu(x · gateᵀ) · (x · upᵀ)
  void multiply_gated(const Operand& gate, const Operand& up, const Operand& y) {
    const std::array<const Operand*, 2> weights{&gate, &up};
    const std::array<const Operand*, 1> results{&y};
    multiply_together(weights, results, true);
  }

 private:
  [[nodiscard]] const DeviceCaps& caps() const { return runtime_.caps(); }
  // The kernels of many tokens make their sums in another order, so a deterministic product has those of few.
  [[nodiscard]] bool has_few_tokens() const { return deterministic_ || x_.rows <= 2 * kernels::kMaxMatvecTokens; }

  // Whether a product of bytes with rounded activations is there and allowed.
  [[nodiscard]] bool has_byte_product(const Operand& weight) const {
    return !precise_ && caps().int8_dot && kernels::multiplies_bytes_of(weight.dtype) && weight.layout->offset() == 0;
  }

  [[nodiscard]] bool share_launch(Operands weights) const {
    const auto by_bytes = [&](const Operand* weight) { return has_byte_product(*weight); };
    const auto alike = [&](const Operand* weight) { return is_laid_out_as(*weights[0], *weight) && !by_bytes(weight); };
    // Beside weights and results: bytes and scales, or activations and a codebook.
    return has_few_tokens() && weights.size() <= kernels::kMaxMatvecWeights && 2 * weights.size() + 2 <= caps().max_storage_buffers &&
           (std::all_of(weights.begin(), weights.end(), by_bytes) || std::all_of(weights.begin(), weights.end(), alike));
  }

  void multiply_together(Operands weights, Operands results, bool gated) {
    if (!has_few_tokens()) {
      const Operand& y = *results[0];
      return multiply_blocks(*weights[0], gated ? weights[1] : nullptr, *y.buffer, y.layout->offset());
    }
    if (std::all_of(weights.begin(), weights.end(), [&](const Operand* weight) { return has_byte_product(*weight); })) {
      for (int64_t token = 0; token < x_.rows; ++token) multiply_bytes(weights, results, gated, token);
      return;
    }
    for (int64_t token = 0; token < x_.rows; token += kernels::kMaxMatvecTokens) multiply_few(weights, results, gated, token);
  }

  // The activations in bytes, made once for all weights.
  void round_activations() {
    if (bytes_ != nullptr) return;
    const int64_t count = x_.rows * x_.columns;
    bytes_ = runtime_.allocate(static_cast<size_t>(count), Lifetime::transient);
    scales_ = runtime_.allocate(static_cast<size_t>(count / 32) * sizeof(float), Lifetime::transient);
    const Program& program = runtime_.program({"quantize_q8", {}}, [&] { return kernels::quantize_q8(caps()); });
    launch(runtime_, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(count / 32), caps()),
           Arguments().buffer(*x_.buffer).buffer(*bytes_).buffer(*scales_).size(x_.offset).size(count));
  }

  // Groups for all rows of all results.
  [[nodiscard]] ir::Grid grid_of(Operands weights, Operands results, int64_t per_group) const {
    int64_t groups = 0;
    for (size_t i = 0; i < results.size(); ++i) groups += (rows_of(*weights[i]) + per_group - 1) / per_group;
    return over_rows(groups, caps());
  }

  // The columns of a single token, where it costs less that every group rounds them than to wait for another launch.
  [[nodiscard]] uint32_t columns_to_round(kernels::ByteProducts products, Operands weights, Operands results) const {
    constexpr int64_t kBytesPerLaunch = 16 << 20;  // that come from a cache in about the time of a launch
    constexpr int kManyUnits = 16;                 // with fewer a launch costs little beside what it does: lavapipe is slower so
    products.rounds = static_cast<uint32_t>(x_.columns);
    const ir::Grid grid = grid_of(weights, results, kernels::rows_per_group(products, caps()));
    const int64_t read = int64_t{grid.x} * grid.y * x_.columns * int64_t{sizeof(float)};
    const bool fits = static_cast<uint64_t>(x_.columns) * 9 / 8 <= caps().max_shared_bytes / 2;
    return x_.rows == 1 && bytes_ == nullptr && caps().compute_units >= kManyUnits && fits && read <= kBytesPerLaunch ? products.rounds : 0;
  }

  void multiply_bytes(Operands weights, Operands results, bool gated, int64_t token) {
    kernels::ByteProducts products{{}, gated};
    for (const Operand* weight : weights) products.weights.push_back(weight->dtype);
    products.rounds = columns_to_round(products, weights, results);
    ProgramKey key{"matvec_bytes", {gated ? 1U : 0U, products.rounds}};
    Arguments arguments;
    for (const Operand* weight : weights) {
      key.numbers[key.count++] = number_of(weight->dtype);
      arguments.buffer(*weight);
    }
    const Program& program = runtime_.program(key, [&] { return kernels::matvec_bytes(products, caps()); });
    if (products.rounds > 0) {
      arguments.buffer(*x_.buffer).size(x_.offset);
    } else {
      round_activations();
      arguments.buffer(*bytes_).buffer(*scales_).size(x_.columns).size(token * x_.columns);
    }
    for (const Operand* y : results) arguments.buffer(*y);
    for (size_t i = 0; i < results.size(); ++i) {
      const int64_t rows = rows_of(*weights[i]);
      arguments.size(rows).size(results[i]->layout->offset() + token * rows);
    }
    launch(runtime_, program, grid_of(weights, results, kernels::rows_per_group(products, caps())), arguments);
  }

  void multiply_few(Operands weights, Operands results, bool gated, int64_t token) {
    const Operand& weight = *weights[0];
    const LinearForm form{weight.dtype, access_of(weight), gated, static_cast<uint32_t>(results.size())};
    const int64_t count = std::min<int64_t>(x_.rows - token, kernels::kMaxMatvecTokens);
    const uint32_t room = count == 1 ? 1 : kernels::kMaxMatvecTokens;
    const Program& program =
        runtime_.program({"matvec", {number_of(form.dtype), static_cast<uint32_t>(form.access), form.gated ? 1U : 0U, form.weights, room}},
                         [&] { return kernels::matvec(form, room, caps()); });
    Arguments arguments = weight_arguments(runtime_, weights);
    arguments.buffer(*x_.buffer);
    for (const Operand* y : results) arguments.buffer(*y);
    arguments.size(x_.offset + token * x_.columns).size(x_.columns);
    for (size_t i = 0; i < results.size(); ++i) {
      const int64_t rows = rows_of(*weights[i]);
      arguments.size(rows).size(results[i]->layout->offset() + token * rows);
      if (i == 0) arguments.size(count);
    }
    launch(runtime_, program, grid_of(weights, results, static_cast<int64_t>(kernels::matvec_rows_per_group(caps()))), arguments);
  }

  void multiply_blocks(const Operand& weight, const Operand* up, const Buffer& y, int64_t offset) {
    const int64_t rows = weight.layout->shape()[0];
    if (up != nullptr) {
      const std::unique_ptr<Buffer> gate = runtime_.allocate(static_cast<size_t>(x_.rows * rows) * sizeof(float), Lifetime::transient);
      multiply_blocks(weight, nullptr, *gate, 0);
      multiply_blocks(*up, nullptr, y, offset);
      const Program& program = runtime_.program({"gate_by_silu", {}}, [&] { return kernels::gate_by_silu(caps()); });
      launch(runtime_, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(x_.rows * rows), caps()),
             Arguments().buffer(*gate).buffer(y).size(x_.rows * rows).size(offset));
      return;
    }
    const LinearForm form{weight.dtype, access_of(weight), false};
    if (const auto tiles = precise_ ? std::nullopt : kernels::linear_tiles_of(form, rows, x_.rows, caps())) {
      if (pays_to_halve(weight, *tiles)) return multiply_halves(weight, y, offset);
      return multiply_tiles(form, *tiles, weight_arguments(runtime_, std::array<const Operand*, 1>{&weight}), rows, y, offset);
    }
    const Program& program = runtime_.program({"linear_blocks", {number_of(form.dtype), static_cast<uint32_t>(form.access)}},
                                              [&] { return kernels::linear_blocks(form, caps()); });
    const std::array<const Operand*, 1> weights{&weight};
    Arguments arguments = weight_arguments(runtime_, weights);
    arguments.buffer(*x_.buffer).buffer(y);
    arguments.size(x_.offset).size(x_.columns).size(rows).size(offset).size(x_.rows);
    const uint32_t block = kernels::linear_block(caps());
    launch(runtime_, program, {groups_along(rows, block), groups_along(x_.rows, block), 1}, arguments);
  }

  // The activations in halves, made once for all weights.
  void transpose_activations() {
    if (halves_ != nullptr) return;
    token_words_ = (x_.rows + 7) / 8 * 4;
    halves_ = runtime_.allocate(static_cast<size_t>(x_.columns * token_words_) * sizeof(uint32_t), Lifetime::transient);
    const Program& program = runtime_.program({"halves_by_column", {}}, [&] { return kernels::halves_by_column(caps()); });
    const ir::Grid grid{groups_along(x_.columns, kernels::kHalvesColumns), groups_along(token_words_, kernels::kHalvesWords), 1};
    launch(runtime_, program, grid,
           Arguments().buffer(*x_.buffer).buffer(*halves_).size(x_.offset).size(x_.columns).size(x_.rows).size(token_words_));
  }

  // Whether to round a weight once for all: where several groups would each do it for their tokens, or for the device's own product.
  [[nodiscard]] bool pays_to_halve(const Operand& weight, const kernels::LinearTiles& tiles) const {
    constexpr int64_t kMostElements = 128 << 20;  // that are kept twice
    const bool own = runtime_.override_for(OpId::linear, 0, DType::f16) != nullptr;
    return is_quantized(weight.dtype) && (own || x_.rows > tiles.block().n) && weight.layout->elements() <= kMostElements;
  }

  void multiply_halves(const Operand& weight, const Buffer& y, int64_t offset) {
    const int64_t rows = weight.layout->shape()[0], units = rows * x_.columns / 16;
    const std::unique_ptr<Buffer> halves = runtime_.allocate(static_cast<size_t>(rows * x_.columns) * sizeof(f16), Lifetime::transient);
    const Program& program =
        runtime_.program({"halves_of_weight", {number_of(weight.dtype)}}, [&] { return kernels::halves_of_weight(weight.dtype, caps()); });
    launch(runtime_, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(units), caps()),
           weight_arguments(runtime_, std::array<const Operand*, 1>{&weight}).buffer(*halves).size(x_.columns).size(units));
    if (multiply_by_device(*halves, rows, y, offset)) return;
    const LinearForm form{DType::f16, RowAccess::vectors, false};
    const auto tiles = kernels::linear_tiles_of(form, rows, x_.rows, caps());
    WICK_ASSERT(tiles.has_value());
    multiply_tiles(form, *tiles, Arguments().buffer(*halves).size(0).size(x_.columns).size(1), rows, y, offset);
  }

  // By the device's own product with f16, if it has one.
  [[nodiscard]] bool multiply_by_device(Buffer& halves, int64_t rows, const Buffer& y, int64_t offset) const {
    const OpFunction own = runtime_.override_for(OpId::linear, 0, DType::f16);
    if (own == nullptr) return false;
    const Layout activations(Shape({x_.rows, x_.columns}), x_.offset), weights(Shape({rows, x_.columns})),
        results(Shape({x_.rows, rows}), offset);
    const std::array<Operand, 2> inputs{
        {{const_cast<Buffer*>(x_.buffer), DType::f32, &activations}, {&halves, DType::f16, &weights}}};  // NOLINT: it is read
    const Operand result{const_cast<Buffer*>(&y), DType::f32, &results};                                 // NOLINT: the caller's own
    const LinearParams params{.precise = false};
    own({OpId::linear, &params, inputs, std::span(&result, 1), &runtime_});
    return true;
  }

  // `arguments` are those of the weight.
  void multiply_tiles(const LinearForm& form, const kernels::LinearTiles& tiles, Arguments arguments, int64_t rows, const Buffer& y,
                      int64_t offset) {
    transpose_activations();
    const Program& program =
        runtime_.program({"linear_tiles", {number_of(form.dtype), static_cast<uint32_t>(form.access), tiles.block().m, tiles.block().n}},
                         [&] { return kernels::linear_tiles(form, tiles); });
    arguments.buffer(*halves_).buffer(y);
    arguments.size(x_.columns).size(rows).size(offset).size(x_.rows).size(token_words_);
    launch(runtime_, program, {groups_along(rows, tiles.block().m), groups_along(x_.rows, tiles.block().n), 1}, arguments);
  }

  Runtime& runtime_;
  bool precise_, deterministic_;
  Activations x_;
  std::unique_ptr<Buffer> bytes_, scales_, halves_;
  int64_t token_words_ = 0;
};

bool is_empty(const Operand& operand) { return operand.layout->elements() == 0; }

}  // namespace

void linear(const OpCall& call) {
  std::vector<const Operand*> weights, results;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (is_empty(call.outputs[i])) continue;
    weights.push_back(&call.inputs[i + 1]);
    results.push_back(&call.outputs[i]);
  }
  LinearCall(call).multiply(weights, results);
}

void gated_linear(const OpCall& call) { LinearCall(call).multiply_gated(call.inputs[1], call.inputs[2], call.outputs[0]); }

}  // namespace wick::by_kernel
