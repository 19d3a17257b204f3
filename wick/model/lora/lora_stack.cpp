#include "wick/model/lora/lora_stack.h"

#include "wick/tensor/ops/linear.h"

namespace wick {

Tensor adapter_product(const Tensor& x, const LoraStack& stack, const AdapterRows& adapters, LinearParams params) {
  params.precise = true;
  const Tensor inner = linear_experts(x, stack.a, adapters.ids, params) * adapters.scales;
  const Tensor outer = linear_experts(inner, stack.b, adapters.ids, params);
  return outer.shape()[1] == 1 ? outer.squeeze(1) : outer.sum(1);
}

}  // namespace wick
