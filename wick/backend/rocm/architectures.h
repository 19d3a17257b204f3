// Capabilities of AMD GPUs by the names of their architectures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wick::rocm {

// Four products of bytes added into 32 bits: signed ones alone, with a sign for each side, or not at all.
enum class ByteDot : uint8_t { none, signed_bytes, mixed_bytes };
// Products of matrix tiles: of a wave of 64 (CDNA), or of 32, where lanes have other numbers of a tile from gfx12 on (RDNA).
enum class MatrixUnits : uint8_t { none, mfma, wmma, wmma12 };

struct Architecture {
  std::string_view name;  // "gfx90a"
  int wave = 32;          // lanes that execute together
  ByteDot dot = ByteDot::none;
  MatrixUnits matrices = MatrixUnits::none;
  bool bf16 = false;
  int since = 0;             // the first HIP whose compiler takes it
  std::string_view seen_by;  // which compilers took our kernels for it, of those that could be had
};

[[nodiscard]] std::span<const Architecture> architectures() noexcept;
// "gfx90a" of "gfx90a:sramecc+:xnack-".
[[nodiscard]] std::string_view processor_of(std::string_view target) noexcept;
// nullptr for one that is not in the table.
[[nodiscard]] const Architecture* find_architecture(std::string_view processor) noexcept;
// The compiler options that select the instructions for products of bytes and of tiles. None: it has neither.
[[nodiscard]] std::vector<std::string> instruction_options(const Architecture& architecture);

}  // namespace wick::rocm
