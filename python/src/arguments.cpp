// Arguments from Python: dtypes, devices, shapes, and whatever a tensor can be made of.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <array>
#include <chrono>
#include <cmath>
#include <string_view>
#include <thread>

#include "array.h"

namespace wick_python {
namespace {

struct KindName {
  std::string_view name;
  Kind kind;
};
constexpr std::array kKindNames = {
    KindName{"bool", kBool},
    KindName{"bool_", kBool},
    KindName{"uint8", {DType::u8}},
    KindName{"uint32", {DType::u32}},
    KindName{"int8", {DType::i8}},
    KindName{"int16", {DType::i16}},
    KindName{"int32", {DType::i32}},
    KindName{"int64", {DType::i64}},
    KindName{"int", {DType::i64}},
    KindName{"float16", {DType::f16}},
    KindName{"bfloat16", {DType::bf16}},
    KindName{"float32", {DType::f32}},
    KindName{"float64", {DType::f64}},
    KindName{"float", {DType::f32}},
    KindName{"float8_e4m3fn", {DType::f8e4m3}},
};

std::optional<Kind> find_kind(std::string_view name) {
  for (const KindName& row : kKindNames) {
    if (row.name == name) return row.kind;
  }
  if (const std::optional<DType> dtype = wick::parse_dtype(name)) return Kind{*dtype};
  return std::nullopt;
}

[[noreturn]] void fail_type(const std::string& message) { throw nb::type_error(message.c_str()); }
[[noreturn]] void fail_value(const std::string& message) { throw nb::value_error(message.c_str()); }

int64_t integer_of(nb::handle object, const char* function) {
  if (PyIndex_Check(object.ptr()) == 0) fail_type(fmt::format("{}: expected an int, got {}", function, wick_python::type_name(object)));
  return index_value(object);
}

bool is_sequence(nb::handle object) { return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()); }
// Of such a sequence.
Py_ssize_t length_of(nb::handle sequence) {
  return PyList_Check(sequence.ptr()) ? PyList_Size(sequence.ptr()) : PyTuple_Size(sequence.ptr());
}
// Owned: what an object's own methods do may take it out of a list. Errors: IndexError, where a list has become shorter meanwhile.
nb::object item_of(nb::handle sequence, Py_ssize_t index) {
  PyObject* item = PyList_Check(sequence.ptr()) ? PyList_GetItem(sequence.ptr(), index) : PyTuple_GetItem(sequence.ptr(), index);
  if (item == nullptr) nb::raise_python_error();
  return nb::borrow(item);
}

// The shape of nested sequences, their numbers, and the widest kind of number among them.
struct NestedScan {
  std::vector<int64_t> shape;
  std::vector<nb::object> numbers;
  bool has_float = false;
  bool has_int = false;
  bool has_bool = false;
};

void scan_number(nb::handle object, NestedScan& scan, const char* function) {
  if (PyBool_Check(object.ptr())) {
    scan.has_bool = true;
  } else if (PyLong_Check(object.ptr()) || (PyIndex_Check(object.ptr()) && !PyFloat_Check(object.ptr()))) {
    scan.has_int = true;
  } else if (is_number(object)) {
    scan.has_float = true;
  } else {
    fail_type(fmt::format("{}: expected numbers, got {}", function, wick_python::type_name(object)));
  }
  scan.numbers.push_back(nb::borrow(object));
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as a shape has dimensions
void scan_nested(nb::handle object, size_t depth, NestedScan& scan, const char* function) {
  if (!is_sequence(object)) {
    if (depth != scan.shape.size())
      fail_value(fmt::format("{}: the nested sequences are ragged: a number stands beside a sequence", function));
    scan_number(object, scan, function);
    return;
  }
  if (depth >= static_cast<size_t>(wick::kMaxRank)) fail_value(fmt::format("{}: more than {} dimensions", function, wick::kMaxRank));
  if (depth >= scan.shape.size())
    fail_value(fmt::format("{}: the nested sequences are ragged: a sequence stands beside a number", function));
  const auto length = static_cast<int64_t>(length_of(object));
  if (length != scan.shape.at(depth)) {
    fail_value(
        fmt::format("{}: the nested sequences are ragged: {} and {} elements in dimension {}", function, scan.shape[depth], length, depth));
  }
  for (int64_t i = 0; i < length; ++i) scan_nested(item_of(object, i), depth + 1, scan, function);
}

template <class T>
T number_as(nb::handle object) {
  if constexpr (std::is_integral_v<T>) {
    if (!PyFloat_Check(object.ptr()) && PyIndex_Check(object.ptr())) return static_cast<T>(index_value(object));
  }
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
  return static_cast<T>(value);
}

// Errors: OverflowError where an integer dtype does not hold the number.
void check_fits(int64_t value, DType dtype) {
  const auto [lowest, highest] = integer_range(dtype);
  if (value < lowest || value > highest) {
    PyErr_Format(PyExc_OverflowError, "%lld does not fit into %s: %lld to %lld", static_cast<long long>(value),
                 std::string(to_string(dtype)).c_str(), static_cast<long long>(lowest), static_cast<long long>(highest));
    nb::raise_python_error();
  }
}

// `held_by`: the integer dtype that whole numbers must fit into.
template <class T>
Tensor nested_tensor(const std::vector<nb::object>& numbers, const Shape& shape, const Device& device, DType held_by = DType::i64) {
  std::vector<T> values;
  values.reserve(numbers.size());
  for (const nb::object& number : numbers) {
    values.push_back(number_as<T>(number));
    if constexpr (std::is_integral_v<T>) check_fits(values.back(), held_by);
  }
  return unlocked([&] { return Tensor::from_owned(std::move(values), shape, device); });
}

// Tensors inside of lists: [Tensor, Tensor] is a stack of them.
bool holds_arrays(nb::handle object) {
  nb::object first = nb::borrow(object);
  for (int depth = 0; depth <= wick::kMaxRank && is_sequence(first) && length_of(first) > 0; ++depth) first = item_of(first, 0);
  return !is_sequence(first) && !is_number(first) && (nb::isinstance<Array>(first) || nb::hasattr(first, "__dlpack__"));
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as a shape has dimensions
Array stack_nested(nb::handle object, int depth, const Device& device, const char* function) {
  if (!is_sequence(object)) return array_of(object, std::nullopt, device, function);
  if (depth >= wick::kMaxRank) fail_value(fmt::format("{}: more than {} dimensions", function, wick::kMaxRank));
  std::vector<Tensor> parts;
  bool boolean = true;
  for (const nb::handle part : nb::borrow<nb::sequence>(object)) {
    const Array made = stack_nested(part, depth + 1, device, function);
    boolean = boolean && made.boolean;
    parts.push_back(made.t);
  }
  return unlocked([&] { return Array{Tensor::stack(parts, 0), boolean}; });
}

Array array_of_nested(nb::handle object, std::optional<Kind> kind, const Device& device, const char* function) {
  if (holds_arrays(object)) {
    const Array stacked = stack_nested(object, 0, device, function);
    return kind ? convert(stacked, *kind) : stacked;
  }
  NestedScan scan;
  for (nb::object level = nb::borrow(object); is_sequence(level) && scan.shape.size() <= static_cast<size_t>(wick::kMaxRank);) {
    const Py_ssize_t length = length_of(level);
    scan.shape.push_back(length);
    if (length == 0) break;
    level = item_of(level, 0);
  }
  scan_nested(object, 0, scan, function);
  const Shape shape{std::span<const int64_t>(scan.shape)};
  if (static_cast<int64_t>(scan.numbers.size()) != shape.elements()) {
    fail_value(fmt::format("{}: the nested sequences have changed while they were read", function));
  }
  const bool integral = scan.has_int || scan.has_bool;
  const Kind natural = scan.has_float || !integral ? Kind{wick::default_dtype()} : scan.has_int ? Kind{DType::i64} : kBool;
  const Kind wanted = kind.value_or(natural);
  if (scan.has_float || !integral) {
    const bool in_f64 = wanted.dtype == DType::f64 || wanted.boolean || wick::is_integer(wanted.dtype);
    if (in_f64) return convert({nested_tensor<double>(scan.numbers, shape, device)}, wanted);
    return convert({nested_tensor<float>(scan.numbers, shape, device)}, wanted);
  }
  const DType held_by = wick::is_integer(wanted.dtype) && !wanted.boolean ? wanted.dtype : DType::i64;
  return convert({nested_tensor<int64_t>(scan.numbers, shape, device, held_by)}, wanted);
}

// A whole number as a scalar tensor of an integer dtype. Errors: as check_fits.
Tensor whole_number(nb::handle number, DType dtype, const Device& device) {
  const int64_t value = index_value(number);
  check_fits(value, dtype);
  return Tensor::from_vector<int64_t>({value}, {}, device).to_dtype(dtype);
}

}  // namespace

void InterpreterUnlocked::wait_for_exit() noexcept {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

std::string type_name(nb::handle object) {
  return nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__"));
}

std::pair<int64_t, int64_t> integer_range(DType dtype) {
  const int bits = 8 * wick::info(dtype).block_bytes;
  if (dtype == DType::u8 || dtype == DType::u32) return {0, (int64_t{1} << bits) - 1};
  if (bits == 64) return {INT64_MIN, INT64_MAX};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

int64_t index_value(nb::handle object) {
  const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) nb::raise_python_error();
  const int64_t value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
  return value;
}

bool truth_of(nb::handle object) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) nb::raise_python_error();
  return truth == 1;
}

int dim_value(int64_t dim, const char* function) {
  if (dim < INT32_MIN || dim > INT32_MAX) throw nb::index_error(fmt::format("{}: there is no dimension {}", function, dim).c_str());
  return static_cast<int>(dim);
}

void refuse_value(nb::handle object, std::string_view what) {
  constexpr size_t kMaxShown = 60;
  std::string shown = fmt::format("a value of type {}", wick_python::type_name(object));
  if (PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr()) || PyUnicode_Check(object.ptr())) {
    const nb::object text = nb::steal(PyObject_Repr(object.ptr()));
    if (!text.is_valid()) PyErr_Clear();  // an int of more digits than Python writes
    if (text.is_valid() && nb::len(text) <= kMaxShown) shown = nb::cast<std::string>(text);
  }
  fail_type(fmt::format("{}: {} is of the wrong type, or too large", what, shown));
}

