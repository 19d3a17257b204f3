#include "wick/nn/var_map.h"

#include "wick/base/fail.h"

namespace wick::nn {
namespace {

void check_shape(std::string_view name, const Var& var, const Shape& shape) {
  if (var->shape() == shape) return;
  fail(ErrorCode::shape_mismatch, "VarMap: variable '{}' is {}, not {}", name, var->describe(), shape.to_string());
}

}  // namespace

Var VarMap::get(const Shape& shape, std::string_view name, const Init& init, DType dtype, const Device& device, bool trainable) const {
  const std::lock_guard lock(state_->mutex);
  if (const auto found = state_->entries.find(name); found != state_->entries.end()) {
    check_shape(name, found->second.var, shape);
    return found->second.var;
  }
  const Var var = Var::from_tensor(draw(init, shape, dtype, device));
  state_->entries.emplace(name, Entry{var, trainable});
  return var;
}

std::optional<Var> VarMap::find(std::string_view name) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->entries.find(name);
  return found == state_->entries.end() ? std::nullopt : std::optional(found->second.var);
}

void VarMap::set_one(std::string_view name, const Tensor& value) const { set({{std::string(name), value}}); }

void VarMap::set(const std::map<std::string, Tensor>& values) const {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [name, value] : values) {
    const auto found = state_->entries.find(name);
    if (found == state_->entries.end()) {
      fail(ErrorCode::not_found, "VarMap: no variable '{}'; there are {} others", name, state_->entries.size());
    }
    check_shape(name, found->second.var, value.shape());
  }
  for (const auto& [name, value] : values) {
    const Var& var = state_->entries.find(name)->second.var;
    var.set(value.detach().to_device(var->device()).to_dtype(var->dtype()));
  }
}

std::vector<Var> VarMap::all_vars() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Var> vars;
  for (const auto& [name, entry] : state_->entries) {
    if (entry.trainable) vars.push_back(entry.var);
  }
  return vars;
}

std::map<std::string, Var> VarMap::data() const {
  const std::lock_guard lock(state_->mutex);
  std::map<std::string, Var> vars;
  for (const auto& [name, entry] : state_->entries) vars.emplace(name, entry.var);
  return vars;
}

void VarMap::load(const TensorSource& source) const {
  std::map<std::string, Tensor> values;
  for (const auto& [name, var] : data()) {
    if (!source.contains(name)) fail(ErrorCode::not_found, "{}: no tensor '{}' for the variable of that name", source.describe(), name);
    values.emplace(name, source.load({.name = name, .shape = var->shape(), .dtype = var->dtype(), .device = var->device()}));
  }
  set(values);
}

void VarMap::save(TensorSink& sink) const {
  for (const auto& [name, var] : data()) sink.put(name, var.as_detached_tensor());
}

}  // namespace wick::nn
