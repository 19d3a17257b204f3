#include "wick/base/interrupt.h"

#include <signal.h>

namespace wick {
namespace {

// What a signal handler may touch is of the process, not of an object.
volatile sig_atomic_t interrupts = 0;
struct sigaction action_before;

void note_interrupt(int signal) {
  if (interrupts != 0) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  interrupts = 1;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupts = 0;
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &action_before);
}

InterruptGuard::~InterruptGuard() { ::sigaction(SIGINT, &action_before, nullptr); }

bool InterruptGuard::requested() const noexcept { return interrupts != 0; }

}  // namespace wick
