// Memory shared with other libraries: DLPack (version 1, and capsules of before), NumPy, the buffer protocol, and pickling.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include "array.h"
#include "wick/tensor/dlpack.h"

namespace wick_python {
namespace {

using wick::dlpack::DlManaged;
using wick::dlpack::DlManagedVersioned;
using wick::dlpack::DlTensor;

// --- Out ---

template <class Managed>
nb::object capsule_of(Managed* managed, const char* name) {
  PyObject* capsule = PyCapsule_New(managed, name, [](PyObject* dying) {
    const char* own = PyCapsule_GetName(dying);
    if (own == nullptr || std::strncmp(own, "used", 4) == 0) return;
    auto* held = static_cast<Managed*>(PyCapsule_GetPointer(dying, own));
    if (held->deleter != nullptr) held->deleter(held);
  });
  if (capsule == nullptr) {
    managed->deleter(managed);
    nb::raise_python_error();
  }
  return nb::steal(capsule);
}

// Whether the tensor itself can be given to who wants it on `wanted`, or on any device.
bool is_given_itself(const Tensor& x, const std::optional<std::pair<int, int>>& wanted) {
  const std::optional<wick::dlpack::DlDevice> own = wick::dlpack::device_of(x);
  return own && (!wanted || (wanted->first == own->kind && wanted->second == own->index));
}

nb::object to_dlpack(const Array& self, nb::handle stream, std::optional<std::pair<int, int>> max_version,
                     std::optional<std::pair<int, int>> dl_device, std::optional<bool> copy) {
  if (!stream.is_none() && self.t.device().is_cpu()) {
    throw nb::buffer_error("__dlpack__: a tensor in host memory has no stream; stream must be None");
  }
  if (self.t.is_tracked()) throw nb::buffer_error("__dlpack__: the tensor is tracked; give detach() to other libraries");
  Array given = self;
  const bool itself = is_given_itself(self.t, dl_device);
  if (!itself && dl_device && dl_device->first != wick::dlpack::kCpu) {
    throw nb::buffer_error(fmt::format("__dlpack__: a tensor on {} is given there or on the CPU (1, 0), not on device ({}, {})",
                                       self.t.device().location().to_string(), dl_device->first, dl_device->second)
                               .c_str());
  }
  if (!itself && copy.has_value() && !*copy) throw nb::buffer_error("__dlpack__: copy=False, but the tensor is not in host memory");
  const bool copied = !itself || copy.value_or(false);
  // The consumer's stream -1: it waits for the tensor's device itself.
  const bool waits = !PyLong_Check(stream.ptr()) || value_as<int64_t>(stream, "__dlpack__: stream") != -1;
  unlocked([&] {
    if (!itself) {
      given.t = self.t.to_device(Device::cpu());
    } else if (copied) {
      given.t = self.t.copy();
    }
    if (waits) self.t.device().synchronize();
  });
  if (max_version && max_version->first >= 1) {
    auto* managed = wick::dlpack::lend<DlManagedVersioned>({given.t, given.boolean});
    managed->flags = copied ? wick::dlpack::kCopied : 0;
    return capsule_of(managed, "dltensor_versioned");
  }
  return capsule_of(wick::dlpack::lend<DlManaged>({given.t, given.boolean}), "dltensor");
}

std::pair<int, int> dlpack_device(const Array& self) {
  const auto device = wick::dlpack::device_of(self.t).value_or(wick::dlpack::DlDevice{});
  return {device.kind, device.index};
}

// --- In ---

// The array of another library's memory. `owner` lets go of it once nothing looks at it any more, on any thread.
Array wrap(const DlTensor& from, bool read_only, std::optional<bool> copy, std::shared_ptr<const void> owner) {
  if (copy == false) {
    if (const std::string_view reason = wick::dlpack::reason_to_copy(from, read_only); !reason.empty()) {
      throw nb::buffer_error(fmt::format("copy=False: {}; leave copy out", reason).c_str());
    }
  }
  wick::dlpack::Exchanged made = wick::dlpack::borrow(from, read_only, copy.value_or(false), std::move(owner));
  return {std::move(made.tensor), made.boolean};
}

template <class Managed>
Array take_capsule(nb::handle capsule, const char* name, const char* used_name, bool read_only, std::optional<bool> copy) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (managed == nullptr) nb::raise_python_error();
  std::shared_ptr<const void> owner(managed, [](Managed* held) {
    if (held->deleter == nullptr || Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire lock;  // producers' deleters touch Python objects
    held->deleter(held);
  });
  PyCapsule_SetName(capsule.ptr(), used_name);
  return wrap(managed->tensor, read_only, copy, std::move(owner));
}

Array from_capsule(nb::handle capsule, std::optional<bool> copy) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
    const auto* managed = static_cast<const DlManagedVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major > 1) {
      throw nb::buffer_error(fmt::format("from_dlpack: the capsule is of DLPack version {}, Wick reads version 1", managed->major).c_str());
    }
    return take_capsule<DlManagedVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned",
                                            (managed->flags & wick::dlpack::kReadOnly) != 0, copy);
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor") == 0)
    throw nb::buffer_error("from_dlpack: the capsule is none of DLPack's, or was used already");
  return take_capsule<DlManaged>(capsule, "dltensor", "used_dltensor", false, copy);
}

