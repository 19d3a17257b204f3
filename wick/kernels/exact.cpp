#include "wick/kernels/exact.h"

#include "wick/kernels/math.h"

namespace wick::kernels {

using namespace ir;

namespace {

// The upper and the lower half of a's digits (Veltkamp 1968).
Exact halves(const Value& a) {
  const Value scaled = a * (a.type() == Type::f64 ? 0x1p27 + 1 : 0x1p12 + 1);
  const Value upper = scaled - (scaled - a);
  return {upper, a - upper};
}

}  // namespace

// Knuth, The Art of Computer Programming 2, 4.2.2, theorem B.
Exact exact_sum(const Value& a, const Value& b) {
  const Value sum = a + b, from_b = sum - a, from_a = sum - from_b;
  return {sum, (a - from_a) + (b - from_b)};
}

// Dekker 1971.
Exact exact_product(const Value& a, const Value& b) {
  const Value product = a * b;
  const Exact p = halves(a), q = halves(b);
  return {product, ((p.value * q.value - product) + p.value * q.error + p.error * q.value) + p.error * q.error};
}

Exact sum(const Exact& a, const Exact& b) {
  const Exact s = exact_sum(a.value, b.value);
  const Exact result = exact_sum(s.value, s.error + (a.error + b.error));
  // Infinities and NaNs have no error that could be told.
  const Value finite = abs(s.value) < infinity_like(s.value);
  return {select(finite, result.value, s.value), select(finite, result.error, 0.0)};
}

Value rounded_to_odd(const Exact& a) {
  ir::KernelBuilder& k = *a.value.builder();
  const bool wide = a.value.type() == Type::f64;
  const Value bits = bitcast(wide ? Type::i64 : Type::i32, a.value), one = k.number_of(bits.type(), 0, 1);
  const Value away = (a.error > 0.0) == (a.value > 0.0);
  const Value odd = select(away, bits + one, bits - one);
  return bitcast(a.value.type(), select((a.error == 0.0) | ((bits & one) == one), bits, odd));
}

// Boldo & Melquiond 2008: the last sum of the exact parts is rounded to odd before the one rounding that counts.
Value fused_multiply_add(const Value& a, const Value& b, const Value& c) {
  const Exact product = exact_product(a, b), low = exact_sum(c, product.error), high = exact_sum(product.value, low.value);
  return high.value + rounded_to_odd(exact_sum(low.error, high.error));
}

}  // namespace wick::kernels
