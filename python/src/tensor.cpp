// Tensor: what it is, its elements in Python, and its text.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "array.h"

namespace wick_python {
namespace {

nb::tuple tuple_of(std::span<const int64_t> values) {
  nb::object made = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i) (void)PyTuple_SetItem(made.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
  return nb::borrow<nb::tuple>(made);
}

// One element, of row-major bytes.
nb::object element(const std::byte* bytes, Kind kind, size_t index) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
    return value;
  };
  switch (kind.dtype) {
    case DType::u8: {
      const uint8_t value = read(uint8_t{});
      return kind.boolean ? nb::object(nb::bool_(value != 0)) : nb::object(nb::int_(value));
    }
    case DType::i64: return nb::int_(read(int64_t{}));
    default: return nb::float_(read(double{}));
  }
}

// The elements as u8, i64 or f64, which hold those of every other dtype.
Kind host_kind(Kind kind) {
  if (kind.dtype == DType::u8) return kind;
  return wick::is_integer(kind.dtype) ? Kind{DType::i64} : Kind{DType::f64};
}

std::vector<std::byte> host_bytes(const Array& x) {
  return unlocked([&] {
    const Kind kind = host_kind(x.kind());
    return x.t.detach().to_dtype(kind.dtype).to_bytes();
  });
}

nb::object item(const Array& self) {
  if (self.t.elements() != 1) {
    throw nb::value_error(
        fmt::format("item: {} has {} elements; only one can be a Python number", self.t.describe(), self.t.elements()).c_str());
  }
  return element(host_bytes(self).data(), host_kind(self.kind()), 0);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as a shape has dimensions
nb::object nested_list(const std::byte* bytes, Kind kind, const Shape& shape, int dim, size_t& next) {
  if (dim == shape.rank()) return element(bytes, kind, next++);
  nb::list list;
  for (int64_t i = 0; i < shape[dim]; ++i) list.append(nested_list(bytes, kind, shape, dim + 1, next));
  return list;
}

nb::object to_list(const Array& self) {
  const std::vector<std::byte> bytes = host_bytes(self);
  size_t next = 0;
  return nested_list(bytes.data(), host_kind(self.kind()), self.t.shape(), 0, next);
}

std::string text_of(const Array& self) {
  std::string text = unlocked([&] { return wick::to_string(self.t); });
  if (self.boolean) {
    const size_t place = text.rfind(", u8");
    if (place != std::string::npos) text.replace(place, 4, ", bool");
  }
  return text;
}

bool truth(const Array& self) {
  if (self.t.elements() != 1) {
    throw nb::value_error(fmt::format("the truth of {} is not defined: use any() or all()", self.t.describe()).c_str());
  }
  return unlocked([&] { return self.t.detach().ne(0.0).item() != 0; });
}

nb::object index_number(const Array& self) {
  if (!wick::is_integer(self.t.dtype()) || self.t.elements() != 1) {
    throw nb::type_error(fmt::format("only a tensor of one integer can be an index, not {}", self.t.describe()).c_str());
  }
  return nb::steal(PyNumber_Index(item(self).ptr()));
}

nb::iterator iterate(const Array& self) {
  if (self.t.rank() == 0) throw nb::type_error("a tensor of rank 0 has no slices to iterate over");
  nb::list slices;
  for (int64_t i = 0; i < self.t.shape()[0]; ++i) slices.append(nb::cast(Array{self.t.get(i), self.boolean}));
  return nb::iter(slices);
}

void bind_scalars(nb::class_<Array>& tensor) {
  tensor.def("item", &item, nb::sig("def item(self) -> int | float | bool"), "The only element, as a Python number. Raises ValueError.")
      .def("tolist", &to_list, nb::sig("def tolist(self) -> typing.Any"), "The elements as nested lists; of a scalar, a number.")
      .def("__bool__", &truth)
      .def(
          "__int__", [](const Array& self) { return nb::steal(PyNumber_Long(item(self).ptr())); }, nb::sig("def __int__(self) -> int"))
      .def(
          "__float__", [](const Array& self) { return nb::steal(PyNumber_Float(item(self).ptr())); },
          nb::sig("def __float__(self) -> float"))
      .def(
          "__complex__", [](const Array& self) { return nb::module_::import_("builtins").attr("complex")(item(self)); },
          nb::sig("def __complex__(self) -> complex"))
      .def("__index__", &index_number, nb::sig("def __index__(self) -> int"))
      .def("__len__",
           [](const Array& self) {
             if (self.t.rank() == 0) throw nb::type_error("a tensor of rank 0 has no length");
             return self.t.shape()[0];
           })
      .def("__iter__", &iterate, nb::sig("def __iter__(self) -> collections.abc.Iterator[Tensor]"));
}

}  // namespace

