#include "wick/base/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
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

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGINT, &action_before, nullptr);
  if (terminal_ >= 0) ::close(terminal_);
}

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

// With Ctrl-C the terminal throws away what was not read, so that nothing may be left when the wait is over: a read that blocked would
// sleep on with the signal behind it. O_NONBLOCK belongs to the open file, which other processes have, too; so the terminal is opened
// again.
int InterruptGuard::read_byte(int descriptor, char& byte) {
  if (std::array<char, 128> name; terminal_ < 0 && ::ttyname_r(descriptor, name.data(), name.size()) == 0) {
    terminal_ = ::open(name.data(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }
  const int source = terminal_ < 0 ? descriptor : terminal_;
  for (;;) {
    if (!wait_for_input(source)) return -1;
    const auto count = static_cast<int>(::read(source, &byte, 1));
    if (count >= 0 || errno != EAGAIN) return count;
  }
}

}  // namespace wick
