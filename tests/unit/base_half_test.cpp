// The narrow floats against their definitions: values by ldexp, rounding by looking at both neighbours.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "wick/base/half.h"

namespace wick {
namespace {

// A format of `exponent_bits` and `mantissa_bits` behind a sign bit, decoded by its formula.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
};

constexpr Format kF16{5, 10, true};
constexpr Format kBf16{8, 7, true};
constexpr Format kF8e4m3{4, 3, false};

double decode(Format format, uint32_t bits) {
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const uint32_t exponent = (bits >> format.mantissa_bits) & ((1u << format.exponent_bits) - 1);
  const bool negative = ((bits >> (format.mantissa_bits + format.exponent_bits)) & 1u) != 0;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const bool top = exponent == (1u << format.exponent_bits) - 1;
  double value = 0;
  if (top && format.has_infinity) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (top && mantissa == (1u << format.mantissa_bits) - 1) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  } else {
    value = std::ldexp(mantissa + (1u << format.mantissa_bits), static_cast<int>(exponent) - bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

template <class ToFloat>
void expect_decodes(Format format, uint32_t codes, ToFloat to_float) {
  for (uint32_t bits = 0; bits < codes; ++bits) {
    const double expected = decode(format, bits);
    const double actual = to_float(bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << bits;
    } else {
      ASSERT_EQ(actual, expected) << bits;
      ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << bits;
    }
  }
}

// Positive finite values of a format in rising order; index and bits are the same.
std::vector<double> finite_values(Format format) {
  std::vector<double> values;
  for (uint32_t bits = 0; std::isfinite(decode(format, bits)); ++bits) values.push_back(decode(format, bits));
  return values;
}

// For each pair of neighbours: the values around their midpoint, which is exact in float.
template <class FromFloat>
void expect_rounds_to_nearest_even(Format format, FromFloat from_float) {
  const std::vector<double> values = finite_values(format);
  for (uint32_t bits = 0; bits + 1 < values.size(); ++bits) {
    const auto middle = static_cast<float>((values[bits] + values[bits + 1]) / 2);
    const float infinity = std::numeric_limits<float>::infinity();
    ASSERT_EQ(from_float(static_cast<float>(values[bits])), bits);
    ASSERT_EQ(from_float(std::nextafter(middle, -infinity)), bits);
    ASSERT_EQ(from_float(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(from_float(std::nextafter(middle, infinity)), bits + 1);
    const uint32_t sign = 1u << (format.exponent_bits + format.mantissa_bits);
    ASSERT_EQ(from_float(-middle), sign | (bits % 2 == 0 ? bits : bits + 1));
  }
}

TEST(Half, EveryF16CodeHasItsValue) {
  expect_decodes(kF16, 1u << 16, [](uint32_t bits) { return f16_bits_to_float(static_cast<uint16_t>(bits)); });
}

TEST(Half, EveryBf16CodeHasItsValue) {
  expect_decodes(kBf16, 1u << 16, [](uint32_t bits) { return bf16_bits_to_float(static_cast<uint16_t>(bits)); });
}

TEST(Half, EveryF8E4M3CodeHasItsValue) {
  expect_decodes(kF8e4m3, 1u << 8, [](uint32_t bits) { return f8e4m3_bits_to_float(static_cast<uint8_t>(bits)); });
}

TEST(Half, F16RoundsToNearestEven) {
  expect_rounds_to_nearest_even(kF16, [](float value) { return uint32_t{float_to_f16_bits(value)}; });
}

TEST(Half, Bf16RoundsToNearestEven) {
  expect_rounds_to_nearest_even(kBf16, [](float value) { return uint32_t{float_to_bf16_bits(value)}; });
}

TEST(Half, F8E4M3RoundsToNearestEven) {
  expect_rounds_to_nearest_even(kF8e4m3, [](float value) { return uint32_t{float_to_f8e4m3_bits(value)}; });
}

TEST(Half, F16OverflowsToInfinityFrom65520) {
  EXPECT_EQ(float_to_f16_bits(65504.0F), 0x7bff);
  EXPECT_EQ(float_to_f16_bits(65519.996F), 0x7bff);
  EXPECT_EQ(float_to_f16_bits(65520.0F), 0x7c00);
  EXPECT_EQ(float_to_f16_bits(-1e30F), 0xfc00);
}

TEST(Half, F8E4M3SaturatesAt448) {
  EXPECT_EQ(f8e4m3_bits_to_float(float_to_f8e4m3_bits(1e30F)), 448.0F);
  EXPECT_EQ(f8e4m3_bits_to_float(float_to_f8e4m3_bits(-std::numeric_limits<float>::infinity())), -448.0F);
}

TEST(Half, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(f16_bits_to_float(float_to_f16_bits(nan))));
  EXPECT_TRUE(std::isnan(bf16_bits_to_float(float_to_bf16_bits(nan))));
  EXPECT_TRUE(std::isnan(f8e4m3_bits_to_float(float_to_f8e4m3_bits(nan))));
}

}  // namespace
}  // namespace wick
