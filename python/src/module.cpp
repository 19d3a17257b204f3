// The extension module wick._wick: one table of everything that it binds.
#include <nanobind/nanobind.h>

#include <stdexcept>

#include "array.h"

NB_MODULE(_wick, module) {
  using namespace wick_python;                                    // NOLINT: this file has nothing else
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {  // the main one's is 0
    throw std::runtime_error("wick works in the main interpreter only, not in a sub-interpreter");
  }
  nb::set_leak_warnings(false);  // tensors may outlive the interpreter
  module.doc() = "Tensors, neural networks and language models. Import wick, not this module.";
  bind_errors(module);
  bind_device(module);
  nb::class_<Array> tensor(module, "Tensor", "An n-dimensional array on one device. Views share its elements.");
  bind_tensor(module, tensor);
  bind_operators(tensor);
  bind_inplace(tensor);
  bind_bits(module, tensor);
  bind_elementwise(tensor);
  bind_reductions(tensor);
  bind_views(tensor);
  bind_indexing(tensor);
  bind_exchange(module, tensor);
  bind_creation(module);
  bind_functions(module);
  bind_autograd(module, tensor);
  bind_nn(module);
  bind_files(module);
  bind_linalg(module);
  bind_gguf(module, tensor);
  bind_kernels(module);
  bind_tokenizer(module);
  bind_model(module);
}
