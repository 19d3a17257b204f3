#include "wick/kernels/random.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "wick/kernels/angles.h"
#include "wick/kernels/exact.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/math.h"
#include "wick/kernels/math_detail.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

using Words = std::array<Value, 4>;

// Philox 4x32-10 (Salmon, Moraes, Dror & Shaw 2011).
Words philox(Words counter, std::array<Value, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const Value multiplier0 = key[0].builder()->constant(0xd2511f53U), multiplier1 = key[0].builder()->constant(0xcd9e8d57U);
    counter = {multiply_high(multiplier1, counter[2]) ^ counter[1] ^ key[0], multiplier1 * counter[2],
               multiply_high(multiplier0, counter[0]) ^ counter[3] ^ key[1], multiplier0 * counter[0]};
    key = {key[0] + 0x9e3779b9U, key[1] + 0xbb67ae85U};
  }
  return counter;
}

namespace {

// The upper 53 bits of the 64-bit number of two words.
Value upper_bits(const Value& low, const Value& high) { return (cast(Type::i64, high) << 21) | cast(Type::i64, low >> 11); }

int digits_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return 11;
    case DType::bf16: return 8;
    case DType::f8e4m3: return 4;
    default: return 24;
  }
}

// p: low, span, cap, scale.
Value uniform_number(const Value& unit, std::span<const Value> p) { return min(fused_multiply_add(unit, p[1], p[0]) * p[3], p[2]); }

// √(-2 ln u) of u = (number + 1) / 2^digits; above 1/2 from what is missing to 1, since rounding u itself would lose it.
Value radius(const Value& number, const Value& missing, const Value& above_half, Type type, double unit) {
  const Value near =
      detail::log1p_near_zero(cast(type, select(above_half, missing, number.builder()->number_of(number.type(), 0, 0))) * -unit);
  const Value far = log(cast(type, number + 1) * unit);
  return ir::native_sqrt(max(select(above_half, near, far) * -2.0, 0.0));
}

std::array<Value, 2> normal_pair(const Value& first, const Value& second, std::span<const Value> p) {
  const bool wide = first.type() == Type::i64;
  const Value half = first.builder()->number_of(first.type(), 0, wide ? int64_t{1} << 52 : int64_t{1} << 31);
  const Value missing = wide ? 0x1fffffffffffff - first : ~first;
  const Value r = radius(first, missing, first >= half, wide ? Type::f64 : Type::f32, wide ? 0x1p-53 : 0x1p-32);
  const Angle angle = angle_of_turns(wide ? second << 11 : second);
  return {r * cosine(angle) * p[1] + p[0], r * sine(angle) * p[1] + p[0]};
}

}  // namespace

ir::Kernel random(RandomNumbers numbers, DType dtype, const DeviceCaps& caps) {
  const bool wide = dtype == DType::f64, uniform = numbers == RandomNumbers::uniform;
  KernelBuilder k(fmt::format("random_{}_{}", uniform ? "uniform" : "normal", to_string(dtype)),
                  {.group_size = group_options(caps, 128).group_size});
  const Memory y = k.output("y", element_of(dtype));
  const Value count = k.parameter("count", Type::u32), offset = k.parameter("offset", Type::u32);
  const std::array<Value, 2> seed{k.parameter("seed_low", Type::u32), k.parameter("seed_high", Type::u32)};
  const Value block_low = k.parameter("block_low", Type::u32), block_high = k.parameter("block_high", Type::u32);
  std::vector<Value> p;
  for (uint32_t i = 0; i < (uniform ? 4U : 2U); ++i) p.push_back(wide_parameter(k, fmt::format("p{}", i), compute_type(dtype)));
  const uint32_t per_block = wide ? 2 : 4;
  const Value lane = global_lane(k), first = lane * per_block;
  k.when(lane < (count + (per_block - 1)) / per_block, [&] {
    const Value low = block_low + lane, high = block_high + cast(Type::u32, low < lane), zero = k.constant(0U);
    const Words words = philox({low, high, zero, zero}, seed);
    std::array<Value, 4> units;
    for (uint32_t i = 0; i < per_block; ++i) units[i] = wide ? upper_bits(words[2 * i], words[2 * i + 1]) : words[i];
    for (uint32_t i = 0; i < per_block; i += 2) {
      std::array<Value, 2> pair;
      if (uniform) {
        const int digits = digits_of(dtype);
        for (uint32_t j = 0; j < 2; ++j) {
          const Value unit =
              wide ? cast(Type::f64, units[i + j]) * 0x1p-53 : cast(Type::f32, units[i + j] >> (32 - digits)) * std::ldexp(1.0, -digits);
          pair[j] = uniform_number(unit, p);
        }
      } else {
        pair = normal_pair(units[i], units[i + 1], p);
      }
      for (uint32_t j = 0; j < 2; ++j) {
        const Value element = first + (i + j);
        k.when(element < count, [&] { store_number(y, dtype, offset + element, pair[j]); });
      }
    }
  });
  return k.finish();
}

}  // namespace wick::kernels
