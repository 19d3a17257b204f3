// A Module is a layer, or a net of layers: a function of one tensor with parameters of its own.
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// Whether a net is being used or trained: dropout and batch normalisation differ.
enum class Mode { evaluate, train };

class Module {
 public:
  virtual ~Module() = default;

  // The result in evaluation.
  [[nodiscard]] virtual Tensor forward(const Tensor& x) const = 0;
  // The result in either mode; layers that know no difference have one result.
  [[nodiscard]] virtual Tensor forward_t(const Tensor& x, Mode /*mode*/) const { return forward(x); }

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;
};

}  // namespace nn
}  // namespace wick
