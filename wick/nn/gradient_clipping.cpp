#include "wick/nn/gradient_clipping.h"

#include <cmath>

#include "wick/base/fail.h"

namespace wick::nn {
namespace {

void check_largest(const char* function, double largest) {
  if (!(largest >= 0)) fail(ErrorCode::invalid_argument, "{}: largest is {}; allowed: 0 or more", function, largest);
}

}  // namespace

double clip_gradients_by_norm(GradStore& gradients, std::span<const Var> vars, double largest) {
  check_largest("clip_gradients_by_norm", largest);
  double squares = 0;
  for (const Var& var : vars) {
    const auto gradient = gradients.get(var.tensor());
    if (!gradient) continue;
    const DType precise = gradient->dtype() == DType::f64 ? DType::f64 : DType::f32;
    squares += gradient->detach().to_dtype(precise).sqr().sum_all().item();
  }
  const double norm = std::sqrt(squares);
  const double factor = largest / (norm + 1e-6);
  if (factor >= 1) return norm;
  for (const Var& var : vars) {
    if (const auto gradient = gradients.get(var.tensor())) gradients.insert(var.tensor(), *gradient * factor);
  }
  return norm;
}

void clip_gradients_by_value(GradStore& gradients, std::span<const Var> vars, double largest) {
  check_largest("clip_gradients_by_value", largest);
  for (const Var& var : vars) {
    if (const auto gradient = gradients.get(var.tensor())) gradients.insert(var.tensor(), gradient->clamp(-largest, largest));
  }
}

}  // namespace wick::nn
