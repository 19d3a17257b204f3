#include "wick/tensor/backward.h"

#include <algorithm>
#include <unordered_set>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/tape.h"

namespace wick {

const Tensor& FoundGradient::value() const {
  if (!gradient_) {
    fail(ErrorCode::invalid_argument, "backward: no gradient flowed to {}: {}", of_.describe(),
         of_.is_tracked() ? "the result of backward does not depend on it" : "it is not a Var, nor computed from one");
  }
  return *gradient_;
}

FoundGradient GradStore::get(const Tensor& tensor) const {
  check_assigned("GradStore::get", {{"tensor", tensor}});
  (void)tensor.storage();
  return {tensor.is_tracked() ? get_id(tensor.node()->id()) : std::nullopt, tensor};
}

std::optional<Tensor> GradStore::get_id(uint64_t id) const {
  const auto found = gradients_.find(id);
  return found == gradients_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Tensor> GradStore::remove(const Tensor& tensor) {
  std::optional<Tensor> gradient = get(tensor);
  if (gradient) gradients_.erase(tensor.node()->id());
  return gradient;
}

std::optional<Tensor> GradStore::insert(const Tensor& tensor, const Tensor& gradient) {
  check_assigned("GradStore::insert", {{"tensor", tensor}, {"gradient", gradient}});
  return insert_id(tape_id(tensor), gradient);
}

std::optional<Tensor> GradStore::insert_id(uint64_t id, const Tensor& gradient) {
  (void)gradient.storage();
  std::optional<Tensor> before = get_id(id);
  gradients_.insert_or_assign(id, gradient);
  return before;
}

void GradStore::extend(const GradStore& other) {
  for (const auto& [id, gradient] : other.gradients_) gradients_.insert_or_assign(id, gradient);
}

std::vector<uint64_t> GradStore::get_ids() const {
  std::vector<uint64_t> ids;
  for (const auto& [id, gradient] : gradients_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void GradStore::accumulate(uint64_t id, const Tensor& gradient) {
  const auto found = gradients_.find(id);
  if (found == gradients_.end()) {
    gradients_.emplace(id, gradient);
  } else {
    found->second = found->second.add(gradient);
  }
}

void GradStore::pass_back(const TapeNode& node, const Tensor& gradient, bool track) {
  GradientContext context(node, gradient, track, [&](size_t index, const Tensor& given) {
    const TapeNode::Saved& input = node.inputs_[index];
    const bool fits = given.shape() == input.layout.shape() && given.dtype() == input.storage->dtype();
    if (!fits && node.custom_) {
      fail(ErrorCode::shape_mismatch, "backward: {} gave {} as the gradient of operand {}, which is {}", node.op_, given.describe(), index,
           Tensor(input.storage, input.layout).describe());
    }
    WICK_ASSERT(fits);
    accumulate(input.node->id(), given);
  });
  if (node.custom_) {
    node.custom_(context);
  } else if (node.gradient_ != nullptr) {
    node.gradient_(context);
  }
}

uint64_t tape_id(const Tensor& tensor) {
  if (!tensor.is_tracked()) {
    fail(ErrorCode::invalid_argument, "backward: {} is not tracked: it was computed from no Var", tensor.describe());
  }
  return tensor.node()->id();
}

std::vector<std::shared_ptr<const TapeNode>> sorted_nodes(const Tensor& root) {
  std::vector<std::shared_ptr<const TapeNode>> nodes;
  std::unordered_set<const TapeNode*> seen;
  const auto visit = [&](const std::shared_ptr<const TapeNode>& node) {
    if (node != nullptr && seen.insert(node.get()).second) nodes.push_back(node);
  };
  visit(root.node());
  for (size_t next = 0; next < nodes.size(); ++next) {
    const TapeNode& node = *nodes[next];  // visit() may move the pointers, not what they point to
    for (const std::shared_ptr<const TapeNode>& input : node.input_nodes()) visit(input);
  }
  // A node's id is larger than those of its operands.
  std::sort(nodes.begin(), nodes.end(), [](const auto& lhs, const auto& rhs) { return lhs->id() > rhs->id(); });
  return nodes;
}

GradStore backward(const Tensor& root, const BackwardOptions& options) {
  check_assigned("backward", {{"root", root}});
  const uint64_t root_id = tape_id(root);
  if (options.gradient && (options.gradient->shape() != root.shape() || options.gradient->dtype() != root.dtype())) {
    fail(ErrorCode::shape_mismatch, "backward: the root is {} and its gradient {}", root.describe(), options.gradient->describe());
  }
  GradStore store;
  const Tensor seed = options.gradient ? *options.gradient : root.ones_like();
  store.gradients_.emplace(root_id, options.create_graph ? seed : seed.detach());
  for (const std::shared_ptr<const TapeNode>& node : sorted_nodes(root)) {
    const auto found = store.gradients_.find(node->id());
    if (found == store.gradients_.end() || node->is_leaf()) continue;
    const Tensor gradient = found->second;
    if (!options.keep_intermediates) store.gradients_.erase(found);
    store.pass_back(*node, gradient, options.create_graph);
  }
  return store;
}

}  // namespace wick
