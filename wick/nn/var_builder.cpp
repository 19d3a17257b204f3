#include "wick/nn/var_builder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "wick/base/fail.h"
#include "wick/nn/named_source.h"

namespace wick::nn {
namespace {

class Zeros final : public TensorSource {
 public:
  [[nodiscard]] std::string describe() const override { return "zeros"; }
  [[nodiscard]] std::vector<std::string> names() const override { return {}; }
  [[nodiscard]] bool contains(std::string_view /*name*/) const override { return true; }
  [[nodiscard]] Tensor load(const TensorRequest& request) const override {
    if (!request.shape) fail(ErrorCode::invalid_argument, "zeros: '{}' is asked for without a shape", request.name);
    return Tensor::zeros(*request.shape, request.dtype.value_or(DType::f32), request.device);
  }
};

class Variables final : public TensorSource {
 public:
  explicit Variables(VarMap map) : map_(std::move(map)) {}
  [[nodiscard]] std::string describe() const override { return "variables"; }
  [[nodiscard]] std::vector<std::string> names() const override {
    const std::map<std::string, Var> vars = map_.data();
    std::vector<std::string> names;
    names.reserve(vars.size());
    for (const auto& [name, var] : vars) names.push_back(name);
    return names;
  }
  [[nodiscard]] bool contains(std::string_view name) const override { return map_.find(name).has_value(); }
  [[nodiscard]] Tensor load(const TensorRequest& request) const override { return map_.find(request.name)->tensor(); }
  [[nodiscard]] std::optional<Var> variable(const TensorRequest& request) const override {
    if (!request.shape) return map_.find(request.name);
    return map_.get(*request.shape, request.name, request.init, request.dtype.value_or(DType::f32), request.device, request.trainable);
  }

 private:
  VarMap map_;
};

class Renamed final : public TensorSource {
 public:
  Renamed(std::shared_ptr<const TensorSource> source, std::function<std::string(std::string_view)> rename)
      : source_(std::move(source)), rename_(std::move(rename)) {}
  [[nodiscard]] std::string describe() const override { return source_->describe(); }
  [[nodiscard]] std::vector<std::string> names() const override { return source_->names(); }
  [[nodiscard]] bool contains(std::string_view name) const override { return source_->contains(rename_(name)); }
  [[nodiscard]] Tensor load(const TensorRequest& request) const override {
    const std::string name = rename_(request.name);
    return source_->load(named(request, name));
  }
  [[nodiscard]] std::optional<Var> variable(const TensorRequest& request) const override {
    const std::string name = rename_(request.name);
    return source_->variable(named(request, name));
  }

 private:
  static TensorRequest named(TensorRequest request, std::string_view name) {
    request.name = name;
    return request;
  }

  std::shared_ptr<const TensorSource> source_;
  std::function<std::string(std::string_view)> rename_;
};

// The names that share the most leading components with the path: those a misspelt one was most likely meant to be.
std::vector<std::string> nearby(std::string_view path, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  std::string_view parent = path;
  while (found.empty() && !parent.empty()) {
    const size_t dot = parent.rfind('.');
    parent = dot == std::string_view::npos ? std::string_view() : parent.substr(0, dot);
    for (const std::string& name : names) {
      if (parent.empty() || (name.starts_with(parent) && name.size() > parent.size() && name[parent.size()] == '.')) found.push_back(name);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

VarBuilder VarBuilder::zeros(DType dtype, const Device& device) { return VarBuilder(std::make_shared<const Zeros>(), dtype, device); }

VarBuilder VarBuilder::from_tensors(std::map<std::string, Tensor, std::less<>> tensors, DType dtype, const Device& device) {
  return VarBuilder(std::make_shared<const NamedSource>("tensors", std::move(tensors)), dtype, device);
}

VarBuilder VarBuilder::from_var_map(const VarMap& map, DType dtype, const Device& device) {
  return VarBuilder(std::make_shared<const Variables>(map), dtype, device);
}

VarBuilder VarBuilder::pp(std::string_view name) const { return set_prefix(path(name)); }

VarBuilder VarBuilder::set_prefix(std::string_view prefix) const {
  VarBuilder other = *this;
  other.prefix_ = prefix;
  return other;
}

VarBuilder VarBuilder::to_dtype(DType dtype) const {
  VarBuilder other = *this;
  other.dtype_ = dtype;
  return other;
}

VarBuilder VarBuilder::set_device(const Device& device) const {
  VarBuilder other = *this;
  other.device_ = device;
  return other;
}

VarBuilder VarBuilder::rename(std::function<std::string(std::string_view)> rename) const {
  VarBuilder other = *this;
  other.source_ = std::make_shared<const Renamed>(source_, std::move(rename));
  return other;
}

std::string VarBuilder::path(std::string_view name) const {
  return prefix_.empty() ? std::string(name) : fmt::format("{}.{}", prefix_, name);
}

Tensor VarBuilder::get_with_hints(const Extents& shape, std::string_view name, const Init& init) const {
  const std::string full = path(name);
  const Shape checked = shape.checked(full);
  const TensorRequest request{.name = full, .shape = checked, .dtype = dtype_, .device = device_, .init = init};
  if (const std::optional<Var> var = source_->variable(request)) return var->tensor();
  const Tensor tensor = load(request);
  if (tensor.shape() != checked) {
    fail(ErrorCode::shape_mismatch, "{}: tensor '{}' is {}, not {}", source_->describe(), full, tensor.describe(), checked.to_string());
  }
  return tensor;
}

Var VarBuilder::get_buffer(const Extents& shape, std::string_view name, const Init& init) const {
  const std::string full = path(name);
  const TensorRequest request{
      .name = full, .shape = shape.checked(full), .dtype = dtype_, .device = device_, .init = init, .trainable = false};
  if (const std::optional<Var> var = source_->variable(request)) return *var;
  return Var::from_tensor(get_with_hints(shape, name, init));
}

Tensor VarBuilder::get_unchecked_dtype(std::string_view name, DType dtype) const {
  const std::string full = path(name);
  return load({.name = full, .shape = std::nullopt, .dtype = dtype, .device = device_});
}

Tensor VarBuilder::get_stored(std::string_view name) const {
  const std::string full = path(name);
  return load({.name = full, .shape = std::nullopt, .dtype = std::nullopt, .device = device_});
}

Tensor VarBuilder::load(const TensorRequest& request) const {
  if (!source_->contains(request.name)) fail_missing(request.name);
  return source_->load(request);
}

void VarBuilder::fail_missing(std::string_view path) const {
  constexpr size_t kShown = 6;
  std::vector<std::string> beside = nearby(path, source_->names());
  if (beside.empty()) fail(ErrorCode::not_found, "{}: no tensor '{}', nor any other", source_->describe(), path);
  const size_t more = beside.size() > kShown ? beside.size() - kShown : 0;
  beside.resize(beside.size() - more);
  fail(ErrorCode::not_found, "{}: no tensor '{}'; nearby: '{}'{}", source_->describe(), path, fmt::join(beside, "', '"),
       more > 0 ? fmt::format(" and {} more", more) : "");
}

VarBuilder new_variables(std::string_view layer, std::initializer_list<int64_t> sizes, const LayerOptions& options) {
  for (const int64_t size : sizes) {
    if (size < 1) fail(ErrorCode::invalid_argument, "{}: size {} must be 1 or more", layer, size);
  }
  return VarBuilder::from_var_map(VarMap(), options.dtype, options.device);
}

}  // namespace wick::nn
