// x[…] and x[…] = y by NumPy's rules: numbers, slices with any step, None, Ellipsis, and arrays of integers or bool, which broadcast
// together.
#include <fmt/format.h>

#include <algorithm>

#include "array.h"
#include "wick/tensor/ops/masked.h"

namespace wick_python {
namespace {

// An index that was read as far as views go: the view, and the arrays that choose along some of its dimensions.
struct Selection {
  Tensor view;
  struct ByArray {
    int dim;     // of the view
    Tensor ids;  // i64, not negative
  };
  std::vector<ByArray> arrays;
  // Whether the arrays' dimensions lie side by side in the index: their result then takes their place, else it goes in front.
  bool adjacent = true;
};

// How many dimensions an element of an index takes.
int consumed_dims(nb::handle item) {
  if (item.is_none() || item.ptr() == Py_Ellipsis) return 0;
  if (nb::isinstance<Array>(item)) {
    const Array& array = nb::cast<const Array&>(item);
    return array.boolean ? array.t.rank() : 1;
  }
  return 1;
}

// Of an int, the place that it names; one that no tensor has where it is larger than those.
int64_t place_of(nb::handle number) {
  int overflow = 0;
  const int64_t place = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  return overflow == 0 ? place : overflow > 0 ? INT64_MAX : INT64_MIN;
}

Array index_array(nb::handle item, const Device& device) {
  Array ids = array_of(item, std::nullopt, device, "index");
  if (ids.t.elements() == 0 && wick::is_float(ids.t.dtype())) ids.t = ids.t.to_dtype(DType::i64);  // x[[]]
  if (!wick::is_integer(ids.t.dtype())) {
    throw nb::index_error(fmt::format("an index must be of integers or bool, not {}", ids.t.describe()).c_str());
  }
  return ids;
}

class IndexReader {
 public:
  IndexReader(const Tensor& x, nb::handle index) : x_(x) {
    selection_.view = x;
    read(index);
  }

  [[nodiscard]] Selection take() { return std::move(selection_); }

 private:
  void read(nb::handle index) {
    std::vector<nb::object> items;
    if (PyTuple_Check(index.ptr())) {
      for (const nb::handle item : nb::borrow<nb::tuple>(index)) items.push_back(prepared(item));
    } else {
      items.push_back(prepared(index));
    }
    int consumed = 0;
    int ellipses = 0;
    for (const nb::object& item : items) {
      consumed += consumed_dims(item);
      ellipses += item.ptr() == Py_Ellipsis ? 1 : 0;
    }
    if (ellipses > 1) throw nb::index_error("an index can have one Ellipsis ('...') only");
    if (consumed > x_.rank()) {
      throw nb::index_error(fmt::format("{} indices for {}", consumed, x_.describe()).c_str());
    }
    has_arrays_ = std::any_of(items.begin(), items.end(), [](const nb::object& item) { return nb::isinstance<Array>(item); });
    for (const nb::object& item : items) {
      if (item.ptr() == Py_Ellipsis) {
        dim_ += x_.rank() - consumed;
        after_gap_ = true;
      } else {
        read_item(item);
      }
    }
  }

  // Lists and other libraries' arrays as tensors; tensors of one integer stay what they are.
  nb::object prepared(nb::handle item) const {
    const bool simple = item.is_none() || item.ptr() == Py_Ellipsis || PySlice_Check(item.ptr()) || nb::isinstance<Array>(item);
    if (simple || (PyLong_Check(item.ptr()) && !PyBool_Check(item.ptr()))) return nb::borrow(item);
    if (!PyBool_Check(item.ptr()) && PyIndex_Check(item.ptr()) && !nb::hasattr(item, "__dlpack__")) {
      nb::object number = nb::steal(PyNumber_Index(item.ptr()));
      if (!number.is_valid()) nb::raise_python_error();
      return number;
    }
    if (PyFloat_Check(item.ptr()) || PyUnicode_Check(item.ptr())) {
      throw nb::index_error(
          fmt::format("an index is an int, a slice, None, Ellipsis or an array of integers or bool, not {}", wick_python::type_name(item))
              .c_str());
    }
    return nb::cast(index_array(item, x_.device()));
  }

