// Operators on bits, &, |, ^, ~, << and >>, and functions of two floats that the array API standard has beyond Wick's ops. Bool is logical
// and runs on the tensor's device; what else there is runs on the host, from where its result goes back to the device.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "array.h"
#include "wick/layout/shape.h"

namespace wick_python {
namespace {

enum class BitOperator { and_, or_, xor_, left, right };

constexpr std::string_view symbol_of(BitOperator op) {
  switch (op) {
    case BitOperator::and_: return "&";
    case BitOperator::or_: return "|";
    case BitOperator::xor_: return "^";
    case BitOperator::left: return "<<";
    case BitOperator::right: return ">>";
  }
  return "";
}

// Shifts by the width or more, and by negative numbers, which are as large without their sign, leave zeros; to the right, the sign.
template <class T>
T apply_bits(BitOperator op, T x, T y) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto left = static_cast<Unsigned>(x);
  const auto right = static_cast<Unsigned>(y);
  const bool is_far = right >= std::numeric_limits<Unsigned>::digits;
  switch (op) {
    case BitOperator::and_: return static_cast<T>(left & right);
    case BitOperator::or_: return static_cast<T>(left | right);
    case BitOperator::xor_: return static_cast<T>(left ^ right);
    case BitOperator::left: return is_far ? T{0} : static_cast<T>(left << right);
    case BitOperator::right: return is_far ? static_cast<T>(x < 0 ? -1 : 0) : static_cast<T>(x >> right);
  }
  return 0;
}

// A function of each pair of elements, on the host.
template <class T, class Function>
Tensor map_pairs(const Tensor& x, const Tensor& y, std::string_view name, const Function& function) {
  const Shape shape = wick::broadcast_shapes(x.shape(), y.shape(), name);
  std::vector<T> values = x.broadcast_to(shape).to_vector<T>();
  const std::vector<T> others = y.broadcast_to(shape).to_vector<T>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = function(values[i], others[i]);
  return Tensor::from_owned(std::move(values), shape, x.device());
}

// Runs work<T> for the integer type T of a dtype.
template <class Work>
Tensor for_integers(DType dtype, const Work& work) {
  switch (dtype) {
    case DType::u8: return work(uint8_t{});
    case DType::u32: return work(uint32_t{});
    case DType::i8: return work(int8_t{});
    case DType::i16: return work(int16_t{});
    case DType::i32: return work(int32_t{});
    default: return work(int64_t{});
  }
}

Array bits_of(BitOperator op, const Array& x, const Array& y) {
  if (!wick::is_integer(x.t.dtype()) || !wick::is_integer(y.t.dtype())) {
    throw nb::type_error(
        fmt::format("{}: defined for integers and bool, not for {} and {}", symbol_of(op), x.t.describe(), y.t.describe()).c_str());
  }
  return unlocked([&] {
    const bool is_shift = op == BitOperator::left || op == BitOperator::right;
    if (x.boolean && y.boolean && !is_shift) {
      const Tensor result = op == BitOperator::and_  ? x.t.logical_and(y.t)
                            : op == BitOperator::or_ ? x.t.logical_or(y.t)
                                                     : x.t.logical_xor(y.t);
      return Array{result, true};
    }
    const Kind both = promote(x.kind(), y.kind());
    const DType dtype = both.boolean ? DType::i64 : both.dtype;
    return Array{for_integers(dtype, [&]<class T>(T) {
      return map_pairs<T>(x.t.to_dtype(dtype), y.t.to_dtype(dtype), symbol_of(op), [op](T a, T b) { return apply_bits(op, a, b); });
    })};
  });
}

template <BitOperator kOp, bool kReflected>
nb::object bit_operator(const Array& self, nb::handle other) {
  const std::optional<Array> operand = PyFloat_Check(other.ptr()) ? std::nullopt : try_operand(other, self, "bits");
  if (!operand) return nb::borrow(Py_NotImplemented);
  return nb::cast(kReflected ? bits_of(kOp, *operand, self) : bits_of(kOp, self, *operand));
}

Array invert(const Array& self) {
  if (self.boolean) return unlocked([&] { return Array{self.t.logical_not(), true}; });
  if (!wick::is_integer(self.t.dtype())) {
    throw nb::type_error(fmt::format("~: defined for integers and bool, not for {}", self.t.describe()).c_str());
  }
  const Tensor ones = unlocked([&] {
    return for_integers(self.t.dtype(), [&]<class T>(T) { return Tensor::from_vector<T>({static_cast<T>(~T{0})}, {}, self.t.device()); });
  });
  return bits_of(BitOperator::xor_, self, {ones});
}

// --- Functions of two floats ---

template <class T>
T log_add_exp(T x, T y) {
  if (x == y) return x + std::log(T{2});  // also of two infinities
  const T larger = std::max(x, y);
  return std::isnan(x) || std::isnan(y) ? x + y : larger + std::log1p(std::exp(std::min(x, y) - larger));
}

template <class T>
T apply_floats(std::string_view name, T x, T y) {
  if (name == "copysign") return std::copysign(x, y);
  if (name == "hypot") return std::hypot(x, y);
  if (name == "nextafter") return std::nextafter(x, y);
  if (name == "atan2") return std::atan2(x, y);
  return log_add_exp(x, y);
}

Array float_function(const std::string& name, const Array& x, const Array& y) {
  const Kind kind = promote(x.kind(), y.kind());
  if (kind.dtype != DType::f32 && kind.dtype != DType::f64) {
    throw nb::type_error(fmt::format("{}: defined for f32 and f64, not for {} and {}", name, x.t.describe(), y.t.describe()).c_str());
  }
  return unlocked([&] {
    const Tensor left = as_kind(x, kind);
    const Tensor right = as_kind(y, kind);
    if (kind.dtype == DType::f32) {
      return Array{map_pairs<float>(left, right, name, [&](float a, float b) { return apply_floats(name, a, b); })};
    }
    return Array{map_pairs<double>(left, right, name, [&](double a, double b) { return apply_floats(name, a, b); })};
  });
}

template <BitOperator kOp>
void bind_bit_operator(nb::class_<Array>& tensor, const std::string& name) {
  const std::string forward = "__" + name + "__";
  const std::string reflected = "__r" + name + "__";
  const std::string sig = "def " + forward + "(self, other: TensorLike, /) -> Tensor";
  const std::string reflected_sig = "def " + reflected + "(self, other: TensorLike, /) -> Tensor";
  tensor.def(forward.c_str(), &bit_operator<kOp, false>, nb::is_operator(), nb::sig(sig.c_str()))
      .def(reflected.c_str(), &bit_operator<kOp, true>, nb::is_operator(), nb::sig(reflected_sig.c_str()));
}

}  // namespace

void bind_bits(nb::module_& module, nb::class_<Array>& tensor) {
  bind_bit_operator<BitOperator::and_>(tensor, "and");
  bind_bit_operator<BitOperator::or_>(tensor, "or");
  bind_bit_operator<BitOperator::xor_>(tensor, "xor");
  bind_bit_operator<BitOperator::left>(tensor, "lshift");
  bind_bit_operator<BitOperator::right>(tensor, "rshift");
  tensor.def("__invert__", &invert);
  module.def("_float_function", &float_function, nb::arg("name"), nb::arg("x1"), nb::arg("x2"));
}

}  // namespace wick_python
