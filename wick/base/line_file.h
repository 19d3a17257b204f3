// A LineFile is a text file that grows by whole lines and belongs to one process at a time. An incomplete line of a killed process is
// removed when the file is opened again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace wick {

class LineFile {
 public:
  // Opens or creates the file and truncates it after its last line break. A device or a pipe is written to directly.
  // Errors: not_found (no such folder), io; invalid_argument where another process has the file open as a LineFile.
  explicit LineFile(const std::filesystem::path& path);
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  // Appends a line and a line break. Errors: io (a full disk); the file then ends after the previous line.
  void append(std::string_view line);
  // Waits until all lines are on the disk. Errors: io.
  void sync();
  // Whether it is a file that can be read again, and not a device or a pipe.
  [[nodiscard]] bool is_regular() const noexcept { return is_regular_; }
  // Bytes of whole lines.
  [[nodiscard]] uint64_t size() const noexcept { return size_; }

 private:
  void lock();
  // Removes what follows the last line break.
  void cut_half_line();
  void write_all(std::string_view bytes);
  [[noreturn]] void fail_io(const char* action, int reason) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  bool is_regular_ = false;
  uint64_t size_ = 0;
};

}  // namespace wick
