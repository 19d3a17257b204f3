#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/kernels/linear.h"
#include "wick/kernels/linear_lanes.h"
#include "wick/kernels/linear_tiles.h"
#include "wick/kernels/quantized_matvec.h"
#include "wick/tensor/ops/launchers/launchers.h"
#include "wick/tensor/ops/launchers/quantized.h"
#include "wick/tensor/ops/launchers/weight_operands.h"

namespace wick::launchers {
namespace {

using kernels::LinearForm;
using kernels::RowAccess;

bool is_laid_out_as(const Operand& a, const Operand& b) {
  const Layout &x = *a.layout, &y = *b.layout;
  return a.dtype == b.dtype && x.offset() == y.offset() && x.stride(0) == y.stride(0) && x.stride(1) == y.stride(1);
}

int64_t weight_rows(const Operand& weight) { return weight.layout->shape()[0]; }

ir::Grid over_rows(int64_t groups, const DeviceCaps& caps) {
  const auto x = std::min<int64_t>(groups, caps.max_group_count[0]);
  return {static_cast<uint32_t>(x), static_cast<uint32_t>((groups + x - 1) / x), 1};
}

// What a call takes in beside x and its weights; null where there is none.
struct Extras {
  const Operand* norm = nullptr;
  std::vector<const Operand*> biases;  // one a weight, or none
  const Operand* residual = nullptr;

  Extras() = default;
  Extras(const OpCall& call, size_t weights) {
    const LinearParams& params = call.parameters<LinearParams>();
    size_t next = 1 + weights;
    if (params.has_norm) norm = &call.inputs[next++];
    for (size_t i = 0; params.has_bias && i < weights; ++i) biases.push_back(&call.inputs[next++]);
    if (params.has_residual) residual = &call.inputs[next];
  }
  [[nodiscard]] kernels::LinearExtras form() const { return {norm != nullptr, !biases.empty(), residual != nullptr}; }
  // Their buffers, in the order of the kernels.
  void append_to(Arguments& arguments) const {
    if (norm != nullptr) arguments.buffer(*norm);
    for (const Operand* bias : biases) arguments.buffer(*bias);
    if (residual != nullptr) arguments.buffer(*residual);
  }
  // Those of `count` weights from `first` on.
  [[nodiscard]] Extras part(size_t first, size_t count) const {
    Extras result = *this;
    if (!biases.empty())
      result.biases.assign(biases.begin() + static_cast<ptrdiff_t>(first), biases.begin() + static_cast<ptrdiff_t>(first + count));
    return result;
  }
};

// What a call of several weights shares.
class LinearCall {
 public:
  explicit LinearCall(const OpCall& call) : runtime_(*call.runtime), params_(call.parameters<LinearParams>()), precise_(params_.precise) {
    const Operand& x = call.inputs[0];
    if (x.dtype == DType::f32) {
      x_ = activations_of(runtime_, x);
      return;
    }
    WICK_ASSERT(x.dtype == DType::f16 && x.layout->is_contiguous());
    x_.columns = x.layout->shape().last();
    x_.rows = x.layout->elements() / x_.columns;
    // A linear with weights of f16 comes here where the device's own product has declined it.
    const bool gated = call.op == OpId::gated_linear;
    const auto weights = call.inputs.subspan(1, gated ? 2 : call.outputs.size());
    const auto takes = [&](const Operand& weight) { return (gated || is_quantized(weight.dtype)) && multiplies_halves(weight); };
    if (x.layout->offset() == 0 && std::all_of(weights.begin(), weights.end(), takes)) {
      halved_x_ = x.buffer;
      return;
    }
    // No product takes them as they are.
    widened_ = runtime_.allocate(static_cast<size_t>(x.layout->elements()) * sizeof(float), Lifetime::transient);
    const Layout layout(x.layout->shape());
    const Operand wide{widened_.get(), DType::f32, &layout};
    copy({OpId::copy, nullptr, std::span(&x, 1), std::span(&wide, 1), &runtime_});
    x_.buffer = widened_.get();
  }

