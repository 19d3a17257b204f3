#include "wick/tensor/ops/linear.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "wick/base/fail.h"
#include "wick/device/linked_kernels.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/ops/launchers/launchers.h"
#include "wick/tensor/ops/linear_operands.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

// The operands of the reference, by name: `outputs` weights follow x, or two of a gated pair.
struct LinearOperands {
  const LinearParams& params;
  std::span<const ReferenceTensor> inputs;
  size_t weights;

  // rms_norm(x, norm) if there is a norm.
  [[nodiscard]] ReferenceTensor x() const {
    ReferenceTensor x = inputs[0];
    if (!params.has_norm) return x;
    const RmsNormParams norm{params.epsilon};
    const std::array<ReferenceTensor, 2> operands{inputs[0], inputs[1 + weights]};
    rule(OpId::rms_norm).reference(&norm, operands, std::span(&x, 1));
    return x;
  }
  [[nodiscard]] double bias(size_t weight, size_t output) const {
    return params.has_bias ? inputs[1 + weights + (params.has_norm ? 1U : 0U) + weight].values[output] : 0;
  }
  [[nodiscard]] double residual(size_t at) const { return params.has_residual ? inputs.back().values[at] : 0; }
};

void linear_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const LinearParams plain;
  const LinearOperands operands{params == nullptr ? plain : *static_cast<const LinearParams*>(params), inputs, outputs.size()};
  const ReferenceTensor x = operands.x();
  for (size_t index = 0; index < outputs.size(); ++index) {
    const auto n = static_cast<size_t>(inputs[index + 1].shape[0]);
    for (size_t at = 0; at < outputs[index].values.size(); ++at)
      outputs[index].values[at] = dot_row(x, at / n, inputs[index + 1], at % n) + operands.bias(index, at % n) + operands.residual(at);
  }
}

void gated_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const LinearOperands operands{*static_cast<const LinearParams*>(params), inputs, 2};
  const ReferenceTensor x = operands.x();
  const auto n = static_cast<size_t>(inputs[1].shape[0]);
  for (size_t at = 0; at < outputs[0].values.size(); ++at) {
    const double gate = dot_row(x, at / n, inputs[1], at % n) + operands.bias(0, at % n),
                 up = dot_row(x, at / n, inputs[2], at % n) + operands.bias(1, at % n);
    outputs[0].values[at] = gate_value(operands.params.gate, gate, up);
  }
}

Shape result_shape(const Tensor& x, int64_t outputs) {
  std::array<int64_t, kMaxRank> dims{};
  std::copy(x.shape().dims().begin(), x.shape().dims().end(), dims.begin());
  dims[static_cast<size_t>(x.rank() - 1)] = outputs;
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(x.rank())));
}

Tensor empty_result(std::string_view op, const Tensor& x, int64_t outputs, DType dtype = DType::f32) {
  return make_result(op, result_shape(x, outputs), dtype, x.device());
}

// [rows, last], also where one of them is 0.
Tensor rows_of(const Tensor& x) {
  int64_t rows = 1;
  for (int dim = 0; dim < x.rank() - 1; ++dim) rows *= x.shape()[dim];
  return x.reshape({rows, x.shape().last()});
}

void linear_gradient(GradientContext& context) {
  const Tensor rows = rows_of(context.gradient());
  if (context.wants(0)) {
    const Tensor weight = context.input(1).to_dtype(DType::f32);
    context.give(0, rows.matmul(weight).reshape(context.input_shape(0)));
  }
  if (context.wants(1)) {
    const Tensor product = rows.t().matmul(rows_of(context.input(0)));
    context.give(1, product.to_dtype(context.input_dtype(1)));
  }
}

bool share_call(const Tensor& a, const Tensor& b) {
  const auto by_kernel = [](const Tensor& weight) { return support(weight.device(), OpId::linear, weight.dtype()) == Support::kernel; };
  return a.dtype() == b.dtype() || (by_kernel(a) && by_kernel(b));
}

