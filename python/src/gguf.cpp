// GGUF files and the quantized formats: Tensor.quantize, load_gguf, save_gguf.
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "array.h"
#include "wick/formats/gguf_writer.h"
#include "wick/quant/block_format.h"

namespace wick_python {
namespace {

// The name of a dtype, also as candle spells it: Q4_0, q4k.
Kind format_kind(nb::handle object) {
  if (!PyUnicode_Check(object.ptr())) return kind_of(object, "quantize");
  std::string name = value_as<std::string>(nb::str(object).attr("lower")(), "quantize: format");
  if (name.size() == 3 && name[0] == 'q' && name[2] == 'k') name.insert(2, "_");
  return kind_of(nb::str(name.c_str()), "quantize");
}

Array quantize(const Array& self, nb::handle format) {
  const DType dtype = format_kind(format).dtype;
  if (!wick::is_quantized(dtype)) return convert(self, {dtype});
  const wick::BlockFormat* found = wick::find_block_format(dtype);
  if (found == nullptr || found->pack == nullptr) {
    throw nb::value_error(
        fmt::format("quantize: {} cannot be written without an importance matrix; wick quantize --imatrix makes such files",
                    to_string(dtype))
            .c_str());
  }
  const std::vector<float> values = unlocked([&] { return self.t.detach().to_dtype(DType::f32).to_vector<float>(); });
  if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
    throw nb::value_error("quantize: the tensor has elements that are not finite");
  }
  return unlocked([&] {
    const uint64_t bytes = wick::storage_bytes_of(self.t.shape(), dtype);  // also checks that blocks fill the rows
    std::vector<std::byte> blocks(bytes);
    found->pack(values, blocks.data());
    return Array{Tensor::from_bytes(blocks, self.t.shape(), dtype, self.t.device())};
  });
}

// --- Metadata ---

// NOLINTNEXTLINE(misc-no-recursion): as deep as the file's arrays
nb::object list_of(const wick::GgufArray& array) {
  nb::list list;
  if (array.element_type == wick::GgufType::string) {
    for (const std::string_view text : array.strings) list.append(nb::str(text.data(), text.size()));
  } else if (array.element_type == wick::GgufType::array) {
    for (const wick::GgufArray& inner : array.arrays) list.append(list_of(inner));
  } else if (array.element_type == wick::GgufType::boolean) {
    for (const std::byte byte : array.packed) list.append(nb::bool_(byte != std::byte{0}));
  } else if (array.element_type == wick::GgufType::f32 || array.element_type == wick::GgufType::f64) {
    for (const double number : array.to_vector<double>()) list.append(number);
  } else if (array.element_type == wick::GgufType::u64) {
    for (const uint64_t number : array.to_vector<uint64_t>()) list.append(number);
  } else {
    for (const int64_t number : array.to_vector<int64_t>()) list.append(number);
  }
  return list;
}

nb::object object_of(const wick::GgufValue& value) {
  return std::visit(
      []<class T>(const T& held) -> nb::object {
        if constexpr (std::is_same_v<T, bool>) {
          return nb::bool_(held);
        } else if constexpr (std::is_same_v<T, std::string_view>) {
          return nb::str(held.data(), held.size());
        } else if constexpr (std::is_same_v<T, wick::GgufArray>) {
          return list_of(held);
        } else if constexpr (std::is_floating_point_v<T>) {
          return nb::float_(static_cast<double>(held));
        } else {
          return nb::int_(held);
        }
      },
      value.value);
}

// What a value points to while it is written.
struct ValueStore {
  std::vector<std::unique_ptr<std::string>> texts;
  std::vector<std::unique_ptr<std::vector<int64_t>>> integers;
  std::vector<std::unique_ptr<std::vector<double>>> floats;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> booleans;
};

std::string_view keep_text(ValueStore& store, nb::handle text) {
  store.texts.push_back(std::make_unique<std::string>(value_as<std::string>(text, "save_gguf: a text")));
  return *store.texts.back();
}

template <class T>
void pack_numbers(std::vector<std::unique_ptr<std::vector<T>>>& store, std::vector<T> values, wick::GgufArray& into) {
  store.push_back(std::make_unique<std::vector<T>>(std::move(values)));
  into.packed = std::as_bytes(std::span<const T>(*store.back()));
}

// A list of values of one kind; whole numbers are i64, or f64 where floats are among them.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the lists
wick::GgufArray array_value(nb::handle object, const std::string& key, int depth, ValueStore& store) {
  constexpr int kMaxLists = 32;  // within each other
  if (depth == kMaxLists) throw nb::value_error(fmt::format("save_gguf: {}: more than {} lists within each other", key, kMaxLists).c_str());
  const nb::tuple items = nb::tuple(nb::borrow(object));
  wick::GgufArray array;
  array.element_type = wick::GgufType::i64;
  array.size = nb::len(items);
  bool all_text = true;
  bool all_lists = true;
  bool all_booleans = true;
  bool all_whole = true;
  bool all_numbers = true;
  for (const nb::handle item : items) {
    const bool is_bool = PyBool_Check(item.ptr());
    const bool is_whole = PyLong_Check(item.ptr()) && !is_bool;
    all_text = all_text && PyUnicode_Check(item.ptr());
    all_lists = all_lists && (PyList_Check(item.ptr()) || PyTuple_Check(item.ptr()));
    all_booleans = all_booleans && is_bool;
    all_whole = all_whole && is_whole;
    all_numbers = all_numbers && (is_whole || PyFloat_Check(item.ptr()));
  }
  if (array.size > 0 && all_text) {
    array.element_type = wick::GgufType::string;
    for (const nb::handle item : items) array.strings.push_back(keep_text(store, item));
  } else if (array.size > 0 && all_lists) {
    array.element_type = wick::GgufType::array;
    for (const nb::handle item : items) array.arrays.push_back(array_value(item, key, depth + 1, store));
  } else if (array.size > 0 && all_booleans) {
    array.element_type = wick::GgufType::boolean;
    std::vector<uint8_t> values;
    for (const nb::handle item : items) values.push_back(item.ptr() == Py_True ? 1 : 0);
    pack_numbers(store.booleans, std::move(values), array);
  } else if (all_whole) {
    std::vector<int64_t> values;
    for (const nb::handle item : items) values.push_back(value_as<int64_t>(item, key));
    pack_numbers(store.integers, std::move(values), array);
  } else if (all_numbers) {
    array.element_type = wick::GgufType::f64;
    std::vector<double> values;
    for (const nb::handle item : items) values.push_back(nb::cast<double>(nb::float_(nb::borrow(item))));
    pack_numbers(store.floats, std::move(values), array);
  } else {
    throw nb::type_error(
        fmt::format("save_gguf: {}: the elements of a list are all text, numbers, bool or lists, not of several kinds", key).c_str());
  }
  return array;
}

wick::GgufValue value_of(nb::handle object, const std::string& key, ValueStore& store) {
  if (PyBool_Check(object.ptr())) return {object.ptr() == Py_True};
  if (PyLong_Check(object.ptr())) {
    const int64_t number = value_as<int64_t>(object, key);
    if (number >= 0 && number <= int64_t{UINT32_MAX}) return {static_cast<uint32_t>(number)};
    return {number};
  }
  if (PyFloat_Check(object.ptr())) return {nb::cast<double>(object)};
  if (PyUnicode_Check(object.ptr())) return {keep_text(store, object)};
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) return {array_value(object, key, 0, store)};
  throw nb::type_error(
      fmt::format("save_gguf: {}: expected text, a number, bool or a list, got {}", key, wick_python::type_name(object)).c_str());
}

