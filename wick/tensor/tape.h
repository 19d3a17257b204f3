// The tape: each tracked result remembers the op that made it, its operands and how gradients pass back through it.
//
// A gradient is written once per op, as an expression of public functions of Tensor; so gradients have gradients. Nodes are built,
// walked and destroyed without recursion: a chain of a million ops needs no stack.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wick/tensor/no_grad.h"
#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
class GradStore;
}  // namespace wick

namespace wick {

// The inputs of an op's gradient function in `backward`.
class GradientContext {
 public:
  // Gradient of the op's (first) result, with its shape and dtype.
  [[nodiscard]] const Tensor& gradient() const noexcept { return gradient_; }
  // An operand, and the result, as they were. Errors: invalid_argument where they have been written to since.
  [[nodiscard]] Tensor input(size_t index) const;
  [[nodiscard]] Tensor output() const;
  // An operand with its place on the tape, whether or not the gradient is tracked.
  [[nodiscard]] Tensor variable(size_t index) const;
  [[nodiscard]] const Shape& input_shape(size_t index) const noexcept;
  [[nodiscard]] DType input_dtype(size_t index) const noexcept;
  [[nodiscard]] size_t inputs() const noexcept;
  // Whether the operand is tracked: only then is its gradient worth computing.
  [[nodiscard]] bool wants(size_t index) const noexcept;
  // The gradient of operand `index`, of its shape and dtype; those of several calls are added.
  void give(size_t index, const Tensor& gradient);

  template <class Params>
  [[nodiscard]] const Params& parameters() const noexcept {
    return *static_cast<const Params*>(params());
  }

 private:
  friend class GradStore;
  GradientContext(const TapeNode& node, Tensor gradient, bool track, std::function<void(size_t, const Tensor&)> sink)
      : node_(node), gradient_(std::move(gradient)), track_(track), sink_(std::move(sink)) {}
  [[nodiscard]] const void* params() const noexcept;

  const TapeNode& node_;
  Tensor gradient_;
  bool track_;  // whether the gradient's own computation goes onto the tape
  std::function<void(size_t, const Tensor&)> sink_;
};

using GradientFunction = void (*)(GradientContext& context);

class TapeNode : public std::enable_shared_from_this<TapeNode> {
 public:
  // Where a gradient ends: a variable.
  TapeNode();
  // The result of an op. `params` is copied.
  TapeNode(std::string_view op, GradientFunction gradient, std::span<const std::byte> params, std::span<const Tensor* const> inputs,
           const Tensor& result);
  // The same with a gradient that holds its own parameters.
  TapeNode(std::string_view op, std::function<void(GradientContext&)> gradient, std::span<const Tensor* const> inputs,
           const Tensor& result);
  ~TapeNode();
  TapeNode(const TapeNode&) = delete;
  TapeNode& operator=(const TapeNode&) = delete;

  // Larger than the ids of all nodes that it depends on.
  [[nodiscard]] uint64_t id() const noexcept { return id_; }
  [[nodiscard]] std::string_view op() const noexcept { return op_; }
  [[nodiscard]] bool is_leaf() const noexcept { return gradient_ == nullptr && !custom_; }
  // Those of its operands that are tracked.
  [[nodiscard]] std::vector<std::shared_ptr<const TapeNode>> input_nodes() const;
  // Those of its operands that are variables.
  [[nodiscard]] std::vector<Tensor> input_variables() const;

 private:
  friend class GradientContext;
  friend class GradStore;

  // A tensor as it was when the op ran.
  struct Saved {
    std::shared_ptr<const Storage> storage;
    Layout layout;
    std::shared_ptr<const TapeNode> node;
    uint64_t version = 0;
  };
  [[nodiscard]] static Saved save(const Tensor& tensor);
  [[nodiscard]] Tensor restore(const Saved& saved, std::shared_ptr<const TapeNode> node, std::string_view what) const;

  uint64_t id_;
  std::string_view op_ = "variable";
  GradientFunction gradient_ = nullptr;
  std::function<void(GradientContext&)> custom_;
  std::vector<Saved> inputs_;
  Saved output_;
  alignas(16) std::byte params_[96];
};

// Whether any of them is tracked; false in a NoGradScope.
[[nodiscard]] bool any_tracked(std::span<const Tensor* const> tensors) noexcept;

// Makes `result` a tracked one if an input is. `params` is the parameter struct that the gradient reads.
void record(std::string_view op, GradientFunction gradient, std::span<const std::byte> params, std::span<const Tensor* const> inputs,
            Tensor& result);
void record(std::string_view op, std::function<void(GradientContext&)> gradient, std::span<const Tensor* const> inputs, Tensor& result);

template <class Params>
[[nodiscard]] std::span<const std::byte> bytes_of(const Params& params) noexcept {
  static_assert(std::is_trivially_copyable_v<Params> && sizeof(Params) <= 96);
  return std::as_bytes(std::span(&params, 1));
}

}  // namespace wick