// Whether tiles that lanes set multiply so many rows, which takes norm, biases and residual in.
bool takes_lane_rows(const Tensor& x, const Tensor& weight, const LinearParams& params) {
  const int64_t columns = x.shape().last(), rows = columns == 0 ? 0 : x.elements() / columns;
  return !params.precise && !params.deterministic && weight.device().runtime().runs_kernels() &&
         launchers::fuses_lane_rows(weight.dtype(), rows, columns, weight.device().caps());
}

// Whether the device's own product of f16 multiplies so many rows, and takes them as f16.
bool takes_halves(int64_t rows, const Tensor& weight, const LinearParams& params) {
  const Runtime& runtime = weight.device().runtime();
  return !params.precise && !params.deterministic && weight.rank() == 2 && runtime.runs_kernels() &&
         runtime.override_for(OpId::linear, 0, DType::f16) != nullptr &&
         launchers::takes_half_rows(weight.dtype(), rows, weight.dim(0), weight.dim(1), runtime.caps());
}

// x as the products read it: f16 as it is where they take that, else f32, itself or `copy`.
const Tensor& read_activations(const char* op, const Tensor& x, std::span<const Tensor* const> weights, const LinearParams& params,
                               const LinearFusion& fusion, std::optional<Tensor>& copy) {
  const bool whole = x.dtype() == DType::f16 && x.is_contiguous() && x.layout().offset() == 0 && x.elements() > 0;
  const bool plain = whole && fusion.norm == nullptr && !x.is_tracked() && !any_tracked(weights);
  return plain && linear_input_dtype(x.elements() / x.shape().last(), weights, params) == DType::f16 ? x : activations_of(op, x, copy);
}

// Whether the device's linear takes a norm, biases and a residual for so many rows. A kernel that norms by itself adds squares up in an
// order of its own, so that one row alone would have other bits than beside others.
bool fuses(OpId op, const Tensor& x, const Tensor& weight, const LinearParams& params) {
  const Runtime& runtime = weight.device().runtime();
  const int64_t rows = x.shape().last() == 0 ? 0 : x.elements() / x.shape().last();
  const bool one_order = !params.deterministic || !params.has_norm || !runtime.runs_kernels();
  switch (support(weight.device(), op, weight.dtype())) {
    // An override of a device that runs kernels leaves so few rows to them.
    case Support::native: return one_order && (rows <= runtime.fused_linear_rows() || takes_lane_rows(x, weight, params));
    case Support::kernel: return one_order && (rows <= launchers::kFusedLinearRows || takes_lane_rows(x, weight, params));
    case Support::reference: return true;
    case Support::none:
    case Support::cpu_fallback: break;
  }
  return false;
}

bool is_empty(const LinearFusion& fusion) {
  const auto null = [](const Tensor* tensor) { return tensor == nullptr; };
  return null(fusion.norm) && null(fusion.residual) && std::all_of(fusion.biases.begin(), fusion.biases.end(), null);
}

// Errors: shape_mismatch and dtype_mismatch, naming the operand.
void check_vector(const char* op, const char* name, const Tensor& vector, const Shape& shape) {
  if (!vector.defined()) Tensor::fail_empty(op, name);
  if (vector.shape() != shape) fail(ErrorCode::shape_mismatch, "{}: the {} {} must be {}", op, name, vector.describe(), shape.to_string());
  if (vector.dtype() != DType::f32) fail(ErrorCode::dtype_mismatch, "{}: the {} {} must be f32", op, name, vector.describe());
}

void check_fusion(const char* op, const Tensor& x, std::span<const Tensor* const> weights, const LinearFusion& fusion) {
  if (fusion.norm != nullptr) check_vector(op, "norm", *fusion.norm, {x.shape().last()});
  for (size_t i = 0; i < fusion.biases.size(); ++i) {
    if (fusion.biases[i] == nullptr) continue;
    if (i >= weights.size()) fail(ErrorCode::invalid_argument, "{}: a bias {} without a weight", op, fusion.biases[i]->describe());
    check_vector(op, "bias", *fusion.biases[i], {weights[i]->shape()[0]});
  }
  if (fusion.residual == nullptr) return;
  if (weights.size() != 1) {
    fail(ErrorCode::invalid_argument, "{}: a residual {} for {} weights; it goes with one", op, fusion.residual->describe(),
         weights.size());
  }
  check_vector(op, "residual", *fusion.residual, result_shape(x, weights[0]->shape()[0]));
}

