// A shared library of the outside project: it must export its own function and none of Wick's.
#include <wick/tensor.h>

extern "C" [[gnu::visibility("default")]] double sum_of_three() {
  return wick::Tensor::of<double>({1, 2, 3}, wick::Device::cpu()).sum_all().to_scalar<double>();
}
