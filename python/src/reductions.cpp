// Reductions, running sums, order and products over dimensions.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "array.h"

namespace wick_python {
namespace {

using Reduce = Tensor (Tensor::*)(const wick::Dims&) const;

// What a reduction makes of bool and of integers.
enum class Result { same, whole, floats, boolean };

Array operand(const Array& self, Result result) {
  if (result == Result::whole && self.boolean) return {self.t.to_dtype(DType::i64)};
  if (result == Result::floats && wick::is_integer(self.t.dtype())) return {self.t.to_dtype(wick::default_dtype())};
  return self;
}

template <Reduce kReduce, Reduce kKeep, Result kResult>
Array reduce(const Array& self, nb::handle dim, bool keepdim) {
  const wick::Dims dims = dims_of(dim, self.t, "dim");
  return unlocked([&] {
    const Array x = operand(self, kResult);
    const bool boolean = kResult == Result::boolean || (kResult == Result::same && self.boolean);
    return Array{keepdim ? (x.t.*kKeep)(dims) : (x.t.*kReduce)(dims), boolean};
  });
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
    const Tensor result = total / static_cast<double>(count - correction);
    return Array{root ? result.sqrt() : result};
  });
}

std::pair<Array, Array> values_and_indices(std::pair<Tensor, Tensor> pair, bool boolean) {
  return {Array{std::move(pair.first), boolean}, Array{pair.second.to_dtype(DType::i64)}};
}

nb::object extreme(const Array& self, nb::handle dim, bool keepdim, bool largest) {
  if (largest) return nb::cast(reduce<&Tensor::max, &Tensor::max_keepdim, Result::same>(self, dim, keepdim));
  return nb::cast(reduce<&Tensor::min, &Tensor::min_keepdim, Result::same>(self, dim, keepdim));
}

// clang-format off
#define WICK_REDUCTION(name, result, doc)                                                                                           \
  tensor.def(#name, &reduce<static_cast<Reduce>(&Tensor::name), &Tensor::name##_keepdim, result>, nb::arg("dim") = nb::none(),  \
             nb::arg("keepdim") = false,                                                                                        \
             nb::sig("def " #name "(self, dim: int | collections.abc.Sequence[int] | None = None, keepdim: bool = False) -> Tensor"), doc)      \
      .def(#name "_keepdim", [](const Array& self, nb::handle dim) {                                                            \
             return reduce<static_cast<Reduce>(&Tensor::name), &Tensor::name##_keepdim, result>(self, dim, true); },               \
           nb::arg("dim"), nb::sig("def " #name "_keepdim(self, dim: int | collections.abc.Sequence[int]) -> Tensor"))                          \
      .def(#name "_all", [](const Array& self) {                                                                                \
             return reduce<static_cast<Reduce>(&Tensor::name), &Tensor::name##_keepdim, result>(self, nb::none(), false); })
// clang-format on

void bind_order(nb::class_<Array>& tensor) {
  tensor
      .def(
          "sort",
          [](const Array& self, int dim, bool descending) {
            return unlocked([&] { return values_and_indices(self.t.sort(dim, descending), self.boolean); });
          },
          nb::arg("dim") = -1, nb::arg("descending") = false, "(values, indices i64); stable, NaN counts as largest.")
      .def(
          "argsort",
          [](const Array& self, int dim, bool descending) {
            return unlocked([&] { return Array{self.t.argsort(dim, descending).to_dtype(DType::i64)}; });
          },
          nb::arg("dim") = -1, nb::arg("descending") = false)
      .def(
          "topk",
          [](const Array& self, int64_t k, int dim, bool largest) {
            return unlocked([&] { return values_and_indices(self.t.topk(k, dim, largest), self.boolean); });
          },
          nb::arg("k"), nb::arg("dim") = -1, nb::arg("largest") = true, "(values, indices i64) of the k largest, in order.")
      .def(
          "median",
          [](const Array& self, int dim) { return unlocked([&] { return values_and_indices(self.t.median(dim), self.boolean); }); },
          nb::arg("dim") = -1, "(values, indices i64); the smaller of the two in the middle.")
      .def(
          "unique", [](const Array& self) { return unlocked([&] { return Array{self.t.unique(), self.boolean}; }); },
          "The different elements, in ascending order.")
      .def("unique_with_counts",
           [](const Array& self) { return unlocked([&] { return values_and_indices(self.t.unique_with_counts(), self.boolean); }); })
      .def(
          "nonzero", [](const Array& self) { return unlocked([&] { return Array{self.t.nonzero().to_dtype(DType::i64)}; }); },
          "[n, rank] i64: where the elements are that are not 0.");
}

}  // namespace

void bind_reductions(nb::class_<Array>& tensor) {
  WICK_REDUCTION(sum, Result::whole, "Of bool, i64.");
  WICK_REDUCTION(prod, Result::whole, "Of bool, i64; integers wrap around.");
  WICK_REDUCTION(mean, Result::floats, "Of integers, the default float dtype.");
  WICK_REDUCTION(any, Result::boolean, "Whether an element is not 0.");
  WICK_REDUCTION(all, Result::boolean, "Whether no element is 0.");
  tensor
      .def(
          "max", [](const Array& self, nb::handle dim, bool keepdim) { return extreme(self, dim, keepdim, true); },
          nb::arg("dim") = nb::none(), nb::arg("keepdim") = false,
          nb::sig("def max(self, dim: int | collections.abc.Sequence[int] | None = None, keepdim: bool = False) -> Tensor"))
      .def(
          "min", [](const Array& self, nb::handle dim, bool keepdim) { return extreme(self, dim, keepdim, false); },
          nb::arg("dim") = nb::none(), nb::arg("keepdim") = false,
          nb::sig("def min(self, dim: int | collections.abc.Sequence[int] | None = None, keepdim: bool = False) -> Tensor"))
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
      .def(
          "log_sum_exp",
          [](const Array& self, nb::handle dim) {
            const wick::Dims dims = dims_of(dim, self.t, "log_sum_exp");
            return unlocked([&] { return Array{self.t.log_sum_exp(dims)}; });
          },
          nb::arg("dim") = nb::none(), nb::sig("def log_sum_exp(self, dim: int | collections.abc.Sequence[int] | None = None) -> Tensor"))
      .def("norm", &call<&Tensor::norm>, "√ Σ x² over all elements.")
      .def(
          "cumsum", [](const Array& self, int dim) { return unlocked([&] { return Array{operand(self, Result::whole).t.cumsum(dim)}; }); },
          nb::arg("dim"))
      .def(
          "cumprod",
          [](const Array& self, int dim) { return unlocked([&] { return Array{operand(self, Result::whole).t.cumprod(dim)}; }); },
          nb::arg("dim"))
      .def(
          "softmax", [](const Array& self, int dim) { return unlocked([&] { return Array{self.t.softmax(dim)}; }); }, nb::arg("dim") = -1)
      .def(
          "log_softmax", [](const Array& self, int dim) { return unlocked([&] { return Array{self.t.log_softmax(dim)}; }); },
          nb::arg("dim") = -1);
  bind_order(tensor);
}

}  // namespace wick_python