// The operands of a fused call, each dense, behind x and its weights.
class FusedOperands {
 public:
  FusedOperands(const LinearFusion& fusion, size_t weights, LinearParams& params) {
    if (fusion.norm != nullptr) add(*fusion.norm);
    for (size_t i = 0; i < weights; ++i) {
      if (fusion.biases[i] != nullptr) add(*fusion.biases[i]);
    }
    if (fusion.residual != nullptr) add(*fusion.residual);
    params.has_norm = fusion.norm != nullptr;
    params.has_bias = fusion.biases[0] != nullptr;
    params.has_residual = fusion.residual != nullptr;
    params.epsilon = fusion.epsilon;
  }
  [[nodiscard]] std::span<const Tensor* const> all() const { return std::span(operands_).first(count_); }
  [[nodiscard]] bool is_tracked() const { return any_tracked(all()); }

 private:
  void add(const Tensor& tensor) {
    operands_[count_] = &at_start(tensor, copies_[count_]);
    ++count_;
  }

  std::array<const Tensor*, kMaxLinearWeights + 2> operands_{};
  std::array<std::optional<Tensor>, kMaxLinearWeights + 2> copies_;
  size_t count_ = 0;
};

// x, the weights and what is fused with them, as a call takes them.
class LinearInputs {
 public:
  LinearInputs(const Tensor& x, std::span<const Tensor* const> weights, const FusedOperands& fused) {
    inputs_[count_++] = &x;
    for (const std::span<const Tensor* const> group : {weights, fused.all()}) {
      for (const Tensor* tensor : group) inputs_[count_++] = tensor;
    }
  }
  [[nodiscard]] std::span<const Tensor* const> all() const { return std::span(inputs_).first(count_); }

 private:
  std::array<const Tensor*, 1 + kMaxLinearWeights + kMaxLinearWeights + 2> inputs_{};
  size_t count_ = 0;
};

// All weights have a bias, or none has.
bool agree_on_biases(const LinearFusion& fusion, size_t weights) {
  for (size_t i = 1; i < weights; ++i) {
    if ((fusion.biases[i] == nullptr) != (fusion.biases[0] == nullptr)) return false;
  }
  return true;
}

Tensor normed(const Tensor& x, const LinearFusion& fusion) {
  return fusion.norm == nullptr ? x : rms_norm(x, *fusion.norm, fusion.epsilon);
}

// The same by plain ops.
std::vector<Tensor> linear_from_parts(const Tensor& x, std::span<const Tensor* const> weights, const LinearParams& params,
                                      const LinearFusion& fusion) {
  std::vector<Tensor> results = linear(normed(x, fusion), weights, params);
  for (size_t i = 0; i < results.size(); ++i) {
    if (fusion.biases[i] != nullptr) results[i] = results[i].broadcast_add(*fusion.biases[i]);
  }
  if (fusion.residual != nullptr) results[0] = results[0] + *fusion.residual;
  return results;
}

Tensor gated_from_parts(const Tensor& x, const Tensor& gate, const Tensor& up, const LinearParams& params, const LinearFusion& fusion) {
  const std::array<const Tensor*, 2> weights{&gate, &up};
  const std::vector<Tensor> parts = linear_from_parts(x, weights, params, fusion);
  return apply_gate(params.gate, parts[0], parts[1]);
}

}  // namespace

double gate_value(GateKind kind, double gate, double up) {
  const auto times_sigmoid = [](double x, double s) { return x / (1 + std::exp(-s)); };
  switch (kind) {
    case GateKind::silu: return times_sigmoid(gate, gate) * up;
    case GateKind::gelu: return gate / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (gate + 0.044715 * gate * gate * gate))) * up;
    case GateKind::gelu_erf: return gate / 2 * (1 + std::erf(gate / std::numbers::sqrt2)) * up;
    case GateKind::relu_sqr: return gate < 0 ? 0 * up : gate * gate * up;
    case GateKind::swiglu_oai: {
      const double limit = double{kSwigluLimit};
      const double bounded = gate > limit ? limit : gate;
      return times_sigmoid(bounded, double{kSwigluSlope} * bounded) * ((up > limit ? limit : up < -limit ? -limit : up) + 1);
    }
  }
  WICK_ASSERT(false);
}