// --- Files ---

nb::tuple load_gguf(const std::filesystem::path& path, nb::handle device) {
  const Device where = device_of(device, "load_gguf");
  const wick::GgufFile file = unlocked([&] { return wick::GgufFile::open(path); });
  nb::dict tensors;
  for (const wick::GgufTensor& tensor : file.tensors()) {
    Tensor made = unlocked([&] { return Tensor::import_host(tensor.data, tensor.shape, tensor.dtype, where, tensor.file); });
    tensors[nb::str(tensor.name.data(), tensor.name.size())] = nb::cast(Array{std::move(made)});
  }
  nb::dict metadata;
  for (const auto& [key, value] : file.metadata()) metadata[nb::str(key.data(), key.size())] = object_of(value);
  return nb::make_tuple(tensors, metadata);
}

void save_gguf(const nb::dict& tensors, const std::filesystem::path& path, const nb::dict& metadata) {
  wick::GgufWriter writer;
  ValueStore store;
  for (const auto& [key, value] : metadata) {
    const std::string name = value_as<std::string>(key, "save_gguf: a key");
    writer.add(name, value_of(value, name, store));
  }
  std::vector<std::vector<std::byte>> bytes;
  bytes.reserve(nb::len(tensors));
  for (const auto& [key, value] : tensors) {
    const Array& array = value_as<const Array&>(value, "save_gguf: a tensor");
    bytes.push_back(unlocked([&] { return array.t.detach().to_bytes(); }));
    writer.add_tensor(value_as<std::string>(key, "save_gguf: a name"), array.t.dtype(), array.t.shape(), bytes.back());
  }
  unlocked([&] { writer.write(path); });
}

}  // namespace

void bind_gguf(nb::module_& module, nb::class_<Array>& tensor) {
  tensor.def(
      "quantize", &quantize, nb::arg("dtype"), nb::sig("def quantize(self, dtype: DType | str) -> Tensor"),
      "The elements in a format of GGUF files ('q4_0', 'q6_k' …), with the bytes of ggml's quantizer; to(wick.float32) dequantizes.\n"
      "Blocks must fill the last dimension. Raises ShapeError, ValueError for elements that are not finite.");
  module.def("load_gguf", &load_gguf, nb::arg("path"), nb::arg("device") = nb::none(),
             nb::sig("def load_gguf(path: str | os.PathLike[str], device: Device | str | None = None) -> "
                     "tuple[dict[str, Tensor], dict[str, typing.Any]]"),
             "(tensors by name, metadata by key) of a GGUF file, or of all parts of a split one. Quantized tensors stay quantized.");
  module.def(
      "save_gguf", &save_gguf, nb::arg("tensors"), nb::arg("path"), nb::arg("metadata") = nb::dict(),
      nb::sig("def save_gguf(tensors: dict[str, Tensor], path: str | os.PathLike[str], metadata: dict[str, typing.Any] = {}) -> None"),
      "Writes a GGUF file. Whole numbers are written as u32 where they fit, else as i64.");
}

}  // namespace wick_python
