// A MappedFile is a file's bytes in the address space: read on demand by the operating system, never copied as a whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace wick {

// Whether the bytes may be written to. Nothing that is written reaches the file: its page becomes memory of this process.
enum class MapAccess { read_only, copy_on_write };

// From now on a file that is cut off while it is mapped, so that its pages are gone, ends the process with one line on standard error,
// "<program>: error: …", and exit code 2, where the system's signal would kill it without a word. For programs, not for libraries.
void report_cut_files(std::string_view program);

class MappedFile {
 public:
  // Errors: not_found, io (a directory, no permission), corrupt_file (an empty file), out_of_memory; each names the path.
  [[nodiscard]] static std::shared_ptr<MappedFile> open(const std::filesystem::path& path, MapAccess access = MapAccess::read_only);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  // Gives the memory of these bytes back to the system; they are read from the file again if somebody looks.
  void forget(std::span<const std::byte> bytes) const noexcept;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  MappedFile(std::filesystem::path path, std::byte* data, size_t size);

  std::filesystem::path path_;
  std::byte* data_;
  size_t size_;
  int slot_;  // in the list that report_cut_files looks into; -1 if that was full
};

}  // namespace wick
