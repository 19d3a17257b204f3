#include "wick/base/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

// What a signal handler may touch is of the process, not of an object.
volatile sig_atomic_t interrupts = 0;
struct sigaction action_before;
constexpr std::array<int, 3> kEndingSignals = {SIGINT, SIGTERM, SIGHUP};
// A pipe into which each SIGINT writes a byte: the thread that waits need not be the one that takes the signal.
std::array<int, 2> signals = {-1, -1};

// The handler while one waits: there is no second time, as who waits answers the first.
void remember(int /*signal*/) {
  interrupts = 1;
  const int error = errno;
  (void)!::write(signals[1], "", 1);  // a full pipe wakes as well
  errno = error;
}

void note_interrupt(int signal) {
  if (interrupts != 0) {
    // The shell's prompt begins a line.
    if (::isatty(STDERR_FILENO) != 0) (void)!::write(STDERR_FILENO, "\n", 1);
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  remember(signal);
}

struct sigaction action_of(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  return action;
}

}  // namespace

HeldSignals::HeldSignals() {
  for (size_t i = 0; i < kEndingSignals.size(); ++i) {
    sigset_t one, before;
    ::sigemptyset(&one);
    ::sigaddset(&one, kEndingSignals[i]);
    ::pthread_sigmask(SIG_BLOCK, &one, &before);
    was_held_[i] = ::sigismember(&before, kEndingSignals[i]) == 1;
  }
}

HeldSignals::~HeldSignals() {
  for (size_t i = 0; i < kEndingSignals.size(); ++i) {
    if (was_held_[i]) continue;
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, kEndingSignals[i]);
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  }
}

InterruptGuard::InterruptGuard() {
  interrupts = 0;
  if (::pipe(signals.data()) != 0) fail(ErrorCode::io, "no pipe for Ctrl-C can be made: {}", std::strerror(errno));
  for (const int end : signals) {
    ::fcntl(end, F_SETFL, O_NONBLOCK);
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  const struct sigaction action = action_of(note_interrupt);
  ::sigaction(SIGINT, &action, &action_before);
  // Who started the process wants it to go on: nohup, or a shell script that put it into the background.
  if (action_before.sa_handler == SIG_IGN) ::sigaction(SIGINT, &action_before, nullptr);
}

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGINT, &action_before, nullptr);
  for (int& end : signals) ::close(std::exchange(end, -1));
  if (terminal_ >= 0) ::close(terminal_);
}

bool InterruptGuard::requested() const noexcept { return interrupts != 0; }

void InterruptGuard::clear() noexcept { interrupts = 0; }

bool InterruptGuard::wait_for_input(int descriptor) const {
  const struct sigaction action = action_of(remember);
  struct sigaction other;
  ::sigaction(SIGINT, &action, &other);
  std::array<pollfd, 2> entries = {
      {{.fd = descriptor, .events = POLLIN, .revents = 0}, {.fd = signals[0], .events = POLLIN, .revents = 0}}};
  while (interrupts == 0 && entries[0].revents == 0) {
    if (::poll(entries.data(), entries.size(), -1) < 0) {
      if (errno == EINTR) continue;
      break;  // the caller's read() fails with the same error
    }
    // A byte of a signal that was answered before: one that was not has set `interrupts`.
    std::array<char, 64> bytes;
    while (entries[1].revents != 0 && ::read(signals[0], bytes.data(), bytes.size()) > 0) {}
  }
  ::sigaction(SIGINT, &other, nullptr);
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
