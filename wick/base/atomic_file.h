// An AtomicFile is written beside its target and takes the target's name only when it is whole: nobody ever sees half a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace wick {

class AtomicFile {
 public:
  // Starts a temporary file in the target's folder. A symbolic link is followed; a device or pipe is written directly.
  // Errors: not_found (no such folder), io; each names the path.
  explicit AtomicFile(const std::filesystem::path& target);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  // Removes the temporary file unless commit() has returned.
  ~AtomicFile();

  // Appends. Errors: io (a full disk), naming the path.
  void write(std::span<const std::byte> bytes);
  // The target as the caller wrote it.
  [[nodiscard]] std::string name() const { return shown_.string(); }
  // Bytes appended so far.
  [[nodiscard]] uint64_t size() const noexcept { return size_; }
  // Waits until the bytes are on the disk, so that commit() takes no time. Errors: io.
  void sync();
  // The same, and gives the file the target's name. Errors: io; the target is then as it was before.
  void commit();

 private:
  void open_temporary();
  void name_temporary();
  void write_through(std::span<const std::byte> bytes);
  void flush();
  [[noreturn]] void fail_io(const char* action) const;

  std::filesystem::path shown_;      // as the caller wrote it, for messages
  std::filesystem::path target_;     // with links resolved
  std::filesystem::path temporary_;  // empty for a device or pipe
  bool nameless_ = false;            // the temporary file has no name yet
  std::vector<std::byte> buffer_;
  uint64_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace wick
