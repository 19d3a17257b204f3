// Reductions, running sums, order and products over dimensions.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>

#include "array.h"
#include "wick/tensor/ops/masked.h"
#include "wick/tensor/ops/reduce.h"

namespace wick_python {
namespace {

using Reduce = Tensor (Tensor::*)(const wick::Dims&) const;

// What a reduction makes of bool and of integers.
enum class Result { same, whole, floats, boolean };

// The dtype of sums and products: i64 of bool and of integers that i64 holds, as in PyTorch and NumPy. u32 stays: there is no u64.
Kind kind_of_sums(Kind kind) { return wick::is_integer(kind.dtype) && kind.dtype != DType::u32 ? Kind{DType::i64} : kind; }

Array operand(const Array& self, Result result) {
  if (result == Result::whole) return {as_kind(self, kind_of_sums(self.kind()))};
  if (result == Result::floats && wick::is_integer(self.t.dtype())) return {self.t.to_dtype(wick::default_dtype())};
  return self;
}

// The arguments of reductions: PyTorch's dim and keepdim, or NumPy's axis and keepdims.
struct ReduceArguments {
  nb::handle dim;
  bool keep = false;

  ReduceArguments(nb::handle dim_, nb::handle keepdim, nb::handle axis, nb::handle keepdims, nb::handle out, const char* function) {
    if (!dim_.is_none() && !axis.is_none()) throw nb::type_error((std::string(function) + ": give dim or axis, not both").c_str());
    if (!out.is_none()) throw nb::type_error((std::string(function) + ": out is not supported; assign the result").c_str());
    dim = dim_.is_none() ? axis : dim_;
    keep = truth_of(keepdims.is_none() ? keepdim : keepdims);
  }
};

template <Reduce kReduce, Reduce kKeep, Result kResult>
Array reduce(const Array& self, nb::handle dim, bool keepdim) {
  const wick::Dims dims = dims_of(dim, self.t, "dim");
  return unlocked([&] {
    const Array x = operand(self, kResult);
    const bool boolean = kResult == Result::boolean || (kResult == Result::same && self.boolean);
    return Array{keepdim ? (x.t.*kKeep)(dims) : (x.t.*kReduce)(dims), boolean};
  });
}

Array sum(const Array& self, nb::handle dim, bool keepdim, nb::handle dtype) {
  const wick::Dims dims = dims_of(dim, self.t, "sum");
  const Kind kind = kind_or(dtype, kind_of_sums(self.kind()), "sum");
  return unlocked([&] {
    if (kind.boolean) return Array{keepdim ? self.t.any_keepdim(dims) : self.t.any(dims), true};
    return Array{wick::sum(self.t, dims, kind.dtype, keepdim)};
  });
}

// With a dtype the elements are converted first.
template <Reduce kReduce, Reduce kKeep, Result kResult>
Array reduce_as(const Array& self, nb::handle dim, bool keepdim, nb::handle dtype) {
  return reduce<kReduce, kKeep, kResult>(dtype.is_none() ? self : convert(self, kind_of(dtype, "reduce")), dim, keepdim);
}

// Of all elements where there is no dimension, as NumPy has it.
template <auto kArg, auto kArgKeep>
Array arg_reduce(const Array& self, std::optional<int> dim, bool keepdim) {
  return unlocked([&] {
    const Tensor x = dim ? self.t : self.t.flatten_all();
    const int over = dim.value_or(0);
    if (!keepdim) return Array{(x.*kArg)(over).to_dtype(DType::i64)};
    const Tensor kept = (x.*kArgKeep)(over).to_dtype(DType::i64);
    if (dim) return Array{kept};
    return Array{kept.reshape(Shape(std::span<const int64_t>(std::vector<int64_t>(static_cast<size_t>(self.t.rank()), 1))))};
  });
}

Array variance(const Array& self, nb::handle dim, bool keepdim, int64_t correction, bool root) {
  const wick::Dims dims = dims_of(dim, self.t, root ? "std" : "var");
  return unlocked([&] {
    const Tensor x = operand(self, Result::floats).t;
    if (correction == 1) {
      if (root) return Array{keepdim ? x.std_keepdim(dims) : x.std(dims)};
      return Array{keepdim ? x.var_keepdim(dims) : x.var(dims)};
    }
    const Tensor centred = x.sub(x.mean_keepdim(dims));
    const Tensor total = keepdim ? centred.sqr().sum_keepdim(dims) : centred.sqr().sum(dims);
    int64_t count = 1;
    for (const int d : dims.resolve(x.shape(), "var")) count *= x.shape()[d];
    const Tensor result = total / static_cast<double>(std::max<int64_t>(count - correction, 0));
    return Array{root ? wick::root_of_squares(result) : result};
  });
}

std::pair<Array, Array> pair_of(std::pair<Tensor, Tensor> pair, bool boolean) {
  return {Array{std::move(pair.first), boolean}, Array{pair.second.to_dtype(DType::i64)}};
}

// ValuesAndIndices of what the function returns, which runs unlocked.
template <class Function>
nb::object values_and_indices(const Array& self, Function function) {
  std::pair<Array, Array> pair = unlocked([&] { return pair_of(function(), self.boolean); });
  return nb::module_::import_("wick._results").attr("ValuesAndIndices")(std::move(pair.first), std::move(pair.second));
}

// The gradient flows to the element that the index names, as in PyTorch; that of several dimensions to all that are largest.
nb::object extreme_of_dim(const Array& self, int dim, bool keepdim, bool largest) {
  return values_and_indices(self, [&] {
    const Tensor index = largest ? self.t.argmax_keepdim(dim) : self.t.argmin_keepdim(dim);
    const Tensor value = self.t.gather(index, dim);
    return keepdim ? std::pair(value, index) : std::pair(value.squeeze(dim), index.squeeze(dim));
  });
}

Array extreme(const Array& self, nb::handle dim, bool keepdim, bool largest) {
  if (largest) return reduce<&Tensor::max, &Tensor::max_keepdim, Result::same>(self, dim, keepdim);
  return reduce<&Tensor::min, &Tensor::min_keepdim, Result::same>(self, dim, keepdim);
}

// A scalar is a row of one element, as in PyTorch.
template <auto kMethod>
Array over_a_row(const Array& self, int dim) {
  return unlocked([&] {
    if (self.t.rank() > 0) return Array{(self.t.*kMethod)(dim)};
    return Array{(self.t.unsqueeze(0).*kMethod)(dim).reshape({})};
  });
}

// The larger, or the smaller, of each two elements.
Array with_larger(const Array& self, const Array& other, bool larger) {
  return unlocked([&] {
    const Kind kind = promote(self.kind(), other.kind());
    const Tensor x = as_kind(self, kind), y = as_kind(other, kind);
    return Array{larger ? x.maximum(y) : x.minimum(y), kind.boolean};
  });
}

Array log_sum_exp(const Array& self, nb::handle dim, bool keepdim) {
  const wick::Dims dims = dims_of(dim, self.t, "log_sum_exp");
  return unlocked([&] {
    const Tensor x = operand(self, Result::floats).t, result = x.log_sum_exp(dims);
    return Array{keepdim ? result.reshape(x.sum_keepdim(dims).shape()) : result};
  });
}

Array norm(const Array& self, double p, nb::handle dim, bool keepdim) {
  const wick::Dims dims = dims_of(dim, self.t, "norm");
  return unlocked([&] {
    const Tensor x = self.t;
    const auto total = [&](const Tensor& terms) { return keepdim ? terms.sum_keepdim(dims) : terms.sum(dims); };
    if (p == 2) return Array{wick::is_float(x.dtype()) ? wick::root_of_squares(total(x.sqr())) : x.norm()};
    if (p == 1) return Array{total(x.abs())};
    if (p == 0) return Array{total(x.ne(0.0).to_dtype(x.dtype()))};
    if (std::isinf(p)) {
      const Tensor size = x.abs();
      if (p > 0) return Array{keepdim ? size.max_keepdim(dims) : size.max(dims)};
      return Array{keepdim ? size.min_keepdim(dims) : size.min(dims)};
    }
    const Tensor sum = total(x.abs().powf(p));
    const Tensor is_zero = sum.detach().eq(0.0);  // the gradient there is 0
    return Array{is_zero.where_cond(sum.zeros_like(), is_zero.where_cond(sum.ones_like(), sum).powf(1 / p))};
  });
}

// Sums or products up to each element; without a dimension those of all elements in row-major order, as NumPy has it.
template <auto kMethod>
Array running(const Array& self, std::optional<int> dim, nb::handle dtype, std::optional<int> axis, nb::handle out) {
  if (!out.is_none()) throw nb::type_error("out is not supported; assign the result");
  if (dim && axis) throw nb::type_error("give dim or axis, not both");
  const Array x = convert(self, kind_or(dtype, kind_of_sums(self.kind()), "dtype"));
  const std::optional<int> over = dim ? dim : axis;
  return unlocked([&] { return Array{over ? (x.t.*kMethod)(*over) : (x.t.flatten_all().*kMethod)(0)}; });
}

// clang-format off
#define WICK_REDUCTION(name, function, doc)                                                                                     \
  tensor.def(#name, [](const Array& self, nb::handle dim, nb::handle keepdim, nb::handle axis, nb::handle keepdims,             \
                       nb::handle dtype, nb::handle out) {                                                                      \
           const ReduceArguments arguments(dim, keepdim, axis, keepdims, out, #name);                                           \
           return function(self, arguments.dim, arguments.keep, dtype);                                                         \
         }, nb::arg("dim") = nb::none(), nb::arg("keepdim") = false, nb::kw_only(), nb::arg("axis") = nb::none(),               \
         nb::arg("keepdims") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("out") = nb::none(),                          \
         nb::sig("def " #name "(self, dim: int | collections.abc.Sequence[int] | None = None, keepdim: bool = False, *, "       \
                 "axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool | None = None, "                      \
                 "dtype: DType | str | None = None, out: None = None) -> Tensor"), doc)                                         \
      .def(#name "_keepdim", [](const Array& self, nb::handle dim) {                                                            \
             return function(self, dim, true, nb::none()); },                                                                   \
           nb::arg("dim"), nb::sig("def " #name "_keepdim(self, dim: int | collections.abc.Sequence[int]) -> Tensor"))          \
      .def(#name "_all", [](const Array& self) { return function(self, nb::none(), false, nb::none()); })
// max: with a dimension as in PyTorch, values and indices; with several, or NumPy's arguments, or none, values alone, as amax.
#define WICK_EXTREME(name, larger, is_largest)                                                                                      \
  tensor.def(#name, [](const Array& self, nb::handle dim, bool keepdim) {                                                           \
           if (!PyIndex_Check(dim.ptr()) || nb::isinstance<Array>(dim)) throw nb::next_overload();                                  \
           return extreme_of_dim(self, nb::cast<int>(dim), keepdim, is_largest);                                                   \
         }, nb::arg("dim"), nb::arg("keepdim") = false,                                                                             \
         nb::sig("def " #name "(self, dim: int, keepdim: bool = False) -> ValuesAndIndices"),                                       \
         "Of one dimension, also where they are: the first of equal ones.")                                                         \
      .def(#name, [](const Array& self, const Array& other) { return with_larger(self, other, is_largest); }, nb::arg("other"),     \
           "As " #larger ".")                                                                                                       \
      .def(#name, [](const Array& self, nb::handle dim, nb::handle keepdim, nb::handle axis, nb::handle keepdims, nb::handle out) { \
           const ReduceArguments arguments(dim, keepdim, axis, keepdims, out, #name);                                               \
           return extreme(self, arguments.dim, arguments.keep, is_largest);                                                         \
         }, nb::arg("dim") = nb::none(), nb::arg("keepdim") = false, nb::kw_only(), nb::arg("axis") = nb::none(),                   \
         nb::arg("keepdims") = nb::none(), nb::arg("out") = nb::none(),                                                             \
         nb::sig("def " #name "(self, dim: collections.abc.Sequence[int] | None = None, keepdim: bool = False, *, "                 \
                 "axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool | None = None, out: None = None) "        \
                 "-> Tensor"), "Values alone, with NumPy's axis as well.")                                                          \
      .def("a" #name, [](const Array& self, nb::handle dim, bool keepdim) { return extreme(self, dim, keepdim, is_largest); },      \
           nb::arg("dim") = nb::none(), nb::arg("keepdim") = false,                                                                 \
           nb::sig("def a" #name "(self, dim: int | collections.abc.Sequence[int] | None = None, keepdim: bool = False) -> Tensor"))
// clang-format on

void bind_order(nb::class_<Array>& tensor) {
  tensor
      .def(
          "sort",
          [](const Array& self, int dim, bool descending) {
            return values_and_indices(self, [&] { return self.t.sort(dim, descending); });
          },
          nb::arg("dim") = -1, nb::arg("descending") = false,
          nb::sig("def sort(self, dim: int = -1, descending: bool = False) -> ValuesAndIndices"), "Stable; NaN counts as largest.")
      .def(
          "argsort",
          [](const Array& self, int dim, bool descending) {
            return unlocked([&] { return Array{self.t.argsort(dim, descending).to_dtype(DType::i64)}; });
          },
          nb::arg("dim") = -1, nb::arg("descending") = false)
      .def(
          "topk",
          [](const Array& self, int64_t k, int dim, bool largest) {
            return values_and_indices(self, [&] { return self.t.topk(k, dim, largest); });
          },
          nb::arg("k"), nb::arg("dim") = -1, nb::arg("largest") = true,
          nb::sig("def topk(self, k: int, dim: int = -1, largest: bool = True) -> ValuesAndIndices"), "The k largest, in order.")
      .def(
          "median", [](const Array& self) { return unlocked([&] { return Array{self.t.median_all(), self.boolean}; }); },
          "Of all elements: the smaller of the two in the middle.")
      .def(
          "median",
          [](const Array& self, int dim, bool keepdim) {
            return values_and_indices(self, [&] {
              const auto [values, indices] = self.t.median(dim);
              return keepdim ? std::pair(values.unsqueeze(dim), indices.unsqueeze(dim)) : std::pair(values, indices);
            });
          },
          nb::arg("dim"), nb::arg("keepdim") = false, nb::sig("def median(self, dim: int, keepdim: bool = False) -> ValuesAndIndices"))
      .def(
          "unique", [](const Array& self) { return unlocked([&] { return Array{self.t.unique(), self.boolean}; }); },
          "The different elements, in ascending order.")
      .def("unique_with_counts",
           [](const Array& self) { return unlocked([&] { return pair_of(self.t.unique_with_counts(), self.boolean); }); })
      .def(
          "nonzero", [](const Array& self) { return unlocked([&] { return Array{wick::nonzero(self.t, DType::i64)}; }); },
          "[n, rank] i64: where the elements are that are not 0.");
}

}  // namespace

void bind_reductions(nb::class_<Array>& tensor) {
  WICK_REDUCTION(sum, sum, "Of bool and integers i64, of u32 u32; dtype: of the elements before they are added.");
  WICK_REDUCTION(prod, (reduce_as<static_cast<Reduce>(&Tensor::prod), &Tensor::prod_keepdim, Result::whole>),
                 "Of bool and integers i64, of u32 u32; integers wrap around.");
  WICK_REDUCTION(mean, (reduce_as<static_cast<Reduce>(&Tensor::mean), &Tensor::mean_keepdim, Result::floats>),
                 "Of integers, the default float dtype.");
  WICK_REDUCTION(any, (reduce_as<static_cast<Reduce>(&Tensor::any), &Tensor::any_keepdim, Result::boolean>),
                 "Whether an element is not 0.");
  WICK_REDUCTION(all, (reduce_as<static_cast<Reduce>(&Tensor::all), &Tensor::all_keepdim, Result::boolean>), "Whether no element is 0.");
  WICK_EXTREME(max, maximum, true);
  WICK_EXTREME(min, minimum, false);
  tensor
      .def(
          "var",
          [](const Array& self, nb::handle dim, bool keepdim, int64_t correction) {
            return variance(self, dim, keepdim, correction, false);
          },
          nb::arg("dim") = nb::none(), nb::arg("keepdim") = false, nb::arg("correction") = 1,
          nb::sig("def var(self, dim: int | collections.abc.Sequence[int] | None = None, keepdim: bool = False, correction: int = 1) -> "
                  "Tensor"),
          "Σ (x - mean)² / (n - correction)")
      .def(
          "std",
          [](const Array& self, nb::handle dim, bool keepdim, int64_t correction) {
            return variance(self, dim, keepdim, correction, true);
          },
          nb::arg("dim") = nb::none(), nb::arg("keepdim") = false, nb::arg("correction") = 1,
          nb::sig("def std(self, dim: int | collections.abc.Sequence[int] | None = None, keepdim: bool = False, correction: int = 1) -> "
                  "Tensor"))
      .def("argmax", &arg_reduce<&Tensor::argmax, &Tensor::argmax_keepdim>, nb::arg("dim") = nb::none(), nb::arg("keepdim") = false,
           "i64; the first of equal ones. Of all elements in row-major order where there is no dim.")
      .def("argmin", &arg_reduce<&Tensor::argmin, &Tensor::argmin_keepdim>, nb::arg("dim") = nb::none(), nb::arg("keepdim") = false)
      .def("log_sum_exp", &log_sum_exp, nb::arg("dim") = nb::none(), nb::arg("keepdim") = false,
           nb::sig("def log_sum_exp(self, dim: int | collections.abc.Sequence[int] | None = None, keepdim: bool = False) -> Tensor"))
      .def("logsumexp", &log_sum_exp, nb::arg("dim"), nb::arg("keepdim") = false,
           nb::sig("def logsumexp(self, dim: int | collections.abc.Sequence[int], keepdim: bool = False) -> Tensor"))
      .def("norm", &norm, nb::arg("p") = 2.0, nb::arg("dim") = nb::none(), nb::arg("keepdim") = false,
           nb::sig(
               "def norm(self, p: float = 2.0, dim: int | collections.abc.Sequence[int] | None = None, keepdim: bool = False) -> Tensor"),
           "(Σ |x|^p)^(1/p); of p = ±inf the largest or smallest |x|, of 0 how many elements are not 0.")
      .def("cumsum", &running<&Tensor::cumsum>, nb::arg("dim") = nb::none(), nb::kw_only(), nb::arg("dtype") = nb::none(),
           nb::arg("axis") = nb::none(), nb::arg("out") = nb::none(),
           nb::sig(
               "def cumsum(self, dim: int | None = None, *, dtype: DType | str | None = None, axis: int | None = None, out: None = None) "
               "-> Tensor"),
           "Of bool and integers i64, of u32 u32.")
      .def("cumprod", &running<&Tensor::cumprod>, nb::arg("dim") = nb::none(), nb::kw_only(), nb::arg("dtype") = nb::none(),
           nb::arg("axis") = nb::none(), nb::arg("out") = nb::none(),
           nb::sig(
               "def cumprod(self, dim: int | None = None, *, dtype: DType | str | None = None, axis: int | None = None, out: None = None) "
               "-> Tensor"),
           "Of bool and integers i64, of u32 u32.")
      .def(
          "softmax", [](const Array& self, int dim) { return over_a_row<&Tensor::softmax>(self, dim); }, nb::arg("dim") = -1)
      .def("log_softmax", [](const Array& self, int dim) { return over_a_row<&Tensor::log_softmax>(self, dim); }, nb::arg("dim") = -1);
  bind_order(tensor);
}

}  // namespace wick_python
