// Functions of the module that make tensors, and those of several tensors.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array.h"
#include "wick/tensor/ops/einsum.h"

namespace wick_python {
namespace {

Kind default_kind() { return {wick::default_dtype()}; }

Array filled(nb::handle shape, double value, Kind kind, nb::handle device, const char* function) {
  const Shape extents = shape_of(shape, function);
  const Device where = device_of(device, function);
  return unlocked([&] {
    return Array{Tensor::full(extents, kind.boolean ? static_cast<double>(value != 0) : value, kind.dtype, where), kind.boolean};
  });
}

Array full(nb::handle shape, nb::handle value, nb::handle dtype, nb::handle device) {
  const Kind natural = PyBool_Check(value.ptr()) ? kBool : PyLong_Check(value.ptr()) ? Kind{DType::i64} : default_kind();
  const Kind kind = kind_or(dtype, natural, "full");
  if (wick::is_integer(kind.dtype) && !kind.boolean && !PyFloat_Check(value.ptr())) {  // f64 does not hold every i64
    const Shape extents = shape_of(shape, "full");
    const Array number = array_of(value, kind, device_of(device, "full"), "full");
    return unlocked([&] { return Array{number.t.broadcast_to(extents).copy()}; });
  }
  return filled(shape, nb::cast<double>(nb::float_(nb::borrow(value))), kind, device, "full");
}

Array random(nb::handle shape, nb::handle dtype, nb::handle device, double a, double b, bool normal) {
  const Shape extents = shape_of(shape, normal ? "randn" : "rand");
  const Kind kind = kind_or(dtype, default_kind(), "rand");
  const Device where = device_of(device, "rand");
  return unlocked(
      [&] { return Array{normal ? Tensor::randn(a, b, extents, kind.dtype, where) : Tensor::rand(a, b, extents, kind.dtype, where)}; });
}

Array arange(nb::handle start, nb::handle end, nb::handle step, nb::handle dtype, nb::handle device) {
  const auto number = [](nb::handle value) { return nb::cast<double>(nb::float_(nb::borrow(value))); };
  const bool has_end = !end.is_none();
  const bool whole = !PyFloat_Check(start.ptr()) && !PyFloat_Check(end.ptr()) && !PyFloat_Check(step.ptr());
  const Kind kind = kind_or(dtype, whole ? Kind{DType::i64} : default_kind(), "arange");
  const Device where = device_of(device, "arange");
  const double first = has_end ? number(start) : 0;
  const double last = number(has_end ? end : start);
  const double by = number(step);
  if (whole && kind.dtype == DType::i64 && !kind.boolean) {  // f64 does not hold every i64
    const int64_t begin = has_end ? index_value(start) : 0, limit = index_value(has_end ? end : start), by_whole = index_value(step);
    if (by_whole == 0) throw nb::value_error("arange: step must not be 0");
    const bool up = by_whole > 0;
    const bool any = up ? begin < limit : begin > limit;
    const uint64_t distance =
        up ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(begin) : static_cast<uint64_t>(begin) - static_cast<uint64_t>(limit);
    const uint64_t size = up ? static_cast<uint64_t>(by_whole) : 0 - static_cast<uint64_t>(by_whole);
    const auto elements = any ? static_cast<double>((distance - 1) / size + 1) : 0.0;
    return unlocked([&] {
      const Tensor places = Tensor::arange(0, elements, 1, DType::i64, where);
      if (begin == 0 && by_whole == 1) return Array{places};
      const auto scalar = [&](int64_t value) { return Tensor::from_vector<int64_t>({value}, {}, where); };
      return Array{places.mul(scalar(by_whole)).add(scalar(begin))};
    });
  }
  return unlocked([&] { return Array{Tensor::arange(first, last, by, kind.dtype, where)}; });
}

// zeros(2, 3): a second int is no dtype but an extent, which the function of several ints takes.
void refuse_extent(nb::handle dtype) {
  if (PyLong_Check(dtype.ptr())) throw nb::next_overload();
}

// asarray(copy=False).
Array shared(nb::handle data, nb::handle dtype, nb::handle device) {
  std::optional<Array> found;
  if (nb::isinstance<Array>(data)) {
    found = nb::cast<const Array&>(data);
  } else if (!is_number(data)) {
    found = import_array(data, false);
  }
  if (!found) throw nb::value_error("asarray: copy=False, and numbers and lists of them have no memory to share; leave copy out");
  const bool converted = !dtype.is_none() && found->kind() != kind_of(dtype, "asarray");
  if (converted || (!device.is_none() && !found->t.device().same_device(device_of(device, "asarray")))) {
    throw nb::value_error("asarray: copy=False, and another dtype or device needs a copy; leave copy out");
  }
  return *std::move(found);
}

Array tensor(nb::handle data, nb::handle dtype, nb::handle device, std::optional<bool> copy, const char* function) {
  if (copy == false) return shared(data, dtype, device);
  const std::optional<Kind> kind = dtype.is_none() ? std::nullopt : std::optional(kind_of(dtype, function));
  const bool is_array = nb::isinstance<Array>(data);
  const Device where = device.is_none() && is_array ? nb::cast<const Array&>(data).t.device() : device_of(device, function);
  Array made = array_of(data, kind, where, function);
  if (copy.value_or(false)) made.t = unlocked([&] { return made.t.copy(); });
  return made;
}

// A list of tensors of one dtype: what they are promoted to.
std::pair<std::vector<Tensor>, bool> promoted(nb::handle sequence, const char* function) {
  const std::vector<Array> arrays = arrays_of(sequence, function);
  std::optional<Kind> kind;
  for (const Array& array : arrays) kind = kind ? promote(*kind, array.kind()) : array.kind();
  std::vector<Tensor> tensors;
  unlocked([&] {
    for (const Array& array : arrays) tensors.push_back(as_kind(array, *kind));
  });
  return {std::move(tensors), kind && kind->boolean};
}

Array cat(nb::handle sequence, int dim) {
  const auto [tensors, boolean] = promoted(sequence, "cat");
  return unlocked([&, &parts = tensors, is_bool = boolean] { return Array{Tensor::cat(parts, dim), is_bool}; });
}

Array stack(nb::handle sequence, int dim) {
  const auto [tensors, boolean] = promoted(sequence, "stack");
  return unlocked([&, &parts = tensors, is_bool = boolean] { return Array{Tensor::stack(parts, dim), is_bool}; });
}

nb::list meshgrid(const nb::args& vectors, bool xy) {
  const std::vector<Tensor> tensors = tensors_of(vectors, "meshgrid");
  nb::list list;
  for (Tensor& grid : unlocked([&] { return Tensor::meshgrid(tensors, xy); })) list.append(nb::cast(Array{std::move(grid)}));
  return list;
}

// The same functions with the extents as arguments: zeros(2, 3).
void bind_of_extents(nb::module_& module, const char* name, const char* signature) {
  const std::string function = name;
  module.def(
      name,
      [function](const nb::args& shape, nb::handle dtype, nb::handle device) {
        for (const nb::handle extent : shape) {
          if (!PyIndex_Check(extent.ptr())) {
            throw nb::type_error(
                fmt::format("{}: expected a shape, or its extents as ints, got {}", function, wick_python::type_name(extent)).c_str());
          }
        }
        return nb::module_::import_("wick._wick").attr(function.c_str())(nb::borrow<nb::tuple>(shape), dtype, device);
      },
      nb::arg("shape"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(), nb::sig(signature));
}

#define WICK_EXTENTS_SIGNATURE(name) \
  "def " name "(*shape: int, dtype: DType | str | None = None, device: Device | str | None = None) -> Tensor"

#define WICK_SIGNATURE(name)                                                                                               \
  "def " name                                                                                                              \
  "(shape: int | collections.abc.Sequence[int], dtype: DType | str | None = None, device: Device | str | None = None) -> " \
  "Tensor"

void bind_filled(nb::module_& module) {
  const auto dtype = nb::arg("dtype") = nb::none();
  const auto device = nb::arg("device") = nb::none();
  module.def(
      "zeros",
      [](nb::handle shape, nb::handle kind, nb::handle where) {
        refuse_extent(kind);
        return filled(shape, 0, kind_or(kind, default_kind(), "zeros"), where, "zeros");
      },
      nb::arg("shape"), dtype, device, nb::sig(WICK_SIGNATURE("zeros")));
  module.def(
      "ones",
      [](nb::handle shape, nb::handle kind, nb::handle where) {
        refuse_extent(kind);
        return filled(shape, 1, kind_or(kind, default_kind(), "ones"), where, "ones");
      },
      nb::arg("shape"), dtype, device, nb::sig(WICK_SIGNATURE("ones")));
  module.def(
      "empty",
      [](nb::handle shape, nb::handle kind, nb::handle where) {
        refuse_extent(kind);
        const Kind wanted = kind_or(kind, default_kind(), "empty");
        const Shape extents = shape_of(shape, "empty");
        const Device at = device_of(where, "empty");
        return unlocked([&] { return Array{Tensor::empty(extents, wanted.dtype, at), wanted.boolean}; });
      },
      nb::arg("shape"), dtype, device, nb::sig(WICK_SIGNATURE("empty")), "Elements of whatever was in memory.");
  module.def("full", &full, nb::arg("shape"), nb::arg("value"), dtype, device,
             nb::sig("def full(shape: int | collections.abc.Sequence[int], value: float, dtype: DType | str | None = None, device: Device "
                     "| str | None = None) -> Tensor"));
  module.def(
      "rand",
      [](nb::handle shape, nb::handle kind, nb::handle where, double low, double high) {
        refuse_extent(kind);
        return random(shape, kind, where, low, high, false);
      },
      nb::arg("shape"), dtype, device, nb::kw_only(), nb::arg("low") = 0.0, nb::arg("high") = 1.0,
      nb::sig("def rand(shape: int | collections.abc.Sequence[int], dtype: DType | str | None = None, device: Device | str | None = None, "
              "*, low: float = 0.0, high: float = 1.0) -> Tensor"),
      "Uniform in [low, high), from the device's stream (manual_seed, Device.set_seed).");
  module.def(
      "randn",
      [](nb::handle shape, nb::handle kind, nb::handle where, double mean, double deviation) {
        refuse_extent(kind);
        return random(shape, kind, where, mean, deviation, true);
      },
      nb::arg("shape"), dtype, device, nb::kw_only(), nb::arg("mean") = 0.0, nb::arg("std") = 1.0,
      nb::sig("def randn(shape: int | collections.abc.Sequence[int], dtype: DType | str | None = None, device: Device | str | None = None, "
              "*, mean: float = 0.0, std: float = 1.0) -> Tensor"),
      "Normal, from the device's stream (manual_seed, Device.set_seed).");
  bind_of_extents(module, "zeros", WICK_EXTENTS_SIGNATURE("zeros"));
  bind_of_extents(module, "ones", WICK_EXTENTS_SIGNATURE("ones"));
  bind_of_extents(module, "empty", WICK_EXTENTS_SIGNATURE("empty"));
  bind_of_extents(module, "rand", WICK_EXTENTS_SIGNATURE("rand"));
  bind_of_extents(module, "randn", WICK_EXTENTS_SIGNATURE("randn"));
  module.def("zeros_like", [](const Array& x) { return unlocked([&] { return Array{x.t.zeros_like(), x.boolean}; }); }, nb::arg("x"));
  module.def("ones_like", [](const Array& x) { return unlocked([&] { return Array{x.t.ones_like(), x.boolean}; }); }, nb::arg("x"));
  module.def("empty_like", [](const Array& x) { return unlocked([&] { return Array{x.t.empty_like(), x.boolean}; }); }, nb::arg("x"));
}

}  // namespace

void bind_creation(nb::module_& module) {
  bind_filled(module);
  const auto dtype = nb::arg("dtype") = nb::none();
  const auto device = nb::arg("device") = nb::none();
  module.def(
      "tensor", [](nb::handle data, nb::handle kind, nb::handle where) { return tensor(data, kind, where, true, "tensor"); },
      nb::arg("data"), dtype, device,
      nb::sig("def tensor(data: typing.Any, dtype: DType | str | None = None, device: Device | str | None = None) -> Tensor"),
      "A tensor with a copy of numbers, nested lists of them, an array or a tensor. Floats become the default dtype (f32), ints i64.");
  module.def(
      "asarray",
      [](nb::handle data, nb::handle kind, nb::handle where, std::optional<bool> copy) {
        return tensor(data, kind, where, copy, "asarray");
      },
      nb::arg("data"), dtype, device, nb::kw_only(), nb::arg("copy") = nb::none(),
      nb::sig("def asarray(data: typing.Any, dtype: DType | str | None = None, device: Device | str | None = None, *, copy: bool | None = "
              "None) -> Tensor"),
      "The same without a copy where memory can be shared; read-only memory is copied. copy=False: ValueError or BufferError where it "
      "cannot.");
  module.def("arange", &arange, nb::arg("start"), nb::arg("end") = nb::none(), nb::arg("step") = 1, dtype, device,
             nb::sig("def arange(start: float, end: float | None = None, step: float = 1, dtype: DType | str | None = None, device: Device "
                     "| str | None = None) -> Tensor"),
             "start, start + step, … below end. i64 for whole numbers.");
  module.def(
      "linspace",
      [](double start, double end, int64_t count, nb::handle kind, nb::handle where) {
        if (count < 0) throw nb::value_error("linspace: count must be 0 or more");
        const Kind wanted = kind_or(kind, default_kind(), "linspace");
        const Device at = device_of(where, "linspace");
        return unlocked([&] {
          const double step = count > 1 ? (end - start) / static_cast<double>(count - 1) : 0;
          const Tensor places = Tensor::arange(0, static_cast<double>(count), 1, DType::f64, at).affine(step, start);
          return Array{places.to_dtype(wanted.dtype)};
        });
      },
      nb::arg("start"), nb::arg("end"), nb::arg("count"), dtype, device,
      nb::sig("def linspace(start: float, end: float, count: int, dtype: DType | str | None = None, device: Device | str | None = None) -> "
              "Tensor"));
  module.def(
      "eye",
      [](int64_t n, nb::handle kind, nb::handle where) {
        const Kind wanted = kind_or(kind, default_kind(), "eye");
        const Device at = device_of(where, "eye");
        return unlocked([&] { return Array{Tensor::eye(n, wanted.dtype, at), wanted.boolean}; });
      },
      nb::arg("n"), dtype, device,
      nb::sig("def eye(n: int, dtype: DType | str | None = None, device: Device | str | None = None) -> Tensor"));
}

void bind_functions(nb::module_& module) {
  module.def("cat", &cat, nb::arg("tensors"), nb::arg("dim") = 0,
             nb::sig("def cat(tensors: collections.abc.Sequence[Tensor], dim: int = 0) -> Tensor"));
  module.def("stack", &stack, nb::arg("tensors"), nb::arg("dim") = 0,
             nb::sig("def stack(tensors: collections.abc.Sequence[Tensor], dim: int = 0) -> Tensor"));
  module.def(
      "meshgrid", [](const nb::args& vectors, const std::string& indexing) { return meshgrid(vectors, indexing == "xy"); },
      nb::arg("vectors"), nb::kw_only(), nb::arg("indexing") = "xy",
      nb::sig("def meshgrid(*vectors: Tensor, indexing: str = 'xy') -> list[Tensor]"));
  module.def(
      "einsum",
      [](const std::string& equation, const nb::args& operands) {
        const std::vector<Tensor> tensors = tensors_of(operands, "einsum");
        return unlocked([&] { return Array{wick::einsum(equation, tensors)}; });
      },
      nb::arg("equation"), nb::arg("operands"), nb::sig("def einsum(equation: str, *operands: Tensor) -> Tensor"),
      "Sums of products, as in Einstein's notation: einsum('bij,bjk->bik', x, y).");
  module.def(
      "where",
      [](const Array& condition, const nb::object& on_true, const nb::object& on_false) {
        return nb::cast(condition).attr("where")(on_true, on_false);
      },
      nb::arg("condition"), nb::arg("on_true"), nb::arg("on_false"),
      nb::sig("def where(condition: Tensor, on_true: TensorLike, on_false: TensorLike) -> Tensor"));
  module.def(
      "promote_types", [](nb::handle a, nb::handle b) { return promote(kind_of(a, "promote_types"), kind_of(b, "promote_types")); },
      nb::arg("a"), nb::arg("b"), nb::sig("def promote_types(a: DType | str, b: DType | str) -> DType"));
}

}  // namespace wick_python
