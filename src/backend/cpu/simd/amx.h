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

// Until _tile_release(), which leaves the thread as it was.
__attribute__((target("amx-tile"))) inline void use(const Shapes& shapes) noexcept {
  asm volatile("" : : "m"(shapes));  // GCC 12 takes the instruction to read eight bytes
  _tile_loadconfig(&shapes);
}

}  // namespace wick::cpu::amx
#endif
