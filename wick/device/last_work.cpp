#include "wick/device/last_work.h"

#include <fmt/format.h>

#include <algorithm>

namespace wick {

thread_local const OpCall* OpScope::innermost = nullptr;

void LastWork::note(std::string_view kernel) {
  kernel_ = kernel;
  const OpCall* const call = OpScope::current();
  has_op_ = call != nullptr;
  if (!has_op_) return;
  op_ = call->op;
  kind_ = kind_of(call->op, call->params);
  // An op without inputs is told by its outputs.
  const std::span<const Operand> operands = call->inputs.empty() ? call->outputs : call->inputs;
  count_ = std::min(operands.size(), inputs_.size());
  for (size_t i = 0; i < count_; ++i) inputs_[i] = {operands[i].dtype, operands[i].layout->shape()};
}

std::string LastWork::text() const {
  if (!has_op_) return kernel_;
  std::string operands;
  for (size_t i = 0; i < count_; ++i) {
    operands += fmt::format("{}{} {}", i == 0 ? "" : ", ", to_string(inputs_[i].dtype), inputs_[i].shape.to_string());
  }
  return fmt::format("{} ({} of {})", kernel_, kind_name(op_, kind_), operands);
}

}  // namespace wick
