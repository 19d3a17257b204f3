#include "wick/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr size_t kBufferBytes = 1 << 16;
constexpr int kNameAttempts = 100;

// ".model.gguf.1234.0.part" beside the target: hidden, and told apart by process and attempt. Of a long name the beginning, so that this
// one is no longer than a name may be.
std::filesystem::path temporary_name(const std::filesystem::path& target, int attempt) {
  constexpr size_t kKept = 200;
  return target.parent_path() / fmt::format(".{}.{}.{}.part", target.filename().string().substr(0, kKept), ::getpid(), attempt);
}

std::string path_of_descriptor(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target) : shown_(target) {
  buffer_.reserve(kBufferBytes);
  struct stat status{};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(ErrorCode::io, "{}: is a directory; name a file to write", shown_.string());
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_io("open");
    return;
  }
  std::error_code error;
  target_ = std::filesystem::weakly_canonical(target, error);
  if (error) target_ = target;
  const std::filesystem::path folder = target_.parent_path().empty() ? "." : target_.parent_path();
  const long longest = ::pathconf(folder.c_str(), _PC_NAME_MAX);
  if (longest > 0 && target_.filename().string().size() > static_cast<size_t>(longest)) {
    fail(ErrorCode::io, "{}: the name has {} bytes and the folder's file system takes {}; use a shorter one", shown_.string(),
         target_.filename().string().size(), longest);
  }
  open_temporary();
  if (descriptor_ < 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      fail(ErrorCode::not_found, "{}: cannot be written: its folder does not exist; create it", shown_.string());
    }
    fail_io("create");
  }
  if (exists) static_cast<void>(::fchmod(descriptor_, status.st_mode & 07777));  // a file replaced keeps its permissions
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty() && !nameless_) ::unlink(temporary_.c_str());
}

// Where the file system can, the file has no name until commit(): then even a process that is killed leaves nothing behind.
void AtomicFile::open_temporary() {
#ifdef O_TMPFILE
  const std::filesystem::path folder = target_.parent_path().empty() ? "." : target_.parent_path();
  descriptor_ = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  // commit() names it by way of /proc, which may not be mounted.
  nameless_ = descriptor_ >= 0 && ::access(path_of_descriptor(descriptor_).c_str(), F_OK) == 0;
  if (descriptor_ >= 0 && !nameless_) {
    ::close(descriptor_);
    descriptor_ = -1;
  }
#endif
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    temporary_ = temporary_name(target_, attempt);
    if (nameless_) return;
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 || errno != EEXIST) return;
  }
}

void AtomicFile::name_temporary() {
  const std::string source = path_of_descriptor(descriptor_);
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    temporary_ = temporary_name(target_, attempt);
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      nameless_ = false;
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_io("name");
}

void AtomicFile::fail_io(const char* action) const {
  const int reason = errno;
  if (reason == EFAULT) {  // the system's word for a mapping whose file has become shorter
    fail(ErrorCode::corrupt_file,
         "{}: cannot {} at byte {}: the file that these bytes are copied from was cut off while it was in use; copy or download that one "
         "again",
         shown_.string(), action, size_);
  }
  const char* remedy = reason == ENOSPC || reason == EDQUOT ? "free space on the disk" : "check the path and its permissions";
  fail(ErrorCode::io, "{}: cannot {} at byte {}: {}; {}", shown_.string(), action, size_, std::strerror(reason), remedy);
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_io("write");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void AtomicFile::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  WICK_ASSERT(descriptor_ >= 0);
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() >= kBufferBytes) {
    write_through(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  size_ += bytes.size();
}

void AtomicFile::sync() {
  WICK_ASSERT(descriptor_ >= 0);
  flush();
  if (!temporary_.empty() && ::fsync(descriptor_) != 0) fail_io("flush");
}

void AtomicFile::commit() {
  sync();
  if (!temporary_.empty()) {
    if (nameless_) name_temporary();
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_io("rename");
  }
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0 && temporary_.empty()) fail_io("close");
  if (temporary_.empty()) return;
  // The new name, too, survives a crash once the folder is on the disk; a folder that cannot be flushed loses nothing else.
  const std::filesystem::path folder = target_.parent_path().empty() ? "." : target_.parent_path();
  const int folder_descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_descriptor < 0) return;
  static_cast<void>(::fsync(folder_descriptor));
  ::close(folder_descriptor);
}

}  // namespace wick