  // results[i] = x · weights[i]ᵀ, with as few launches as the device's limits allow.
  void multiply(Operands weights, Operands results, const Extras& extras) {
    prepare(weights, extras);
    for (size_t first = 0; first < weights.size();) {
      size_t count = 1;
      while (first + count < weights.size() && share_launch(weights.subspan(first, count + 1))) ++count;
      multiply_together(weights.subspan(first, count), results.subspan(first, count), {}, extras.part(first, count));
      first += count;
    }
  }

  // y = gate_of(x · gateᵀ, x · upᵀ)
  void multiply_gated(const Operand& gate, const Operand& up, const Operand& y, const Extras& extras) {
    const std::array<const Operand*, 2> weights{&gate, &up};
    const std::array<const Operand*, 1> results{&y};
    prepare(weights, extras);
    const bool by_bytes = has_few_tokens() && has_byte_product(gate) && has_byte_product(up);
    const bool by_blocks = !has_few_tokens() && extras.form().number() == 0;
    const bool by_lanes = lane_group(weights, params_.gate, extras.form()) || lane_group(weights, {}, extras.form());
    if (by_blocks && !by_lanes && multiply_pair_in_halves(gate, up, y)) return;
    if (y.dtype != DType::f32) return multiply_gated_wide(gate, up, y, extras);
    if (by_lanes || by_blocks || by_bytes || (has_few_tokens() && is_laid_out_as(gate, up)))
      return multiply_together(weights, results, params_.gate, extras);
    // Parts of one weight, as of a fused projection: the kernel reads both at one offset.
    const int64_t count = x_.rows * weight_rows(gate);
    const std::unique_ptr<Buffer> memory = runtime_.allocate(static_cast<size_t>(count) * sizeof(float), Lifetime::transient);
    const Layout layout(y.layout->shape());
    const Operand first{memory.get(), DType::f32, &layout};
    const std::array<const Operand*, 1> gates{&first};
    multiply_together(std::span(weights).first(1), gates, {}, extras.part(0, 1));
    multiply_together(std::span(weights).subspan(1), results, {}, extras.part(1, 1));
    activate(*memory, *y.buffer, count, y.layout->offset());
  }

 private:
  // The same for a result of f16, by way of f32.
  void multiply_gated_wide(const Operand& gate, const Operand& up, const Operand& y, const Extras& extras) {
    const std::unique_ptr<Buffer> memory = numbers_of(y.layout->elements(), DType::f32);
    const Layout layout(y.layout->shape());
    const Operand wide{memory.get(), DType::f32, &layout};
    multiply_gated(gate, up, wide, extras);
    copy({OpId::copy, nullptr, std::span(&wide, 1), std::span(&y, 1), &runtime_});
  }

  [[nodiscard]] std::unique_ptr<Buffer> numbers_of(int64_t count, DType dtype) const {
    return runtime_.allocate(static_cast<size_t>(count * info(dtype).block_bytes), Lifetime::transient);
  }

  [[nodiscard]] const DeviceCaps& caps() const { return runtime_.caps(); }
  // The kernels of many tokens make their sums in another order, so a deterministic product has those of few.
  [[nodiscard]] bool has_few_tokens() const { return params_.deterministic || x_.rows <= kFusedLinearRows; }

  // The norm goes into the kernel for single tokens whose columns it reads anyway, or into the one that orders activations for lanes; else
  // x is normalized by a launch of its own.
  void prepare(Operands weights, const Extras& extras) {
    norm_ = extras.norm;
    if (norm_ == nullptr) return;
    for (const Operand* weight : weights) {
      const auto order = kernels::LaneColumns::of(weight->dtype, access_of(*weight));
      const auto is_same = [&](const kernels::LaneColumns& other) { return other.number() == order->number(); };
      if (order && x_.columns % order->chunk() == 0 && std::none_of(orders_.begin(), orders_.end(), is_same)) orders_.push_back(*order);
    }
  }

