// npz files: named arrays, each an npy file in a zip archive. Definition: numpy.savez and numpy.savez_compressed.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/formats/npy.h"
#include "wick/formats/npy_header.h"
#include "wick/formats/zip.h"

namespace wick {

class NpzFile {
 public:
  // Errors: those of ZipFile. Arrays are read, and their errors found, one by one.
  [[nodiscard]] static NpzFile open(const std::filesystem::path& path) { return NpzFile(ZipFile::open(path)); }
  // Parses bytes that the caller keeps alive; `name` is used as the path in errors.
  [[nodiscard]] static NpzFile parse(std::span<const std::byte> bytes, const std::string& name) {
    return NpzFile(ZipFile::parse(bytes, name));
  }

  // Names of the arrays, without ".npy", in the archive's order. Other entries are skipped.
  [[nodiscard]] std::span<const std::string> names() const noexcept { return names_; }
  [[nodiscard]] bool contains(std::string_view array) const noexcept { return entry_of(array) != nullptr; }
  // Header of an array: dtype, shape and order. Errors: as read().
  [[nodiscard]] NpyHeader header(std::string_view array) const;
  // Errors: not_found, corrupt_file (also a wrong CRC), unsupported; each names file and array.
  [[nodiscard]] NpyArray read(std::string_view array) const;

 private:
  explicit NpzFile(ZipFile zip);
  [[nodiscard]] const ZipEntry* entry_of(std::string_view array) const noexcept { return zip_.find(std::string(array) + ".npy"); }
  [[nodiscard]] const ZipEntry& require(std::string_view array) const;

  ZipFile zip_;
  std::vector<std::string> names_;
};

// Writes arrays one by one; the file appears when finish() returns.
class NpzWriter {
 public:
  // Errors: not_found, io.
  explicit NpzWriter(const std::filesystem::path& path, ZipMethod method = ZipMethod::stored)
      : name_(path.string()), method_(method), zip_(path) {}
  // `data`: row-major, little-endian. Errors: io; unsupported for a dtype that NumPy has not; invalid_argument for a name that is there
  // already or bytes that are not the shape's.
  void add(std::string_view array, DType dtype, const Shape& shape, std::span<const std::byte> data);
  // Errors: io.
  void finish() { zip_.finish(); }

 private:
  std::string name_;
  ZipMethod method_;
  ZipWriter zip_;
};

}  // namespace wick
