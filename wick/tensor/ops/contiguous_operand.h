// An operand as implementations read it.
#pragma once

#include <optional>

#include "wick/tensor/tensor.h"

namespace wick {

// A tensor, or a contiguous copy of one that is not so. It refers to the tensor, which outlives it: a share of it would cost more than what
// else an op of few numbers does.
class ContiguousOperand {
 public:
  explicit ContiguousOperand(const Tensor& tensor) : ContiguousOperand(tensor, tensor.is_contiguous()) {}
  // `fits`: implementations read the tensor as it lies.
  ContiguousOperand(const Tensor& tensor, bool fits) : tensor_(fits ? &tensor : &copy_.emplace(tensor.contiguous())) {}
  ContiguousOperand(const ContiguousOperand&) = delete;
  ContiguousOperand& operator=(const ContiguousOperand&) = delete;

  [[nodiscard]] const Tensor* get() const noexcept { return tensor_; }

 private:
  std::optional<Tensor> copy_;
  const Tensor* tensor_;
};

}  // namespace wick
