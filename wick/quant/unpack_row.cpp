#include "wick/quant/unpack_row.h"

#include "wick/base/fail.h"
#include "wick/quant/block_format.h"
#include "wick/quant/i2_s.h"

namespace wick {

bool is_readable(DType dtype) noexcept { return !is_quantized(dtype) || dtype == DType::i2_s || find_block_format(dtype) != nullptr; }

void unpack_row(DType dtype, const std::byte* matrix, size_t matrix_bytes, int64_t row, std::span<float> values) {
  if (values.empty()) return;
  const std::byte* blocks = matrix + storage_bytes(dtype, row * static_cast<int64_t>(values.size()));
  if (dtype == DType::i2_s) return unpack_i2_s(blocks, i2_s_scale({matrix, matrix_bytes}), values);
  const BlockFormat* format = find_block_format(dtype);
  WICK_ASSERT(format != nullptr);
  format->unpack(blocks, values);
}

}  // namespace wick
