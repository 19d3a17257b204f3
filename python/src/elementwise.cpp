// Functions of each element.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <limits>

#include "array.h"
#include "wick/nn/activation.h"
#include "wick/tensor/ops/unary.h"

namespace wick_python {
namespace {

// A function of floats: integers and bool become the default dtype first, as in PyTorch.
template <auto kMethod>
Array of_floats(const Array& self) {
  return unlocked([&] {
    if (wick::is_integer(self.t.dtype())) return Array{(self.t.to_dtype(wick::default_dtype()).*kMethod)()};
    return Array{(self.t.*kMethod)()};
  });
}

template <auto kMethod>
Array predicate(const Array& self) {
  return unlocked([&] { return Array{(self.t.*kMethod)(), true}; });
}

template <auto kMethod>
Array with_tensor(const Array& self, nb::handle other) {
  const Array operand = operand_of(other, self, "elementwise");
  return unlocked([&] {
    const Kind kind = promote(self.kind(), operand.kind());
    return Array{(as_kind(self, kind).*kMethod)(as_kind(operand, kind)), kind.boolean};
  });
}

template <auto kMethod>
Array logical_with(const Array& self, nb::handle other) {
  const Array operand = operand_of(other, self, "logical");
  return unlocked([&] { return Array{(self.t.*kMethod)(operand.t), true}; });
}

using Binary = Tensor (Tensor::*)(const Tensor&) const;

// Whether a bound of integers is beyond all numbers of the dtype, so that it changes nothing.
bool is_beyond(nb::handle bound, DType dtype, bool is_low) {
  if (!PyLong_Check(bound.ptr()) || !wick::is_integer(dtype)) return false;
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(bound.ptr(), &overflow);
  const auto [lowest, highest] = integer_range(dtype);
  return is_low ? overflow < 0 || (overflow == 0 && value < lowest) : overflow > 0 || (overflow == 0 && value > highest);
}

// The dtype is promoted as by arithmetic: integers with a bound that is a float become floats, bool becomes i64.
Array clamp(const Array& self, nb::handle low, nb::handle high) {
  Array result = self;
  const auto apply = [&](nb::handle value, bool is_low) {
    if (value.is_none()) return;
    if (result.boolean && PyLong_Check(value.ptr())) result = convert(result, {DType::i64});
    if (is_beyond(value, result.t.dtype(), is_low)) return;
    const Array bound = operand_of(value, result, is_low ? "clamp: min" : "clamp: max");
    const Kind kind = promote(result.kind(), bound.kind());
    result = unlocked([&] {
      const Tensor x = as_kind(result, kind), y = as_kind(bound, kind);
      if (x.is_tracked() && !y.is_tracked()) {  // the gradient flows where x is inside of the bound, not on it
        return Array{(is_low ? x.gt(y) : x.lt(y)).where_cond(x, (is_low ? x.maximum(y) : x.minimum(y)).detach())};
      }
      return Array{is_low ? x.maximum(y) : x.minimum(y), kind.boolean};
    });
  };
  apply(low, true);
  apply(high, false);
  return result;
}

Array round_to(const Array& self, int decimals) {
  return unlocked([&] {
    if (decimals == 0 || !wick::is_float(self.t.dtype()))
      return Array{decimals == 0 ? wick::round_even(self.t) : self.t.round_to(decimals)};
    const double scale = std::pow(10.0, std::abs(decimals));
    if (decimals > 0) return Array{wick::round_even(self.t * scale) / scale};
    return Array{wick::round_even(self.t / scale) * scale};
  });
}

Array gelu(const Array& self, const std::string& approximate) {
  if (approximate != "none" && approximate != "tanh") {
    throw nb::value_error(("gelu: approximate is 'none' or 'tanh', not '" + approximate + "'").c_str());
  }
  return approximate == "tanh" ? of_floats<&Tensor::gelu>(self) : of_floats<&Tensor::gelu_erf>(self);
}

Array nan_to_num(const Array& self, double nan, std::optional<double> high, std::optional<double> low) {
  if (!wick::is_float(self.t.dtype())) return self;
  return unlocked([&] {
    const Tensor x = self.t;
    const double largest = x.dtype() == DType::f64    ? std::numeric_limits<double>::max()
                           : x.dtype() == DType::f16  ? 65504.0
                           : x.dtype() == DType::bf16 ? 3.3895313892515355e38
                                                      : static_cast<double>(std::numeric_limits<float>::max());
    const Tensor infinite = x.isinf();
    Tensor result = x.masked_fill(x.isnan(), nan);
    result = result.masked_fill(infinite.logical_and(x.gt(0.0)), high.value_or(largest));
    return Array{result.masked_fill(infinite.logical_and(x.lt(0.0)), low.value_or(-largest))};
  });
}

Array where_method(const Array& condition, nb::handle on_true, nb::handle on_false) {
  const bool first_is_tensor = nb::isinstance<Array>(on_true);
  const Array second = first_is_tensor || !nb::isinstance<Array>(on_false)
                           ? operand_of(on_true, Array{Tensor::zeros({}, wick::default_dtype(), condition.t.device())}, "where")
                           : operand_of(on_true, nb::cast<const Array&>(on_false), "where");
  const Array third = operand_of(on_false, second, "where");
  return unlocked([&] {
    const Kind kind = promote(second.kind(), third.kind());
    return Array{condition.t.where_cond(as_kind(second, kind), as_kind(third, kind)), kind.boolean};
  });
}

void bind_float_functions(nb::class_<Array>& tensor) {
  tensor.def("sqrt", &of_floats<&Tensor::sqrt>)
      .def("rsqrt", &of_floats<&Tensor::rsqrt>, "1 / √x")
      .def("recip", &of_floats<&Tensor::recip>, "1 / x")
      .def("exp", &of_floats<&Tensor::exp>)
      .def("log", &of_floats<&Tensor::log>)
      .def("sin", &of_floats<&Tensor::sin>)
      .def("cos", &of_floats<&Tensor::cos>)
      .def("tan", &of_floats<&Tensor::tan>)
      .def("asin", &of_floats<&Tensor::asin>)
      .def("acos", &of_floats<&Tensor::acos>)
      .def("atan", &of_floats<&Tensor::atan>)
      .def("sinh", &of_floats<&Tensor::sinh>)
      .def("cosh", &of_floats<&Tensor::cosh>)
      .def("tanh", &of_floats<&Tensor::tanh>)
      .def("asinh", &of_floats<&Tensor::asinh>)
      .def("acosh", &of_floats<&Tensor::acosh>)
      .def("atanh", &of_floats<&Tensor::atanh>)
      .def("exp2", &of_floats<&Tensor::exp2>)
      .def("expm1", &of_floats<&Tensor::expm1>)
      .def("log2", &of_floats<&Tensor::log2>)
      .def("log10", &of_floats<&Tensor::log10>)
      .def("log1p", &of_floats<&Tensor::log1p>)
      .def("erf", &of_floats<&Tensor::erf>)
      .def("sigmoid", &of_floats<&Tensor::sigmoid>)
      .def("silu", &of_floats<&Tensor::silu>, "x · sigmoid(x)")
      .def("gelu", &gelu, nb::arg("approximate") = "none",
           "x / 2 · (1 + erf(x / √2)); with approximate='tanh' by the approximation with tanh.")
      .def("gelu_erf", &of_floats<&Tensor::gelu_erf>, "x / 2 · (1 + erf(x / √2))");
}

}  // namespace

void bind_elementwise(nb::class_<Array>& tensor) {
  bind_float_functions(tensor);
  tensor.def("neg", &call<&Tensor::neg>)
      .def("abs", &call_view<&Tensor::abs>)
      .def("sign", [](const Array& self) { return self.boolean ? Array{self.t.copy(), true} : call<&Tensor::sign>(self); })
      .def("floor", &call<&Tensor::floor>)
      .def("ceil", &call<&Tensor::ceil>)
      .def("round", &round_to, nb::arg("decimals") = 0, "Halves to the even neighbour.")
      .def("_round_half_away", &call<&Tensor::round>)
      .def("trunc", &call<&Tensor::trunc>)
      .def("sqr", &call<&Tensor::sqr>, "x²")
      .def("relu", &call<&Tensor::relu>)
      .def(
          "affine",
          [](const Array& self, double multiplier, double addend) {
            return unlocked([&] { return Array{self.t.affine(multiplier, addend)}; });
          },
          nb::arg("multiplier"), nb::arg("addend"), "x · multiplier + addend")
      .def(
          "powf", [](const Array& self, double exponent) { return unlocked([&] { return Array{self.t.powf(exponent)}; }); },
          nb::arg("exponent"))
      .def(
          "elu", [](const Array& self, double alpha) { return unlocked([&] { return Array{self.t.elu(alpha)}; }); }, nb::arg("alpha") = 1.0)
      .def("clamp", &clamp, nb::arg("min") = nb::none(), nb::arg("max") = nb::none(),
           nb::sig("def clamp(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor"))
      .def("clip", &clamp, nb::arg("min") = nb::none(), nb::arg("max") = nb::none(),
           nb::sig("def clip(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor"))
      .def("nan_to_num", &nan_to_num, nb::arg("nan") = 0.0, nb::arg("posinf") = nb::none(), nb::arg("neginf") = nb::none(),
           "NaN becomes nan; infinities become posinf and neginf, by default the dtype's largest numbers.")
      .def("square", [](const Array& self) { return call<&Tensor::sqr>(self.boolean ? convert(self, {DType::i64}) : self); })
      .def("reciprocal", &of_floats<&Tensor::recip>)
      .def("fmod", &with_tensor<static_cast<Binary>(&Tensor::fmod)>, nb::arg("other"),
           nb::sig("def fmod(self, other: TensorLike) -> Tensor"))
      .def("atan2", &with_tensor<&Tensor::atan2>, nb::arg("other"), nb::sig("def atan2(self, other: TensorLike) -> Tensor"))
      .def("minimum", &with_tensor<static_cast<Binary>(&Tensor::minimum)>, nb::arg("other"),
           nb::sig("def minimum(self, other: TensorLike) -> Tensor"), "NaN in either operand gives NaN.")
      .def("maximum", &with_tensor<static_cast<Binary>(&Tensor::maximum)>, nb::arg("other"),
           nb::sig("def maximum(self, other: TensorLike) -> Tensor"), "NaN in either operand gives NaN.")
      .def("logical_and", &logical_with<&Tensor::logical_and>, nb::arg("other"),
           nb::sig("def logical_and(self, other: TensorLike) -> Tensor"))
      .def("logical_or", &logical_with<&Tensor::logical_or>, nb::arg("other"), nb::sig("def logical_or(self, other: TensorLike) -> Tensor"))
      .def("logical_xor", &logical_with<&Tensor::logical_xor>, nb::arg("other"),
           nb::sig("def logical_xor(self, other: TensorLike) -> Tensor"))
      .def("logical_not", &predicate<&Tensor::logical_not>)
      .def("isnan", &predicate<&Tensor::isnan>)
      .def("isinf", &predicate<&Tensor::isinf>)
      .def("isfinite", &predicate<&Tensor::isfinite>)
      .def("where", &where_method, nb::arg("on_true"), nb::arg("on_false"),
           nb::sig("def where(self, on_true: TensorLike, on_false: TensorLike) -> Tensor"),
           "on_true where this tensor is not 0, else on_false.")
      .def("where_cond", &where_method, nb::arg("on_true"), nb::arg("on_false"),
           nb::sig("def where_cond(self, on_true: TensorLike, on_false: TensorLike) -> Tensor"))
      .def(
          "masked_fill",
          [](const Array& self, const Array& mask, double value) {
            return unlocked([&] {
              const Tensor x = self.t.broadcast_to(wick::broadcast_shapes(self.t.shape(), mask.t.shape(), "masked_fill"));
              return Array{x.masked_fill(mask.t, self.boolean ? value != 0 : value), self.boolean};
            });
          },
          nb::arg("mask"), nb::arg("value"), "A copy with value where the mask is not 0; both are broadcast.");
}

}  // namespace wick_python