bool is_number(nb::handle object) {
  PyObject* raw = object.ptr();
  if (PyFloat_Check(raw) || PyLong_Check(raw)) return true;
  if (nb::isinstance<Array>(object) || is_sequence(object)) return false;
  // NumPy's scalars are numbers; its arrays have an index and a float too, but dimensions with them.
  if (PyNumber_Check(raw) == 0 || PyObject_CheckBuffer(raw) == 0) return PyIndex_Check(raw) && !nb::hasattr(object, "__dlpack__");
  return nb::hasattr(object, "dtype") && !nb::hasattr(object, "__dlpack__");
}

Kind kind_of(nb::handle object, const char* function) {
  if (nb::isinstance<Kind>(object)) return nb::cast<Kind>(object);
  std::string name;
  if (PyUnicode_Check(object.ptr())) {
    name = value_as<std::string>(object, fmt::format("{}: dtype", function));
  } else if (PyType_Check(object.ptr())) {
    name = nb::cast<std::string>(object.attr("__name__"));
  } else if (nb::hasattr(object, "name")) {
    name = value_as<std::string>(object.attr("name"), fmt::format("{}: the dtype's name", function));  // numpy.dtype
  } else {
    fail_type(fmt::format("{}: expected a dtype, got {}", function, wick_python::type_name(object)));
  }
  if (const std::optional<Kind> kind = find_kind(name)) return *kind;
  fail_type(fmt::format(
      "{}: there is no dtype '{}'; there are bool, u8, u32, i8, i16, i32, i64, bf16, f16, f32, f64, f8e4m3 and the quantized ones",
      function, name));
}

