// What a user's first program does.
#include <wick/wick.h>

#include <iostream>

int main() {
  const wick::Device device = wick::Device::cpu();
  const wick::Var x = wick::Var::of<float>({{1, 2}, {3, 4}}, device);
  const wick::Tensor y = wick::einsum("ij,jk->ik", {x, x});
  std::cout << y << "\n" << *wick::backward(y.sum_all()).get(x) << "\n";
  return y.to_vec2<float>() == std::vector<std::vector<float>>{{7, 10}, {15, 22}} ? 0 : 1;
}
