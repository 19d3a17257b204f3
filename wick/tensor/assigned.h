// Checks at the beginning of tensor functions, so that errors name the function: null operands, and memory for the result.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "wick/tensor/files.h"
#include "wick/tensor/tensor.h"

namespace wick {

struct NamedOperand {
  std::string_view name;
  const Tensor& tensor;
};

// Errors: invalid_argument, naming `function`, which the user called, and the first operand that was never assigned, or was moved from.
inline void check_assigned(std::string_view function, std::initializer_list<NamedOperand> operands) {
  for (const NamedOperand& operand : operands) {
    if (!operand.tensor.defined()) [[unlikely]]
      Tensor::fail_empty(function, operand.name);
  }
}
inline void check_assigned(std::string_view function, const Tensor& tensor) { check_assigned(function, {{"the tensor", tensor}}); }

// The same of a list, whose members are counted from 0.
inline void check_assigned(std::string_view function, std::span<const Tensor> tensors) {
  for (size_t index = 0; index < tensors.size(); ++index) {
    if (!tensors[index].defined()) [[unlikely]]
      Tensor::fail_empty(function, "tensor " + std::to_string(index));
  }
}

// The same of tensors that have names, which are what is named.
inline void check_assigned(std::string_view function, const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) [[unlikely]]
      Tensor::fail_empty(function, "tensor '" + name + "'");
  }
}

// Uninitialised, for the result of an op. Errors: as Tensor::empty, naming `function`, which the user called.
[[nodiscard]] Tensor make_result(std::string_view function, const Shape& shape, DType dtype, const Device& device);

}  // namespace wick