  // x as rms_norm leaves it, made once for all weights.
  void normalize() {
    if (norm_ == nullptr) return;
    normed_ = runtime_.allocate(static_cast<size_t>(x_.rows * x_.columns) * sizeof(float), Lifetime::transient);
    const Layout from(Shape({x_.rows, x_.columns}), x_.offset), to(Shape({x_.rows, x_.columns}));
    const std::array<Operand, 2> inputs{{{const_cast<Buffer*>(x_.buffer), DType::f32, &from}, *norm_}};  // NOLINT: it is read
    const Operand result{normed_.get(), DType::f32, &to};
    const RmsNormParams params{params_.epsilon};
    rms_norm({OpId::rms_norm, &params, inputs, std::span(&result, 1), &runtime_});
    x_.buffer = normed_.get();
    x_.offset = 0;
    norm_ = nullptr;
  }

  // Whether a product of bytes with rounded activations is there and allowed.
  [[nodiscard]] bool has_byte_product(const Operand& weight) const {
    return !precise_ && caps().int8_dot && kernels::multiplies_bytes_of(weight.dtype);
  }

  [[nodiscard]] bool share_launch(Operands weights) const {
    const kernels::LinearExtras extras{.bias = params_.has_bias};
    if (lane_group(weights, {}, extras)) return true;
    // Each by itself costs less than the product of bytes for all: of q4_k, q4_k and q6_k, 8 tokens, 26 and 32 us on an H200.
    if (lane_group(weights.first(1), {}, extras) || lane_group(weights.last(1), {}, extras)) return false;
    const auto by_bytes = [&](const Operand* weight) { return has_byte_product(*weight); };
    const auto alike = [&](const Operand* weight) { return is_laid_out_as(*weights[0], *weight) && !by_bytes(weight); };
    // Beside weights, biases and results: bytes and scales, or activations and a codebook, and a norm.
    const size_t buffers = (params_.has_bias ? 3 : 2) * weights.size() + (params_.has_norm ? 3 : 2);
    return has_few_tokens() && weights.size() <= kernels::kMaxMatvecWeights && buffers <= caps().max_storage_buffers &&
           (std::all_of(weights.begin(), weights.end(), by_bytes) || std::all_of(weights.begin(), weights.end(), alike));
  }

  // How tiles that lanes set multiply those weights together, if they can and shall.
  [[nodiscard]] std::optional<kernels::LaneGroup> lane_group(Operands weights, std::optional<GateKind> gate,
                                                             const kernels::LinearExtras& extras) const {
    if (precise_ || params_.deterministic || x_.rows < kMinLaneRows || x_.rows > kMaxLaneRows) return std::nullopt;
    const bool has_own = !is_quantized(weights[0]->dtype) && runtime_.override_for(OpId::linear, 0, weights[0]->dtype) != nullptr;
    if (has_own && x_.rows > kFusedLinearRows) return std::nullopt;
    const size_t results = gate ? 1 : weights.size();
    const size_t buffers = weights.size() * (extras.bias ? 2 : 1) + results + (extras.residual ? 3 : 2);
    const auto alike = [&](const Operand* weight) { return is_laid_out_as(*weights[0], *weight); };
    if (results > kernels::kMaxMatvecWeights || buffers > caps().max_storage_buffers) return std::nullopt;
    if (!std::all_of(weights.begin(), weights.end(), alike)) return std::nullopt;
    int64_t rows = 0;
    for (size_t i = 0; i < results; ++i) rows += weight_rows(*weights[i]);
    return kernels::lane_group_of(lane_form(weights, gate, extras), rows, x_.columns, x_.rows, caps());
  }
  [[nodiscard]] static LinearForm lane_form(Operands weights, std::optional<GateKind> gate, kernels::LinearExtras extras) {
    extras.norm = false;  // x is normalized before
    return {.dtype = weights[0]->dtype,
            .access = access_of(*weights[0]),
            .gate = gate,
            .weights = static_cast<uint32_t>(gate ? 1 : weights.size()),
            .extras = extras};
  }

  void multiply_together(Operands weights, Operands results, std::optional<GateKind> gate, const Extras& extras) {
    if (const auto group = lane_group(weights, gate, extras.form())) return multiply_lanes(*group, weights, results, gate, extras);
    if (gate && multiply_pair_by_lanes(weights, *results[0], extras)) return;
    if (!has_few_tokens()) {
      normalize();
      const Operand& y = *results[0];
      multiply_blocks(*weights[0], gate ? weights[1] : nullptr, *y.buffer, y.layout->offset());
      WICK_ASSERT(!gate || extras.biases.empty());
      return add_extras(y, extras);
    }
    if (std::all_of(weights.begin(), weights.end(), [&](const Operand* weight) { return has_byte_product(*weight); })) {
      for (int64_t token = 0; token < x_.rows; token += kernels::kMaxByteTokens) multiply_bytes(weights, results, gate, extras, token);
      return;
    }
    if (x_.rows > 1) normalize();
    for (int64_t token = 0; token < x_.rows; token += kernels::kMaxMatvecTokens) multiply_few(weights, results, gate, extras, token);
  }

