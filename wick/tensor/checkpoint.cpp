#include "wick/tensor/checkpoint.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/defaults.h"
#include "wick/tensor/tape.h"

namespace wick {
namespace {

using Function = std::function<Tensor(std::span<const Tensor>)>;

// The same elements as a variable, on which a tape of its own begins.
Tensor as_variable(const Tensor& x) { return Tensor(x.storage(), x.layout(), std::make_shared<const TapeNode>()); }

void set_position(RandomStream& random, const RandomStream::Draw& position) {
  random.set_seed(position.seed);
  (void)random.take(position.offset);
}

// While it lives the stream is where it was.
class EarlierPosition {
 public:
  EarlierPosition(RandomStream& random, const RandomStream::Draw& position) : random_(random), now_(random.take(0)) {
    set_position(random_, position);
  }
  ~EarlierPosition() { set_position(random_, now_); }
  EarlierPosition(const EarlierPosition&) = delete;
  EarlierPosition& operator=(const EarlierPosition&) = delete;

 private:
  RandomStream& random_;
  RandomStream::Draw now_;
};

Tensor run_again(const Function& function, std::span<const Tensor> inputs, const RandomStream::Draw& position, const Device& device) {
  const EarlierPosition earlier(device.random(), position);
  return function(inputs);
}

// The variables that a tensor was computed from, without those of `except`.
std::vector<Tensor> variables_behind(const Tensor& root, std::span<const Tensor> except) {
  std::vector<Tensor> found;
  std::vector<const TapeNode*> known;
  for (const Tensor& x : except) known.push_back(x.node().get());
  const auto note = [&](const Tensor& variable) {
    if (std::find(known.begin(), known.end(), variable.node().get()) != known.end()) return;
    known.push_back(variable.node().get());
    found.push_back(variable);
  };
  if (root.node()->is_leaf()) note(root);
  for (const std::shared_ptr<const TapeNode>& node : sorted_nodes(root)) {
    for (const Tensor& variable : node->input_variables()) note(variable);
  }
  return found;
}

// Runs the function once more, and backward through it.
void pass_back(const Function& function, size_t inputs, const RandomStream::Draw& position, const Device& device,
               GradientContext& context) {
  std::vector<Tensor> again;
  for (size_t i = 0; i < inputs; ++i) {
    const Tensor x = context.input(i);
    if (x.is_tracked())
      fail(ErrorCode::unsupported, "checkpoint: gradients of gradients are not supported; call backward without create_graph");
    again.push_back(context.wants(i) ? as_variable(x) : x);
  }
  if (NoGradScope::active()) {
    fail(ErrorCode::invalid_argument, "checkpoint: backward was called where nothing is tracked; call it outside of no_grad");
  }
  const Tensor result = run_again(function, again, position, device);
  if (result.shape() != context.gradient().shape() || result.dtype() != context.gradient().dtype()) {
    fail(ErrorCode::shape_mismatch, "checkpoint: the function gave {} when it ran again, but {} before", result.describe(),
         context.gradient().describe());
  }
  const GradStore gradients = backward(result, {.gradient = context.gradient()});
  for (size_t i = 0; i < context.inputs(); ++i) {
    if (!context.wants(i)) continue;
    const Tensor variable = i < inputs ? again[i] : context.variable(i);
    if (const std::optional<Tensor> gradient = gradients.get(variable)) context.give(i, *gradient);
  }
}

}  // namespace

Tensor checkpoint(Function function, const std::vector<Tensor>& inputs) {
  check_assigned("checkpoint", inputs);
  if (NoGradScope::active()) return function(inputs);
  std::vector<Tensor> own;
  for (const Tensor& x : inputs) own.push_back(x.is_tracked() ? as_variable(x) : x);
  // The device of the result is known only afterwards; it is the inputs' where there are any.
  const Device device = inputs.empty() ? default_device() : inputs.front().device();
  const RandomStream::Draw position = device.random().take(0);
  Tensor whole = function(own);
  check_assigned("checkpoint", {{"what the function gave", whole}});
  if (!whole.is_tracked()) return whole;
  std::vector<const Tensor*> operands;
  for (const Tensor& x : inputs) operands.push_back(&x);
  const std::vector<Tensor> variables = variables_behind(whole, own);
  for (const Tensor& x : variables) operands.push_back(&x);
  Tensor result = whole.detach();
  record(
      "checkpoint",
      [function = std::move(function), count = inputs.size(), position, device](GradientContext& context) {
        pass_back(function, count, position, device, context);
      },
      operands, result);
  return result;
}

}  // namespace wick
