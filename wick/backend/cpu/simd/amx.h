// The registers of AMX: eight tiles of up to 16 rows of 64 bytes. Functions that use them are compiled for it, and check nothing: the table
// of kernels of an instruction set is only called where it is usable.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace wick::cpu::amx {

inline constexpr int64_t kRows = 16;
inline constexpr int64_t kRowBytes = 64;
inline constexpr int64_t kTileBytes = kRows * kRowBytes;

// How many rows each register has; a register without rows must not be used. The layout is the processor's.
struct alignas(64) Shapes {
  uint8_t palette = 1;
  std::array<uint8_t, 15> reserved{};
  std::array<uint16_t, 16> row_bytes{};
  std::array<uint8_t, 16> rows{};

  constexpr void set(size_t tile, int64_t count, int64_t bytes = kRowBytes) noexcept {
    rows[tile] = static_cast<uint8_t>(count);
    row_bytes[tile] = static_cast<uint16_t>(count == 0 ? 0 : bytes);
  }
};

// Until _tile_release(), which leaves the thread as it was. What was written before is seen by the registers, of whose reading compilers
// know too little: GCC 12 takes this instruction to read eight bytes, and the loads none.
__attribute__((target("amx-tile"))) inline void use(const Shapes& shapes) noexcept {
  asm volatile("" : : "r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
}

// All products here are of up to two tiles of rows by up to two of columns: registers 0 to 3 hold the sums of rows r and columns c in
// 2r + c, 4 and 5 the rows, 6 and 7 the columns.

// Where two tiles lie whose rows are `stride` bytes apart.
struct TilePair {
  std::byte* first;
  std::byte* second;
  int64_t stride;
};

// Two tiles of sums, rows `stride` numbers apart, the second below the first one's `rows` rows; null without `sums`, which are written to
// only where they are not const.
[[nodiscard]] inline TilePair sums_at(const float* sums, int64_t stride, int64_t rows = kRows) noexcept {
  if (sums == nullptr) return {nullptr, nullptr, 0};
  auto* first = reinterpret_cast<std::byte*>(const_cast<float*>(sums));
  const int64_t bytes = stride * int64_t{sizeof(float)};
  return {first, first + rows * bytes, bytes};
}

// The sums' tiles: the columns' side by side, rows of the second tile of rows at `second`. Without `first` they begin with zeros.
template <bool kTwoRows, bool kTwoColumns>
__attribute__((target("amx-tile"))) inline void load_sums(const TilePair& from) noexcept {
  _tile_zero(0);
  if constexpr (kTwoColumns) _tile_zero(1);
  if constexpr (kTwoRows) _tile_zero(2);
  if constexpr (kTwoRows && kTwoColumns) _tile_zero(3);
  if (from.first == nullptr) return;
  _tile_loadd(0, from.first, from.stride);
  if constexpr (kTwoColumns) _tile_loadd(1, from.first + kRowBytes, from.stride);
  if constexpr (kTwoRows) _tile_loadd(2, from.second, from.stride);
  if constexpr (kTwoRows && kTwoColumns) _tile_loadd(3, from.second + kRowBytes, from.stride);
}

template <bool kTwoRows, bool kTwoColumns>
__attribute__((target("amx-tile"))) inline void store_sums(const TilePair& to) noexcept {
  _tile_stored(0, to.first, to.stride);
  if constexpr (kTwoColumns) _tile_stored(1, to.first + kRowBytes, to.stride);
  if constexpr (kTwoRows) _tile_stored(2, to.second, to.stride);
  if constexpr (kTwoRows && kTwoColumns) _tile_stored(3, to.second + kRowBytes, to.stride);
}

// Two tiles of a factor, whose next columns of a sum lie so many bytes behind.
struct Factor {
  const std::byte* first;
  const std::byte* second;
  int64_t stride;
  int64_t first_step;
  int64_t second_step;
};

// sums += rows · columns, in bf16, a tile's depth a step.
template <bool kTwoRows, bool kTwoColumns>
__attribute__((target("amx-tile,amx-bf16"))) inline void add_products(Factor rows, Factor columns, int64_t steps) noexcept {
  for (int64_t step = 0; step < steps; ++step) {
    _tile_loadd(6, columns.first, columns.stride);
    _tile_loadd(4, rows.first, rows.stride);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kTwoColumns) {
      _tile_loadd(7, columns.second, columns.stride);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kTwoRows) {
      _tile_loadd(5, rows.second, rows.stride);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kTwoColumns) _tile_dpbf16ps(3, 5, 7);
    }
    rows.first += rows.first_step;
    rows.second += rows.second_step;
    columns.first += columns.first_step;
    columns.second += columns.second_step;
  }
}

}  // namespace wick::cpu::amx
#endif
