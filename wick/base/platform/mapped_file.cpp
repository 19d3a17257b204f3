#include "wick/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "wick/base/fail.h"

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

MappedFile::MappedFile(std::filesystem::path path, std::byte* data, size_t size) : path_(std::move(path)), data_(data), size_(size) {}

MappedFile::~MappedFile() { ::munmap(data_, size_); }

void MappedFile::forget(std::span<const std::byte> bytes) const noexcept {
  // Whole pages only: those at the ends may belong to other bytes too.
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);  // NOLINT: an address, rounded
}

std::shared_ptr<MappedFile> MappedFile::open(const std::filesystem::path& path, MapAccess access) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) fail(ErrorCode::not_found, "{}: no such file; check the path", path.string());
    fail(ErrorCode::io, "{}: cannot open: {}", path.string(), std::strerror(errno));
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) fail(ErrorCode::io, "{}: cannot stat: {}", path.string(), std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(ErrorCode::io, "{}: is a directory; name a file in it", path.string());
  if (!S_ISREG(status.st_mode)) fail(ErrorCode::io, "{}: is not a regular file, so it cannot be mapped", path.string());
  if (status.st_size == 0) fail(ErrorCode::corrupt_file, "{}: the file is empty (0 bytes); download or copy it again", path.string());

  const auto size = static_cast<size_t>(status.st_size);
  // Without MAP_NORESERVE the system would count every byte of a file larger than memory, though few pages are ever written to.
  const int protection = access == MapAccess::read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* address = ::mmap(nullptr, size, protection, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (address == MAP_FAILED) {
    const ErrorCode code = errno == ENOMEM ? ErrorCode::out_of_memory : ErrorCode::io;
    fail(code, "{}: cannot map {} bytes: {}", path.string(), size, std::strerror(errno));
  }
  return std::shared_ptr<MappedFile>(new MappedFile(path, static_cast<std::byte*>(address), size));
}

}  // namespace wick
