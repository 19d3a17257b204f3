// A UniformRange holds what the formula of philox.h needs to turn words of the stream into uniform numbers of one dtype.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "wick/base/half.h"
#include "wick/op/philox.h"

namespace wick {

struct UniformRange {
  double low;
  double span;  // high - low
  double cap;   // the largest number of the dtype below high, but not less than low
};

namespace uniform_range {

// The largest T below `high`; Bits is an unsigned integer of T's size.
template <class Bits, class T, class Round>
[[nodiscard]] double below(double high, Round round) {
  const T nearest = round(high);
  if (static_cast<double>(nearest) < high) return static_cast<double>(nearest);
  const auto bits = std::bit_cast<Bits>(nearest);
  const auto sign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
  if (static_cast<double>(nearest) == 0) return static_cast<double>(std::bit_cast<T>(static_cast<Bits>(sign | 1)));
  return static_cast<double>(std::bit_cast<T>(static_cast<Bits>((bits & sign) != 0 ? bits + 1 : bits - 1)));
}

template <class Bits, class T>
[[nodiscard]] UniformRange narrow(double low, double high) {
  const auto round = [](double value) { return T(round_to_odd(value)); };
  const auto single_low = static_cast<float>(low);
  return {single_low, static_cast<float>(high - low), std::max<double>(below<Bits, T>(high, round), round(low))};
}

}  // namespace uniform_range

// For a float dtype. Where the arithmetic is in f32, the members are f32 numbers.
[[nodiscard]] inline UniformRange uniform_range_of(DType dtype, double low, double high) {
  switch (dtype) {
    case DType::f64: {
      const double below = high > low ? std::nextafter(high, low) : low;
      return {low, high - low, std::max(below, low)};
    }
    case DType::f16: return uniform_range::narrow<uint16_t, f16>(low, high);
    case DType::bf16: return uniform_range::narrow<uint16_t, bf16>(low, high);
    case DType::f8e4m3: return uniform_range::narrow<uint8_t, f8e4m3>(low, high);
    default: {
      const auto round = [](double value) { return static_cast<float>(value); };
      return {round(low), round(high - low), std::max<double>(uniform_range::below<uint32_t, float>(high, round), round(low))};
    }
  }
}

}  // namespace wick
