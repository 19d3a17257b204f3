// backward: the gradients of a scalar with respect to everything that it was computed from.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"

namespace [[gnu::visibility("default")]] wick {

// A gradient that may be missing: an optional tensor that throws where it is used without one.
class FoundGradient {
 public:
  FoundGradient(std::optional<Tensor> gradient, Tensor of) : gradient_(std::move(gradient)), of_(std::move(of)) {}

  [[nodiscard]] bool has_value() const noexcept { return gradient_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  // Errors: invalid_argument, naming the tensor to which no gradient flowed.
  [[nodiscard]] const Tensor& value() const;
  [[nodiscard]] Tensor value_or(const Tensor& other) const { return gradient_.value_or(other); }
  const Tensor& operator*() const { return value(); }
  const Tensor* operator->() const { return &value(); }
  operator std::optional<Tensor>() const { return gradient_; }  // NOLINT: it is one

 private:
  std::optional<Tensor> gradient_;
  Tensor of_;
};

// Gradients by tensor.
class GradStore {
 public:
  // The gradient of a tensor. Errors: invalid_argument, naming the tensor, if none flowed to it.
  [[nodiscard]] Tensor operator[](const Tensor& tensor) const { return get(tensor).value(); }
  // The same for those who ask whether there is one.
  [[nodiscard]] FoundGradient get(const Tensor& tensor) const;
  [[nodiscard]] std::optional<Tensor> get_id(uint64_t id) const;
  std::optional<Tensor> remove(const Tensor& tensor);
  // Returns what was there before. Errors: invalid_argument for a tensor that is not tracked.
  std::optional<Tensor> insert(const Tensor& tensor, const Tensor& gradient);
  std::optional<Tensor> insert_id(uint64_t id, const Tensor& gradient);
  void extend(const GradStore& other);
  [[nodiscard]] std::vector<uint64_t> get_ids() const;
  [[nodiscard]] size_t size() const noexcept { return gradients_.size(); }

 private:
  friend GradStore backward(const Tensor& root, const struct BackwardOptions& options);
  void pass_back(const TapeNode& node, const Tensor& gradient, bool track);
  void accumulate(uint64_t id, const Tensor& gradient);

  std::unordered_map<uint64_t, Tensor> gradients_;
};

struct BackwardOptions {
  // The gradients are tracked themselves, for gradients of gradients.
  bool create_graph = false;
  // The result has the gradients of intermediate tensors too, not only those of variables.
  bool keep_intermediates = false;
  // Gradient of the root; ones if absent.
  std::optional<Tensor> gradient = std::nullopt;
};

// The id of a tracked tensor, by which its gradient is found. Errors: invalid_argument for one that is not tracked.
[[nodiscard]] uint64_t tape_id(const Tensor& tensor);
// The nodes that a tensor was computed from, each before all that it depends on.
[[nodiscard]] std::vector<std::shared_ptr<const TapeNode>> sorted_nodes(const Tensor& root);

// Gradients of `root`, which is summed up if it has several elements.
// Errors: invalid_argument for a root that is not tracked, or where a tensor that a gradient needs was written to since.
[[nodiscard]] GradStore backward(const Tensor& root, const BackwardOptions& options = {});

}  // namespace wick
