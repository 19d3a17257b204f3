// Tables of the kernels for interleaved weights: values of codes and points of codebooks as unsigned bytes, in the form that byte shuffles
// take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wick/quant/blocks.h"
#include "wick/quant/codebooks.h"

namespace wick::cpu {

using Table16 = std::array<uint8_t, 16>;

// Each value plus `zero`.
constexpr Table16 with_zero(const int8_t (&values)[16], int zero) {
  Table16 table{};
  for (size_t code = 0; code < 16; ++code) table[code] = static_cast<uint8_t>(values[code] + zero);
  return table;
}

inline constexpr int kNonlinearZero = 128;
alignas(16) inline constexpr Table16 kNonlinearBytes = with_zero(kNonlinearValues, kNonlinearZero);
inline constexpr int kFloat4Zero = 12;
alignas(16) inline constexpr Table16 kFloat4Bytes = with_zero(kFloat4Values, kFloat4Zero);

// A table of eight or sixteen bytes over and over, for shuffles that look at more bits.
using RepeatedTable = std::array<uint8_t, 64>;

// Entry `digit` is zero + magnitude; with the sign's bit, the one above the digit's, zero - magnitude.
template <size_t kDigits>
constexpr RepeatedTable signed_magnitudes(const std::array<int8_t, kDigits>& magnitudes, size_t sign_bit, int zero) {
  RepeatedTable table{};
  for (size_t code = 0; code < table.size(); ++code) {
    const size_t digit = code % sign_bit;
    if (digit >= kDigits) continue;
    table[code] = static_cast<uint8_t>(code % (2 * sign_bit) < sign_bit ? zero + magnitudes[digit] : zero - magnitudes[digit]);
  }
  return table;
}

inline constexpr int kZeroIQ2 = quant::kMagnitudesIQ2.back();
inline constexpr int kZeroIQ3XXS = quant::kMagnitudesIQ3_XXS.back();
inline constexpr int kZeroIQ3S = quant::kMagnitudesIQ3_S.back();
alignas(64) inline constexpr RepeatedTable kSignedIQ2 = signed_magnitudes(quant::kMagnitudesIQ2, 4, kZeroIQ2);
alignas(64) inline constexpr RepeatedTable kSignedIQ3XXS = signed_magnitudes(quant::kMagnitudesIQ3_XXS, 8, kZeroIQ3XXS);
alignas(64) inline constexpr RepeatedTable kSignedIQ3S = signed_magnitudes(quant::kMagnitudesIQ3_S, 8, kZeroIQ3S);

// The digits of all points of a codebook, in two bytes a point: a table of bytes for either.
template <size_t kPoints>
struct CodebookPlanes {
  alignas(64) std::array<uint8_t, kPoints> first;
  alignas(64) std::array<uint8_t, kPoints> second;
};

// Eight digits of two bits: four in either byte.
template <size_t kPoints>
constexpr CodebookPlanes<kPoints> planes_of_eights(const std::array<uint16_t, kPoints>& points) {
  CodebookPlanes<kPoints> planes{};
  for (size_t at = 0; at < kPoints; ++at) {
    planes.first[at] = static_cast<uint8_t>(points[at] & 255);
    planes.second[at] = static_cast<uint8_t>(points[at] >> 8);
  }
  return planes;
}

// Four digits of three bits: two in either byte, each in a half of its own.
template <size_t kPoints>
constexpr CodebookPlanes<kPoints> planes_of_fours(const std::array<uint16_t, kPoints>& points) {
  CodebookPlanes<kPoints> planes{};
  for (size_t at = 0; at < kPoints; ++at) {
    const int point = points[at];
    planes.first[at] = static_cast<uint8_t>((point & 7) | ((point >> 3 & 7) << 4));
    planes.second[at] = static_cast<uint8_t>((point >> 6 & 7) | ((point >> 9 & 7) << 4));
  }
  return planes;
}

inline constexpr auto kPlanesIQ2XXS = planes_of_eights(quant::kPointsIQ2_XXS);
inline constexpr auto kPlanesIQ2XS = planes_of_eights(quant::kPointsIQ2_XS);
inline constexpr auto kPlanesIQ2S = planes_of_eights(quant::kPointsIQ2_S);
inline constexpr auto kPlanesIQ1 = planes_of_eights(quant::kPointsIQ1);
inline constexpr auto kPlanesIQ3XXS = planes_of_fours(quant::kPointsIQ3_XXS);
inline constexpr auto kPlanesIQ3S = planes_of_fours(quant::kPointsIQ3_S);

// Digit kDigit of each byte of tq1_0, see BlockTQ1_0.
template <int kDigit>
constexpr std::array<uint8_t, 256> ternary_digits() {
  std::array<uint8_t, 256> digits{};
  for (int byte = 0; byte < 256; ++byte) {
    int rest = byte;
    for (int step = 0; step < kDigit; ++step) rest = rest * 3 & 255;
    digits[static_cast<size_t>(byte)] = static_cast<uint8_t>(rest * 3 >> 8);
  }
  return digits;
}
template <int kDigit>
alignas(64) inline constexpr std::array<uint8_t, 256> kTernaryDigits = ternary_digits<kDigit>();

}  // namespace wick::cpu
