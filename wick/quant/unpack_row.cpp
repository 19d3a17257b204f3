#include "wick/quant/unpack_row.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/quant/block_format.h"
#include "wick/quant/i2_s.h"

namespace wick {
namespace {

template <class Stored, class Value>
void read_elements(const std::byte* elements, std::span<Value> values) {
  for (size_t index = 0; index < values.size(); ++index) {
    Stored element;
    std::memcpy(&element, elements + index * sizeof(Stored), sizeof(Stored));
    values[index] = static_cast<Value>(element);  // NOLINT(bugprone-signed-char-misuse): i8 is a number, no character
  }
}

// Plain numbers that block_format.h has no row for; false for any other dtype.
template <class Value>
bool read_plain(DType dtype, const std::byte* elements, std::span<Value> values) {
  switch (dtype) {
    case DType::u8: read_elements<uint8_t>(elements, values); return true;
    case DType::u32: read_elements<uint32_t>(elements, values); return true;
    case DType::i8: read_elements<int8_t>(elements, values); return true;
    case DType::i16: read_elements<int16_t>(elements, values); return true;
    case DType::i32: read_elements<int32_t>(elements, values); return true;
    case DType::i64: read_elements<int64_t>(elements, values); return true;
    case DType::f64: read_elements<double>(elements, values); return true;
    case DType::f8e4m3:
      for (size_t index = 0; index < values.size(); ++index) {
        values[index] = static_cast<Value>(f8e4m3_bits_to_float(static_cast<uint8_t>(elements[index])));
      }
      return true;
    default: return false;
  }
}

const std::byte* row_of(DType dtype, const std::byte* matrix, int64_t row, size_t columns) {
  return matrix + storage_bytes(dtype, row * static_cast<int64_t>(columns));
}

}  // namespace

bool is_readable(DType dtype) noexcept { return !is_quantized(dtype) || dtype == DType::i2_s || find_block_format(dtype) != nullptr; }

void unpack_row(DType dtype, const std::byte* matrix, size_t matrix_bytes, int64_t row, std::span<float> values) {
  if (values.empty()) return;
  const std::byte* blocks = row_of(dtype, matrix, row, values.size());
  if (dtype == DType::i2_s) return unpack_i2_s(blocks, i2_s_scale({matrix, matrix_bytes}), values);
  if (read_plain(dtype, blocks, values)) return;
  const BlockFormat* format = find_block_format(dtype);
  WICK_ASSERT(format != nullptr);
  format->unpack(blocks, values);
}

void unpack_row(DType dtype, const std::byte* matrix, size_t matrix_bytes, int64_t row, std::span<double> values) {
  if (values.empty() || read_plain(dtype, row_of(dtype, matrix, row, values.size()), values)) return;
  std::vector<float> narrow(values.size());
  unpack_row(dtype, matrix, matrix_bytes, row, narrow);
  std::copy(narrow.begin(), narrow.end(), values.begin());
}

void unpack_row(DType dtype, const std::byte* matrix, size_t /*matrix_bytes*/, int64_t row, std::span<int64_t> values) {
  WICK_ASSERT(is_integer(dtype));
  if (!values.empty()) read_plain(dtype, row_of(dtype, matrix, row, values.size()), values);
}

}  // namespace wick
