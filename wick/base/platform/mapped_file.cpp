#include "wick/base/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/process.h"

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

// The mappings that are open, for the signal handler, which may neither allocate nor lock. A slot belongs to the mapping whose `begin` it
// holds; `path` is that mapping's own.
struct Slot {
  std::atomic<const std::byte*> begin{nullptr};
  std::atomic<size_t> size{0};
  std::atomic<const char*> path{nullptr};
};
constexpr size_t kSlots = 512;
std::array<Slot, kSlots> open_mappings;
std::array<char, 64> program_name{};
std::atomic_flag is_reported;

int list_mapping(const std::byte* begin, size_t size, const char* path) noexcept {
  for (size_t index = 0; index < kSlots; ++index) {
    const std::byte* none = nullptr;
    Slot& slot = open_mappings[index];
    if (!slot.begin.compare_exchange_strong(none, begin)) continue;
    slot.size.store(size);
    slot.path.store(path);
    return static_cast<int>(index);
  }
  return -1;
}

void unlist_mapping(int index) noexcept {
  if (index < 0) return;
  Slot& slot = open_mappings[static_cast<size_t>(index)];
  slot.size.store(0);
  slot.path.store(nullptr);
  slot.begin.store(nullptr);
}

void write_text(const char* text) noexcept {
  const size_t length = std::strlen(text);
  if (::write(STDERR_FILENO, text, length) < 0) return;  // nobody is left to be told
}

// Bytes that a terminal would obey are left out.
void write_path(const char* path) noexcept {
  std::array<char, 512> shown{};
  size_t length = 0;
  for (; *path != '\0' && length + 1 < shown.size(); ++path) {
    if (static_cast<unsigned char>(*path) >= 0x20 && *path != 0x7f) shown[length++] = *path;
  }
  write_text(shown.data());
}

void on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  for (const Slot& slot : open_mappings) {
    const std::byte* begin = slot.begin.load();
    const char* path = slot.path.load();
    if (begin == nullptr || path == nullptr || address < begin || address >= begin + slot.size.load()) continue;
    while (is_reported.test_and_set()) ::pause();        // another thread read it too: that one's message ends the process
    if (::isatty(STDERR_FILENO) == 1) write_text("\n");  // a progress bar may stand on this line
    write_text(program_name.data());
    write_text(": error: ");
    write_path(path);
    write_text(": the file was cut off or cannot be read any more while it was in use; copy or download it again, then start again\n");
    ::_exit(2);
  }
  // Another fault: as if there were no handler.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void report_cut_files(std::string_view program) {
  program_name.fill('\0');
  program.copy(program_name.data(), program_name.size() - 1);
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

MappedFile::MappedFile(std::filesystem::path path, std::byte* data, size_t size)
    : path_(std::move(path)), data_(data), size_(size), slot_(list_mapping(data, size, path_.c_str())) {}

MappedFile::~MappedFile() {
  unlist_mapping(slot_);
  ::munmap(data_, size_);
}

void MappedFile::forget(std::span<const std::byte> bytes) const noexcept {
  // Whole pages only: those at the ends may belong to other bytes too.
  release_pages(const_cast<std::byte*>(bytes.data()), bytes.size());  // NOLINT(*-const-cast): nothing is written
}

std::shared_ptr<MappedFile> MappedFile::open(const std::filesystem::path& path, MapAccess access) {
  // Without O_NONBLOCK a FIFO would wait for a writer before it could be refused.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) fail(ErrorCode::not_found, "{}: no such file; check the path", path.string());
    fail(ErrorCode::io, "{}: cannot open: {}", path.string(), std::strerror(errno));
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) fail(ErrorCode::io, "{}: cannot stat: {}", path.string(), std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(ErrorCode::invalid_argument, "{}: is a directory; name a file in it", path.string());
  if (!S_ISREG(status.st_mode))
    fail(ErrorCode::invalid_argument, "{}: is not a regular file, so it cannot be mapped; name a file", path.string());
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