const Tensor& activations_of(const char* op, const Tensor& x, std::optional<Tensor>& copy) {
  if (x.dtype() == DType::f32) return x.is_contiguous() ? x : copy.emplace(x.contiguous());
  if (x.dtype() == DType::f16 || x.dtype() == DType::bf16) return copy.emplace(x.to_dtype(DType::f32));
  fail(ErrorCode::dtype_mismatch, "{}: x {} must be f32, f16 or bf16", op, x.describe());
}

namespace {

// A quantized weight is whole blocks, row after row; what is between rows of other matrices or after the last is not read.
void check_blocks(const char* op, const Tensor& weight) {
  const DTypeInfo& format = info(weight.dtype());
  const int64_t offset = weight.layout().offset(), columns = weight.shape().last();
  const bool dense = weight.is_contiguous() && offset % format.block_elements == 0 && columns % format.block_elements == 0;
  if (!dense) {
    fail(ErrorCode::shape_mismatch, "{}: the quantized weight {} must be whole blocks, its rows dense: take a range of rows", op,
         weight.describe());
  }
  if (weight.elements() == 0) return;
  const auto bytes = static_cast<int64_t>(weight.storage()->buffer().bytes());
  const int64_t end = offset + weight.elements(), row_bytes = storage_bytes(weight.dtype(), columns);
  // A device's pool may return more memory than requested: there a range from the beginning is not noticed.
  const bool to_the_end = !weight.device().caps().host_memory || storage_bytes(weight.dtype(), end) + format.tail_bytes + row_bytes > bytes;
  if (format.tail_bytes > 0 && (offset != 0 || !to_the_end)) {
    fail(ErrorCode::shape_mismatch, "{}: the weight {} is a part of a tensor, and {} has one scale behind the whole: use all of it", op,
         weight.describe(), format.name);
  }
}

}  // namespace

void check_weight(const char* op, const Tensor& x, const Tensor& weight, int rank) {
  if (is_integer(weight.dtype()))
    fail(ErrorCode::dtype_mismatch, "{}: weight {} must be a float or quantized tensor", op, weight.describe());
  if (x.rank() < 1 || weight.rank() != rank || weight.shape().last() != x.shape().last()) {
    fail(ErrorCode::shape_mismatch, "{}: x {} and weight {}: the weight must be [{}n, {}]", op, x.describe(), weight.describe(),
         rank == 3 ? "experts, " : "", x.rank() < 1 ? 0 : x.shape().last());
  }
  if (is_quantized(weight.dtype())) check_blocks(op, weight);
}

std::string_view linear_unsupported(DType dtype) { return is_integer(dtype) ? "weights are float or quantized" : ""; }

Tensor apply_gate(GateKind kind, const Tensor& gate, const Tensor& up) {
  check_assigned("apply_gate", {{"gate", gate}, {"up", up}});
  switch (kind) {
    case GateKind::silu: return gate.silu() * up;
    case GateKind::gelu: return gate.gelu() * up;
    case GateKind::gelu_erf: return gate.gelu_erf() * up;
    case GateKind::relu_sqr: return gate.relu().sqr() * up;
    case GateKind::swiglu_oai: {
      constexpr double kLimit = kSwigluLimit;
      const Tensor bounded = gate.clamp(-std::numeric_limits<double>::infinity(), kLimit);
      return bounded * (bounded * double{kSwigluSlope}).sigmoid() * (up.clamp(-kLimit, kLimit) + 1.0);
    }
  }
  WICK_ASSERT(false);
}

const OpRule rules::linear = {.defining_operand = 1,
                              .reference = linear_reference,
                              .unsupported = linear_unsupported,
                              .gradient_kind = GradientKind::function,
                              .gradient = linear_gradient};
