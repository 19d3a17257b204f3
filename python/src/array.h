// Array is what Python's Tensor holds: a wick::Tensor, and whether its u8 elements are shown as bool. With it, what every binding shares:
// dtypes, conversions of arguments, and the release of the interpreter's lock around work.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/tensor.h"

namespace nb = nanobind;

namespace wick_python {

using wick::Device;
using wick::DType;
using wick::Shape;
using wick::Tensor;

// A dtype as Python shows it: bool is u8 inside.
struct Kind {
  DType dtype = DType::f32;
  bool boolean = false;

  friend bool operator==(const Kind&, const Kind&) = default;
  [[nodiscard]] std::string name() const { return boolean ? "bool" : std::string(to_string(dtype)); }
};
inline constexpr Kind kBool = {DType::u8, true};

struct Array {
  Tensor t;
  bool boolean = false;

  [[nodiscard]] Kind kind() const { return {t.dtype(), boolean}; }
};

// Where backward leaves a variable's gradient.
class GradientSlot {
 public:
  [[nodiscard]] std::optional<Tensor> get() const {
    const std::lock_guard lock(mutex_);
    return gradient_;
  }
  // What was there dies after the lock is given back: its memory may be Python's.
  void set(std::optional<Tensor> gradient) {
    const std::lock_guard lock(mutex_);
    gradient_.swap(gradient);
  }
  void add(const Tensor& gradient) {
    std::optional<Tensor> sum;
    const std::lock_guard lock(mutex_);
    sum = gradient_ ? gradient_->add(gradient) : gradient;
    gradient_.swap(sum);
  }

 private:
  mutable std::mutex mutex_;  // several threads may call backward
  std::optional<Tensor> gradient_;
};

// A variable is an Array whose tensor is tracked.
struct Variable : Array {
  explicit Variable(wick::Var variable);
  ~Variable();
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  wick::Var var;
  std::shared_ptr<GradientSlot> slot;
};

// While it lives, other threads of Python run. When the interpreter ends, threads that come back for its lock are made to exit, which would
// unwind through functions that must not throw: they wait here for the process's end.
class InterpreterUnlocked {
 public:
  InterpreterUnlocked() : state_(PyEval_SaveThread()) {}
  ~InterpreterUnlocked() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      wait_for_exit();
    }
  }
  InterpreterUnlocked(const InterpreterUnlocked&) = delete;
  InterpreterUnlocked& operator=(const InterpreterUnlocked&) = delete;

 private:
  [[noreturn]] static void wait_for_exit() noexcept;

  PyThreadState* state_;
};

// Runs work without the interpreter's lock.
template <class Work>
auto unlocked(Work&& work) {
  const InterpreterUnlocked interpreter;
  return std::forward<Work>(work)();
}

// A method of Tensor without arguments, or with numbers, as a function that bindings can be made of.
template <auto kMethod, class... Arguments>
Array call(const Array& self, Arguments... arguments) {
  return unlocked([&] { return Array{(self.t.*kMethod)(arguments...)}; });
}
// The same for a method whose result has the operand's dtype: bool stays bool.
template <auto kMethod, class... Arguments>
Array call_view(const Array& self, Arguments... arguments) {
  return unlocked([&] { return Array{(self.t.*kMethod)(arguments...), self.boolean}; });
}

// --- Arguments (arguments.cpp). Each throws TypeError or ValueError, naming `function` and what was given. ---