Kind kind_or(nb::handle object, Kind otherwise, const char* function) { return object.is_none() ? otherwise : kind_of(object, function); }

Device device_of(nb::handle object, const char* function) {
  if (object.is_none()) return wick::default_device();
  if (nb::isinstance<Device>(object)) return nb::cast<Device>(object);
  if (!PyUnicode_Check(object.ptr()))
    fail_type(fmt::format("{}: expected a Device or its name, got {}", function, wick_python::type_name(object)));
  const auto name = value_as<std::string>(object, fmt::format("{}: device", function));
  return unlocked([&] { return Device::parse(name); });
}

std::vector<int64_t> integers_of(nb::handle object, const char* function) {
  if (!is_sequence(object)) {
    if (!PyIndex_Check(object.ptr()) && PySequence_Check(object.ptr())) {
      const nb::object list = nb::steal(PySequence_List(object.ptr()));
      if (!list.is_valid()) nb::raise_python_error();
      return integers_of(list, function);
    }
    return {integer_of(object, function)};
  }
  std::vector<int64_t> values;
  const Py_ssize_t length = length_of(object);
  for (Py_ssize_t i = 0; i < length; ++i) values.push_back(integer_of(item_of(object, i), function));
  return values;
}

Shape shape_of(nb::handle object, const char* function) {
  return wick::Extents(std::span<const int64_t>(integers_of(object, function))).checked(function);
}

