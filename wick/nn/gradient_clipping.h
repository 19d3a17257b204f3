// Gradient clipping: gradients that are too large are made smaller before an optimizer's step.
#pragma once

#include <span>

#include "wick/tensor/backward.h"
#include "wick/tensor/variable.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// Scales the gradients of the variables together, so that their common norm √Σ g² is at most `largest` (Pascanu et al. 2013; as PyTorch,
// by largest / (norm + 1e-6)). Returns the norm before. Errors: invalid_argument for a negative `largest`.
double clip_gradients_by_norm(GradStore& gradients, std::span<const Var> vars, double largest);
// Each element into [-largest, largest].
void clip_gradients_by_value(GradStore& gradients, std::span<const Var> vars, double largest);

}  // namespace nn
}  // namespace wick
