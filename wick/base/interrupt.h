// An InterruptGuard turns Ctrl-C into a request to stop.
#pragma once

#include <array>

namespace wick {

// While one is alive the first SIGINT is only remembered; the next one ends the process, as each does without a guard. Where SIGINT
// is ignored it stays so. There is one guard at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] bool requested() const noexcept;
  // The next SIGINT is the first one again.
  void clear() noexcept;
  // Waits until the file descriptor has something to read, or is at its end; false if SIGINT came before that, which is remembered.
  // Handlers that others set for SIGINT since the guard was made are not called meanwhile.
  [[nodiscard]] bool wait_for_input(int descriptor) const;
  // Whether it has something to read now, or is at its end.
  [[nodiscard]] bool has_input(int descriptor) const noexcept;
  // Waits, then reads a byte: 1, 0 at the end of the input, -1 if SIGINT came or it cannot be read.
  [[nodiscard]] int read_byte(int descriptor, char& byte);

 private:
  int terminal_ = -1;  // what read_byte reads from, if its descriptor is a terminal
};

// While one is alive SIGINT, SIGTERM and SIGHUP wait, for what is to be done whole or not at all: files that belong together get their
// names. Of this thread, so it is for programs that have no others then.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  std::array<bool, 3> was_held_ = {};
};

}  // namespace wick
