// The lock of an open file, for one process at a time.
#pragma once

#include <sys/file.h>

#include <cerrno>

namespace wick {

// Returns 0, or why it failed, as errno has it: EWOULDBLOCK where somebody else holds it and `waits` is false.
[[nodiscard]] inline int lock_descriptor(int descriptor, bool waits) noexcept {
  int status = 0;
  do {
    status = ::flock(descriptor, waits ? LOCK_EX : LOCK_EX | LOCK_NB);
  } while (status != 0 && errno == EINTR);
  return status == 0 ? 0 : errno;
}

}  // namespace wick
