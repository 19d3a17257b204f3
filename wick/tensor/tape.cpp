#include "wick/tensor/tape.h"

#include <atomic>

#include "wick/base/fail.h"

namespace wick {
namespace {

uint64_t next_id() noexcept {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// The nodes that the destruction of others has set free, destroyed one after another by the outermost one on this thread. A plain
// pointer, so that tensors of static storage may be destroyed after the thread's own objects.
thread_local std::vector<std::shared_ptr<const TapeNode>>* graveyard = nullptr;

}  // namespace

// --- GradientContext ---

Tensor GradientContext::input(size_t index) const {
  const TapeNode::Saved& saved = node_.inputs_[index];
  return node_.restore(saved, track_ ? saved.node : nullptr, "an operand");
}

Tensor GradientContext::variable(size_t index) const {
  const TapeNode::Saved& saved = node_.inputs_[index];
  return node_.restore(saved, saved.node, "an operand");
}

Tensor GradientContext::output() const { return node_.restore(node_.output_, track_ ? node_.shared_from_this() : nullptr, "the result"); }

const Shape& GradientContext::input_shape(size_t index) const noexcept { return node_.inputs_[index].layout.shape(); }

DType GradientContext::input_dtype(size_t index) const noexcept { return node_.inputs_[index].storage->dtype(); }

size_t GradientContext::inputs() const noexcept { return node_.inputs_.size(); }

bool GradientContext::wants(size_t index) const noexcept { return node_.inputs_[index].node != nullptr; }

const void* GradientContext::params() const noexcept { return node_.params_; }

void GradientContext::give(size_t index, const Tensor& gradient) {
  if (wants(index)) sink_(index, gradient);
}

// --- TapeNode ---

TapeNode::TapeNode() : id_(next_id()) {}

TapeNode::TapeNode(std::string_view op, GradientFunction gradient, std::span<const std::byte> params, std::span<const Tensor* const> inputs,
                   const Tensor& result)
    : id_(next_id()), op_(op), gradient_(gradient), output_(save(result)) {
  WICK_ASSERT(params.size() <= sizeof(params_));
  if (!params.empty()) std::memcpy(params_, params.data(), params.size());
  inputs_.reserve(inputs.size());
  for (const Tensor* input : inputs) inputs_.push_back(save(*input));
}

TapeNode::TapeNode(std::string_view op, std::function<void(GradientContext&)> gradient, std::span<const Tensor* const> inputs,
                   const Tensor& result)
    : id_(next_id()), op_(op), custom_(std::move(gradient)), output_(save(result)) {
  inputs_.reserve(inputs.size());
  for (const Tensor* input : inputs) inputs_.push_back(save(*input));
}

TapeNode::~TapeNode() {
  if (is_leaf()) return;
  std::vector<std::shared_ptr<const TapeNode>> own;
  const bool outermost = graveyard == nullptr;
  if (outermost) graveyard = &own;
  for (Saved& saved : inputs_) {
    if (saved.node != nullptr) graveyard->push_back(std::move(saved.node));
  }
  if (!outermost) return;
  while (!own.empty()) {
    const std::shared_ptr<const TapeNode> node = std::move(own.back());
    own.pop_back();
  }
  graveyard = nullptr;
}

std::vector<std::shared_ptr<const TapeNode>> TapeNode::input_nodes() const {
  std::vector<std::shared_ptr<const TapeNode>> nodes;
  for (const Saved& saved : inputs_) {
    if (saved.node != nullptr) nodes.push_back(saved.node);
  }
  return nodes;
}

std::vector<Tensor> TapeNode::input_variables() const {
  std::vector<Tensor> variables;
  for (const Saved& saved : inputs_) {
    if (saved.node != nullptr && saved.node->is_leaf()) variables.emplace_back(saved.storage, saved.layout, saved.node);
  }
  return variables;
}

TapeNode::Saved TapeNode::save(const Tensor& tensor) {
  return {tensor.storage(), tensor.layout(), tensor.node(), tensor.storage()->version()};
}

Tensor TapeNode::restore(const Saved& saved, std::shared_ptr<const TapeNode> node, std::string_view what) const {
  Tensor tensor(saved.storage, saved.layout, std::move(node));
  if (saved.storage->version() != saved.version) {
    fail(ErrorCode::invalid_argument, "backward: {} of {}, {}, was written to after the op had read it; write to a copy instead", what, op_,
         tensor.describe());
  }
  return tensor;
}

// --- record ---

namespace {

// How many NoGradScopes this thread is in.
thread_local int no_grad_depth = 0;

}  // namespace

NoGradScope::NoGradScope() noexcept { ++no_grad_depth; }
NoGradScope::~NoGradScope() { --no_grad_depth; }
bool NoGradScope::active() noexcept { return no_grad_depth > 0; }

bool any_tracked(std::span<const Tensor* const> tensors) noexcept {
  if (NoGradScope::active()) return false;
  for (const Tensor* tensor : tensors) {
    if (tensor->is_tracked()) return true;
  }
  return false;
}

void record(std::string_view op, GradientFunction gradient, std::span<const std::byte> params, std::span<const Tensor* const> inputs,
            Tensor& result) {
  if (!any_tracked(inputs)) return;
  result = Tensor(result.storage(), result.layout(), std::make_shared<const TapeNode>(op, gradient, params, inputs, result.detach()));
}

void record(std::string_view op, std::function<void(GradientContext&)> gradient, std::span<const Tensor* const> inputs, Tensor& result) {
  if (!any_tracked(inputs)) return;
  result = Tensor(result.storage(), result.layout(), std::make_shared<const TapeNode>(op, std::move(gradient), inputs, result.detach()));
}

}  // namespace wick
