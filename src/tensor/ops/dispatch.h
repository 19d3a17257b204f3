// The one place where a checked op meets a device: same-device check, choice of implementation, call.
#pragma once

#include <initializer_list>
#include <span>

#include "device/op.h"
#include "tensor/tensor.h"

namespace wick {

// How a device carries out an op on a dtype.
enum class Support { none, native, reference };
[[nodiscard]] Support support(const Device& device, OpId op, DType dtype) noexcept;

// Runs the op. `params` is the op's parameter struct. Errors: device_mismatch naming op and both devices; unsupported naming op,
// dtype and device.
void dispatch(OpId op, const void* params, std::initializer_list<const Tensor*> inputs, std::initializer_list<const Tensor*> outputs);
void dispatch(OpId op, const void* params, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs);

}  // namespace wick
