// A Module is a layer, or a net of layers: a function of one tensor with parameters of its own.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wick/device/device.h"
#include "wick/tensor/files.h"
#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// Whether a net is being used or trained: dropout and batch normalisation differ.
enum class Mode { evaluate, train };

// Options of a layer that is constructed from its sizes alone: nn::Linear(784, 10). Its parameters are new variables.
struct LayerOptions {
  bool bias = true;
  DType dtype = default_dtype();
  Device device = default_device();
};

// Parameters are trained; buffers, such as running statistics, are only saved and loaded.
enum class TensorRole { parameter, buffer };
// Called with each tensor of a module and its name below the module: "weight", "0.bias".
using TensorVisitor = std::function<void(const std::string& name, const Tensor& tensor, TensorRole role)>;

class Module {
 public:
  virtual ~Module() = default;

  // The result in evaluation.
  [[nodiscard]] virtual Tensor forward(const Tensor& x) const = 0;
  // The result in either mode; layers that know no difference have one result.
  [[nodiscard]] virtual Tensor forward_t(const Tensor& x, Mode /*mode*/) const { return forward(x); }

  // Visits the module's tensors, and those of the modules in it with their names in front. Override it in a module that has tensors.
  virtual void visit_tensors(const TensorVisitor& /*visit*/) const {}
  // The variables among the parameters, each once, in the order of the visit: what an optimizer is given.
  [[nodiscard]] std::vector<Var> parameters() const;
  // Parameters and buffers by name, detached: what save_safetensors takes. They share the module's memory: copy what must outlive the next
  // step.
  [[nodiscard]] NamedTensors state_dict() const;
  // Overwrites parameters and buffers, converted to their dtypes and devices. Errors: not_found for a name that is missing or that the
  // module does not have, shape_mismatch, unsupported for a tensor that is no variable; then nothing is overwritten.
  void load_state_dict(const NamedTensors& values) const;
  template <class Compare>
  void load_state_dict(const std::map<std::string, Tensor, Compare>& values) const {
    load_state_dict(NamedTensors(values.begin(), values.end()));
  }

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;
};

// Visits the tensors of a module inside another one, with "name." in front.
void visit_inner(const TensorVisitor& visit, const std::string& name, const Module& inner);

}  // namespace nn
}  // namespace wick
