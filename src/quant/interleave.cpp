#include "quant/interleave.h"

#include <array>
#include <cstring>

#include "base/error.h"
#include "quant/block_format.h"

namespace wick {
namespace {

constexpr int kRows = static_cast<int>(kInterleavedRows);

// A run of `count` units of `unit` bytes, from byte `begin` of the plain block on.
struct Section {
  int begin;
  int unit;
  int count;
};

// How one format is interleaved: its sections in the tile's order.
struct Interleaving {
  DType plain;
  DType interleaved;
  std::array<Section, 5> sections;
  uint8_t quant_flip;  // exclusive-ored into each byte of a 4-byte unit
};

constexpr std::array<Interleaving, 5> kInterleavings = {{
    {DType::q4_0, DType::q4_0_x16, {{{0, 2, 1}, {2, 4, 4}}}, 0},
    {DType::q8_0, DType::q8_0_x16, {{{0, 2, 1}, {2, 4, 8}}}, 0x80},
    // d, dmin, 12 bytes of 6-bit scales, quants; q5_k has its high bits before the quants, q6_k behind.
    {DType::q4_k, DType::q4_k_x16, {{{0, 2, 1}, {2, 2, 1}, {4, 1, 12}, {16, 4, 32}}}, 0},
    {DType::q5_k, DType::q5_k_x16, {{{0, 2, 1}, {2, 2, 1}, {4, 1, 12}, {16, 4, 8}, {48, 4, 32}}}, 0},
    {DType::q6_k, DType::q6_k_x16, {{{208, 2, 1}, {192, 1, 16}, {0, 4, 32}, {128, 4, 16}}}, 0},
}};

const Interleaving& interleaving_of(DType plain) {
  for (const Interleaving& entry : kInterleavings) {
    if (entry.plain == plain) return entry;
  }
  WICK_ASSERT(false);
}

template <int kUnit>
void gather_units(const std::byte* rows, int64_t row_bytes, int count, std::byte* tile) {
  for (int index = 0; index < count; ++index) {
    for (int row = 0; row < kRows; ++row) {
      std::memcpy(tile + (index * kRows + row) * kUnit, rows + row * row_bytes + index * kUnit, kUnit);
    }
  }
}

template <int kUnit>
void scatter_units(const std::byte* tile, int row, int count, std::byte* block) {
  for (int index = 0; index < count; ++index) std::memcpy(block + index * kUnit, tile + (index * kRows + row) * kUnit, kUnit);
}

void flip_bits(std::byte* bytes, int count, uint8_t mask) {
  for (int index = 0; index < count; ++index) bytes[index] ^= static_cast<std::byte>(mask);
}

void interleave_block(const Interleaving& format, const std::byte* rows, int64_t row_bytes, std::byte* tile) {
  for (const Section& section : format.sections) {
    const std::byte* source = rows + section.begin;
    if (section.unit == 1) gather_units<1>(source, row_bytes, section.count, tile);
    if (section.unit == 2) gather_units<2>(source, row_bytes, section.count, tile);
    if (section.unit == 4) {
      gather_units<4>(source, row_bytes, section.count, tile);
      if (format.quant_flip != 0) flip_bits(tile, section.count * 4 * kRows, format.quant_flip);
    }
    tile += section.unit * section.count * kRows;
  }
}

void deinterleave_block(const Interleaving& format, const std::byte* tile, int row, std::byte* block) {
  for (const Section& section : format.sections) {
    std::byte* target = block + section.begin;
    if (section.unit == 1) scatter_units<1>(tile, row, section.count, target);
    if (section.unit == 2) scatter_units<2>(tile, row, section.count, target);
    if (section.unit == 4) {
      scatter_units<4>(tile, row, section.count, target);
      if (format.quant_flip != 0) flip_bits(target, section.count * 4, format.quant_flip);
    }
    tile += section.unit * section.count * kRows;
  }
}

}  // namespace

DType interleaved_dtype(DType dtype) noexcept {
  for (const Interleaving& entry : kInterleavings) {
    if (entry.plain == dtype) return entry.interleaved;
  }
  return dtype;
}

DType plain_dtype(DType dtype) noexcept {
  for (const Interleaving& entry : kInterleavings) {
    if (entry.interleaved == dtype) return entry.plain;
  }
  return dtype;
}

void interleave_tile(DType plain, const std::byte* rows, int64_t columns, std::byte* tile) {
  const Interleaving& format = interleaving_of(plain);
  const DTypeInfo& entry = info(plain);
  const int64_t blocks = columns / entry.block_elements;
  for (int64_t index = 0; index < blocks; ++index) {
    interleave_block(format, rows + index * entry.block_bytes, blocks * entry.block_bytes, tile + index * entry.block_bytes * kRows);
  }
}

void deinterleave_tile(DType plain, const std::byte* tile, int64_t columns, std::byte* rows) {
  const Interleaving& format = interleaving_of(plain);
  const DTypeInfo& entry = info(plain);
  const int64_t blocks = columns / entry.block_elements;
  for (int64_t index = 0; index < blocks; ++index) {
    for (int row = 0; row < kRows; ++row) {
      deinterleave_block(format, tile + index * entry.block_bytes * kRows, row, rows + (row * blocks + index) * entry.block_bytes);
    }
  }
}

void unpack_row(DType dtype, const std::byte* matrix, size_t matrix_bytes, int64_t row, std::span<float> values) {
  const DType plain = plain_dtype(dtype);
  const DTypeInfo& entry = info(plain);
  const BlockFormat* format = find_block_format(plain);
  WICK_ASSERT(format != nullptr);
  const int64_t blocks = static_cast<int64_t>(values.size()) / entry.block_elements;
  const int64_t row_bytes = blocks * entry.block_bytes;
  if (row_bytes == 0) return;
  const int64_t tiled_rows = static_cast<int64_t>(matrix_bytes) / row_bytes / kRows * kRows;
  if (plain == dtype || row >= tiled_rows) {
    format->unpack(matrix + row * row_bytes, values);
    return;
  }
  const Interleaving& interleaving = interleaving_of(plain);
  const std::byte* tile = matrix + row / kRows * kRows * row_bytes;
  std::array<std::byte, 256> block;
  for (int64_t index = 0; index < blocks; ++index) {
    deinterleave_block(interleaving, tile + index * entry.block_bytes * kRows, static_cast<int>(row % kRows), block.data());
    format->unpack(block.data(),
                   values.subspan(static_cast<size_t>(index * entry.block_elements), static_cast<size_t>(entry.block_elements)));
  }
}

}  // namespace wick
