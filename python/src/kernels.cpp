// Kernels of users: Device.compile, of the IR or of a text in the device's own language, and their launches.
#include "kernels.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>

#include "array.h"

namespace wick_python {
namespace {

namespace ir = wick::ir;

// A compiled kernel, and the types of its parameters, which Python's numbers become.
struct Compiled {
  wick::CompiledKernel kernel;
  std::vector<ir::ParameterArgument> parameters;
};

Compiled compile(const Device& device, const ir::Kernel& kernel) {
  return unlocked([&] { return Compiled{wick::CompiledKernel(kernel, device), kernel.parameters}; });
}

struct LanguageName {
  std::string_view name;
  wick::SourceLanguage language;
};
constexpr std::array kLanguages = {LanguageName{"cuda", wick::SourceLanguage::cuda_cpp}, LanguageName{"hip", wick::SourceLanguage::hip_cpp},
                                   LanguageName{"opencl", wick::SourceLanguage::opencl_c}, LanguageName{"glsl", wick::SourceLanguage::glsl},
                                   LanguageName{"spirv", wick::SourceLanguage::spirv}};

wick::SourceLanguage language_of(const std::string& name) {
  std::string known;
  for (const LanguageName& row : kLanguages) {
    if (row.name == name) return row.language;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw nb::value_error(fmt::format("compile_source: there is no language '{}'; there are {}", name, known).c_str());
}

wick::KernelSource source_of(const nb::object& text, const std::string& language) {
  wick::KernelSource source;
  source.language = language_of(language);
  if (nb::isinstance<nb::bytes>(text)) {
    const nb::bytes bytes = nb::cast<nb::bytes>(text);
    source.text.assign(bytes.c_str(), bytes.size());
  } else if (nb::isinstance<nb::str>(text)) {
    source.text = value_as<std::string>(text, "compile_source: text");
  } else {
    throw nb::type_error("compile_source: text is a str, of SPIR-V bytes");
  }
  return source;
}

// ("x", "f32") or ("y", "f32", "write").
ir::BufferArgument buffer_argument(nb::handle row) {
  const nb::tuple words = nb::tuple(nb::borrow(row));
  const size_t count = nb::len(words);
  if (count < 2 || count > 3) throw nb::value_error("compile_source: a buffer is (name, element), or (name, element, 'write')");
  const bool writes = count == 3;
  if (writes && value_as<std::string>(words[2], "compile_source: access") != "write") {
    throw nb::value_error("compile_source: what follows a buffer's element is 'write', or nothing");
  }
  return {value_as<std::string>(words[0], "compile_source: a buffer's name"),
          element_named(value_as<std::string>(words[1], "compile_source: a buffer's element")),
          writes ? ir::Access::read_write : ir::Access::read};
}

Compiled compile_source(const Device& device, const nb::object& text, const std::string& language, const std::string& entry,
                        uint32_t group_size, const nb::sequence& buffers, const nb::sequence& scalars, const std::string& name) {
  const wick::KernelSource source = source_of(text, language);
  wick::KernelSignature signature;
  signature.group_size = group_size;
  for (const nb::handle row : buffers) signature.buffers.push_back(buffer_argument(row));
  for (const nb::handle row : scalars) {
    const nb::tuple words = nb::tuple(nb::borrow(row));
    if (nb::len(words) != 2) throw nb::value_error("compile_source: a scalar is (name, type)");
    signature.scalars.push_back({value_as<std::string>(words[0], "compile_source: a scalar's name"),
                                 parameter_type_named(value_as<std::string>(words[1], "compile_source: a scalar's type"))});
  }
  const std::string called = name.empty() ? entry : name;
  return unlocked([&] { return Compiled{wick::CompiledKernel(called, source, entry, signature, device), signature.scalars}; });
}

wick::KernelParameter parameter_of(nb::handle number, const ir::ParameterArgument& argument) {
  if (argument.type == ir::Type::f32) {
    const double value = PyFloat_AsDouble(number.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
    return static_cast<float>(value);
  }
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) nb::raise_python_error();
  const int64_t value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
  const bool is_signed = argument.type == ir::Type::i32;
  if (value < (is_signed ? INT32_MIN : 0) || value > (is_signed ? int64_t{INT32_MAX} : int64_t{UINT32_MAX})) {
    PyErr_Format(PyExc_OverflowError, "launch: %lld does not fit into the parameter %s, which is %s", static_cast<long long>(value),
                 argument.name.c_str(), std::string(to_string(argument.type)).c_str());
    nb::raise_python_error();
  }
  if (is_signed) return static_cast<int32_t>(value);
  return static_cast<uint32_t>(value);
}

void launch(const Compiled& self, nb::handle groups, const nb::sequence& tensors, const nb::sequence& parameters) {
  const std::vector<int64_t> extents = integers_of(groups, "launch");
  if (extents.empty() || extents.size() > 3) throw nb::value_error("launch: groups is an int or up to three of them");
  std::array<uint32_t, 3> grid = {1, 1, 1};
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 1 || extents[i] > int64_t{UINT32_MAX}) {
      throw nb::value_error(fmt::format("launch: {} groups in dimension {}; there must be 1 to {}", extents[i], i, UINT32_MAX).c_str());
    }
    grid[i] = static_cast<uint32_t>(extents[i]);
  }
  const std::vector<Tensor> operands = tensors_of(tensors, "launch");
  const std::vector<wick::KernelBuffer> buffers(operands.begin(), operands.end());
  const size_t count = nb::len(parameters);
  if (count != self.parameters.size()) {
    throw nb::value_error(
        fmt::format("launch: kernel {} has {} parameters, and was given {}", self.kernel.name(), self.parameters.size(), count).c_str());
  }
  std::vector<wick::KernelParameter> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(parameter_of(parameters[i], self.parameters[i]));
  unlocked([&] { self.kernel.launch({grid[0], grid[1], grid[2]}, buffers, numbers); });
}

}  // namespace

