#include "wick/tensor/custom_op.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/tape.h"

namespace wick {

void custom_op::fail_gradient(std::string_view op) { fail(ErrorCode::unsupported, "{}: no gradient; override backward, or detach", op); }

void custom_op::fail_device(std::string_view op, DeviceKind kind) {
  fail(ErrorCode::unsupported, "{}: no {} implementation", op, to_string(kind));
}

namespace {

CustomOperand custom_operand(const Tensor& tensor) { return {*tensor.storage(), tensor.layout()}; }

template <class Op, class... Tensors>
void check_devices(const Op& op, const Tensor& first, const Tensors&... others) {
  [[maybe_unused]] const auto check = [&](const Tensor& other) {
    if (&other.device().runtime() == &first.device().runtime()) return;
    fail(ErrorCode::device_mismatch, "{}: operands on {} and {}; move them to one device first", op.name(),
         first.device().location().to_string(), other.device().location().to_string());
  };
  (check(others), ...);
}

template <class Op, class... Tensors>
Tensor run_op(const Op& op, const Tensor& first, const Tensors&... others) {
  check_devices(op, first, others...);
  return op.forward(first.device().kind(), custom_operand(first), custom_operand(others)...).detach();
}

template <class Op, class... Tensors>
void run_in_place(const Op& op, const Tensor& first, const Tensors&... others) {
  refuse_tracked(op.name(), {&first, &others...});
  check_devices(op, first, others...);
  first.storage()->bump_version();
  op.forward(first.device().kind(), custom_operand(first), custom_operand(others)...);
}

// Gradients of whole numbers do not exist, so such a result is not tracked.
void track(std::string_view name, std::function<void(GradientContext&)> gradient, std::span<const Tensor* const> inputs, Tensor& result) {
  if (is_float(result.dtype())) record(name, std::move(gradient), inputs, result);
}

template <size_t kCount>
void give_all(GradientContext& context, const std::array<std::optional<Tensor>, kCount>& gradients) {
  for (size_t index = 0; index < kCount; ++index) {
    if (gradients[index]) context.give(index, *gradients[index]);
  }
}

}  // namespace

std::byte* CustomOperand::host_bytes(DType dtype) const {
  if (dtype != storage.dtype()) {
    fail(ErrorCode::dtype_mismatch, "custom op: the operand's elements are {}, not {}", to_string(storage.dtype()), to_string(dtype));
  }
  if (!storage.device().caps().host_memory) {
    fail(ErrorCode::unsupported, "custom op: the memory of {} has no address on the host", storage.device().location().to_string());
  }
  return storage.buffer().host_data();
}

void CustomOperand::check_contiguous() const {
  if (!layout.is_contiguous()) {
    fail(ErrorCode::unsupported, "custom op: an operand of shape {} is not row-major; give it contiguous() or walk its layout",
         layout.shape().to_string());
  }
}

Tensor Tensor::apply_op1(std::shared_ptr<const CustomOp1> op) const {
  check_assigned("apply_op1", *this);
  Tensor result = run_op(*op, *this);
  const Tensor* const inputs[] = {this};
  // The name is the op's, which the gradient keeps alive.
  const std::string_view name = op->name();
  track(
      name,
      [op = std::move(op)](GradientContext& context) {
        if (const auto gradient = op->backward(context.input(0), context.output(), context.gradient())) context.give(0, *gradient);
      },
      inputs, result);
  return result;
}

Tensor Tensor::apply_op2(const Tensor& second, std::shared_ptr<const CustomOp2> op) const {
  check_assigned("apply_op2", {{"the tensor", *this}, {"second", second}});
  Tensor result = run_op(*op, *this, second);
  const Tensor* const inputs[] = {this, &second};
  const std::string_view name = op->name();
  track(
      name,
      [op = std::move(op)](GradientContext& context) {
        give_all(context, op->backward(context.input(0), context.input(1), context.output(), context.gradient()));
      },
      inputs, result);
  return result;
}

Tensor Tensor::apply_op3(const Tensor& second, const Tensor& third, std::shared_ptr<const CustomOp3> op) const {
  check_assigned("apply_op3", {{"the tensor", *this}, {"second", second}, {"third", third}});
  Tensor result = run_op(*op, *this, second, third);
  const Tensor* const inputs[] = {this, &second, &third};
  const std::string_view name = op->name();
  track(
      name,
      [op = std::move(op)](GradientContext& context) {
        give_all(context, op->backward(context.input(0), context.input(1), context.input(2), context.output(), context.gradient()));
      },
      inputs, result);
  return result;
}

Tensor Tensor::apply_op1_no_backward(const CustomOp1& op) const {
  check_assigned("apply_op1_no_backward", *this);
  return run_op(op, *this);
}
Tensor Tensor::apply_op2_no_backward(const Tensor& second, const CustomOp2& op) const {
  check_assigned("apply_op2_no_backward", {{"the tensor", *this}, {"second", second}});
  return run_op(op, *this, second);
}
Tensor Tensor::apply_op3_no_backward(const Tensor& second, const Tensor& third, const CustomOp3& op) const {
  check_assigned("apply_op3_no_backward", {{"the tensor", *this}, {"second", second}, {"third", third}});
  return run_op(op, *this, second, third);
}

void Tensor::inplace_op1(const InplaceOp1& op) const {
  check_assigned("inplace_op1", *this);
  run_in_place(op, *this);
}
void Tensor::inplace_op2(const Tensor& second, const InplaceOp2& op) const {
  check_assigned("inplace_op2", {{"the tensor", *this}, {"second", second}});
  run_in_place(op, *this, second);
}
void Tensor::inplace_op3(const Tensor& second, const Tensor& third, const InplaceOp3& op) const {
  check_assigned("inplace_op3", {{"the tensor", *this}, {"second", second}, {"third", third}});
  run_in_place(op, *this, second, third);
}

}  // namespace wick
