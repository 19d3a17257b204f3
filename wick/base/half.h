// The narrow floating-point types as values: f16 (IEEE binary16), bf16 (the upper half of binary32), f8e4m3 (OCP OFP8 E4M3).
// Conversion from float rounds to nearest, ties to even. f16 and bf16 overflow to infinity; f8e4m3 has no infinity and saturates
// to ±448 (NaN stays NaN), as OCP's "SatFinite" mode and candle do.
#pragma once

#include <bit>
#include <cstdint>

namespace [[gnu::visibility("default")]] wick {

[[nodiscard]] constexpr float f16_bits_to_float(uint16_t bits) noexcept {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Subnormal: mantissa · 2^-24 is exact in binary32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

[[nodiscard]] constexpr uint16_t float_to_f16_bits(float value) noexcept {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (word >> 16) & 0x8000u;
  const uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 2^16 or more
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 puts the subnormal's last bit at the last bit of the sum, which rounds it to even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

[[nodiscard]] constexpr float bf16_bits_to_float(uint16_t bits) noexcept { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

[[nodiscard]] constexpr uint16_t float_to_bf16_bits(float value) noexcept {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((word >> 16) | 0x40u);
  return static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
}

[[nodiscard]] constexpr float f8e4m3_bits_to_float(uint8_t bits) noexcept {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24;
  const uint32_t exponent = (bits >> 3) & 0xfu;
  const uint32_t mantissa = bits & 7u;
  if (exponent == 0xf && mantissa == 7) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 120) << 23) | (mantissa << 20));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-9f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

[[nodiscard]] constexpr uint8_t float_to_f8e4m3_bits(float value) noexcept {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (word >> 24) & 0x80u;
  const uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint8_t>(sign | 0x7fu);
  if (magnitude >= 0x43e00000u) return static_cast<uint8_t>(sign | 0x7eu);  // 448 and beyond
  if (magnitude < 0x3c800000u) {
    // Below 2^-6: units of 2^-9; 2^14 has its last bit there.
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0x1p14f)));
  }
  const uint32_t rounded = magnitude + 0x7ffffu + ((magnitude >> 20) & 1u);
  const uint32_t code = (rounded - 0x3c000000u) >> 20;
  return static_cast<uint8_t>(sign | (code > 0x7eu ? 0x7eu : code));
}

// A double as a float that can be rounded once more without harm: truncated, and its last bit set where digits were lost (round to odd:
// Boldo & Melquiond 2008). f16(round_to_odd(x)) is x rounded to nearest once.
[[nodiscard]] constexpr float round_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const auto back = static_cast<double>(nearest);
  if (back == value || value != value || (bits & 1u) != 0) return nearest;
  const bool grow = (back < value) == (value > 0);  // away from zero
  return std::bit_cast<float>(grow ? bits + 1 : bits - 1);
}

struct f16 {
  uint16_t bits = 0;
  constexpr f16() = default;
  constexpr explicit f16(float value) : bits(float_to_f16_bits(value)) {}
  constexpr operator float() const noexcept { return f16_bits_to_float(bits); }  // NOLINT: every f16 is a float
  static constexpr f16 from_bits(uint16_t bits) noexcept {
    f16 h;
    h.bits = bits;
    return h;
  }
};

struct bf16 {
  uint16_t bits = 0;
  constexpr bf16() = default;
  constexpr explicit bf16(float value) : bits(float_to_bf16_bits(value)) {}
  constexpr operator float() const noexcept { return bf16_bits_to_float(bits); }  // NOLINT: every bf16 is a float
  static constexpr bf16 from_bits(uint16_t bits) noexcept {
    bf16 h;
    h.bits = bits;
    return h;
  }
};

struct f8e4m3 {
  uint8_t bits = 0;
  constexpr f8e4m3() = default;
  constexpr explicit f8e4m3(float value) : bits(float_to_f8e4m3_bits(value)) {}
  constexpr operator float() const noexcept { return f8e4m3_bits_to_float(bits); }  // NOLINT: every f8e4m3 is a float
  static constexpr f8e4m3 from_bits(uint8_t bits) noexcept {
    f8e4m3 h;
    h.bits = bits;
    return h;
  }
};

}  // namespace wick
