#include "wick/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "wick/base/fail.h"

namespace wick {

FileLock::FileLock(const std::filesystem::path& path) : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail(ErrorCode::io, "{}: cannot be opened for locking: {}", path.string(), std::strerror(errno));
  int status = 0;
  do {
    status = ::flock(descriptor_, LOCK_EX);
  } while (status != 0 && errno == EINTR);
  if (status == 0) return;
  const int reason = errno;
  ::close(descriptor_);
  fail(ErrorCode::io, "{}: cannot be locked: {}", path.string(), std::strerror(reason));
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace wick
