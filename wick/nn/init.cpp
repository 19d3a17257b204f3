#include "wick/nn/init.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wick::nn {
namespace {

struct Draw {
  const Shape& shape;
  DType dtype;
  const Device& device;

  Tensor operator()(const init::Constant& init) const { return Tensor::full(shape, init.value, dtype, device); }
  Tensor operator()(const init::Randn& init) const { return Tensor::randn(init.mean, init.deviation, shape, dtype, device); }
  Tensor operator()(const init::Uniform& init) const { return Tensor::rand(init.low, init.high, shape, dtype, device); }
  Tensor operator()(const init::Kaiming& init) const {
    const double fan = static_cast<double>(std::max<int64_t>(fan_of(init.fan, shape), 1));
    const double deviation = init.gain.value() / std::sqrt(fan);
    if (init.distribution == init::Distribution::normal) return Tensor::randn(0, deviation, shape, dtype, device);
    const double bound = std::numbers::sqrt3 * deviation;
    return Tensor::rand(-bound, bound, shape, dtype, device);
  }
};

}  // namespace

init::Gain init::Gain::leaky_relu(double slope) { return Gain(std::sqrt(2 / (1 + slope * slope))); }

int64_t fan_of(init::Fan fan, const Shape& shape) {
  int64_t window = 1;
  for (int dim = 2; dim < shape.rank(); ++dim) window *= shape[dim];
  const int side = fan == init::Fan::in ? 1 : 0;
  return (side < shape.rank() ? shape[side] : 1) * window;
}

Tensor draw(const Init& init, const Shape& shape, DType dtype, const Device& device) {
  return std::visit(Draw{shape, dtype, device}, init);
}

}  // namespace wick::nn
