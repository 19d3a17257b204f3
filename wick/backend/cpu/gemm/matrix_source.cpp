#include "wick/backend/cpu/gemm/matrix_source.h"

#include <array>
#include <cstring>

#include "wick/base/error.h"
#include "wick/base/half.h"

namespace wick::cpu {
namespace {

constexpr std::array<float, 256> kF8Values = [] {
  std::array<float, 256> values{};
  for (int bits = 0; bits < 256; ++bits) values[static_cast<size_t>(bits)] = f8e4m3_bits_to_float(static_cast<uint8_t>(bits));
  return values;
}();

template <class T>
T load(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

float load_float(DType dtype, const std::byte* data, int64_t index) {
  switch (dtype) {
    case DType::f32: return load<float>(data, index);
    case DType::f16: return load<f16>(data, index);
    case DType::bf16: return load<bf16>(data, index);
    default: return kF8Values[load<uint8_t>(data, index)];
  }
}

// The source's columns are contiguous: widen them one by one, then transpose.
void pack_columns(const SimdKernels& kernels, Scratch& scratch, const MatrixSource& source, const MatrixView<float>& out) {
  const int64_t rows = out.rows, columns = out.columns;
  const auto transpose = kernels.product.f32.transpose;
  if (source.dtype == DType::f32)
    return transpose({reinterpret_cast<const float*>(source.data), source.column_stride, columns, rows}, out.data, out.stride);
  ScratchFrame frame(scratch);
  auto* staging = frame.take<float>(static_cast<size_t>(rows * columns));
  for (int64_t column = 0; column < columns; ++column) {
    widen(kernels, source.dtype, source.at(0, column).data, rows, staging + column * rows);
  }
  transpose({staging, rows, columns, rows}, out.data, out.stride);
}

uint32_t pair_of(const MatrixSource& source, int64_t row, int64_t first, int64_t columns) {
  const int64_t at = row * source.row_stride + first * source.column_stride;
  const uint32_t low = load<uint16_t>(source.data, at);
  const uint32_t high = first + 1 < columns ? load<uint16_t>(source.data, at + source.column_stride) : 0U;
  return low | high << 16;
}

}  // namespace

void widen(const SimdKernels& kernels, DType dtype, const std::byte* source, int64_t n, float* out) {
  const auto count = static_cast<size_t>(n);
  switch (dtype) {
    case DType::f32: std::memcpy(out, source, count * sizeof(float)); return;
    case DType::f16: kernels.f16_to_f32(reinterpret_cast<const uint16_t*>(source), out, count); return;
    case DType::bf16: kernels.bf16_to_f32(reinterpret_cast<const uint16_t*>(source), out, count); return;
    default:
      for (size_t i = 0; i < count; ++i) out[i] = kF8Values[static_cast<size_t>(source[i])];
      return;
  }
}

void narrow(const SimdKernels& kernels, const float* source, int64_t n, DType dtype, std::byte* out) {
  const auto count = static_cast<size_t>(n);
  switch (dtype) {
    case DType::f32: std::memcpy(out, source, count * sizeof(float)); return;
    case DType::f16: kernels.f32_to_f16(source, reinterpret_cast<uint16_t*>(out), count); return;
    case DType::bf16: kernels.f32_to_bf16(source, reinterpret_cast<uint16_t*>(out), count); return;
    default:
      for (size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(float_to_f8e4m3_bits(source[i]));
      return;
  }
}

void pack_rows(const SimdKernels& kernels, Scratch& scratch, const MatrixSource& source, const MatrixView<float>& out) {
  if (source.column_stride == 1) {
    if (source.dtype == DType::f32) {
      const auto* data = reinterpret_cast<const float*>(source.data);
      return kernels.product.f32.copy({data, source.row_stride, out.rows, out.columns}, out.data, out.stride);
    }
    for (int64_t row = 0; row < out.rows; ++row) widen(kernels, source.dtype, source.at(row, 0).data, out.columns, out.row(row));
    return;
  }
  if (source.row_stride == 1) return pack_columns(kernels, scratch, source, out);
  for (int64_t row = 0; row < out.rows; ++row) {
    for (int64_t column = 0; column < out.columns; ++column)
      out.row(row)[column] = load_float(source.dtype, source.data, row * source.row_stride + column * source.column_stride);
  }
}

void pack_rows(const SimdKernels& kernels, Scratch& /*scratch*/, const MatrixSource& source, const MatrixView<double>& out) {
  const auto* data = reinterpret_cast<const double*>(source.data);
  const ProductTile<double, double>& tile = kernels.product.f64;
  if (source.column_stride == 1) return tile.copy({data, source.row_stride, out.rows, out.columns}, out.data, out.stride);
  if (source.row_stride == 1) return tile.transpose({data, source.column_stride, out.columns, out.rows}, out.data, out.stride);
  for (int64_t row = 0; row < out.rows; ++row) {
    for (int64_t column = 0; column < out.columns; ++column)
      out.row(row)[column] = data[row * source.row_stride + column * source.column_stride];
  }
}

void pack_row_pairs(const SimdKernels& kernels, Scratch& scratch, const MatrixSource& source, int64_t columns,
                    const MatrixView<uint32_t>& out) {
  const int64_t rows = out.rows, pairs = out.columns;
  if (source.column_stride == 1) {
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(out.row(row), source.at(row, 0).data, static_cast<size_t>(columns) * sizeof(uint16_t));
      if (columns % 2 != 0) out.row(row)[pairs - 1] = pair_of(source, row, columns - 1, columns);
    }
    return;
  }
  if (source.row_stride == 1) {
    ScratchFrame frame(scratch);
    auto* staging = frame.take<uint32_t>(static_cast<size_t>(rows * pairs));
    const MatrixView<uint32_t> columns_first{staging, rows, pairs, rows};
    pack_column_pairs(kernels, scratch, source.transposed(), columns, columns_first);
    return kernels.product.bf16_pairs.transpose(columns_first, out.data, out.stride);
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t pair = 0; pair < pairs; ++pair) out.row(row)[pair] = pair_of(source, row, 2 * pair, columns);
  }
}

void pack_column_pairs(const SimdKernels& kernels, Scratch& scratch, const MatrixSource& source, int64_t rows,
                       const MatrixView<uint32_t>& out) {
  const int64_t pairs = out.rows, columns = out.columns;
  if (source.column_stride == 1) {
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const auto* first = reinterpret_cast<const uint16_t*>(source.at(2 * pair, 0).data);
      uint32_t* target = out.row(pair);
      if (2 * pair + 1 < rows) {
        kernels.product.interleave(first, first + source.row_stride, columns, target);
      } else {
        for (int64_t column = 0; column < columns; ++column) target[column] = first[column];
      }
    }
    return;
  }
  if (source.row_stride == 1) {
    ScratchFrame frame(scratch);
    auto* staging = frame.take<uint32_t>(static_cast<size_t>(columns * pairs));
    const MatrixView<uint32_t> columns_first{staging, pairs, columns, pairs};
    pack_row_pairs(kernels, scratch, source.transposed(), rows, columns_first);
    return kernels.product.bf16_pairs.transpose(columns_first, out.data, out.stride);
  }
  for (int64_t pair = 0; pair < pairs; ++pair) {
    for (int64_t column = 0; column < columns; ++column) {
      out.row(pair)[column] = pair_of(source.transposed(), column, 2 * pair, rows);
    }
  }
}

}  // namespace wick::cpu