// The tape sees its parts: see gated_linear below.
const OpRule rules::gated_linear = {.defining_operand = 1, .reference = gated_reference, .unsupported = linear_unsupported};

namespace {

// Products of dense f32 activations, without a fusion.
void multiply_plain(const Tensor& activations, std::span<const Tensor* const> weights, const LinearParams& params,
                    std::span<Tensor> results) {
  if (activations.elements() == 0) {
    for (size_t index = 0; index < weights.size(); ++index) {
      if (results[index].elements() > 0) fill(results[index], 0);  // a sum over no column
      record(to_string(OpId::linear), rules::linear.gradient, bytes_of(params), std::array{&activations, weights[index]}, results[index]);
    }
    return;
  }
  if (activations.is_tracked() || any_tracked(weights)) {
    for (size_t index = 0; index < weights.size(); ++index) apply(OpId::linear, params, {&activations, weights[index]}, {&results[index]});
    return;
  }
  // Weights that one implementation multiplies share a call: those of one dtype, and where portable kernels do it all of them.
  std::array<bool, kMaxLinearWeights> done{};
  for (size_t first = 0; first < weights.size(); ++first) {
    if (done[first]) continue;
    std::array<const Tensor*, kMaxLinearWeights + 1> inputs{&activations};
    std::array<const Tensor*, kMaxLinearWeights> outputs{};
    size_t count = 0;
    for (size_t index = first; index < weights.size(); ++index) {
      if (done[index] || !share_call(*weights[first], *weights[index])) continue;
      done[index] = true;
      inputs[count + 1] = weights[index];
      outputs[count++] = &results[index];
    }
    dispatch(OpId::linear, &params, std::span(inputs).first(count + 1), std::span(outputs).first(count));
  }
}

// Whether all of it is one call: the weights share one, which the device declares to take the fusion.
bool is_one_call(const Tensor& activations, std::span<const Tensor* const> weights, const LinearFusion& fusion,
                 const LinearParams& params) {
  return activations.elements() > 0 && !activations.is_tracked() && !any_tracked(weights) && agree_on_biases(fusion, weights.size()) &&
         std::all_of(weights.begin(), weights.end(), [&](const Tensor* weight) {
           return share_call(*weights[0], *weight) && weight->elements() > 0 && fuses(OpId::linear, activations, *weight, params);
         });
}

}  // namespace

DType linear_input_dtype(int64_t rows, std::span<const Tensor* const> weights, const LinearParams& params) {
  const bool halves = std::ranges::all_of(weights, [&](const Tensor* weight) { return takes_halves(rows, *weight, params); });
  return halves && !weights.empty() ? DType::f16 : DType::f32;
}

bool fuses_linear(const Tensor& x, std::span<const Tensor* const> weights, const LinearParams& params) {
  LinearParams fused = params;
  fused.has_norm = fused.has_bias = fused.has_residual = true;
  if (weights.empty() || !is_one_call(x, weights, {}, fused)) return false;
  // Where groups round all columns to bytes, each would multiply them by the norm first: a launch of its own costs less.
  const Device& device = weights[0]->device();
  const bool rounds = !params.precise && device.runtime().runs_kernels() && device.caps().int8_dot;
  return !rounds || std::none_of(weights.begin(), weights.end(), [&](const Tensor* weight) {
    return is_quantized(weight->dtype()) && !takes_lane_rows(x, *weight, params);
  });
}

