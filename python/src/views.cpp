// Shapes, views, copies, conversions, and what is done by index.
#include <fmt/format.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array.h"

namespace wick_python {
namespace {

std::vector<int> ints_of(const nb::args& arguments, const char* function) {
  const nb::object list =
      arguments.size() == 1 && !PyIndex_Check(nb::object(arguments[0]).ptr()) ? nb::object(arguments[0]) : nb::object(arguments);
  std::vector<int> values;
  for (const int64_t value : integers_of(list, function)) values.push_back(dim_value(value, function));
  return values;
}

Array as_same(const Array& self, Tensor made) { return {std::move(made), self.boolean}; }

Array squeeze(const Array& self, nb::handle dim) {
  if (!dim.is_none()) {
    const std::vector<int> dims =
        wick::Dims(ints_of(nb::borrow<nb::args>(nb::make_tuple(nb::borrow(dim))), "squeeze")).resolve(self.t.shape(), "squeeze");
    Tensor x = self.t;
    for (auto it = dims.rbegin(); it != dims.rend(); ++it) x = x.squeeze(*it);
    return as_same(self, x);
  }
  Tensor x = self.t;
  for (int d = x.rank() - 1; d >= 0; --d) x = x.squeeze(d);
  return as_same(self, x);
}

bool names_device(const std::string& text) { return wick::parse_device_kind(text.substr(0, text.find(':'))).has_value(); }

// to(dtype), to(device), to(dtype=…, device=…)
Array to(const Array& self, nb::handle first, nb::handle dtype, nb::handle device) {
  nb::object wanted = nb::borrow(dtype);
  nb::object where = nb::borrow(device);
  if (!first.is_none()) {
    const bool is_device =
        nb::isinstance<Device>(first) || (PyUnicode_Check(first.ptr()) && names_device(value_as<std::string>(first, "to")));
    (is_device ? where : wanted) = nb::borrow(first);
  }
  Array result = wanted.is_none() ? self : convert(self, kind_of(wanted, "to"));
  if (!where.is_none()) {
    const Device target = device_of(where, "to");
    result.t = unlocked([&] { return result.t.to_device(target); });
  }
  return result;
}

nb::list arrays(const Array& self, std::vector<Tensor> parts) {
  nb::list list;
  for (Tensor& part : parts) list.append(nb::cast(as_same(self, std::move(part))));
  return list;
}

// -1 keeps an extent.
Array expand(const Array& self, const nb::args& shape) {
  std::vector<int64_t> extents = shape.size() == 1 ? integers_of(shape[0], "expand") : integers_of(shape, "expand");
  const auto added = static_cast<int64_t>(extents.size()) - self.t.rank();
  for (size_t i = 0; i < extents.size(); ++i) {
    const int64_t dim = static_cast<int64_t>(i) - added;
    if (extents[i] == -1 && dim >= 0) extents[i] = self.t.shape()[static_cast<int>(dim)];
  }
  return as_same(self, self.t.broadcast_to(wick::Extents(std::span<const int64_t>(extents)).checked("expand")));
}

nb::list split(const Array& self, nb::handle size, int dim) {
  if (PyIndex_Check(size.ptr())) return arrays(self, self.t.split(index_value(size), dim));
  const std::vector<int64_t> sizes = integers_of(size, "split");
  int64_t total = 0;
  for (const int64_t part : sizes) {
    if (part < 0 || __builtin_add_overflow(total, part, &total)) throw nb::value_error("split: sizes must be 0 or more");
  }
  if (total != self.t.dim(dim)) {
    throw nb::value_error(
        fmt::format("split: the sizes add up to {}, dimension {} of {} is {}", total, dim, self.t.describe(), self.t.dim(dim)).c_str());
  }
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (const int64_t part : sizes) {
    parts.push_back(self.t.narrow(dim, start, part));
    start += part;
  }
  return arrays(self, std::move(parts));
}

Array repeat_interleave(const Array& self, nb::handle repeats, std::optional<int> dim) {
  const Array times = array_of(repeats, Kind{DType::i64}, self.t.device(), "repeat_interleave");
  return unlocked([&] {
    const Tensor x = dim ? self.t : self.t.flatten_all();
    const int over = dim.value_or(0);
    const int64_t extent = x.dim(over);
    const std::vector<int64_t> counts = times.t.broadcast_to({extent}).contiguous().to_vector<int64_t>();
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < extent; ++i) {
      const int64_t count = counts[static_cast<size_t>(i)];
      if (count < 0) throw nb::value_error("repeat_interleave: repeats must be 0 or more");
      ids.insert(ids.end(), static_cast<size_t>(count), i);
    }
    const auto length = static_cast<int64_t>(ids.size());
    return as_same(self, x.index_select(Tensor::from_vector<int64_t>(std::move(ids), {length}, x.device()), over));
  });
}

// A number for both dimensions, or one for each.
std::array<int64_t, 2> pair_of(nb::handle object, const char* function) {
  const std::vector<int64_t> values = integers_of(object, function);
  if (values.size() == 1) return {values[0], values[0]};
  if (values.size() == 2) return {values[0], values[1]};
  throw nb::value_error(fmt::format("{}: expected one or two numbers, got {}", function, values.size()).c_str());
}

void bind_shapes(nb::class_<Array>& tensor) {
  tensor
      .def(
          "reshape",
          [](const Array& self, const nb::args& shape) {
            const Shape wanted = [&] {
              std::vector<int64_t> dims = shape.size() == 1 ? integers_of(shape[0], "reshape") : integers_of(shape, "reshape");
              int64_t known = 1;
              bool is_known = true;
              int open = -1;
              for (size_t i = 0; i < dims.size(); ++i) {
                if (dims[i] == -1 && open < 0) {
                  open = static_cast<int>(i);
                } else {
                  is_known = is_known && !__builtin_mul_overflow(known, dims[i], &known);
                }
              }
              if (open >= 0) {
                if (!is_known || known <= 0 || self.t.elements() % known != 0) {
                  throw nb::value_error(
                      fmt::format("reshape: {} elements do not fill the dimensions that are given", self.t.elements()).c_str());
                }
                dims[static_cast<size_t>(open)] = self.t.elements() / known;
              }
              return Shape(std::span<const int64_t>(dims));
            }();
            return unlocked([&] { return as_same(self, self.t.reshape(wanted)); });
          },
          nb::arg("shape"), nb::sig("def reshape(self, *shape: int | collections.abc.Sequence[int]) -> Tensor"),
          "A view where the strides allow it, a copy elsewhere. One extent may be -1: what is left.")
      .def(
          "flatten",
          [](const Array& self, int first, int last) {
            return unlocked([&] { return as_same(self, self.t.rank() == 0 ? self.t.reshape({1}) : self.t.flatten(first, last)); });
          },
          nb::arg("start_dim") = 0, nb::arg("end_dim") = -1)
      .def("flatten_all", [](const Array& self) { return unlocked([&] { return as_same(self, self.t.flatten_all()); }); })
      .def(
          "flatten_from", [](const Array& self, int first) { return as_same(self, self.t.flatten_from(first)); }, nb::arg("dim"))
      .def(
          "flatten_to", [](const Array& self, int last) { return as_same(self, self.t.flatten_to(last)); }, nb::arg("dim"))
      .def("squeeze", &squeeze, nb::arg("dim") = nb::none(),
           nb::sig("def squeeze(self, dim: int | collections.abc.Sequence[int] | None = None) -> Tensor"))
      .def(
          "unsqueeze", [](const Array& self, int dim) { return as_same(self, self.t.unsqueeze(dim)); }, nb::arg("dim"))
      .def(
          "broadcast_to",
          [](const Array& self, const nb::args& shape) {
            return as_same(self, self.t.broadcast_to(shape_of_arguments(shape, "broadcast_to")));
          },
          nb::arg("shape"), nb::sig("def broadcast_to(self, *shape: int | collections.abc.Sequence[int]) -> Tensor"))
      .def("expand", &expand, nb::arg("shape"), nb::sig("def expand(self, *shape: int | collections.abc.Sequence[int]) -> Tensor"))
      .def(
          "broadcast_left",
          [](const Array& self, const nb::args& left) {
            return as_same(self, self.t.broadcast_left(shape_of_arguments(left, "broadcast_left")));
          },
          nb::arg("shape"), nb::sig("def broadcast_left(self, *shape: int | collections.abc.Sequence[int]) -> Tensor"))
      .def(
          "transpose", [](const Array& self, int dim0, int dim1) { return as_same(self, self.t.transpose(dim0, dim1)); },
          nb::arg("dim0") = -2, nb::arg("dim1") = -1)
      .def(
          "t", [](const Array& self) { return as_same(self, self.t.t()); }, "The last two dimensions swapped.")
      .def_prop_ro(
          "T",
          [](const Array& self) {
            std::vector<int> order;
            for (int d = self.t.rank() - 1; d >= 0; --d) order.push_back(d);
            return as_same(self, self.t.permute(order));
          },
          "All dimensions in reverse order.")
      .def_prop_ro(
          "mT", [](const Array& self) { return as_same(self, self.t.t()); }, "The last two dimensions swapped.")
      .def(
          "permute", [](const Array& self, const nb::args& order) { return as_same(self, self.t.permute(ints_of(order, "permute"))); },
          nb::arg("order"), nb::sig("def permute(self, *order: int | collections.abc.Sequence[int]) -> Tensor"))
      .def(
          "narrow",
          [](const Array& self, int dim, int64_t start, int64_t length) { return as_same(self, self.t.narrow(dim, start, length)); },
          nb::arg("dim"), nb::arg("start"), nb::arg("length"))
      .def(
          "flip",
          [](const Array& self, nb::handle dims) {
            const wick::Dims over = dims_of(dims, self.t, "flip");
            return unlocked([&] { return as_same(self, self.t.flip(over).copy()); });
          },
          nb::arg("dims") = nb::none(), nb::sig("def flip(self, dims: int | collections.abc.Sequence[int] | None = None) -> Tensor"),
          "A copy, as in PyTorch.")
      .def(
          "unfold", [](const Array& self, int dim, int64_t size, int64_t step) { return as_same(self, self.t.unfold(dim, size, step)); },
          nb::arg("dim"), nb::arg("size"), nb::arg("step"))
      .def(
          "get", [](const Array& self, int64_t index) { return as_same(self, self.t.get(index)); }, nb::arg("index"))
      .def(
          "diagonal",
          [](const Array& self, int offset, int row, int column) { return as_same(self, self.t.diagonal(offset, row, column)); },
          nb::arg("offset") = 0, nb::arg("dim1") = 0, nb::arg("dim2") = 1)
      .def(
          "chunk", [](const Array& self, int64_t chunks, int dim) { return arrays(self, self.t.chunk(chunks, dim)); }, nb::arg("chunks"),
          nb::arg("dim") = 0, nb::sig("def chunk(self, chunks: int, dim: int = 0) -> list[Tensor]"))
      .def("split", &split, nb::arg("size"), nb::arg("dim") = 0,
           nb::sig("def split(self, size: int | collections.abc.Sequence[int], dim: int = 0) -> list[Tensor]"),
           "Parts of one size, the last of what is left; or of the sizes in a list.")
      .def(
          "unbind",
          [](const Array& self, int dim) {
            std::vector<Tensor> parts;
            for (int64_t i = 0; i < self.t.dim(dim); ++i) parts.push_back(self.t.narrow(dim, i, 1).squeeze(dim));
            return arrays(self, std::move(parts));
          },
          nb::arg("dim") = 0, nb::sig("def unbind(self, dim: int = 0) -> list[Tensor]"))
      .def(
          "view",
          [](nb::handle self, const nb::args& shape) {
            nb::object made = self.attr("reshape")(*shape);
            const Array& x = nb::cast<const Array&>(self);
            if (x.t.elements() > 0 && nb::cast<const Array&>(made).t.storage() != x.t.storage()) {
              throw nb::value_error(
                  fmt::format("view: the elements of {} do not lie as this shape needs them; use reshape, which copies", x.t.describe())
                      .c_str());
            }
            return made;
          },
          nb::arg("shape"), nb::sig("def view(self, *shape: int | collections.abc.Sequence[int]) -> Tensor"),
          "reshape without a copy. Raises ValueError where the strides do not allow it.");
}

void bind_copies(nb::class_<Array>& tensor) {
  tensor.def("contiguous", &call_view<&Tensor::contiguous>, "Itself if it is row-major already, a copy elsewhere.")
      .def("copy", &call_view<&Tensor::copy>, "A row-major copy in memory of its own.")
      .def("clone", &call_view<&Tensor::copy>)
      .def("__copy__", [](const Array& self) { return self; })
      .def(
          "__deepcopy__", [](const Array& self, nb::handle) { return call_view<&Tensor::copy>(self); }, nb::arg("memo"))
      .def(
          "detach", [](const Array& self) { return as_same(self, self.t.detach()); }, "The same elements, not tracked.")
      .def("to", &to, nb::arg("target") = nb::none(), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
           nb::sig("def to(self, target: DType | Device | str | None = None, *, dtype: DType | str | None = None, "
                   "device: Device | str | None = None) -> Tensor"))
      .def(
          "to_dtype", [](const Array& self, nb::handle dtype) { return convert(self, kind_of(dtype, "to_dtype")); }, nb::arg("dtype"),
          nb::sig("def to_dtype(self, dtype: DType | str) -> Tensor"))
      .def(
          "to_device",
          [](const Array& self, nb::handle device, nb::handle stream) {
            if (!stream.is_none()) throw nb::value_error("to_device: Wick has one queue for each device; leave stream out");
            const Device target = device_of(device, "to_device");
            return unlocked([&] { return as_same(self, self.t.to_device(target)); });
          },
          nb::arg("device"), nb::kw_only(), nb::arg("stream") = nb::none(),
          nb::sig("def to_device(self, device: Device | str, *, stream: None = None) -> Tensor"))
      .def("float", [](const Array& self) { return convert(self, {DType::f32}); })
      .def("double", [](const Array& self) { return convert(self, {DType::f64}); })
      .def("half", [](const Array& self) { return convert(self, {DType::f16}); })
      .def("long", [](const Array& self) { return convert(self, {DType::i64}); })
      .def("int", [](const Array& self) { return convert(self, {DType::i32}); })
      .def("bool", [](const Array& self) { return convert(self, kBool); })
      .def("cpu", [](const Array& self) { return unlocked([&] { return as_same(self, self.t.to_device(Device::cpu())); }); })
      .def(
          "repeat",
          [](const Array& self, const nb::args& times) {
            const Shape counts = shape_of_arguments(times, "repeat");
            return unlocked([&] { return as_same(self, self.t.repeat(counts)); });
          },
          nb::arg("times"), nb::sig("def repeat(self, *times: int | collections.abc.Sequence[int]) -> Tensor"))
      .def("repeat_interleave", &repeat_interleave, nb::arg("repeats"), nb::arg("dim") = nb::none(),
           nb::sig("def repeat_interleave(self, repeats: TensorLike, dim: int | None = None) -> Tensor"),
           "Each slice so many times; without a dimension, each element.")
      .def(
          "roll",
          [](const Array& self, int64_t shift, int dim) {
            return unlocked([&] {
              const Tensor rolled = self.t.roll(shift, dim);
              return as_same(self, rolled.storage() == self.t.storage() ? rolled.copy() : rolled);
            });
          },
          nb::arg("shift"), nb::arg("dim"))
      .def(
          "pad_with_zeros",
          [](const Array& self, int dim, int64_t left, int64_t right) {
            return unlocked([&] { return as_same(self, self.t.pad_with_zeros(dim, left, right)); });
          },
          nb::arg("dim"), nb::arg("left"), nb::arg("right"))
      .def(
          "pad_with_same",
          [](const Array& self, int dim, int64_t left, int64_t right) {
            return unlocked([&] { return as_same(self, self.t.pad_with_same(dim, left, right)); });
          },
          nb::arg("dim"), nb::arg("left"), nb::arg("right"))
      .def(
          "tril", [](const Array& self, int diagonal) { return unlocked([&] { return as_same(self, self.t.tril(diagonal)); }); },
          nb::arg("diagonal") = 0)
      .def(
          "triu", [](const Array& self, int diagonal) { return unlocked([&] { return as_same(self, self.t.triu(diagonal)); }); },
          nb::arg("diagonal") = 0)
      .def(
          "diag", [](const Array& self, int offset) { return unlocked([&] { return as_same(self, self.t.diag(offset)); }); },
          nb::arg("offset") = 0);
}

void bind_by_index(nb::class_<Array>& tensor) {
  tensor
      .def(
          "index_select",
          [](const Array& self, const Array& ids, int dim) {
            return unlocked([&] { return as_same(self, self.t.index_select(ids.t, dim)); });
          },
          nb::arg("ids"), nb::arg("dim"), "Slices of dim in the order of ids [n].")
      .def(
          "gather",
          [](const Array& self, const Array& ids, int dim) { return unlocked([&] { return as_same(self, self.t.gather(ids.t, dim)); }); },
          nb::arg("ids"), nb::arg("dim"))
      .def(
          "scatter",
          [](const Array& self, const Array& ids, const Array& source, int dim) {
            return unlocked([&] { return as_same(self, self.t.scatter(ids.t, source.t, dim)); });
          },
          nb::arg("ids"), nb::arg("source"), nb::arg("dim"))
      .def(
          "scatter_add",
          [](const Array& self, const Array& ids, const Array& source, int dim) {
            return unlocked([&] { return as_same(self, self.t.scatter_add(ids.t, source.t, dim)); });
          },
          nb::arg("ids"), nb::arg("source"), nb::arg("dim"))
      .def(
          "index_add",
          [](const Array& self, const Array& ids, const Array& source, int dim) {
            return unlocked([&] { return as_same(self, self.t.index_add(ids.t, source.t, dim)); });
          },
          nb::arg("ids"), nb::arg("source"), nb::arg("dim"))
      .def(
          "slice_scatter",
          [](const Array& self, const Array& source, int dim, int64_t start) {
            return unlocked([&] { return as_same(self, self.t.slice_scatter(source.t, dim, start)); });
          },
          nb::arg("source"), nb::arg("dim"), nb::arg("start"))
      .def(
          "embedding", [](const Array& self, const Array& ids) { return unlocked([&] { return as_same(self, self.t.embedding(ids.t)); }); },
          nb::arg("ids"), "Rows of a table [rows, width] for ids of any shape.")
      .def(
          "masked_select",
          [](const Array& self, const Array& mask) { return unlocked([&] { return as_same(self, self.t.masked_select(mask.t)); }); },
          nb::arg("mask"))
      .def(
          "fill_",
          [](nb::handle self, double value) {
            const Array& array = nb::cast<const Array&>(self);
            unlocked([&] { array.t.const_set(array.boolean ? value != 0 : value); });
            return nb::borrow(self);
          },
          nb::arg("value"), nb::sig("def fill_(self, value: float) -> Tensor"), "Every element becomes value, in place.");
}

void bind_images(nb::class_<Array>& tensor) {
  using Pair = std::array<int64_t, 2>;
  tensor
      .def(
          "conv1d",
          [](const Array& self, const Array& kernel, int64_t padding, int64_t stride, int64_t dilation, int64_t groups) {
            return unlocked([&] { return Array{self.t.conv1d(kernel.t, padding, stride, dilation, groups)}; });
          },
          nb::arg("kernel"), nb::arg("padding") = 0, nb::arg("stride") = 1, nb::arg("dilation") = 1, nb::arg("groups") = 1,
          "[batch, in, length] by a kernel [out, in / groups, k].")
      .def(
          "conv2d",
          [](const Array& self, const Array& kernel, int64_t padding, int64_t stride, int64_t dilation, int64_t groups) {
            return unlocked([&] { return Array{self.t.conv2d(kernel.t, padding, stride, dilation, groups)}; });
          },
          nb::arg("kernel"), nb::arg("padding") = 0, nb::arg("stride") = 1, nb::arg("dilation") = 1, nb::arg("groups") = 1,
          "[batch, in, h, w] by a kernel [out, in / groups, kh, kw].")
      .def(
          "conv_transpose2d",
          [](const Array& self, const Array& kernel, int64_t padding, int64_t output_padding, int64_t stride, int64_t dilation,
             int64_t groups) {
            return unlocked([&] { return Array{self.t.conv_transpose2d(kernel.t, padding, output_padding, stride, dilation, groups)}; });
          },
          nb::arg("kernel"), nb::arg("padding") = 0, nb::arg("output_padding") = 0, nb::arg("stride") = 1, nb::arg("dilation") = 1,
          nb::arg("groups") = 1)
      .def(
          "avg_pool2d",
          [](const Array& self, nb::handle kernel, nb::handle stride) {
            const Pair window = pair_of(kernel, "avg_pool2d: kernel");
            const std::optional<Pair> step = stride.is_none() ? std::nullopt : std::optional(pair_of(stride, "avg_pool2d: stride"));
            return unlocked([&] { return Array{self.t.avg_pool2d(window, step)}; });
          },
          nb::arg("kernel"), nb::arg("stride") = nb::none(),
          nb::sig("def avg_pool2d(self, kernel: int | collections.abc.Sequence[int], stride: int | collections.abc.Sequence[int] | None = "
                  "None) -> Tensor"))
      .def(
          "max_pool2d",
          [](const Array& self, nb::handle kernel, nb::handle stride) {
            const Pair window = pair_of(kernel, "max_pool2d: kernel");
            const std::optional<Pair> step = stride.is_none() ? std::nullopt : std::optional(pair_of(stride, "max_pool2d: stride"));
            return unlocked([&] { return Array{self.t.max_pool2d(window, step)}; });
          },
          nb::arg("kernel"), nb::arg("stride") = nb::none(),
          nb::sig("def max_pool2d(self, kernel: int | collections.abc.Sequence[int], stride: int | collections.abc.Sequence[int] | None = "
                  "None) -> Tensor"))
      .def(
          "upsample_nearest2d",
          [](const Array& self, int64_t height, int64_t width) {
            return unlocked([&] { return Array{self.t.upsample_nearest2d(height, width)}; });
          },
          nb::arg("height"), nb::arg("width"))
      .def(
          "upsample_bilinear2d",
          [](const Array& self, int64_t height, int64_t width, bool align_corners) {
            return unlocked([&] { return Array{self.t.upsample_bilinear2d(height, width, align_corners)}; });
          },
          nb::arg("height"), nb::arg("width"), nb::arg("align_corners") = false);
}

}  // namespace

void bind_views(nb::class_<Array>& tensor) {
  bind_shapes(tensor);
  bind_copies(tensor);
  bind_by_index(tensor);
  bind_images(tensor);
}

}  // namespace wick_python