void bind_tensor(nb::module_& module, nb::class_<Array>& tensor) {
  tensor
      .def(
          "__init__",
          [](Array* self, nb::handle data, nb::handle dtype, nb::handle device) {
            const std::optional<Kind> kind = dtype.is_none() ? std::nullopt : std::optional(kind_of(dtype, "Tensor"));
            Array made = array_of(data, kind, device_of(device, "Tensor"), "Tensor");
            made.t = unlocked([&] { return made.t.copy(); });
            new (self) Array(std::move(made));
          },
          nb::arg("data"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
          nb::sig("def __init__(self, data: typing.Any, dtype: DType | str | None = None, device: Device | str | None = None) -> None"))
      .def_prop_ro("dtype", &Array::kind)
      .def_prop_ro("device", [](const Array& self) { return self.t.device(); })
      .def_prop_ro(
          "shape", [](const Array& self) { return tuple_of(self.t.dims()); }, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "strides", [](const Array& self) { return tuple_of(self.t.layout().strides()); }, nb::sig("def strides(self) -> tuple[int, ...]"),
          "In elements, one for each dimension.")
      .def_prop_ro("rank", [](const Array& self) { return self.t.rank(); })
      .def_prop_ro("ndim", [](const Array& self) { return self.t.rank(); })
      .def_prop_ro(
          "size", [](const Array& self) { return self.t.elements(); }, "How many elements it has.")
      .def_prop_ro("nelement", [](const Array& self) { return self.t.elements(); })
      .def_prop_ro("nbytes", [](const Array& self) { return wick::storage_bytes_of(self.t.shape(), self.t.dtype()); })
      .def_prop_ro(
          "is_tracked", [](const Array& self) { return self.t.is_tracked(); }, "Whether gradients can be had of it.")
      .def(
          "is_contiguous", [](const Array& self) { return self.t.is_contiguous(); }, "Whether it is row-major without gaps.")
      .def("is_fortran_contiguous", [](const Array& self) { return self.t.is_fortran_contiguous(); })
      .def(
          "dim", [](const Array& self, int dim) { return self.t.dim(dim); }, nb::arg("dim"), "The extent of one dimension.")
      .def(
          "__array_namespace__",
          [](const Array&, nb::handle version) {
            const nb::module_ found = nb::module_::import_("wick.array_api");
            if (!version.is_none() && !nb::object(found.attr("__array_api_version__")).equal(version)) {
              throw nb::value_error(fmt::format("__array_namespace__: there is version {} of the array API standard, not {}",
                                                nb::cast<std::string>(found.attr("__array_api_version__")), nb::str(version).c_str())
                                        .c_str());
            }
            return found;
          },
          nb::kw_only(), nb::arg("api_version") = nb::none(),
          nb::sig("def __array_namespace__(self, *, api_version: str | None = None) -> typing.Any"))
      .def(
          "__format__",
          [](const Array& self, const std::string& format) -> nb::object {
            if (format.empty() || self.t.elements() != 1) {
              if (!format.empty()) {
                throw nb::type_error(
                    fmt::format("'{}': only a tensor of one element has a format, not {}", format, self.t.describe()).c_str());
              }
              return nb::cast(text_of(self));
            }
            return nb::module_::import_("builtins").attr("format")(item(self), format);
          },
          nb::arg("format"), nb::sig("def __format__(self, format: str, /) -> str"))
      .def("numel", [](const Array& self) { return self.t.elements(); })
      .def(
          "__array_ufunc__",
          [](nb::handle self, nb::handle ufunc, nb::handle method, const nb::args& inputs, const nb::kwargs& options) {
            return nb::object(nb::module_::import_("wick._numpy").attr("array_ufunc")(self, ufunc, method, inputs, options));
          },
          nb::arg("ufunc"), nb::arg("method"), nb::arg("inputs"), nb::arg("options"),
          nb::sig("def __array_ufunc__(self, ufunc: typing.Any, method: str, *inputs: typing.Any, **options: typing.Any) -> typing.Any"))
      .def("__repr__", &text_of)
      .def("__str__", &text_of)
      .def("__hash__", [](nb::handle self) { return reinterpret_cast<intptr_t>(self.ptr()) >> 4; }, nb::sig("def __hash__(self) -> int"));
  tensor.attr("__array_priority__") = 1000;
  bind_scalars(tensor);
  (void)module;
}

}  // namespace wick_python