// What the producer is asked: of memory on a GPU, to order its work before ours.
nb::dict wishes_for(nb::handle object) {
  nb::dict wishes;
  wishes["max_version"] = nb::make_tuple(1, 1);
  if (!nb::hasattr(object, "__dlpack_device__")) return wishes;
  std::pair<int, int> device;
  if (!nb::try_cast(object.attr("__dlpack_device__")(), device)) {
    throw nb::type_error(fmt::format("from_dlpack: {}.__dlpack_device__() is no pair of integers", wick_python::type_name(object)).c_str());
  }
  const std::optional<wick::DeviceLocation> location = wick::dlpack::location_of({device.first, device.second});
  if (!location || location->kind == wick::DeviceKind::cpu) return wishes;
  wishes["stream"] = unlocked([&] { return wick::dlpack::stream_of(Device::open(*location)); });
  return wishes;
}

nb::object ask_for_capsule(nb::handle object) {
  nb::dict wishes = wishes_for(object);
  try {
    return object.attr("__dlpack__")(**wishes);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  PyDict_DelItemString(wishes.ptr(), "max_version");  // a library of before DLPack 1
  return object.attr("__dlpack__")(**wishes);
}

// The code of the struct module ("f", "<i4" …) of a buffer's elements.
std::optional<Kind> buffer_kind(const char* format, Py_ssize_t size) {
  const std::string_view text = format == nullptr ? "B" : format;
  const std::string_view code = !text.empty() && (text[0] == '<' || text[0] == '=' || text[0] == '@') ? text.substr(1) : text;
  if (code.size() != 1) return std::nullopt;
  const char c = code[0];
  if (c == '?') return kBool;
  if (c == 'e') return Kind{DType::f16};
  if (c == 'f') return Kind{DType::f32};
  if (c == 'd') return Kind{DType::f64};
  if (std::string_view("bhilqn").find(c) != std::string_view::npos) {
    return size == 1 ? Kind{DType::i8} : size == 2 ? Kind{DType::i16} : size == 4 ? Kind{DType::i32} : Kind{DType::i64};
  }
  if (c == 'B' || c == 'c') return Kind{DType::u8};
  if ((c == 'I' || c == 'L') && size == 4) return Kind{DType::u32};
  return std::nullopt;
}

Array from_buffer(nb::handle object, std::optional<bool> copy) {
  auto* view = new Py_buffer;  // NOLINT: freed by the owner below
  if (PyObject_GetBuffer(object.ptr(), view, PyBUF_RECORDS_RO) != 0) {
    delete view;  // NOLINT
    nb::raise_python_error();
  }
  const std::shared_ptr<const void> owner(view, [](Py_buffer* held) {
    if (Py_IsInitialized() != 0) {
      const nb::gil_scoped_acquire lock;
      PyBuffer_Release(held);
    }
    delete held;  // NOLINT
  });
  const std::optional<Kind> kind = buffer_kind(view->format, view->itemsize);
  if (!kind) {
    throw nb::type_error(
        fmt::format("Wick has no dtype for elements of format '{}'; convert the array first", view->format == nullptr ? "B" : view->format)
            .c_str());
  }
  const auto rank = static_cast<size_t>(view->ndim);
  std::vector<int64_t> shape(view->shape, view->shape + rank);
  std::vector<int64_t> strides(rank);
  bool whole = true;
  for (size_t d = 0; d < rank; ++d) {
    whole = whole && view->strides[d] % view->itemsize == 0;
    strides[d] = view->strides[d] / view->itemsize;
  }
  if (!whole) throw nb::value_error("the array's strides are no multiples of its elements; give a copy of it");
  DlTensor from = {.data = view->buf, .rank = view->ndim, .shape = shape.data(), .strides = strides.data()};
  from.dtype = wick::dlpack::type_of(kind->dtype, kind->boolean);
  return wrap(from, view->readonly != 0, copy, owner);
}

Array from_dlpack(nb::handle object, nb::handle device, std::optional<bool> copy) {
  Array made;
  if (PyCapsule_CheckExact(object.ptr())) {
    made = from_capsule(object, copy);
  } else if (nb::hasattr(object, "__dlpack__")) {
    made = *import_array(object, copy);
  } else {
    throw nb::type_error(fmt::format("from_dlpack: {} has no __dlpack__", wick_python::type_name(object)).c_str());
  }
  if (!device.is_none()) {
    const Device target = device_of(device, "from_dlpack");
    if (copy == false && !made.t.device().same_device(target)) {
      throw nb::buffer_error("from_dlpack: copy=False, but the array is on another device; leave copy out");
    }
    made.t = unlocked([&] { return made.t.to_device(target); });
  }
  return made;
}

// --- NumPy and pickles ---

nb::object to_numpy(const Array& self) {
  if (self.t.is_tracked()) throw nb::type_error("numpy: the tensor is tracked; call detach() first");
  const DType dtype = self.t.dtype();
  if (dtype == DType::bf16 || dtype == DType::f8e4m3 || wick::is_quantized(dtype)) {
    throw nb::type_error(fmt::format("numpy: NumPy has no dtype for {}; convert it with to(wick.float32)", self.t.describe()).c_str());
  }
  Array host = self;
  if (self.t.storage()->buffer().host_data() == nullptr) host.t = unlocked([&] { return self.t.to_device(Device::cpu()); });
  return nb::module_::import_("numpy").attr("from_dlpack")(nb::cast(host));
}

nb::object as_array(const Array& self, nb::handle dtype, nb::handle copy) {
  nb::object array = to_numpy({self.t.detach(), self.boolean});
  if (!dtype.is_none()) array = array.attr("astype")(dtype, nb::arg("copy") = false);
  if (copy.ptr() == Py_True) array = array.attr("copy")();
  return array;
}

nb::object reduce(const Array& self) {
  const std::vector<std::byte> bytes = unlocked([&] { return self.t.detach().to_bytes(); });
  nb::list extents;
  for (const int64_t extent : self.t.dims()) extents.append(extent);
  return nb::make_tuple(nb::module_::import_("wick._pickling").attr("rebuild"),
                        nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size()), extents, self.kind().name(),
                                       self.t.device().location().to_string()));
}