namespace {

// The products of 1 to kMaxLinearWeights weights, each into its place of `results`.
void multiply(const Tensor& x, std::span<const Tensor* const> weights, const LinearParams& params, const LinearFusion& fusion,
              std::span<Tensor> results) {
  std::optional<Tensor> copy;
  const Tensor& activations = read_activations("linear", x, weights, params, fusion, copy);
  for (size_t index = 0; index < weights.size(); ++index) {
    check_weight("linear", x, *weights[index], 2);
    results[index] = empty_result("linear", x, weights[index]->shape()[0]);
  }
  LinearParams plain = params;
  plain.has_norm = plain.has_bias = plain.has_residual = false;
  if (is_empty(fusion)) return multiply_plain(activations, weights, plain, results);
  check_fusion("linear", x, weights, fusion);
  const FusedOperands operands(fusion, weights.size(), plain);
  if (operands.is_tracked() || !is_one_call(activations, weights, fusion, plain)) {
    std::ranges::move(linear_from_parts(activations, weights, params, fusion), results.begin());
    return;
  }
  std::array<const Tensor*, kMaxLinearWeights> outputs{};
  for (size_t index = 0; index < weights.size(); ++index) outputs[index] = &results[index];
  dispatch(OpId::linear, &plain, LinearInputs(activations, weights, operands).all(), std::span(outputs).first(weights.size()));
}

}  // namespace

std::vector<Tensor> linear(const Tensor& x, std::span<const Tensor* const> weights, const LinearParams& params,
                           const LinearFusion& fusion) {
  check_assigned("linear", {{"x", x}});
  if (weights.empty() || weights.size() > kMaxLinearWeights) {
    fail(ErrorCode::invalid_argument, "linear: {} weights for x {}; give 1 to {}", weights.size(), x.describe(), kMaxLinearWeights);
  }
  std::vector<Tensor> results(weights.size());
  multiply(x, weights, params, fusion, results);
  return results;
}

Tensor linear(const Tensor& x, const Tensor& weight, const LinearParams& params, const LinearFusion& fusion) {
  check_assigned("linear", {{"x", x}, {"weight", weight}});
  const std::array<const Tensor*, 1> weights{&weight};
  Tensor result;
  multiply(x, weights, params, fusion, std::span(&result, 1));
  return result;
}

Tensor gated_linear(const Tensor& x, const Tensor& gate, const Tensor& up, const LinearParams& params, const LinearFusion& fusion,
                    DType dtype) {
  check_assigned("gated_linear", {{"x", x}, {"gate", gate}, {"up", up}});
  const std::array<const Tensor*, 2> weights{&gate, &up};
  std::optional<Tensor> copy;
  const Tensor& activations = read_activations("gated_linear", x, weights, params, fusion, copy);
  check_weight("gated_linear", x, gate, 2);
  check_weight("gated_linear", x, up, 2);
  if (gate.shape() != up.shape() || gate.dtype() != up.dtype()) {
    fail(ErrorCode::shape_mismatch, "gated_linear: gate {} and up {} must agree in shape and dtype", gate.describe(), up.describe());
  }
  const bool directly = rounds_results(gate.device(), OpId::gated_linear, gate.dtype(), dtype);
  Tensor result = empty_result("gated_linear", x, gate.shape()[0], directly ? dtype : DType::f32);
  const bool from_parts = activations.is_tracked() || any_tracked(weights) || (x.elements() == 0 && result.elements() > 0);
  LinearParams plain = params;
  plain.has_norm = plain.has_bias = plain.has_residual = false;
  if (is_empty(fusion)) {
    if (from_parts) return gated_from_parts(activations, gate, up, plain, fusion).to_dtype(dtype);
    if (result.elements() > 0) dispatch(OpId::gated_linear, &plain, {&activations, &gate, &up}, {&result});
    return result.to_dtype(dtype);
  }
  check_fusion("gated_linear", x, weights, fusion);
  const FusedOperands operands(fusion, weights.size(), plain);
  const bool one_call = agree_on_biases(fusion, 2) && result.elements() > 0 && fuses(OpId::gated_linear, activations, gate, plain);
  if (from_parts || operands.is_tracked() || !one_call) return gated_from_parts(activations, gate, up, params, fusion).to_dtype(dtype);
  const std::array<const Tensor*, 1> outputs{&result};
  dispatch(OpId::gated_linear, &plain, LinearInputs(activations, weights, operands).all(), outputs);
  return result.to_dtype(dtype);
}

void prepare_weight(const Tensor& weight, const WeightUse& use) {
  check_assigned("prepare_weight", {{"weight", weight}});
  if (weight.elements() == 0) return;
  weight.storage()->set_prepared(weight.device().runtime().prepare_weight(operand_of(weight), use));
}

}  // namespace wick
