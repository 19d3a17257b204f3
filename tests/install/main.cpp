// What a user's first program does.
#include <wick/config.h>
#include <wick/kernel.h>
#include <wick/wick.h>

#include <iostream>

#include "base/error.h"

static_assert(WICK_HAS_CPU == 1 && wick::config::has_cpu && wick::config::has_vulkan == (WICK_HAS_VULKAN == 1));

int main() {
  for (int i = 0; i < 2; ++i) {
    if (!wick::Device::rocm_if_available(7).is_cpu()) return 2;
  }
  const wick::Device device = wick::Device::cpu();
  const wick::Var x = wick::Var::of<float>({{1, 2}, {3, 4}}, device);
  const wick::Tensor y = wick::einsum("ij,jk->ik", {x, x});
  std::cout << y << "\n" << *wick::backward(y.sum_all()).get(x) << "\n";
  try {
    (void)wick::Llm::load("/no/such/model.gguf", {.device = device});
    return 1;
  } catch (const wick::Error& error) {
    std::cout << error.what() << "\n";
  }
  return y.to_vec2<float>() == std::vector<std::vector<float>>{{7, 10}, {15, 22}} ? OwnError().code - 3 : 1;
}
