// checkpoint: part of a computation whose intermediate tensors are not kept for backward, which computes them once more (Chen et al. 2016).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// function(inputs). Gradients flow to the inputs and to the variables that the function uses; they are those of function(inputs) itself.
// The function runs again in backward: it must compute the same from the same inputs. What it draws from the random stream of the result's
// device is drawn again, so that dropout drops the same. Errors: unsupported in a backward with create_graph.
[[nodiscard]] Tensor checkpoint(std::function<Tensor(std::span<const Tensor>)> function, const std::vector<Tensor>& inputs);

}  // namespace wick