Shape shape_of_arguments(const nb::args& arguments, const char* function) {
  if (arguments.size() == 1) return shape_of(arguments[0], function);
  return shape_of(arguments, function);
}

wick::Dims dims_of(nb::handle object, const Tensor& x, const char* function) {
  std::vector<int> dims;
  if (object.is_none()) {
    for (int dim = 0; dim < x.rank(); ++dim) dims.push_back(dim);
  } else {
    for (const int64_t dim : integers_of(object, function)) {
      if (x.rank() > 0 || (dim != 0 && dim != -1)) dims.push_back(dim_value(dim, function));  // a scalar is a row of one, as in PyTorch
    }
  }
  return wick::Dims(std::move(dims));
}

Tensor as_kind(const Array& x, Kind kind) {
  if (kind.boolean && !x.boolean) return x.t.ne(0.0);
  if (x.t.dtype() == kind.dtype) return x.t;
  return x.t.to_dtype(kind.dtype);
}

Array convert(const Array& x, Kind kind) {
  if (x.kind() == kind) return x;
  const bool shares = x.boolean && kind.dtype == DType::u8;  // bool is kept as u8
  return unlocked([&] { return Array{shares ? x.t.copy() : as_kind(x, kind), kind.boolean}; });
}

Kind promote(Kind lhs, Kind rhs) {
  if (lhs == rhs) return lhs;
  if (lhs.boolean) return rhs;
  if (rhs.boolean) return lhs;
  const bool lhs_float = wick::is_float(lhs.dtype);
  const bool rhs_float = wick::is_float(rhs.dtype);
  if (lhs_float != rhs_float) return lhs_float ? lhs : rhs;
  const int lhs_bytes = wick::info(lhs.dtype).block_bytes;
  const int rhs_bytes = wick::info(rhs.dtype).block_bytes;
  if (lhs_float) {
    if (lhs_bytes == rhs_bytes) return {DType::f32};  // f16 and bf16
    return lhs_bytes > rhs_bytes ? lhs : rhs;
  }
  const bool lhs_unsigned = lhs.dtype == DType::u8 || lhs.dtype == DType::u32;
  const bool rhs_unsigned = rhs.dtype == DType::u8 || rhs.dtype == DType::u32;
  if (lhs_unsigned == rhs_unsigned) return lhs_bytes > rhs_bytes ? lhs : rhs;
  const Kind with_sign = lhs_unsigned ? rhs : lhs;
  const int unsigned_bytes = lhs_unsigned ? lhs_bytes : rhs_bytes;
  if (wick::info(with_sign.dtype).block_bytes > unsigned_bytes) return with_sign;
  return unsigned_bytes == 1 ? Kind{DType::i16} : Kind{DType::i64};
}

