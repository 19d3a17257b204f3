#include "wick/nn/module.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "wick/base/fail.h"

namespace wick::nn {

std::vector<Var> Module::parameters() const {
  std::vector<Var> found;
  visit_tensors([&found](const std::string& /*name*/, const Tensor& tensor, TensorRole role) {
    if (role != TensorRole::parameter) return;
    const std::optional<Var> var = Var::behind(tensor);
    if (!var) return;
    const bool known = std::ranges::any_of(found, [&](const Var& other) { return other.tensor().node() == var->tensor().node(); });
    if (!known) found.push_back(*var);
  });
  return found;
}

NamedTensors Module::state_dict() const {
  NamedTensors state;
  visit_tensors(
      [&state](const std::string& name, const Tensor& tensor, TensorRole /*role*/) { state.insert_or_assign(name, tensor.detach()); });
  return state;
}

void Module::load_state_dict(const NamedTensors& values) const {
  std::vector<std::pair<Var, Tensor>> changes;
  std::set<std::string> known;
  visit_tensors([&](const std::string& name, const Tensor& tensor, TensorRole /*role*/) {
    known.insert(name);
    const auto value = values.find(name);
    if (value == values.end()) fail(ErrorCode::not_found, "load_state_dict: no tensor '{}'", name);
    if (value->second.shape() != tensor.shape()) {
      fail(ErrorCode::shape_mismatch, "load_state_dict: '{}' is {}, the module has {}", name, value->second.describe(), tensor.describe());
    }
    const std::optional<Var> var = Var::behind(tensor);
    if (!var) fail(ErrorCode::unsupported, "load_state_dict: '{}' of the module is a constant, not a variable", name);
    changes.emplace_back(*var, value->second.detach().to_device(tensor.device()).to_dtype(tensor.dtype()));
  });
  for (const auto& [name, tensor] : values) {
    if (!known.contains(name)) fail(ErrorCode::not_found, "load_state_dict: the module has no tensor '{}'", name);
  }
  for (const auto& [var, value] : changes) var.set(value);
}

void visit_inner(const TensorVisitor& visit, const std::string& name, const Module& inner) {
  inner.visit_tensors([&](const std::string& below, const Tensor& tensor, TensorRole role) { visit(name + "." + below, tensor, role); });
}

}  // namespace wick::nn
