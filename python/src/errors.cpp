// wick.Error and one class for each code, each also of the built-in kind that Python programs expect.
#include <array>
#include <string_view>

#include "array.h"
#include "wick/base/error.h"

namespace wick_python {
namespace {

using wick::ErrorCode;

struct ErrorClass {
  ErrorCode code;
  const char* name;
  PyObject** builtin;
  const char* doc;
};

const std::array kErrorClasses = {
    ErrorClass{ErrorCode::invalid_argument, "InvalidArgumentError", &PyExc_ValueError, "A parameter that cannot be."},
    ErrorClass{ErrorCode::not_found, "NotFoundError", &PyExc_FileNotFoundError, "A file, tensor, key or token that is not there."},
    ErrorClass{ErrorCode::io, "IoError", &PyExc_OSError, "The operating system refused a read, write or map."},
    ErrorClass{ErrorCode::corrupt_file, "CorruptFileError", &PyExc_ValueError, "A file whose bytes contradict its format."},
    ErrorClass{ErrorCode::unsupported, "UnsupportedError", &PyExc_NotImplementedError, "Well-formed, but nothing that this build can do."},
    ErrorClass{ErrorCode::shape_mismatch, "ShapeError", &PyExc_ValueError, "Shapes that do not fit together."},
    ErrorClass{ErrorCode::dtype_mismatch, "DTypeError", &PyExc_TypeError, "Dtypes that do not fit together."},
    ErrorClass{ErrorCode::device_mismatch, "DeviceError", &PyExc_ValueError, "Operands on different devices."},
    ErrorClass{ErrorCode::index_out_of_range, "IndexOutOfRangeError", &PyExc_IndexError, "An index outside its dimension."},
    ErrorClass{ErrorCode::backend_not_linked, "BackendNotLinkedError", &PyExc_RuntimeError, "The module was built without this backend."},
    ErrorClass{ErrorCode::no_device, "NoDeviceError", &PyExc_RuntimeError, "The backend is there, the device is not."},
    ErrorClass{ErrorCode::device_lost, "DeviceLostError", &PyExc_RuntimeError, "The device failed while it worked."},
    ErrorClass{ErrorCode::out_of_memory, "OutOfMemoryError", &PyExc_MemoryError, "An allocation that the machine refused."},
    ErrorClass{ErrorCode::context_full, "ContextFullError", &PyExc_ValueError, "More tokens than the model's context holds."},
};

// The classes by code, as long as the process lives.
std::array<PyObject*, kErrorClasses.size()>& classes() {
  static std::array<PyObject*, kErrorClasses.size()> made{};
  return made;
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const wick::Error& error) {
    // A path may hold bytes that are no UTF-8.
    const std::string_view message = error.what();
    const nb::object text = nb::steal(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
    if (text.is_valid()) PyErr_SetObject(classes().at(static_cast<size_t>(error.code())), text.ptr());
  } catch (const nb::cast_error&) {
    PyErr_SetString(PyExc_TypeError, "an argument holds a value of the wrong type");
  }
}

PyObject* make_class(const std::string& name, const char* doc, PyObject* bases) {
  PyObject* made = PyErr_NewExceptionWithDoc(("wick." + name).c_str(), doc, bases, nullptr);
  if (made == nullptr) nb::raise_python_error();
  return made;
}

}  // namespace

void bind_errors(nb::module_& module) {
  PyObject* base = make_class("Error", "What Wick reports: the message names the thing, the place and the remedy.", PyExc_Exception);
  module.attr("Error") = nb::borrow(base);
  for (const ErrorClass& row : kErrorClasses) {
    const nb::object bases = nb::make_tuple(nb::borrow(base), nb::borrow(*row.builtin));
    PyObject* made = make_class(row.name, row.doc, bases.ptr());
    nb::borrow(made).attr("code") = to_string(row.code);
    module.attr(row.name) = nb::borrow(made);
    classes().at(static_cast<size_t>(row.code)) = made;
  }
  nb::register_exception_translator(translate);
}

}  // namespace wick_python
