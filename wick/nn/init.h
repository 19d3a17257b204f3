// An Init says how the first values of a parameter are drawn.
#pragma once

#include <variant>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

namespace init {

struct Constant {
  double value = 0;
};
struct Randn {
  double mean = 0;
  double deviation = 1;
};
// In [low, high).
struct Uniform {
  double low = 0;
  double high = 1;
};

enum class Distribution { uniform, normal };
// Which side of a weight [out, in, window…] keeps its variance: in · window elements are summed up forward, out · window backward.
enum class Fan { in, out };

// How much a function shrinks the deviation of what passes through it: the gain that makes up for it (PyTorch's calculate_gain).
class Gain {
 public:
  constexpr explicit Gain(double value) : value_(value) {}
  [[nodiscard]] static constexpr Gain linear() { return Gain(1); }
  [[nodiscard]] static constexpr Gain sigmoid() { return Gain(1); }
  [[nodiscard]] static constexpr Gain tanh() { return Gain(5.0 / 3); }
  [[nodiscard]] static Gain relu() { return leaky_relu(0); }
  [[nodiscard]] static Gain leaky_relu(double slope);
  [[nodiscard]] static constexpr Gain selu() { return Gain(0.75); }
  [[nodiscard]] constexpr double value() const noexcept { return value_; }

 private:
  double value_;
};

// Deviation gain / √fan (He et al. 2015); uniform: in ±√3 times that.
struct Kaiming {
  Distribution distribution = Distribution::normal;
  Fan fan = Fan::in;
  Gain gain = Gain::relu();
};

}  // namespace init

using Init = std::variant<init::Constant, init::Randn, init::Uniform, init::Kaiming>;

// Elements that one element of the other side is summed from, for a weight [out, in, window…]; a vector counts as [n, 1].
[[nodiscard]] int64_t fan_of(init::Fan fan, const Shape& shape);
// Random numbers come from the device's stream (manual_seed, Device::set_seed).
[[nodiscard]] Tensor draw(const Init& init, const Shape& shape, DType dtype, const Device& device);

}  // namespace nn
}  // namespace wick
