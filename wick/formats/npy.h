// npy files: one array in NumPy's own format. Definition: numpy.lib.format, versions 1.0, 2.0 and 3.0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "wick/base/atomic_file.h"
#include "wick/layout/dtype.h"
#include "wick/layout/shape.h"

namespace wick {

struct NpyArray {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> data;  // little-endian and row-major, however the file has it
};

// Fortran order and big-endian elements are converted. Errors: not_found, io, corrupt_file, unsupported (npy_header.h says which
// elements); each names path and field.
[[nodiscard]] NpyArray read_npy_array(const std::filesystem::path& path);
[[nodiscard]] NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name);

// Writes an array piece by piece; the file appears when finish() returns.
class NpyWriter {
 public:
  // dtype: u8 u32 i8 i16 i32 i64 f16 f32 f64. Errors: unsupported for others; not_found, io.
  NpyWriter(const std::filesystem::path& path, DType dtype, const Shape& shape);
  // The next elements. Errors: io; invalid_argument beyond the shape's elements.
  void append(std::span<const std::byte> bytes);
  // Errors: io; invalid_argument if elements are missing.
  void finish();

 private:
  std::string name_;
  uint64_t missing_ = 0;
  AtomicFile file_;
};

void write_npy(const std::filesystem::path& path, DType dtype, const Shape& shape, std::span<const std::byte> data);
inline void write_npy(const std::filesystem::path& path, const Shape& shape, std::span<const float> values) {
  write_npy(path, DType::f32, shape, std::as_bytes(values));
}

}  // namespace wick
