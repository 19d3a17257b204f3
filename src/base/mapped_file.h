// A MappedFile is a file's bytes in the address space: read on demand by the operating system, never copied as a whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace wick {

// read_only: writing to the bytes faults. copy_on_write: writes stay in this process, page by page; the file is never changed.
enum class MapMode { read_only, copy_on_write };

class MappedFile {
 public:
  // Errors: not_found, io (a directory, no permission), corrupt_file (an empty file); each names the path.
  [[nodiscard]] static std::shared_ptr<MappedFile> open(const std::filesystem::path& path, MapMode mode = MapMode::read_only);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  // Empty unless the mode is copy_on_write.
  [[nodiscard]] std::span<std::byte> writable_bytes() noexcept;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  MappedFile(std::filesystem::path path, std::byte* data, size_t size, MapMode mode);

  std::filesystem::path path_;
  std::byte* data_;
  size_t size_;
  MapMode mode_;
};

}  // namespace wick