  void read_item(const nb::object& item) {
    if (item.is_none()) {
      selection_.view = selection_.view.unsqueeze(dim_);
      ++dim_;
      after_gap_ = true;
    } else if (PySlice_Check(item.ptr())) {
      read_slice(item);
      after_gap_ = true;
    } else if (nb::isinstance<Array>(item)) {
      const Array& array = nb::cast<const Array&>(item);
      unlocked([&] { read_array(array); });
    } else {
      read_number(item);
    }
  }

  void read_number(const nb::object& item) {
    const int64_t place = place_of(item);
    const int64_t extent = selection_.view.dim(dim_);
    if (place < -extent || place >= extent) {
      throw nb::index_error(fmt::format("index {} is out of range for dimension {} of {}", place, dim_, x_.describe()).c_str());
    }
    const int64_t counted = place < 0 ? place + extent : place;
    if (has_arrays_) {  // beside arrays a number is one of them
      note_array(dim_, Tensor::from_vector<int64_t>({counted}, {}, x_.device()));
      ++dim_;
    } else {
      selection_.view = selection_.view.get_on_dim(dim_, counted);
    }
  }

  void read_slice(const nb::object& item) {
    Py_ssize_t start = 0;
    Py_ssize_t stop = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(item.ptr(), &start, &stop, &step) < 0) nb::raise_python_error();
    const Py_ssize_t length = PySlice_AdjustIndices(selection_.view.dim(dim_), &start, &stop, step);
    Tensor& view = selection_.view;
    if (length == 0) {
      view = view.narrow(dim_, 0, 0);
    } else if (step == 1) {
      if (length != view.dim(dim_)) view = view.narrow(dim_, start, length);
    } else if (step > 0) {
      view = view.stride_slice(dim_, start, length, step);
    } else {
      const Py_ssize_t first = start + (length - 1) * step;  // the lowest place
      view = view.stride_slice(dim_, first, length, -step).flip(dim_);
    }
    ++dim_;
  }

  void read_array(const Array& array) {
    if (!array.boolean) {
      Tensor ids = array.t.detach().to_dtype(DType::i64);
      const int64_t extent = selection_.view.dim(dim_);
      if (ids.elements() > 0) {
        const double lowest = ids.min().item();
        const double highest = ids.max().item();
        if (lowest < static_cast<double>(-extent) || highest >= static_cast<double>(extent)) {
          throw nb::index_error(fmt::format("index {} is out of range for dimension {} of {}",
                                            static_cast<int64_t>(highest >= static_cast<double>(extent) ? highest : lowest), dim_,
                                            x_.describe())
                                    .c_str());
        }
        if (lowest < 0) ids = ids.remainder(static_cast<double>(extent));
      }
      note_array(dim_, ids);
      ++dim_;
      return;
    }
    const Tensor& mask = array.t;
    for (int d = 0; d < mask.rank(); ++d) {
      // An empty mask chooses nothing, whatever it is laid over: NumPy and the array API standard take it.
      if (mask.shape()[d] != 0 && mask.shape()[d] != selection_.view.dim(dim_ + d)) {
        throw nb::index_error(
            fmt::format("the mask {} does not fit dimension {} of {}", mask.shape().to_string(), dim_ + d, x_.describe()).c_str());
      }
    }
    if (mask.rank() == 0) {  // a new dimension of 1 or 0
      selection_.view = selection_.view.unsqueeze(dim_);
      note_array(dim_, mask.item() != 0 ? Tensor::zeros({1}, DType::i64, x_.device()) : Tensor::zeros({0}, DType::i64, x_.device()));
      ++dim_;
      return;
    }
    const Tensor places = wick::nonzero(mask, DType::i64);
    for (int d = 0; d < mask.rank(); ++d) {
      note_array(dim_, places.get_on_dim(1, d));
      ++dim_;
    }
  }

