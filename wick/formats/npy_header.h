// The header of an npy file: which elements follow it, and how they lie. Definition: numpy.lib.format, versions 1.0, 2.0 and 3.0.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "wick/layout/dtype.h"
#include "wick/layout/shape.h"

namespace wick {

struct NpyHeader {
  DType dtype = DType::f32;
  Shape shape;
  bool fortran_order = false;  // the first index moves fastest
  bool big_endian = false;
  size_t data_offset = 0;  // where the elements begin
};

// Reads the header at the beginning of `bytes`, which need not hold the elements. Booleans ('|b1') read as u8.
// Errors: corrupt_file; unsupported, by name, for elements that Wick has no dtype for: i1, u2, u8, complex, text, dates, records, objects.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& name);

// Errors: corrupt_file if `data_bytes`, which follow the header, are not the elements that it tells of.
void check_npy_size(const NpyHeader& header, uint64_t data_bytes, const std::string& name);

// A header of version 1.0 for elements in row-major order, as numpy.save writes it. Errors: unsupported for a dtype that NumPy has not;
// `name` is the file's.
[[nodiscard]] std::string npy_header_text(DType dtype, const Shape& shape, const std::string& name);

}  // namespace wick
