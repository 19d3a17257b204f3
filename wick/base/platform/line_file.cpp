#include "wick/base/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "wick/base/fail.h"
#include "wick/base/platform/lock_descriptor.h"

namespace wick {

LineFile::LineFile(const std::filesystem::path& path) : path_(path) {
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(ErrorCode::io, "{}: is a directory; name a file to write", path.string());
  is_regular_ = !exists || S_ISREG(status.st_mode);
  const int flags = is_regular_ ? O_RDWR | O_CREAT : O_WRONLY;
  descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      fail(ErrorCode::not_found, "{}: cannot be written: its folder does not exist; create it", path.string());
    }
    fail_io("open", errno);
  }
  if (!is_regular_) return;
  try {
    lock();
    cut_half_line();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

LineFile::~LineFile() { ::close(descriptor_); }

void LineFile::lock() {
  const int reason = lock_descriptor(descriptor_, /*waits=*/false);
  if (reason == 0) return;
  if (reason != EWOULDBLOCK) fail_io("lock", reason);
  fail(ErrorCode::invalid_argument, "{}: another process is writing it; wait for its end, or name another file", path_.string());
}

void LineFile::cut_half_line() {
  const off_t end = ::lseek(descriptor_, 0, SEEK_END);
  if (end < 0) fail_io("seek", errno);
  std::array<char, 1 << 16> piece{};
  off_t whole = 0;
  for (off_t rest = end; rest > 0 && whole == 0;) {
    const off_t begin = std::max<off_t>(rest - static_cast<off_t>(piece.size()), 0);
    const ssize_t count = ::pread(descriptor_, piece.data(), static_cast<size_t>(rest - begin), begin);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_io("read", count == 0 ? EIO : errno);
    const size_t last = std::string_view(piece.data(), static_cast<size_t>(count)).rfind('\n');
    if (last != std::string_view::npos) whole = begin + static_cast<off_t>(last) + 1;
    rest = begin;
  }
  size_ = static_cast<uint64_t>(whole);
  if (whole == end) return;
  if (::ftruncate(descriptor_, whole) != 0) fail_io("shorten", errno);
}

void LineFile::append(std::string_view line) {
  std::string whole(line);
  whole += '\n';
  write_all(whole);
  size_ += whole.size();
}

void LineFile::write_all(std::string_view bytes) {
  auto at = static_cast<off_t>(size_);
  while (!bytes.empty()) {
    const ssize_t written =
        is_regular_ ? ::pwrite(descriptor_, bytes.data(), bytes.size(), at) : ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      if (is_regular_ && ::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) fail_io("shorten", errno);
      fail_io("write", reason);
    }
    at += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void LineFile::sync() {
  if (is_regular_ && ::fsync(descriptor_) != 0) fail_io("write", errno);
}

void LineFile::fail_io(const char* action, int reason) const {
  const char* remedy = reason == ENOSPC || reason == EDQUOT ? "free space on the disk" : "check the path and its permissions";
  fail(ErrorCode::io, "{}: cannot {} at byte {}: {}; {}", path_.string(), action, size_, std::strerror(reason), remedy);
}

}  // namespace wick
