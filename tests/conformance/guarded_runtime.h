// A GuardedRuntime runs the ops of another runtime and checks what they touch: bytes before and behind each output, elements between
// the output's own, and every input.
#pragma once

#include "forwarding_runtime.h"

namespace wick::conformance {

class GuardedRuntime final : public ForwardingRuntime {
 public:
  using ForwardingRuntime::ForwardingRuntime;

  [[nodiscard]] OpFunction override_for(OpId op, int kind, DType dtype) const noexcept override;

  // The op of the inner runtime on outputs between canaries. Throws std::runtime_error naming what was overwritten.
  void call(const OpCall& call);
};

}  // namespace wick::conformance