  // y += bias + residual, where a product of many tokens does not take them in.
  void add_extras(const Operand& y, const Extras& extras) {
    const int64_t columns = y.layout->shape().last();
    const Shape shape({x_.rows, columns});
    const Layout result(shape, y.layout->offset());
    const Operand sum{y.buffer, y.dtype, &result};
    const auto add = [&](const Operand& term, const std::array<int64_t, 2>& strides) {
      const Layout terms(shape, strides, term.layout->offset());
      const std::array<Operand, 2> inputs{{sum, {term.buffer, term.dtype, &terms}}};
      const BinaryParams params{BinaryKind::add};
      binary({OpId::binary, &params, inputs, std::span(&sum, 1), &runtime_});
    };
    if (!extras.biases.empty()) add(*extras.biases[0], {0, 1});
    if (extras.residual != nullptr) add(*extras.residual, {columns, 1});
  }

  [[nodiscard]] std::unique_ptr<Buffer> lane_halves(int64_t tiles) {
    return runtime_.allocate(static_cast<size_t>(tiles * x_.columns) * 16, Lifetime::transient);
  }

  // The activations in the order in which lanes read weights, made once for all weights of one order.
  void order_activations(const kernels::LaneColumns& columns, int64_t tiles) {
    if (by_lane_[columns.number()] != nullptr || norm_and_order(tiles)) return;
    normalize();
    by_lane_[columns.number()] = lane_halves(tiles);
    const int64_t count = tiles * x_.columns;  // of four words
    const Program& program =
        runtime_.program({"halves_by_lane", {columns.number()}}, [&] { return kernels::halves_by_lane(columns, caps()); });
    launch(runtime_, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(count), caps()),
           Arguments().buffer(*x_.buffer).buffer(*by_lane_[columns.number()]).size(x_.offset).size(x_.columns).size(x_.rows).size(count));
  }

  // The normalized activations in all orders of the call's weights by one launch, unless rows are too long for it or it has been.
  [[nodiscard]] bool norm_and_order(int64_t tiles) {
    if (norm_ == nullptr || norm_->layout->offset() % 4 != 0 || orders_.empty()) return false;
    const uint32_t held = kernels::norm_by_lane_held(x_.columns, caps());
    if (held == 0 || orders_.size() + 2 > caps().max_storage_buffers) return false;
    ProgramKey key{"norm_by_lane", {held}};
    Arguments arguments;
    arguments.buffer(*x_.buffer).buffer(*norm_);
    for (const kernels::LaneColumns& order : orders_) {
      key.numbers[key.count++] = order.number();
      by_lane_[order.number()] = lane_halves(tiles);
      arguments.buffer(*by_lane_[order.number()]);
    }
    const Program& program = runtime_.program(key, [&] { return kernels::norm_by_lane(orders_, held, caps()); });
    arguments.size(x_.offset).size(norm_->layout->offset()).size(x_.columns).size(x_.rows).number(params_.epsilon);
    launch(runtime_, program, {static_cast<uint32_t>(tiles * 8), 1, 1}, arguments);
    return true;
  }

