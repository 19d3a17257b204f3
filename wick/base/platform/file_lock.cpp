#include "wick/base/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "wick/base/fail.h"
#include "wick/base/platform/lock_descriptor.h"

namespace wick {

FileLock::FileLock(const std::filesystem::path& path) : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail(ErrorCode::io, "{}: cannot be opened for locking: {}", path.string(), std::strerror(errno));
  const int reason = lock_descriptor(descriptor_, /*waits=*/true);
  if (reason == 0) return;
  ::close(descriptor_);
  fail(ErrorCode::io, "{}: cannot be locked: {}", path.string(), std::strerror(reason));
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace wick
