// An InterruptGuard turns Ctrl-C into a request to stop.
#pragma once

namespace wick {

// While one is alive the first SIGINT is only remembered; the next one ends the process, as each does without a guard.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] bool requested() const noexcept;
};

}  // namespace wick
