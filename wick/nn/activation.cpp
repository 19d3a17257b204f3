#include "wick/nn/activation.h"

#include <fmt/ranges.h>

#include <vector>

#include "wick/base/fail.h"
#include "wick/op/op.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/unary.h"

namespace wick::nn {
namespace {

struct Name {
  std::string_view text;
  ActivationKind kind;
};

// The first name of each kind is its own; the others are what configurations say as well.
constexpr std::array kNames = {Name{"gelu", ActivationKind::gelu},
                               Name{"gelu_new", ActivationKind::new_gelu},
                               Name{"relu", ActivationKind::relu},
                               Name{"relu2", ActivationKind::relu2},
                               Name{"relu6", ActivationKind::relu6},
                               Name{"silu", ActivationKind::silu},
                               Name{"sigmoid", ActivationKind::sigmoid},
                               Name{"hard_sigmoid", ActivationKind::hard_sigmoid},
                               Name{"swiglu", ActivationKind::swiglu},
                               Name{"swish", ActivationKind::swish},
                               Name{"mish", ActivationKind::mish},
                               Name{"hard_swish", ActivationKind::hard_swish},
                               Name{"elu", ActivationKind::elu},
                               Name{"leaky_relu", ActivationKind::leaky_relu},
                               Name{"gelu_pytorch_tanh", ActivationKind::gelu_pytorch_tanh},
                               Name{"gelu_python", ActivationKind::gelu},
                               Name{"gelu_fast", ActivationKind::new_gelu},
                               Name{"gelu_python_tanh", ActivationKind::new_gelu},
                               Name{"newgelu", ActivationKind::new_gelu},
                               Name{"hardsigmoid", ActivationKind::hard_sigmoid},
                               Name{"hardswish", ActivationKind::hard_swish},
                               Name{"leakyrelu", ActivationKind::leaky_relu},
                               Name{"gelupytorchtanh", ActivationKind::gelu_pytorch_tanh}};

Tensor of_kind(UnaryKind kind, const Tensor& x, double a = 0) { return unary({.kind = kind, .a = a}, x); }

}  // namespace

Tensor swiglu(const Tensor& x) {
  check_assigned("swiglu", {{"x", x}});
  if (x.rank() == 0 || x.shape().last() % 2 != 0) {
    fail(ErrorCode::shape_mismatch, "swiglu: the last dimension of {} must be even", x.describe());
  }
  const int64_t half = x.shape().last() / 2;
  return x.narrow(-1, 0, half).silu() * x.narrow(-1, half, half);
}

Tensor hard_sigmoid(const Tensor& x) { return of_kind(UnaryKind::hard_sigmoid, x); }

Tensor hard_swish(const Tensor& x) { return of_kind(UnaryKind::hard_swish, x); }

Tensor mish(const Tensor& x) { return of_kind(UnaryKind::mish, x); }

Tensor softplus(const Tensor& x) { return of_kind(UnaryKind::softplus, x); }

Tensor leaky_relu(const Tensor& x, double slope) { return of_kind(UnaryKind::leaky_relu, x, slope); }

Tensor selu(const Tensor& x, double alpha, double scale) {
  check_assigned("selu", {{"x", x}});
  return x.elu(alpha) * scale;
}

Activation Activation::parse(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Name& entry : kNames) {
    if (entry.text == name) return entry.kind;
    names.push_back(entry.text);
  }
  fail(ErrorCode::invalid_argument, "Activation::parse: no activation '{}'; allowed: {}", name, fmt::join(names, ", "));
}

std::string_view Activation::name() const noexcept {
  for (const Name& entry : kNames) {
    if (entry.kind == kind_) return entry.text;
  }
  return "";
}

Tensor Activation::forward(const Tensor& x) const {
  check_assigned("Activation", {{"x", x}});
  switch (kind_) {
    case ActivationKind::gelu: return x.gelu_erf();
    case ActivationKind::new_gelu:
    case ActivationKind::gelu_pytorch_tanh: return x.gelu();
    case ActivationKind::relu: return x.relu();
    case ActivationKind::relu2: return x.relu().sqr();
    case ActivationKind::relu6: return x.clamp(0, 6);
    case ActivationKind::silu:
    case ActivationKind::swish: return x.silu();
    case ActivationKind::sigmoid: return x.sigmoid();
    case ActivationKind::hard_sigmoid: return hard_sigmoid(x);
    case ActivationKind::swiglu: return swiglu(x);
    case ActivationKind::mish: return mish(x);
    case ActivationKind::hard_swish: return hard_swish(x);
    case ActivationKind::elu: return x.elu(parameter_);
    case ActivationKind::leaky_relu: return leaky_relu(x, parameter_);
  }
  return x;
}

}  // namespace wick::nn
