// Operators: arithmetic and comparisons with broadcasting, numbers on either side, and the dtypes' promotion.
#include <fmt/format.h>

#include "array.h"

namespace wick_python {
namespace {

using TensorOperator = Tensor (*)(const Tensor&, const Tensor&);

// What an operator does with operands of one dtype, and how it takes bool.
enum class OnBool {
  refuse,    // TypeError where both are bool
  logical,   // as a logical operation on both, whose result is bool
  as_int64,  // both are converted to i64
};

Array run(const Array& lhs, const Array& rhs, TensorOperator function) {
  return unlocked([&] {
    if (lhs.t.dtype() == rhs.t.dtype() && !lhs.boolean && !rhs.boolean) return Array{function(lhs.t, rhs.t)};
    const Kind kind = promote(lhs.kind(), rhs.kind());
    return Array{function(as_kind(lhs, kind), as_kind(rhs, kind))};
  });
}

Tensor add(const Tensor& x, const Tensor& y) { return x.add(y); }
Tensor sub(const Tensor& x, const Tensor& y) { return x.sub(y); }
Tensor mul(const Tensor& x, const Tensor& y) { return x.mul(y); }
Tensor div(const Tensor& x, const Tensor& y) {
  if (!wick::is_integer(x.dtype())) return x.div(y);
  const DType dtype = wick::default_dtype();
  return x.to_dtype(dtype).div(y.to_dtype(dtype));
}
Tensor floor_divide(const Tensor& x, const Tensor& y) { return x.floor_divide(y); }
Tensor remainder(const Tensor& x, const Tensor& y) { return x.remainder(y); }
Tensor power(const Tensor& x, const Tensor& y) { return x.pow(y); }
Tensor matmul(const Tensor& x, const Tensor& y) {
  // Vectors, as in NumPy: a row in front, a column behind.
  if (x.rank() == 1 && y.rank() == 1) return x.unsqueeze(0).matmul(y.unsqueeze(1)).reshape({});
  if (x.rank() == 1) return x.unsqueeze(0).matmul(y).squeeze(-2);
  if (y.rank() == 1) return x.matmul(y.unsqueeze(1)).squeeze(-1);
  return x.matmul(y);
}
Tensor bit_and(const Tensor& x, const Tensor& y) { return x.logical_and(y); }
Tensor bit_or(const Tensor& x, const Tensor& y) { return x.logical_or(y); }

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

// Numbers beside tensors of floats, which need no tensor of their own.
using NumberOperator = Tensor (*)(const Tensor&, double);

struct Arithmetic {
  const char* name;  // "__add__"
  TensorOperator function;
  OnBool on_bool = OnBool::refuse;
  TensorOperator on_bools = nullptr;
  NumberOperator with_number = nullptr;
  NumberOperator number_with = nullptr;
};

Array apply(const Arithmetic& op, const Array& lhs, const Array& rhs) {
  if (lhs.boolean && rhs.boolean) {
    if (op.on_bool == OnBool::refuse) {
      throw nb::type_error(fmt::format("{}: not defined for two tensors of bool; convert one with to(wick.int64)", op.name).c_str());
    }
    if (op.on_bool == OnBool::logical) {
      return unlocked([&] { return Array{op.on_bools(lhs.t, rhs.t), true}; });
    }
    return run(convert(lhs, {DType::i64}), convert(rhs, {DType::i64}), op.function);
  }
  return run(lhs, rhs, op.function);
}

// What a number beside the tensor is an operand of: integers are divided as floats.
template <const Arithmetic& kOp>
Array beside_number(const Array& self, nb::handle other) {
  if (std::string_view(kOp.name) == "div" && wick::is_integer(self.t.dtype()) && is_number(other))
    return convert(self, {wick::default_dtype()});
  return self;
}

template <const Arithmetic& kOp>
nb::object forward(const Array& self, nb::handle other) {
  if constexpr (kOp.with_number != nullptr) {
    if (PyFloat_CheckExact(other.ptr()) && wick::is_float(self.t.dtype())) {
      const double number = PyFloat_AsDouble(other.ptr());
      return nb::cast(unlocked([&] { return Array{kOp.with_number(self.t, number)}; }));
    }
  }
  if (nb::isinstance<Array>(other) && nb::inst_ready(other)) [[likely]]
    return nb::cast(apply(kOp, self, *nb::inst_ptr<Array>(other)));
  const Array left = beside_number<kOp>(self, other);
  const std::optional<Array> operand = try_operand(other, left, kOp.name);
  return operand ? nb::cast(apply(kOp, left, *operand)) : not_implemented();
}

template <const Arithmetic& kOp>
nb::object reflected(const Array& self, nb::handle other) {
  if constexpr (kOp.number_with != nullptr) {
    if (PyFloat_CheckExact(other.ptr()) && wick::is_float(self.t.dtype())) {
      const double number = PyFloat_AsDouble(other.ptr());
      return nb::cast(unlocked([&] { return Array{kOp.number_with(self.t, number)}; }));
    }
  }
  const Array right = beside_number<kOp>(self, other);
  const std::optional<Array> operand = try_operand(other, right, kOp.name);
  return operand ? nb::cast(apply(kOp, *operand, right)) : not_implemented();
}

constexpr Arithmetic kAdd = {
    "add", add, OnBool::logical, bit_or, [](const Tensor& x, double y) { return x + y; }, [](const Tensor& x, double y) { return y + x; }};
constexpr Arithmetic kSub = {
    "sub", sub, OnBool::refuse, nullptr, [](const Tensor& x, double y) { return x - y; }, [](const Tensor& x, double y) { return y - x; }};
constexpr Arithmetic kMul = {
    "mul", mul, OnBool::logical, bit_and, [](const Tensor& x, double y) { return x * y; }, [](const Tensor& x, double y) { return y * x; }};
constexpr Arithmetic kDiv = {"div",
                             div,
                             OnBool::as_int64,
                             nullptr,
                             [](const Tensor& x, double y) { return x / y; },
                             [](const Tensor& x, double y) { return y / x; }};
constexpr Arithmetic kFloorDivide = {
    "floor_divide", floor_divide, OnBool::refuse, nullptr, [](const Tensor& x, double y) { return x.floor_divide(y); }, nullptr};
constexpr Arithmetic kRemainder = {
    "remainder", remainder, OnBool::refuse, nullptr, [](const Tensor& x, double y) { return x.remainder(y); }, nullptr};
constexpr Arithmetic kPower = {"pow", power, OnBool::as_int64, nullptr, [](const Tensor& x, double y) { return x.powf(y); }, nullptr};
constexpr Arithmetic kMatmul = {"matmul", matmul, OnBool::as_int64, nullptr, nullptr, nullptr};

// Integers to the power of whole numbers: square and multiply.
Array whole_power(const Array& self, int64_t exponent) {
  return unlocked([&] {
    Tensor result = self.t.ones_like();
    Tensor square = self.t;
    for (int64_t rest = exponent; rest > 0; rest /= 2) {
      if (rest % 2 == 1) result = result.mul(square);
      if (rest > 1) square = square.mul(square);
    }
    return Array{result};
  });
}

nb::object power_operator(const Array& self, nb::handle other) {
  if (PyLong_CheckExact(other.ptr())) {
    const auto exponent = value_as<int64_t>(other, "pow: the exponent");
    if (exponent == 2) return nb::cast(unlocked([&] { return Array{self.t.sqr()}; }));
    if (wick::is_integer(self.t.dtype())) {
      if (exponent < 0) throw nb::value_error("pow: integers to a negative power are no integers; convert the tensor to a float dtype");
      return nb::cast(whole_power(self.boolean ? convert(self, {DType::i64}) : self, exponent));
    }
    return nb::cast(unlocked([&] { return Array{self.t.powf(static_cast<double>(exponent))}; }));
  }
  return forward<kPower>(self, other);
}

// Whether an int is the same as a double.
bool is_exact_in_f64(nb::handle whole) {
  constexpr int64_t kLargest = int64_t{1} << 53;
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  return overflow == 0 && -kLargest <= value && value <= kLargest;
}

template <wick::CompareKind kKind>
nb::object compare(const Array& self, nb::handle other) {
  if (PyFloat_Check(other.ptr()) || (PyLong_Check(other.ptr()) && (self.t.dtype() != DType::i64 || is_exact_in_f64(other)))) {
    const double number = PyFloat_AsDouble(other.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
    return nb::cast(unlocked([&] { return Array{self.t.compare(kKind, number), true}; }));
  }
  if (other.is_none()) {
    if (kKind == wick::CompareKind::eq) return nb::bool_(false);
    if (kKind == wick::CompareKind::ne) return nb::bool_(true);
    return not_implemented();
  }
  const std::optional<Array> operand = try_operand(other, self, "compare");
  if (!operand) return not_implemented();
  return nb::cast(unlocked([&] {
    const Kind kind = promote(self.kind(), operand->kind());
    return Array{as_kind(self, kind).compare(kKind, as_kind(*operand, kind)), true};
  }));
}

// The same as a named method, which has nobody to leave the operands to.
template <auto kOperator>
nb::object named(const Array& self, nb::handle other) {
  nb::object result = kOperator(self, other);
  if (result.ptr() == Py_NotImplemented) {
    throw nb::type_error(fmt::format("expected a tensor, an array or a number, got {}", wick_python::type_name(other)).c_str());
  }
  return result;
}

// clang-format off
#define WICK_OPERATOR(name, method, reflected_method)                                                                        \
  tensor.def("__" method "__", &forward<name>, nb::is_operator(), nb::arg("other").none(),                                  \
             nb::sig("def __" method "__(self, other: TensorLike, /) -> Tensor"))                                           \
        .def("__" reflected_method "__", &reflected<name>, nb::is_operator(), nb::arg("other").none(),                      \
             nb::sig("def __" reflected_method "__(self, other: TensorLike, /) -> Tensor"))
#define WICK_COMPARISON(name, kind)                                                                                          \
  tensor.def("__" name "__", &compare<wick::CompareKind::kind>, nb::is_operator(), nb::arg("other").none(),                 \
             nb::sig("def __" name "__(self, other: TensorLike, /) -> Tensor"))                                             \
        .def(name, &named<compare<wick::CompareKind::kind>>, nb::arg("other").none(),                                                      \
             nb::sig("def " name "(self, other: TensorLike) -> Tensor"))
// clang-format on

}  // namespace

void bind_operators(nb::class_<Array>& tensor) {
  WICK_OPERATOR(kAdd, "add", "radd");
  WICK_OPERATOR(kSub, "sub", "rsub");
  WICK_OPERATOR(kMul, "mul", "rmul");
  WICK_OPERATOR(kDiv, "truediv", "rtruediv");
  WICK_OPERATOR(kFloorDivide, "floordiv", "rfloordiv");
  WICK_OPERATOR(kRemainder, "mod", "rmod");
  WICK_OPERATOR(kMatmul, "matmul", "rmatmul");
  tensor
      .def(
          "__pow__", [](const Array& self, nb::handle other, nb::handle) { return power_operator(self, other); }, nb::is_operator(),
          nb::arg("other"), nb::arg("modulo") = nb::none(),
          nb::sig("def __pow__(self, other: TensorLike, modulo: None = None, /) -> Tensor"))
      .def(
          "__rpow__", [](const Array& self, nb::handle other, nb::handle) { return reflected<kPower>(self, other); }, nb::is_operator(),
          nb::arg("other"), nb::arg("modulo") = nb::none(),
          nb::sig("def __rpow__(self, other: TensorLike, modulo: None = None, /) -> Tensor"));
  WICK_COMPARISON("eq", eq);
  WICK_COMPARISON("ne", ne);
  WICK_COMPARISON("lt", lt);
  WICK_COMPARISON("le", le);
  WICK_COMPARISON("gt", gt);
  WICK_COMPARISON("ge", ge);
  tensor
      .def("__neg__",
           [](const Array& self) {
             if (self.boolean) throw nb::type_error("-: not defined for a tensor of bool; use ~");
             return call<&Tensor::neg>(self);
           })
      .def("__pos__", [](const Array& self) { return self; })
      .def("__abs__", &call_view<&Tensor::abs>);
  // The same as named methods, which take what the operators take.
  tensor.def("add", &named<forward<kAdd>>, nb::arg("other").none(), nb::sig("def add(self, other: TensorLike) -> Tensor"))
      .def("sub", &named<forward<kSub>>, nb::arg("other").none(), nb::sig("def sub(self, other: TensorLike) -> Tensor"))
      .def("mul", &named<forward<kMul>>, nb::arg("other").none(), nb::sig("def mul(self, other: TensorLike) -> Tensor"))
      .def("div", &named<forward<kDiv>>, nb::arg("other").none(), nb::sig("def div(self, other: TensorLike) -> Tensor"))
      .def("floor_divide", &named<forward<kFloorDivide>>, nb::arg("other").none(),
           nb::sig("def floor_divide(self, other: TensorLike) -> Tensor"))
      .def("remainder", &named<forward<kRemainder>>, nb::arg("other").none(), nb::sig("def remainder(self, other: TensorLike) -> Tensor"))
      .def("pow", &named<power_operator>, nb::arg("exponent").none(), nb::sig("def pow(self, exponent: TensorLike) -> Tensor"))
      .def("matmul", &named<forward<kMatmul>>, nb::arg("other").none(), nb::sig("def matmul(self, other: TensorLike) -> Tensor"),
           "[..., m, k] · [..., k, n]; batch dimensions broadcast, vectors are rows in front and columns behind.");
}

}  // namespace wick_python
