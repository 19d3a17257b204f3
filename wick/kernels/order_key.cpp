#include "wick/kernels/order_key.h"

#include "wick/kernels/numbers.h"

namespace wick::kernels {

using namespace ir;

namespace {

constexpr uint32_t kSign = 0x80000000U, kAll = 0xffffffffU;

bool has_low(const OrderKey& key) { return key.low.builder() != nullptr; }

// Floats rise as their bits do, once the sign bit of the positive and every bit of the negative ones is turned.
Value key_of_f32(const Value& number) {
  const Value bits = bitcast(Type::u32, number), magnitude = bits & ~kSign;
  const Value ordered = select(bits <= kSign, bits | kSign, ~bits);
  return select(magnitude > 0x7f800000U, kAll, ordered);
}

OrderKey key_of_f64(const Value& high, const Value& low) {
  const Value magnitude = high & ~kSign;
  const Value is_nan = (magnitude > 0x7ff00000U) | ((magnitude == 0x7ff00000U) & (low != 0U));
  const Value is_positive = (high < kSign) | ((high == kSign) & (low == 0U));
  return {select(is_nan, kAll, select(is_positive, high | kSign, ~high)), select(is_nan, kAll, select(is_positive, low, ~low))};
}

}  // namespace

Element key_element(DType dtype) { return key_words(dtype) == 2 ? Element::u32 : element_of(dtype); }

OrderKey load_key(const Memory& memory, DType dtype, const Value& index) {
  if (key_words(dtype) == 2) {
    const Value low = memory.load(index * 2U), high = memory.load(index * 2U + 1U);
    return dtype == DType::f64 ? key_of_f64(high, low) : OrderKey{high ^ kSign, low};
  }
  const Value number = load_number(memory, dtype, index);
  if (is_float(dtype)) return {key_of_f32(number), {}};
  return {number.type() == Type::i32 ? bitcast(Type::u32, number) ^ kSign : number, {}};
}

OrderKey turned(const OrderKey& key, const Value& mask) { return {key.high ^ mask, has_low(key) ? key.low ^ mask : Value()}; }

Value is_less(const OrderKey& a, const OrderKey& b) {
  if (!has_low(a)) return a.high < b.high;
  return (a.high < b.high) | ((a.high == b.high) & (a.low < b.low));
}

Value is_equal(const OrderKey& a, const OrderKey& b) { return has_low(a) ? (a.high == b.high) & (a.low == b.low) : a.high == b.high; }

OrderKey select(const Value& condition, const OrderKey& yes, const OrderKey& no) {
  return {select(condition, yes.high, no.high), has_low(yes) ? select(condition, yes.low, no.low) : Value()};
}

void move_element(const Memory& to, const Value& to_index, const Memory& from, const Value& from_index, DType dtype) {
  const uint32_t words = key_words(dtype);
  for (uint32_t word = 0; word < words; ++word) to.store(to_index * words + word, from.load(from_index * words + word));
}

}  // namespace wick::kernels