  void multiply_lanes(const kernels::LaneGroup& group, Operands weights, Operands results, std::optional<GateKind> gate, Extras extras) {
    const LinearForm form = lane_form(weights, gate, extras.form());
    const kernels::LaneColumns columns = *kernels::LaneColumns::of(form.dtype, form.access);
    const int64_t blocks = (x_.rows + group.tokens() - 1) / group.tokens();
    order_activations(columns, blocks * group.token_tiles);
    const Program& program =
        runtime_.program({"linear_lanes",
                          {number_of(form.dtype), gate_number(gate), form.weights, form.extras.number(), group.token_tiles, group.row_tiles,
                           group.row_subgroups, group.depth_subgroups, group.staged_quads}},
                         [&] { return kernels::linear_lanes(form, group); });
    Arguments arguments = weight_arguments(runtime_, weights);
    arguments.buffer(*by_lane_[columns.number()]);
    extras.norm = nullptr;
    extras.append_to(arguments);
    for (const Operand* y : results) arguments.buffer(*y);
    arguments.size(x_.columns / columns.chunk()).size(x_.rows);
    int64_t groups = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      const int64_t rows = weight_rows(*weights[i]), in_group = group.rows(gate.has_value());
      arguments.size(rows).size(results[i]->layout->offset());
      groups += (rows + in_group - 1) / in_group;
    }
    if (extras.residual != nullptr) arguments.size(extras.residual->layout->offset());
    launch(runtime_, program, {static_cast<uint32_t>(groups), static_cast<uint32_t>(blocks), 1}, arguments);
  }

  // y = gate_of(x · gateᵀ, x · upᵀ) by one launch for both products and one for the gate.
  [[nodiscard]] bool multiply_pair_by_lanes(Operands weights, const Operand& y, const Extras& extras) {
    const auto group = lane_group(weights, {}, extras.form());
    if (!group) return false;
    const int64_t count = x_.rows * weight_rows(*weights[0]);
    const std::unique_ptr<Buffer> memory = runtime_.allocate(static_cast<size_t>(count) * sizeof(float), Lifetime::transient);
    const Layout layout(y.layout->shape());
    const Operand first{memory.get(), DType::f32, &layout};
    multiply_lanes(*group, weights, std::array<const Operand*, 2>{&first, &y}, {}, extras);
    activate(*memory, *y.buffer, count, y.layout->offset());
    return true;
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
    for (size_t i = 0; i < results.size(); ++i) groups += (weight_rows(*weights[i]) + per_group - 1) / per_group;
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

  // Room for so many tokens: few kinds of kernels serve all numbers of them.
  [[nodiscard]] static uint32_t room_for(int64_t tokens) { return std::bit_ceil(static_cast<uint32_t>(tokens)); }

  // The norm, unless x is normalized already, and the other extras, in the order of the kernels.
  [[nodiscard]] kernels::LinearExtras form_of(const Extras& extras) const {
    kernels::LinearExtras form = extras.form();
    form.norm = norm_ != nullptr;
    return form;
  }
  void append(Arguments& arguments, Extras extras) const {
    extras.norm = norm_;
    extras.append_to(arguments);
  }

  void multiply_bytes(Operands weights, Operands results, std::optional<GateKind> gate, const Extras& extras, int64_t token) {
    const int64_t count = std::min<int64_t>(x_.rows - token, kernels::kMaxByteTokens);
    kernels::ByteProducts products{{}, gate, 0, room_for(count), {}};
    for (const Operand* weight : weights) products.weights.push_back(weight->dtype);
    products.rounds = columns_to_round(products, weights, results);
    if (products.rounds == 0) normalize();
    products.extras = form_of(extras);
    ProgramKey key{"matvec_bytes", {gate_number(gate), products.rounds, products.tokens, products.extras.number()}};
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
    append(arguments, extras);
    if (products.extras.norm) arguments.number(params_.epsilon);
    for (const Operand* y : results) arguments.buffer(*y);
    for (const Operand* weight : weights) arguments.size(weight->layout->offset() / info(weight->dtype).block_elements);
    for (size_t i = 0; i < results.size(); ++i) {
      const int64_t rows = weight_rows(*weights[i]);
      arguments.size(rows).size(results[i]->layout->offset() + token * rows);
    }
    if (products.tokens > 1) arguments.size(count);
    if (extras.residual != nullptr) arguments.size(extras.residual->layout->offset() + token * weight_rows(*weights[0]));
    launch(runtime_, program, grid_of(weights, results, kernels::rows_per_group(products, caps())), arguments);
  }

  void multiply_few(Operands weights, Operands results, std::optional<GateKind> gate, const Extras& extras, int64_t token) {
    const Operand& weight = *weights[0];
    int64_t all_rows = 0;
    for (size_t i = 0; i < results.size(); ++i) all_rows += weight_rows(*weights[i]);
    const LinearForm form{.dtype = weight.dtype,
                          .access = access_of(weight),
                          .gate = gate,
                          .weights = static_cast<uint32_t>(results.size()),
                          .extras = form_of(extras),
                          .split = kernels::matvec_split(all_rows, caps())};
    const int64_t count = std::min<int64_t>(x_.rows - token, kernels::kMaxMatvecTokens);
    const uint32_t room = count == 1 ? 1 : kernels::kMaxMatvecTokens;
    const Program& program = runtime_.program({"matvec",
                                               {number_of(form.dtype), static_cast<uint32_t>(form.access), gate_number(gate), form.weights,
                                                room, form.extras.number(), form.split}},
                                              [&] { return kernels::matvec(form, room, caps()); });
    Arguments arguments = weight_arguments(runtime_, weights);
    arguments.buffer(*x_.buffer);
    append(arguments, extras);
    for (const Operand* y : results) arguments.buffer(*y);
    arguments.size(x_.offset + token * x_.columns).size(x_.columns);
    if (form.extras.norm) arguments.number(params_.epsilon);
    for (size_t i = 0; i < results.size(); ++i) {
      const int64_t rows = weight_rows(*weights[i]);
      arguments.size(rows).size(results[i]->layout->offset() + token * rows);
      if (i == 0) arguments.size(count);
    }
    if (extras.residual != nullptr) arguments.size(extras.residual->layout->offset() + token * weight_rows(weight));
    launch(runtime_, program, grid_of(weights, results, static_cast<int64_t>(kernels::matvec_rows_per_group(form, caps()))), arguments);
  }

  // y = gate_of(gate, y) over `count` elements of y from `offset` on.
  void activate(const Buffer& gate, const Buffer& y, int64_t count, int64_t offset) {
    const bool quads = count % 4 == 0 && offset % 4 == 0;
    const Program& program = runtime_.program({"gate_pairs", {gate_number(params_.gate), quads ? 1U : 0U}},
                                              [&] { return kernels::gate_pairs(params_.gate, quads, caps()); });
    launch(runtime_, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(quads ? count / 4 : count), caps()),
           Arguments().buffer(gate).buffer(y).size(count).size(offset));
  }

