// A VarBuilder is a place in a source of tensors, a dtype and a device: what a net's layers are built from.
//
// A net asks for its tensors by their paths, "encoder.0.weight", and does not know whether they come from a file, are variables that a
// training starts with, or zeros. pp("encoder") is the builder one level down.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wick/nn/module.h"
#include "wick/nn/tensor_source.h"
#include "wick/nn/var_map.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

class VarBuilder {
 public:
  explicit VarBuilder(std::shared_ptr<const TensorSource> source, DType dtype = default_dtype(), Device device = default_device())
      : source_(std::move(source)), dtype_(dtype), device_(std::move(device)) {}
  // Every tensor is there and is all zeros.
  [[nodiscard]] static VarBuilder zeros(DType dtype = default_dtype(), const Device& device = default_device());
  [[nodiscard]] static VarBuilder from_tensors(std::map<std::string, Tensor, std::less<>> tensors, DType dtype = default_dtype(),
                                               const Device& device = default_device());
  // Tensors are variables of the map, which makes those that it has not.
  [[nodiscard]] static VarBuilder from_var_map(const VarMap& map, DType dtype = default_dtype(), const Device& device = default_device());

  [[nodiscard]] VarBuilder pp(std::string_view name) const;
  [[nodiscard]] VarBuilder pp(std::integral auto index) const { return pp(std::string_view(std::to_string(index))); }
  [[nodiscard]] VarBuilder push_prefix(std::string_view name) const { return pp(name); }
  [[nodiscard]] VarBuilder set_prefix(std::string_view prefix) const;
  [[nodiscard]] VarBuilder root() const { return set_prefix({}); }
  [[nodiscard]] VarBuilder to_dtype(DType dtype) const;
  [[nodiscard]] VarBuilder set_device(const Device& device) const;
  // A builder whose tensors have other names in the source: `rename` maps the requested path to the source's name.
  [[nodiscard]] VarBuilder rename(std::function<std::string(std::string_view)> rename) const;

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  // The prefix and the name, joined by a dot.
  [[nodiscard]] std::string path(std::string_view name) const;

  // The tensor of that name below the prefix, in the builder's dtype. Errors: not_found, naming the path and its neighbours;
  // shape_mismatch.
  [[nodiscard]] Tensor get(const Extents& shape, std::string_view name) const { return get_with_hints(shape, name, init::Constant{0}); }
  // The same; a source that makes its tensors makes this one by `init`.
  [[nodiscard]] Tensor get_with_hints(const Extents& shape, std::string_view name, const Init& init) const;
  // A tensor that a layer writes to itself, such as a running mean: a variable of its own, that no optimizer is told of.
  [[nodiscard]] Var get_buffer(const Extents& shape, std::string_view name, const Init& init) const;
  // Gets a tensor of any shape.
  [[nodiscard]] Tensor get_unchecked(std::string_view name) const { return get_unchecked_dtype(name, dtype_); }
  [[nodiscard]] Tensor get_unchecked_dtype(std::string_view name, DType dtype) const;
  // As it is stored, quantized ones too.
  [[nodiscard]] Tensor get_stored(std::string_view name) const;
  [[nodiscard]] bool contains_tensor(std::string_view name) const { return source_->contains(path(name)); }

 private:
  [[nodiscard]] Tensor load(const TensorRequest& request) const;
  [[noreturn]] void fail_missing(std::string_view path) const;

  std::shared_ptr<const TensorSource> source_;
  DType dtype_;
  Device device_;
  std::string prefix_;
};

// The builder of a layer that is given its sizes alone: variables of its own. Errors: invalid_argument for a size below 1.
[[nodiscard]] VarBuilder new_variables(std::string_view layer, std::initializer_list<int64_t> sizes, const LayerOptions& options);

}  // namespace nn
}  // namespace wick