// A DType, its name ("f32", "float32", "bool"), NumPy's dtype or scalar type, or Python's float, int and bool.
[[nodiscard]] Kind kind_of(nb::handle object, const char* function);
[[nodiscard]] Kind kind_or(nb::handle object, Kind otherwise, const char* function);
// A Device, its name, or None for the default one.
[[nodiscard]] Device device_of(nb::handle object, const char* function);
// The value that __index__ returns. Errors: whatever __index__ raises; OverflowError beyond 64 bits.
[[nodiscard]] int64_t index_value(nb::handle object);
// Errors: IndexError for a number that no dimension can have.
[[nodiscard]] int dim_value(int64_t dim, const char* function);
// An int, or a sequence of them.
[[nodiscard]] std::vector<int64_t> integers_of(nb::handle object, const char* function);
[[nodiscard]] Shape shape_of(nb::handle object, const char* function);
// (2, 3) or ((2, 3)): what reshape and its like are called with.
[[nodiscard]] Shape shape_of_arguments(const nb::args& arguments, const char* function);
// None: all dimensions.
[[nodiscard]] wick::Dims dims_of(nb::handle object, const Tensor& x, const char* function);
// The name of the object's type, for messages.
[[nodiscard]] std::string type_name(nb::handle object);
// Whether the object is a Python or NumPy number.
[[nodiscard]] bool is_number(nb::handle object);
// Whether Python takes the object for true. Errors: whatever __bool__ raises.
[[nodiscard]] bool truth_of(nb::handle object);
// Says that `what` cannot be this object.
[[noreturn]] void refuse_value(nb::handle object, std::string_view what);
// The smallest and the largest number of an integer dtype.
[[nodiscard]] std::pair<int64_t, int64_t> integer_range(DType dtype);
// The object as a T; `what` is its name in messages.
template <class T>
T value_as(nb::handle object, std::string_view what) {
  try {
    return nb::cast<T>(object);
  } catch (const nb::cast_error&) {
    refuse_value(object, what);
  }
}
// A Tensor, anything with __dlpack__ or the buffer protocol, a number, or nested sequences of numbers.
[[nodiscard]] Array array_of(nb::handle object, std::optional<Kind> kind, const Device& device, const char* function);
// The same beside another operand: a number takes that one's dtype and device.
[[nodiscard]] Array operand_of(nb::handle object, const Array& beside, const char* function);
// None where the object is nothing that tensors are made of.
[[nodiscard]] std::optional<Array> try_operand(nb::handle object, const Array& beside, const char* function);
[[nodiscard]] std::vector<Array> arrays_of(nb::handle sequence, const char* function);
[[nodiscard]] std::vector<Tensor> tensors_of(nb::handle sequence, const char* function);

// The dtype that both are converted to where they meet.
[[nodiscard]] Kind promote(Kind lhs, Kind rhs);
[[nodiscard]] Tensor as_kind(const Array& x, Kind kind);
// bool of any elements: whether they are not 0.
[[nodiscard]] Array convert(const Array& x, Kind kind);

// --- Parts of the module, each in a file of its own. ---

void bind_errors(nb::module_& module);
void bind_device(nb::module_& module);
void bind_tensor(nb::module_& module, nb::class_<Array>& tensor);
void bind_operators(nb::class_<Array>& tensor);
void bind_inplace(nb::class_<Array>& tensor);
void bind_bits(nb::module_& module, nb::class_<Array>& tensor);
void bind_elementwise(nb::class_<Array>& tensor);
void bind_reductions(nb::class_<Array>& tensor);
void bind_views(nb::class_<Array>& tensor);
void bind_indexing(nb::class_<Array>& tensor);
void bind_exchange(nb::module_& module, nb::class_<Array>& tensor);
void bind_creation(nb::module_& module);
void bind_functions(nb::module_& module);
void bind_files(nb::module_& module);
void bind_linalg(nb::module_& module);
void bind_autograd(nb::module_& module, nb::class_<Array>& tensor);
void bind_nn(nb::module_& module);
void bind_tokenizer(nb::module_& module);
void bind_model(nb::module_& module);
void bind_kernels(nb::module_& module);
void bind_gguf(nb::module_& module, nb::class_<Array>& tensor);

// Writes the source, broadcast, over the elements of a view (indexing.cpp). Errors: as Tensor::slice_set.
void write_view(const Tensor& view, const Tensor& source);

// Memory of another library as a tensor (exchange.cpp); without a value for `copy` it is copied only where it cannot be shared. None where
// the object offers no memory. Errors: with `copy` false BufferError for memory that cannot be shared.
[[nodiscard]] std::optional<Array> import_array(nb::handle object, std::optional<bool> copy = std::nullopt);

}  // namespace wick_python
