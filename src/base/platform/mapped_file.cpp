#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace wick {
namespace {

// Closes the descriptor when it goes out of scope; the mapping outlives it.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile::MappedFile(std::filesystem::path path, std::byte* data, size_t size, MapMode mode)
    : path_(std::move(path)), data_(data), size_(size), mode_(mode) {}

MappedFile::~MappedFile() { ::munmap(data_, size_); }

std::span<std::byte> MappedFile::writable_bytes() noexcept {
  if (mode_ != MapMode::copy_on_write) return {};
  return {data_, size_};
}

std::shared_ptr<MappedFile> MappedFile::open(const std::filesystem::path& path, MapMode mode) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) fail(ErrorCode::not_found, "{}: no such file; check the path", path.string());
    fail(ErrorCode::io, "{}: cannot open: {}", path.string(), std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(ErrorCode::io, "{}: cannot stat: {}", path.string(), std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(ErrorCode::io, "{}: is a directory; name a file in it", path.string());
  if (!S_ISREG(status.st_mode)) fail(ErrorCode::io, "{}: is not a regular file, so it cannot be mapped", path.string());
  if (status.st_size == 0) fail(ErrorCode::corrupt_file, "{}: the file is empty (0 bytes); download or copy it again", path.string());

  const auto size = static_cast<size_t>(status.st_size);
  const int protection = mode == MapMode::copy_on_write ? PROT_READ | PROT_WRITE : PROT_READ;
  const int flags = mode == MapMode::copy_on_write ? MAP_PRIVATE | MAP_NORESERVE : MAP_PRIVATE;
  void* address = ::mmap(nullptr, size, protection, flags, file.get(), 0);
  if (address == MAP_FAILED) {
    const ErrorCode code = errno == ENOMEM ? ErrorCode::out_of_memory : ErrorCode::io;
    fail(code, "{}: cannot map {} bytes: {}", path.string(), size, std::strerror(errno));
  }
  return std::shared_ptr<MappedFile>(new MappedFile(path, static_cast<std::byte*>(address), size, mode));
}

}  // namespace wick
