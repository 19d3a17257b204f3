#include "wick/base/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace wick {
namespace {

// What a signal handler may touch is of the process, not of an object.
volatile sig_atomic_t interrupts = 0;
struct sigaction action_before;

void note_interrupt(int signal) {
  if (interrupts != 0) {
    // The shell's prompt begins a line.
    if (::isatty(STDERR_FILENO) != 0) (void)!::write(STDERR_FILENO, "\n", 1);
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  interrupts = 1;
}

// While one waits there is no second time: who waits answers the first.
void note_while_waiting(int /*signal*/) { interrupts = 1; }

struct sigaction action_of(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  return action;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupts = 0;
  const struct sigaction action = action_of(note_interrupt);
  ::sigaction(SIGINT, &action, &action_before);
  // Who started the process wants it to go on: nohup, or a shell script that put it into the background.
  if (action_before.sa_handler == SIG_IGN) ::sigaction(SIGINT, &action_before, nullptr);
}

InterruptGuard::~InterruptGuard() { ::sigaction(SIGINT, &action_before, nullptr); }

bool InterruptGuard::requested() const noexcept { return interrupts != 0; }

void InterruptGuard::clear() noexcept { interrupts = 0; }

bool InterruptGuard::wait_for_input(int descriptor) const {
  // The signal is blocked but in ppoll, so that none comes between the look at `interrupts` and the wait.
  sigset_t with_interrupt;
  sigset_t before;
  ::sigemptyset(&with_interrupt);
  ::sigaddset(&with_interrupt, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &with_interrupt, &before);
  const struct sigaction action = action_of(note_while_waiting);
  struct sigaction other;
  ::sigaction(SIGINT, &action, &other);
  sigset_t waiting = before;
  ::sigdelset(&waiting, SIGINT);
  pollfd entry = {.fd = descriptor, .events = POLLIN, .revents = 0};
  int ready = 0;
  while (interrupts == 0 && ready <= 0) {
    ready = ::ppoll(&entry, 1, nullptr, &waiting);
    if (ready < 0 && errno != EINTR) break;  // the caller's read() fails with the same error
  }
  ::sigaction(SIGINT, &other, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return interrupts == 0;
}

bool InterruptGuard::has_input(int descriptor) const noexcept {
  pollfd entry = {.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) > 0;
}

int InterruptGuard::read_byte(int descriptor, char& byte) const {
  if (!wait_for_input(descriptor)) return -1;
  return static_cast<int>(::read(descriptor, &byte, 1));
}

}  // namespace wick