Array unpickle(const nb::bytes& bytes, nb::handle shape, const std::string& kind_name, const std::string& device_name) {
  const Kind kind = kind_of(nb::str(kind_name.c_str()), "unpickle");
  const Shape extents = shape_of(shape, "unpickle");
  const auto* data = reinterpret_cast<const std::byte*>(bytes.c_str());
  return unlocked([&] {
    return Array{Tensor::from_bytes(std::span(data, bytes.size()), extents, kind.dtype, Device::parse(device_name)), kind.boolean};
  });
}

}  // namespace

std::optional<Array> import_array(nb::handle object, std::optional<bool> copy) {
  const bool has_capsules = nb::hasattr(object, "__dlpack__");
  // Older NumPy has no capsule of a read-only array, so buffers come first; JAX has no buffer of bf16, so a failure is not the end.
  if (PyObject_CheckBuffer(object.ptr()) != 0 && !PyBytes_Check(object.ptr())) {
    if (!has_capsules) return from_buffer(object, copy);
    try {
      return from_buffer(object, copy);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_BufferError)) throw;
    }
  }
  if (has_capsules) return from_capsule(ask_for_capsule(object), copy);
  return std::nullopt;
}

void bind_exchange(nb::module_& module, nb::class_<Array>& tensor) {
  tensor
      .def("__dlpack__", &to_dlpack, nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
           nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, int] | None = None, "
                   "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any"))
      .def("__dlpack_device__", &dlpack_device)
      .def("numpy", &to_numpy, nb::sig("def numpy(self) -> typing.Any"), "A NumPy array of the same memory; from a device, of a copy.")
      .def("__array__", &as_array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> typing.Any"))
      .def("__reduce__", &reduce, nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  module.def("_unpickle", &unpickle);
  module.def("from_dlpack", &from_dlpack, nb::arg("x"), nb::kw_only(), nb::arg("device") = nb::none(), nb::arg("copy") = nb::none(),
             nb::sig("def from_dlpack(x: typing.Any, /, *, device: Device | str | None = None, copy: bool | None = None) -> Tensor"),
             "A tensor of the memory of another library's array, on the device where that is; read-only memory is copied.");
  module.def(
      "from_numpy",
      [](nb::handle array) {
        std::optional<Array> made = import_array(array);
        if (!made) throw nb::type_error(fmt::format("from_numpy: expected a NumPy array, got {}", wick_python::type_name(array)).c_str());
        return *std::move(made);
      },
      nb::arg("array"), nb::sig("def from_numpy(array: typing.Any) -> Tensor"),
      "A tensor of the same memory; a read-only array is copied.");
}

}  // namespace wick_python
