// Gradients is what backward returns to Python, and what optimizers take.
#pragma once

#include <memory>

#include "array.h"

namespace wick_python {

struct Gradients {
  wick::GradStore store;
};

// Where the gradient of a variable's tensor is left; none if no Var of Python holds it.
[[nodiscard]] std::shared_ptr<GradientSlot> find_slot(const Tensor& variable);

}  // namespace wick_python