  void note_array(int dim, Tensor ids) {
    if (!selection_.arrays.empty() && after_gap_) selection_.adjacent = false;
    after_gap_ = false;
    selection_.arrays.push_back({dim, std::move(ids)});
  }

  const Tensor& x_;
  Selection selection_;
  int dim_ = 0;
  bool has_arrays_ = false;
  bool after_gap_ = false;
};

// The view with the chosen dimensions in front and flattened to one, and the places in it that the arrays name.
struct Flattened {
  Tensor permuted;  // the view, chosen dimensions first
  Tensor places;    // [broadcast elements], i64
  Shape chosen;     // the arrays' common shape
  int arrays = 0;   // how many dimensions of `permuted` they choose from
};

Flattened flatten(const Selection& selection) {
  const Tensor& view = selection.view;
  Flattened result;
  std::vector<int> order;
  for (const auto& [dim, ids] : selection.arrays) order.push_back(dim);
  for (int d = 0; d < view.rank(); ++d) {
    if (std::find(order.begin(), order.end(), d) == order.end()) order.push_back(d);
  }
  result.permuted = view.permute(order);
  result.arrays = static_cast<int>(selection.arrays.size());
  for (const auto& [dim, ids] : selection.arrays) result.chosen = wick::broadcast_shapes(result.chosen, ids.shape(), "index");
  for (const auto& [dim, ids] : selection.arrays) {
    const Tensor own = ids.broadcast_to(result.chosen);
    result.places = result.places.defined() ? result.places * static_cast<double>(view.dim(dim)) + own : own;
  }
  result.places = result.places.reshape({result.chosen.elements()});
  return result;
}

Shape joined(std::span<const int64_t> first, std::span<const int64_t> second) {
  std::vector<int64_t> dims(first.begin(), first.end());
  dims.insert(dims.end(), second.begin(), second.end());
  return Shape(std::span<const int64_t>(dims));
}

// The permuted view as [places, what is left…].
Tensor as_rows(const Flattened& flat) {
  const std::span<const int64_t> dims = flat.permuted.dims();
  int64_t rows = 1;
  for (int d = 0; d < flat.arrays; ++d) rows *= dims[static_cast<size_t>(d)];
  const int64_t one[] = {rows};
  return flat.permuted.reshape(joined(one, dims.subspan(static_cast<size_t>(flat.arrays))));
}

// The result's dimensions in NumPy's order: those of the arrays where the arrays stood, if these are adjacent.
Tensor in_numpy_order(const Tensor& result, const Selection& selection, int chosen_rank) {
  if (!selection.adjacent || selection.arrays.empty() || selection.arrays.front().dim == 0) return result;
  const int front = selection.arrays.front().dim;
  std::vector<int> order;
  for (int d = 0; d < front; ++d) order.push_back(chosen_rank + d);
  for (int d = 0; d < chosen_rank; ++d) order.push_back(d);
  for (int d = chosen_rank + front; d < result.rank(); ++d) order.push_back(d);
  return result.permute(order);
}

// Whether a mask has the first dimensions of a tensor, so that it alone is the index.
bool is_mask_of(const Tensor& mask, const Tensor& x) {
  return mask.rank() >= 1 && mask.rank() <= x.rank() && mask.device().kind() == x.device().kind() &&
         std::equal(mask.dims().begin(), mask.dims().end(), x.dims().begin());
}

Array get_item(const Array& self, nb::handle index) {
  if (PyLong_CheckExact(index.ptr()) && self.t.rank() > 0) {
    const int64_t place = place_of(index);
    const int64_t extent = self.t.shape()[0];
    if (place >= -extent && place < extent) return {self.t.get(place < 0 ? place + extent : place), self.boolean};
  }
  if (nb::isinstance<Array>(index)) {
    const Array& mask = nb::cast<const Array&>(index);
    if (mask.boolean && is_mask_of(mask.t, self.t)) return unlocked([&] { return Array{self.t.boolean_mask(mask.t), self.boolean}; });
  }
  const Selection selection = IndexReader(self.t, index).take();
  if (selection.arrays.empty()) return {selection.view, self.boolean};
  return unlocked([&] {
    const Flattened flat = flatten(selection);
    const Tensor rows = as_rows(flat).index_select(flat.places, 0);
    const Shape shape = joined(flat.chosen.dims(), rows.dims().subspan(1));
    return Array{in_numpy_order(rows.reshape(shape), selection, flat.chosen.rank()), self.boolean};
  });
}

Tensor without_leading_ones(Tensor source, int rank) {
  while (source.rank() > rank && source.shape()[0] == 1) source = source.squeeze(0);
  return source;
}

void set_item(const Array& self, nb::handle index, nb::handle value) {
  const Selection selection = IndexReader(self.t, index).take();
  const Array source = array_of(value, self.kind(), self.t.device(), "index assignment");
  unlocked([&] {
    if (selection.arrays.empty()) {
      if (selection.view.elements() > 0) write_view(selection.view, without_leading_ones(source.t, selection.view.rank()));
      return;
    }
    const Flattened flat = flatten(selection);
    const Tensor rows = as_rows(flat);
    // The source in the order of the rows: the inverse of what in_numpy_order does to a result.
    const Shape shape = joined(flat.chosen.dims(), rows.dims().subspan(1));
    const Tensor target =
        in_numpy_order(Tensor::zeros({}, self.t.dtype(), self.t.device()).broadcast_to(shape), selection, flat.chosen.rank());
    const Tensor whole = without_leading_ones(source.t, target.rank()).broadcast_to(target.shape());
    const int front = selection.adjacent && selection.arrays.front().dim > 0 ? selection.arrays.front().dim : 0;
    std::vector<int> back;
    for (int d = 0; d < flat.chosen.rank(); ++d) back.push_back(front + d);
    for (int d = 0; d < front; ++d) back.push_back(d);
    for (int d = flat.chosen.rank() + front; d < target.rank(); ++d) back.push_back(d);
    const int64_t count[] = {flat.chosen.elements()};
    const Shape source_shape = joined(count, rows.dims().subspan(1));
    const Tensor values = whole.permute(back).reshape(source_shape);
    if (values.elements() == 0) return;
    std::vector<int64_t> ones(static_cast<size_t>(values.rank()), 1);
    ones[0] = count[0];
    const Tensor ids = flat.places.reshape(Shape(std::span<const int64_t>(ones))).broadcast_to(source_shape).contiguous();
    if (rows.storage() == self.t.storage()) {  // a view: written in place
      rows.scatter_set(ids, values, 0);
    } else {
      write_view(flat.permuted, rows.scatter(ids, values, 0).reshape(flat.permuted.shape()));
    }
  });
}

}  // namespace

void write_view(const Tensor& view, const Tensor& source) {
  const Tensor whole = source.broadcast_to(view.shape());
  if (view.rank() == 0) {
    view.unsqueeze(0).slice_set(whole.unsqueeze(0), 0, 0);
  } else {
    view.slice_set(whole, 0, 0);
  }
}

void bind_indexing(nb::class_<Array>& tensor) {
  tensor.def("__getitem__", &get_item, nb::arg("index").none(), nb::sig("def __getitem__(self, index: typing.Any, /) -> Tensor"))
      .def("__setitem__", &set_item, nb::arg("index").none(), nb::arg("value"),
           nb::sig("def __setitem__(self, index: typing.Any, value: TensorLike, /) -> None"));
}

}  // namespace wick_python
