// dispatch: the one way from an op to a device: same-device check, choice of implementation, call. apply: the same, and the tape.
#pragma once

#include <initializer_list>
#include <span>

#include "wick/base/fail.h"
#include "wick/device/op_call.h"
#include "wick/tensor/tape.h"
#include "wick/tensor/tensor.h"

namespace wick {

// The tensor as an op's call names it; it must stay where it is.
[[nodiscard]] inline Operand operand_of(const Tensor& tensor) {
  const Storage& storage = *tensor.storage();
  return {&storage.buffer(), tensor.dtype(), &tensor.layout(), storage.prepared(), storage.host_ids()};
}

// The capability for that dtype that a device does not have: "the device has no f64 arithmetic"; empty if none.
[[nodiscard]] std::string_view missing_ability(const DeviceCaps& caps, DType dtype) noexcept;
// The device's own implementation of a kind of an op, or that by portable kernels; nullptr if there is neither.
[[nodiscard]] OpFunction implementation(const Runtime& runtime, OpId op, int kind, DType dtype) noexcept;

// How a device carries out a kind of an op on a dtype. cpu_fallback: the CPU does (DeviceOptions::cpu_fallback).
enum class Support { none, native, kernel, reference, cpu_fallback };
[[nodiscard]] Support support(const Device& device, OpId op, DType dtype, int kind = 0) noexcept;

// Whether the op's portable kernels round results of f32 to that dtype by themselves, where they do so at all; else a copy does.
[[nodiscard]] bool rounds_results(const Device& device, OpId op, DType dtype, DType result) noexcept;

// Runs the op, unless all outputs are empty. `params` is the op's parameter struct. Errors: device_mismatch naming op and both devices;
// unsupported naming op, dtype and device. The tape does not see it.
void dispatch(OpId op, const void* params, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs);
inline void dispatch(OpId op, const void* params, std::initializer_list<const Tensor*> inputs,
                     std::initializer_list<const Tensor*> outputs) {
  dispatch(op, params, std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
}

// Runs the op and, where an input is tracked, makes the first output a tracked tensor by the op's rule. Errors: also unsupported for a
// tracked input of an op that has no gradient.
void apply(OpId op, const void* params, std::span<const std::byte> param_bytes, std::span<const Tensor* const> inputs,
           std::span<Tensor* const> outputs);
template <class Params>
void apply(OpId op, const Params& params, std::initializer_list<const Tensor*> inputs, std::initializer_list<Tensor*> outputs) {
  WICK_ASSERT(info(op).param_bytes == sizeof(Params));
  apply(op, &params, bytes_of(params), std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
}
inline void apply(OpId op, std::initializer_list<const Tensor*> inputs, std::initializer_list<Tensor*> outputs) {
  apply(op, nullptr, {}, std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
}

// Throws unsupported if the op's rule does not support the tensor's dtype: "gelu: not defined for Tensor[[2], u8]: …".
void check_dtype(OpId op, std::string_view name, const Tensor& tensor);

}  // namespace wick
