// Methods and operators that overwrite a tensor's own elements: x.add_(y), x += y.
#include <fmt/format.h>

#include "array.h"

namespace wick_python {
namespace {

struct InPlace {
  const char* name;    // "add_"
  const char* method;  // what computes the new elements
};

// Overwrites the elements of `self` with those of `made`, which has its shape. Errors: ValueError for another shape and for tensors that
// are tracked, TypeError for floats in place of integers.
void overwrite(nb::handle self, const Array& made, const char* name) {
  const Array& x = nb::cast<const Array&>(self);
  if (made.t.shape() != x.t.shape()) {
    throw nb::value_error(fmt::format("{}: the result {} does not fit into {}", name, made.t.describe(), x.t.describe()).c_str());
  }
  if (wick::is_float(made.t.dtype()) && !wick::is_float(x.t.dtype())) {
    throw nb::type_error(
        fmt::format("{}: the result {} cannot be stored in {}; convert the tensor first", name, made.t.describe(), x.t.describe()).c_str());
  }
  if (made.t.is_tracked()) {
    throw nb::value_error(fmt::format("{}: gradients flow through {}, which an in-place change would break; use no_grad() or the method "
                                      "without the underscore",
                                      name, x.t.describe())
                              .c_str());
  }
  const Tensor source = convert(made, x.kind()).t;
  if (nb::isinstance<Variable>(self)) {
    const Variable& variable = nb::cast<const Variable&>(self);
    unlocked([&] { variable.var.set(source); });
  } else {
    unlocked([&] {
      if (x.t.elements() > 0) write_view(x.t, source.storage() == x.t.storage() ? source.copy() : source);
    });
  }
}

template <const InPlace& kMethod>
nb::object in_place(nb::handle self, const nb::args& arguments, const nb::kwargs& options) {
  const nb::object made = self.attr(kMethod.method)(*arguments, **options);
  overwrite(self, nb::cast<const Array&>(made), kMethod.name);
  return nb::borrow(self);
}

// x += y: where gradients flow, a new tensor takes the name.
template <const InPlace& kMethod>
nb::object operator_in_place(nb::handle self, nb::handle other) {
  nb::object made = self.attr(kMethod.method)(other);
  if (!nb::isinstance<Array>(made)) return made;
  const Array& result = nb::cast<const Array&>(made);
  if (result.t.is_tracked() || (nb::cast<const Array&>(self).t.is_tracked() && !nb::isinstance<Variable>(self))) return made;
  overwrite(self, result, kMethod.name);
  return nb::borrow(self);
}

constexpr InPlace kAddInPlace = {"add_", "__add__"}, kSubInPlace = {"sub_", "__sub__"}, kMulInPlace = {"mul_", "__mul__"},
                  kDivInPlace = {"div_", "__truediv__"};
constexpr InPlace kFloorDivideInPlace = {"floor_divide_", "__floordiv__"}, kRemainderInPlace = {"remainder_", "__mod__"},
                  kPowerInPlace = {"pow_", "__pow__"};
constexpr InPlace kAndInPlace = {"__iand__", "__and__"}, kOrInPlace = {"__ior__", "__or__"}, kXorInPlace = {"__ixor__", "__xor__"};
constexpr InPlace kClampInPlace = {"clamp_", "clamp"}, kClipInPlace = {"clip_", "clip"}, kExpInPlace = {"exp_", "exp"},
                  kLogInPlace = {"log_", "log"};
constexpr InPlace kSqrtInPlace = {"sqrt_", "sqrt"}, kNegInPlace = {"neg_", "neg"}, kAbsInPlace = {"abs_", "abs"},
                  kReluInPlace = {"relu_", "relu"};
constexpr InPlace kSigmoidInPlace = {"sigmoid_", "sigmoid"}, kTanhInPlace = {"tanh_", "tanh"}, kRoundInPlace = {"round_", "round"};
constexpr InPlace kMaskedFillInPlace = {"masked_fill_", "masked_fill"}, kIndexAddInPlace = {"index_add_", "index_add"};
constexpr InPlace kScatterInPlace = {"scatter_", "scatter"}, kScatterAddInPlace = {"scatter_add_", "scatter_add"};

// clang-format off
#define WICK_IN_PLACE(name, row)                                                                                  \
  tensor.def(name, &in_place<row>, nb::arg("arguments"), nb::arg("options"),                                      \
             nb::sig("def " name "(self, *arguments: typing.Any, **options: typing.Any) -> Tensor"))
#define WICK_IN_PLACE_OPERATOR(name, row)                                                                         \
  tensor.def("__" name "__", &operator_in_place<row>, nb::is_operator(), nb::arg("other").none(),                 \
             nb::sig("def __" name "__(self, other: TensorLike, /) -> Tensor"))
// clang-format on

}  // namespace

void bind_inplace(nb::class_<Array>& tensor) {
  WICK_IN_PLACE_OPERATOR("iadd", kAddInPlace);
  WICK_IN_PLACE_OPERATOR("isub", kSubInPlace);
  WICK_IN_PLACE_OPERATOR("imul", kMulInPlace);
  WICK_IN_PLACE_OPERATOR("itruediv", kDivInPlace);
  WICK_IN_PLACE_OPERATOR("ifloordiv", kFloorDivideInPlace);
  WICK_IN_PLACE_OPERATOR("imod", kRemainderInPlace);
  tensor.def(
      "__ipow__", [](nb::handle self, nb::handle other, nb::handle) { return operator_in_place<kPowerInPlace>(self, other); },
      nb::is_operator(), nb::arg("other").none(), nb::arg("modulo") = nb::none(),
      nb::sig("def __ipow__(self, other: TensorLike, modulo: None = None, /) -> Tensor"));
  WICK_IN_PLACE_OPERATOR("iand", kAndInPlace);
  WICK_IN_PLACE_OPERATOR("ior", kOrInPlace);
  WICK_IN_PLACE_OPERATOR("ixor", kXorInPlace);
  WICK_IN_PLACE("add_", kAddInPlace);
  WICK_IN_PLACE("sub_", kSubInPlace);
  WICK_IN_PLACE("mul_", kMulInPlace);
  WICK_IN_PLACE("div_", kDivInPlace);
  WICK_IN_PLACE("floor_divide_", kFloorDivideInPlace);
  WICK_IN_PLACE("remainder_", kRemainderInPlace);
  WICK_IN_PLACE("pow_", kPowerInPlace);
  WICK_IN_PLACE("clamp_", kClampInPlace);
  WICK_IN_PLACE("clip_", kClipInPlace);
  WICK_IN_PLACE("exp_", kExpInPlace);
  WICK_IN_PLACE("log_", kLogInPlace);
  WICK_IN_PLACE("sqrt_", kSqrtInPlace);
  WICK_IN_PLACE("neg_", kNegInPlace);
  WICK_IN_PLACE("abs_", kAbsInPlace);
  WICK_IN_PLACE("relu_", kReluInPlace);
  WICK_IN_PLACE("sigmoid_", kSigmoidInPlace);
  WICK_IN_PLACE("tanh_", kTanhInPlace);
  WICK_IN_PLACE("round_", kRoundInPlace);
  WICK_IN_PLACE("masked_fill_", kMaskedFillInPlace);
  WICK_IN_PLACE("index_add_", kIndexAddInPlace);
  WICK_IN_PLACE("scatter_", kScatterInPlace);
  WICK_IN_PLACE("scatter_add_", kScatterAddInPlace);
  tensor
      .def(
          "copy_",
          [](nb::handle self, nb::handle source) {
            const Array& x = nb::cast<const Array&>(self);
            const Array from = array_of(source, x.kind(), x.t.device(), "copy_");
            const Array whole = {unlocked([&] { return from.t.detach().broadcast_to(x.t.shape()); }), from.boolean};
            overwrite(self, whole, "copy_");
            return nb::borrow(self);
          },
          nb::arg("source"), nb::sig("def copy_(self, source: TensorLike) -> Tensor"), "The source's elements, broadcast and converted.")
      .def(
          "zero_",
          [](nb::handle self) {
            const Array& x = nb::cast<const Array&>(self);
            overwrite(self, {unlocked([&] { return x.t.detach().zeros_like(); }), x.boolean}, "zero_");
            return nb::borrow(self);
          },
          nb::sig("def zero_(self) -> Tensor"));
}

}  // namespace wick_python