Array array_of(nb::handle object, std::optional<Kind> kind, const Device& device, const char* function) {
  std::optional<Array> made;
  if (nb::isinstance<Array>(object)) {
    made = nb::cast<const Array&>(object);
  } else if (is_number(object) || is_sequence(object)) {
    return array_of_nested(object, kind, device, function);
  } else {
    made = import_array(object);
    if (!made && PySequence_Check(object.ptr()) && !PyUnicode_Check(object.ptr()) && !PyBytes_Check(object.ptr())) {
      const nb::object list = nb::steal(PySequence_List(object.ptr()));
      if (!list.is_valid()) nb::raise_python_error();
      return array_of_nested(list, kind, device, function);
    }
  }
  if (!made)
    fail_type(fmt::format("{}: expected a tensor, an array, a number or nested lists of numbers, got {}", function,
                          wick_python::type_name(object)));
  Array result = kind ? convert(*made, *kind) : *made;
  if (!result.t.device().same_device(device)) {
    result.t = unlocked([&] { return result.t.to_device(device); });
  }
  return result;
}

std::optional<Array> try_operand(nb::handle object, const Array& beside, const char* function) {
  if (nb::isinstance<Array>(object)) return nb::cast<const Array&>(object);
  if (is_number(object)) {
    const Device& device = beside.t.device();
    const bool is_float = PyFloat_Check(object.ptr()) || !PyIndex_Check(object.ptr());
    if (PyBool_Check(object.ptr())) {
      return convert({Tensor::full({}, object.ptr() == Py_True ? 1 : 0, DType::u8, device), true}, beside.kind());
    }
    if (!is_float && wick::is_integer(beside.t.dtype())) {
      const DType dtype = beside.boolean ? DType::i64 : beside.t.dtype();
      return Array{whole_number(object, dtype, device)};
    }
    const DType dtype = wick::is_float(beside.t.dtype()) ? beside.t.dtype() : wick::default_dtype();
    return Array{Tensor::full({}, number_as<double>(object), dtype, device)};
  }
  if (is_sequence(object)) return array_of(object, std::nullopt, beside.t.device(), function);
  std::optional<Array> made = import_array(object);
  if (made && !made->t.device().same_device(beside.t.device())) {
    made->t = unlocked([&] { return made->t.to_device(beside.t.device()); });
  }
  return made;
}

Array operand_of(nb::handle object, const Array& beside, const char* function) {
  if (std::optional<Array> operand = try_operand(object, beside, function)) return *std::move(operand);
  fail_type(fmt::format("{}: expected a tensor, an array or a number, got {}", function, wick_python::type_name(object)));
}

std::vector<Array> arrays_of(nb::handle sequence, const char* function) {
  if (!PySequence_Check(sequence.ptr()) || nb::isinstance<Array>(sequence)) {
    fail_type(fmt::format("{}: expected a list of tensors, got {}", function, wick_python::type_name(sequence)));
  }
  std::vector<Array> arrays;
  for (const nb::handle item : nb::borrow<nb::sequence>(sequence)) {
    if (!nb::isinstance<Array>(item))
      fail_type(fmt::format("{}: expected a list of tensors, got {} in it", function, wick_python::type_name(item)));
    arrays.push_back(nb::cast<const Array&>(item));
  }
  return arrays;
}

std::vector<Tensor> tensors_of(nb::handle sequence, const char* function) {
  std::vector<Tensor> tensors;
  for (Array& array : arrays_of(sequence, function)) tensors.push_back(std::move(array.t));
  return tensors;
}

}  // namespace wick_python