void bind_kernels(nb::module_& module) {
  nb::module_ names = module.def_submodule("_ir", "Kernels in Python's own operators, for every device.");
  bind_kernel_builder(names);
  nb::class_<Compiled>(module, "CompiledKernel", "A kernel that a device can run: what Device.compile and Device.compile_source make.")
      .def_prop_ro("name", [](const Compiled& self) { return std::string(self.kernel.name()); })
      .def_prop_ro("device", [](const Compiled& self) { return self.kernel.device(); })
      .def("launch", &launch, nb::arg("groups"), nb::arg("tensors"), nb::arg("parameters") = nb::make_tuple(),
           nb::sig("def launch(self, groups: int | collections.abc.Sequence[int], tensors: collections.abc.Sequence[Tensor], "
                   "parameters: collections.abc.Sequence[float] = ()) -> None"),
           "Queues one run over so many groups. Tensors are row-major and in the order of the kernel's buffers; those that are written\n"
           "change in place. A buffer of u32 takes a tensor of any dtype as words.\n\n"
           "Raises InvalidArgumentError, DTypeError, DeviceMismatchError, UnsupportedError, naming kernel and argument.");
  const nb::object device = module.attr("Device");
  nb::cpp_function_def(&compile, nb::scope(device), nb::name("compile"), nb::is_method(), nb::arg("kernel"),
                       nb::sig("def compile(self, kernel: wick._wick._ir.Kernel) -> CompiledKernel"),
                       "Compiles a kernel of wick.ir; the CPU interprets it, which is truth, not speed.");
  nb::cpp_function_def(
      &compile_source, nb::scope(device), nb::name("compile_source"), nb::is_method(), nb::arg("text"), nb::arg("language"),
      nb::arg("entry"), nb::kw_only(), nb::arg("group_size") = 1, nb::arg("buffers") = nb::make_tuple(),
      nb::arg("scalars") = nb::make_tuple(), nb::arg("name") = "",
      nb::sig("def compile_source(self, text: str | bytes, language: str, entry: str, *, group_size: int = 1, "
              "buffers: collections.abc.Sequence[tuple[str, ...]] = (), scalars: collections.abc.Sequence[tuple[str, str]] = (), "
              "name: str = '') -> CompiledKernel"),
      "Compiles a kernel in the device's own language: 'cuda', 'hip', 'opencl', 'glsl' or 'spirv' (bytes).\n\n"
      "entry: the function's name. buffers: (name, element), or (name, element, 'write'), the first arguments; scalars: (name, type)\n"
      "behind them, u32, i32 or f32. In GLSL and SPIR-V buffers are the bindings of set 0, scalars push constants. What a launch touches\n"
      "is not checked. Raises UnsupportedError with the compiler's log.");
}

}  // namespace wick_python
