// A NoGradScope turns the tape off on its thread: what is computed while it lives is not tracked, as under PyTorch's no_grad.
#pragma once

namespace [[gnu::visibility("default")]] wick {

// Scopes nest. Variables stay variables, and tensors computed before stay tracked.
class NoGradScope {
 public:
  NoGradScope() noexcept;
  ~NoGradScope();
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;

  // Whether this thread is in one.
  [[nodiscard]] static bool active() noexcept;
};

}  // namespace wick
