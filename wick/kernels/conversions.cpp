#include "wick/kernels/conversions.h"

#include <cmath>

#include "wick/kernels/math.h"
#include "wick/kernels/numbers.h"

namespace wick::kernels {

using namespace ir;

namespace {

struct WholeRange {
  double low, end;  // from low to end - 1
};
WholeRange range_of(DType dtype) {
  if (dtype == DType::u8) return {0, 0x1p8};
  if (dtype == DType::u32) return {0, 0x1p32};
  const double end = std::ldexp(1.0, static_cast<int>(8 * info(dtype).block_bytes) - 1);
  return {-end, end};
}

Value to_whole(const Value& x, DType to) {
  const auto [low, end] = range_of(to);
  const Type type = compute_type(to);
  ir::KernelBuilder& k = *x.builder();
  const auto whole = [&](double number) {
    return number == 0x1p63 ? ~k.number_of(type, 0.0, INT64_MIN) : k.number_of(type, 0.0, static_cast<int64_t>(number));
  };
  const Value largest = end == 0x1p63 ? whole(end) : whole(end - 1);
  const Value inside = cast(type, select((x > low - 1.0) & (x < end), x, 0.0));
  return select(x >= end, largest, select((x <= low) & !is_nan(x), whole(low), inside));
}

// A whole number as an f32 that can be rounded once more without harm: the neighbour with an odd last bit where digits were lost (round to
// odd: Boldo & Melquiond 2008).
Value odd_of_whole(const Value& x) {
  ir::KernelBuilder& k = *x.builder();
  // What rounds up to the end of the type has no way back; it rounds to the same number of few digits as the largest f32 below.
  const int64_t largest = x.type() == Type::u32 ? 0xffffff00 : x.type() == Type::i32 ? 0x7fffff80 : 0x7fffff8000000000;
  const Value number = min(x, k.number_of(x.type(), 0, largest));
  const Value near = cast(Type::f32, number), bits = bitcast(Type::u32, near);
  // Its value where digits can be lost, from its bits, as Mesa's compiler takes int(float(x)) for x.
  const Value exponent = (bits >> 23U) & 255U, digits = (bits & 0x7fffffU) | 0x800000U;
  const Value magnitude = cast(x.type(), digits) << (max(exponent, 150U) - 150U);
  const Value back = x.type() == Type::u32 ? magnitude : select(number < 0, -magnitude, magnitude);
  const Value away = (back < number) == (number > 0);
  const Value odd = select(away, bits + 1U, bits - 1U);
  return bitcast(Type::f32, select((exponent <= 150U) | (back == number) | ((bits & 1U) == 1U), bits, odd));
}

Value odd_of_wide(const Value& x) {
  const Value near = cast(Type::f32, x), back = cast(Type::f64, near), bits = bitcast(Type::u32, near);
  const Value away = (back < x) == (x > 0.0);
  const Value odd = select(away, bits + 1U, bits - 1U);
  return bitcast(Type::f32, select((back == x) | is_nan(x) | ((bits & 1U) == 1U), bits, odd));
}

}  // namespace

Value convert(const Value& number, DType from, DType to) {
  const Type type = compute_type(to);
  if (is_integer(to)) return is_integer(from) ? cast(type, number) : to_whole(number, to);
  if (to == DType::f64 || to == DType::f32) return cast(type, number);
  if (is_integer(from)) return odd_of_whole(number);
  return from == DType::f64 ? odd_of_wide(number) : number;
}

DType moved_as(DType dtype) {
  switch (info(dtype).block_bytes) {
    case 1: return DType::u8;
    case 2: return DType::i16;
    case 4: return DType::u32;
    default: return dtype;
  }
}

}  // namespace wick::kernels