  // Whether the device's own product multiplies that weight with activations in f16, and not in parts.
  [[nodiscard]] bool multiplies_halves(const Operand& weight) const {
    if (precise_ || has_few_tokens() || runtime_.override_for(OpId::linear, 0, DType::f16) == nullptr) return false;
    if (weight.dtype == DType::f16) return true;
    if (!is_quantized(weight.dtype) || x_.rows <= kMaxLaneRows || weight.layout->elements() > kMaxHalvedElements) return false;
    return kernels::linear_tiles_of({weight.dtype, access_of(weight)}, weight_rows(weight), x_.rows, caps()).has_value();
  }

  // Gate and up stay f16 between their products and the gate: half of the bytes of many tokens.
  [[nodiscard]] bool multiply_pair_in_halves(const Operand& gate, const Operand& up, const Operand& y) {
    const int64_t rows = weight_rows(gate), count = x_.rows * rows;
    if (!multiplies_halves(gate) || !multiplies_halves(up) || count % 8 != 0 || y.layout->offset() % 8 != 0) return false;
    if (count * x_.columns < kLargeProduct) return false;
    const std::unique_ptr<Buffer> gates = numbers_of(count, DType::f16), ups = numbers_of(count, DType::f16);
    if (is_quantized(gate.dtype)) {
      multiply_halves(gate, *gates, 0, DType::f16);
      multiply_halves(up, *ups, 0, DType::f16);
    } else {
      multiply_pair_by_device(gate, up, {*gates, 0, DType::f16}, {*ups, 0, DType::f16});
    }
    const bool to_halves = y.dtype == DType::f16;
    const Program& program = runtime_.program({"gate_halves", {gate_number(params_.gate), to_halves ? 1U : 0U}},
                                              [&] { return kernels::gate_halves(params_.gate, to_halves, caps()); });
    launch(runtime_, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(count / 8), caps()),
           Arguments().buffer(*gates).buffer(*ups).buffer(y).size(count).size(y.layout->offset()));
    return true;
  }

  // Activations as f16, made once for all products of the device's own.
  [[nodiscard]] Operand halved_activations(const Layout& layout) {
    if (halved_x_ == nullptr) {
      halved_ = numbers_of(x_.rows * x_.columns, DType::f16);
      const Layout from(layout.shape(), x_.offset);
      const Operand source{const_cast<Buffer*>(x_.buffer), DType::f32, &from}, target{halved_.get(), DType::f16, &layout};  // NOLINT: read
      copy({OpId::copy, nullptr, std::span(&source, 1), std::span(&target, 1), &runtime_});
      halved_x_ = halved_.get();
    }
    return {const_cast<Buffer*>(halved_x_), DType::f16, &layout};  // NOLINT: it is read
  }

  void multiply_blocks(const Operand& weight, const Operand* up, const Buffer& y, int64_t offset) {
    const int64_t rows = weight.layout->shape()[0];
    if (up != nullptr) {
      const std::unique_ptr<Buffer> gate = runtime_.allocate(static_cast<size_t>(x_.rows * rows) * sizeof(float), Lifetime::transient);
      if (!multiply_pair_by_device(weight, *up, {*gate, 0, DType::f32}, {y, offset, DType::f32})) {
        multiply_blocks(weight, nullptr, *gate, 0);
        multiply_blocks(*up, nullptr, y, offset);
      }
      return activate(*gate, y, x_.rows * rows, offset);
    }
    if (multiply_in_parts(weight, y, offset)) return;
    const LinearForm form{weight.dtype, access_of(weight)};
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

  // A weight that is too large to be kept twice, such as the last of a model, in parts of its rows, by the device's own product if it has
  // one.
  [[nodiscard]] bool multiply_in_parts(const Operand& weight, const Buffer& y, int64_t offset) {
    constexpr int64_t kPartElements = 64 << 20;
    const int64_t rows = weight_rows(weight), part = kPartElements / x_.columns / 16 * 16;
    const bool own = !precise_ && is_quantized(weight.dtype) && runtime_.override_for(OpId::linear, 0, DType::f16) != nullptr;
    if (!own || x_.rows <= kMaxLaneRows || weight.layout->elements() <= kMaxHalvedElements || part == 0) return false;
    const std::unique_ptr<Buffer> products = runtime_.allocate(static_cast<size_t>(x_.rows * part) * sizeof(float), Lifetime::transient);
    for (int64_t first = 0; first < rows; first += part) {
      const int64_t count = std::min(part, rows - first);
      const Layout some = weight.layout->narrow(0, first, count);
      multiply_blocks({weight.buffer, weight.dtype, &some}, nullptr, *products, 0);
      const std::array<int64_t, 2> strides{rows, 1};
      const Shape shape({x_.rows, count});
      const Layout from(shape), to(shape, strides, offset + first);
      const Operand source{products.get(), DType::f32, &from},
          target{const_cast<Buffer*>(&y), DType::f32, &to};  // NOLINT: the caller's own
      copy({OpId::copy, nullptr, std::span(&source, 1), std::span(&target, 1), &runtime_});
    }
    return true;
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
    const bool own = runtime_.override_for(OpId::linear, 0, DType::f16) != nullptr;
    return is_quantized(weight.dtype) && (own || x_.rows > tiles.block().n) && weight.layout->elements() <= kMaxHalvedElements;
  }

  void multiply_halves(const Operand& weight, const Buffer& y, int64_t offset, DType result = DType::f32) {
    const int64_t rows = weight.layout->shape()[0], units = rows * x_.columns / 16;
    const std::unique_ptr<Buffer> halves = runtime_.allocate(static_cast<size_t>(rows * x_.columns) * sizeof(f16), Lifetime::transient);
    const Program& program =
        runtime_.program({"halves_of_weight", {number_of(weight.dtype)}}, [&] { return kernels::halves_of_weight(weight.dtype, caps()); });
    launch(runtime_, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(units), caps()),
           weight_arguments(runtime_, std::array<const Operand*, 1>{&weight}).buffer(*halves).size(x_.columns).size(units));
    if (multiply_by_device(*halves, rows, {y, offset, result})) return;
    WICK_ASSERT(result == DType::f32);
    const LinearForm form{DType::f16, RowAccess::vectors};
    const auto tiles = kernels::linear_tiles_of(form, rows, x_.rows, caps());
    WICK_ASSERT(tiles.has_value());
    multiply_tiles(form, *tiles, Arguments().buffer(*halves).size(0).size(x_.columns).size(1), rows, y, offset);
  }

  // Where a product's results go, row after row.
  struct Target {
    const Buffer& buffer;
    int64_t offset;
    DType dtype;

    [[nodiscard]] Operand operand(const Layout& layout) const {
      return {const_cast<Buffer*>(&buffer), dtype, &layout};  // NOLINT: the caller's own
    }
  };

  // By the device's own product with f16, if it has one.
  [[nodiscard]] bool multiply_by_device(Buffer& halves, int64_t rows, const Target& y) {
    const OpFunction own = runtime_.override_for(OpId::linear, 0, DType::f16);
    if (own == nullptr) return false;
    const Layout activations(Shape({x_.rows, x_.columns})), weights(Shape({rows, x_.columns})), results(Shape({x_.rows, rows}), y.offset);
    const std::array<Operand, 2> inputs{{halved_activations(activations), {&halves, DType::f16, &weights}}};
    const Operand result = y.operand(results);
    const LinearParams params{.precise = false};
    own({OpId::linear, &params, inputs, std::span(&result, 1), &runtime_});
    return true;
  }

  // Gate and up of plain numbers by the device's own product, if it has one: it rounds the activations once.
  bool multiply_pair_by_device(const Operand& gate, const Operand& up, const Target& gates, const Target& y) const {
    const OpFunction own = is_quantized(gate.dtype) ? nullptr : runtime_.override_for(OpId::linear, 0, gate.dtype);
    if (own == nullptr) return false;
    const int64_t rows = gate.layout->shape()[0];
    const Layout activations(Shape({x_.rows, x_.columns}), halved_x_ != nullptr ? 0 : x_.offset),
        first(Shape({x_.rows, rows}), gates.offset), second(Shape({x_.rows, rows}), y.offset);
    const Operand x{const_cast<Buffer*>(halved_x_ != nullptr ? halved_x_ : x_.buffer),  // NOLINT: it is read
                    halved_x_ != nullptr ? DType::f16 : DType::f32, &activations};
    const std::array<Operand, 3> inputs{{x, gate, up}};
    const std::array<Operand, 2> results{gates.operand(first), y.operand(second)};
    LinearParams params;
    params.precise = precise_;
    own({OpId::linear, &params, inputs, results, &runtime_});
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
  const LinearParams& params_;
  bool precise_;
  Activations x_{};
  // They as f16, from the beginning of a buffer: the caller's, or ours; and where the caller's are widened.
  const Buffer* halved_x_ = nullptr;
  std::unique_ptr<Buffer> halved_, widened_;
  const Operand* norm_ = nullptr;             // until x is normalized
  std::vector<kernels::LaneColumns> orders_;  // in which lanes read the weights, where there is a norm
  std::unique_ptr<Buffer> normed_, bytes_, scales_, halves_;
  std::array<std::unique_ptr<Buffer>, kernels::LaneColumns::kOrders> by_lane_;
  int64_t token_words_ = 0;
};

bool is_empty(const Operand& operand) { return operand.layout->elements() == 0; }

}  // namespace

void linear(const OpCall& call) {
  std::vector<const Operand*> weights, results;
  const Extras all(call, call.outputs.size());
  Extras extras = all;
  extras.biases.clear();
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (is_empty(call.outputs[i])) continue;
    weights.push_back(&call.inputs[i + 1]);
    results.push_back(&call.outputs[i]);
    if (!all.biases.empty()) extras.biases.push_back(all.biases[i]);
  }
  LinearCall(call).multiply(weights, results, extras);
}

void gated_linear(const OpCall& call) { LinearCall(call).multiply_gated(call.inputs[1], call.inputs[2], call.outputs[0], Extras(call, 2)); }

}  // namespace wick::launchers
