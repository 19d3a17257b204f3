// Functions of f32 that have no fast way of their own, computed in vectors of f64 and rounded once: division toward minus infinity and what
// it leaves, angles, and logarithms and exponentials of other bases. They replace the library's (library_loops.cpp).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/wide_loops.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/wide-inl.h"
#include "wick/op/division.h"
#include "wick/op/op.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

HWY_INLINE WideVector infinity_of(Wide d) { return constant(d, std::numeric_limits<double>::infinity()); }

// --- Of one number ---

struct WideArctangent {
  HWY_INLINE WideVector operator()(Wide d, WideVector x) const {
    const WideVector bound = constant(d, 1e30);  // from here on it is π / 2; Highway's takes finite numbers alone
    return keep_nan(d, x, hn::Atan(d, hn::Min(hn::Max(x, hn::Neg(bound)), bound)));
  }
};

struct WideLog1p {
  HWY_INLINE WideVector operator()(Wide d, WideVector x) const {
    const WideVector pole = constant(d, -1);
    const auto ordinary = hn::And(hn::Gt(x, pole), hn::Lt(x, infinity_of(d)));
    const WideVector nan = constant(d, std::numeric_limits<double>::quiet_NaN());
    const WideVector special = hn::IfThenElse(hn::Eq(x, pole), hn::Neg(infinity_of(d)), hn::IfThenElse(hn::Lt(x, pole), nan, x));
    return hn::IfThenElse(ordinary, hn::Log1p(d, hn::IfThenElseZero(ordinary, x)), special);
  }
};

struct WideExpm1 {
  HWY_INLINE WideVector operator()(Wide d, WideVector x) const {
    return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, exponential_minus_one(d, x));  // -0 stays
  }
};

struct WideExp2 {
  HWY_INLINE WideVector operator()(Wide d, WideVector x) const { return exponential(d, hn::Mul(x, constant(d, 0.693147180559945309417))); }
};

struct WideLog2 {
  HWY_INLINE WideVector operator()(Wide d, WideVector x) const { return hn::Mul(logarithm(d, x), constant(d, 1.44269504088896340736)); }
};

struct WideLog10 {
  HWY_INLINE WideVector operator()(Wide d, WideVector x) const { return hn::Mul(logarithm(d, x), constant(d, 0.434294481903251827651)); }
};

template <class F>
void map_unary_wide(const float* x, float* out, size_t n, double /*a*/, double /*b*/) {
  map_wide(x, out, n, F());
}

// --- Of two numbers ---

// Beyond this quotient its product with the divisor has more digits than f64.
constexpr double kLargestQuotient = 536870912.0;  // 2^29

// Whether the fast way serves all lanes: finite numbers, and a quotient that is not too large (by 0 it is infinite or NaN). Quotients of
// two f32 that are no whole number are further from one than f64 rounds.
HWY_INLINE bool is_ordinary(Wide d, WideVector quotient, WideVector rhs) {
  return hn::AllTrue(d, hn::And(hn::Lt(hn::Abs(quotient), constant(d, kLargestQuotient)), hn::Lt(hn::Abs(rhs), infinity_of(d))));
}

struct WideFloorDivide {
  static HWY_INLINE bool fast(Wide d, WideVector lhs, WideVector rhs, WideVector& result) {
    const WideVector quotient = hn::Div(lhs, rhs);
    result = hn::CopySign(hn::Floor(quotient), quotient);
    return is_ordinary(d, quotient, rhs);
  }
  static double slow(double lhs, double rhs) { return floor_quotient(lhs, rhs); }
};

// lhs - q · rhs is exact. What is 0 has the dividend's sign, as C's remainder has it.
struct WideRemainder {
  static HWY_INLINE bool fast(Wide d, WideVector lhs, WideVector rhs, WideVector& result) {
    const WideVector quotient = hn::Div(lhs, rhs);
    const WideVector rest = hn::NegMulAdd(hn::Floor(quotient), rhs, lhs);
    result = hn::IfThenElse(hn::Eq(rest, hn::Zero(d)), hn::CopySign(rest, lhs), rest);
    return is_ordinary(d, quotient, rhs);
  }
  static double slow(double lhs, double rhs) { return floor_remainder(lhs, rhs); }
};

struct WideFmod {
  static HWY_INLINE bool fast(Wide d, WideVector lhs, WideVector rhs, WideVector& result) {
    const WideVector quotient = hn::Div(lhs, rhs);
    result = hn::CopySign(hn::NegMulAdd(hn::Trunc(quotient), rhs, lhs), lhs);
    return is_ordinary(d, quotient, rhs);
  }
  static double slow(double lhs, double rhs) { return std::fmod(lhs, rhs); }
};

// With t = min(|x|, |y|) / max(|x|, |y|): t · P(t²), a least-maximum fit of atan t good to 2.4e-9, moved to the octant.
struct WideAtan2 {
  static HWY_INLINE bool fast(Wide d, WideVector y, WideVector x, WideVector& result) {
    static constexpr double kArctangent[] = {0.999999997630809,    -0.3333328364263187,   0.19998266055592762, -0.14261933199774568,
                                             0.10942030993462452,  -0.08377316079228657,  0.05755210859852446, -0.030804600358362688,
                                             0.010726944321425862, -0.0017539299299004277};
    constexpr double kPi = 3.14159265358979323846;
    const WideVector zero = hn::Zero(d);
    const WideVector x_size = hn::Abs(x);
    const WideVector y_size = hn::Abs(y);
    const auto is_steep = hn::Gt(y_size, x_size);
    const WideVector largest = hn::IfThenElse(is_steep, y_size, x_size);
    const WideVector smallest = hn::IfThenElse(is_steep, x_size, y_size);
    // 0 / 0 is a slope of 0, and infinity / infinity one of 1.
    const WideVector ratio = hn::IfThenElse(hn::Eq(largest, zero), zero, hn::Div(smallest, largest));
    const WideVector t = hn::IfThenElse(hn::Eq(smallest, infinity_of(d)), constant(d, 1), ratio);
    const WideVector first = hn::Mul(t, polynomial(d, hn::Mul(t, t), kArctangent));
    const WideVector upper = hn::IfThenElse(is_steep, hn::Sub(constant(d, kPi / 2), first), first);
    const auto is_left = hn::Lt(hn::CopySign(constant(d, 1), x), zero);  // -0, too
    const WideVector angle = hn::CopySign(hn::IfThenElse(is_left, hn::Sub(constant(d, kPi), upper), upper), y);
    result = hn::IfThenElse(hn::IsNaN(x), x, keep_nan(d, y, angle));
    return true;
  }
  static double slow(double y, double x) { return std::atan2(y, x); }
};

template <class F, size_t kLeftStep, size_t kRightStep>
void combine_wide(const float* lhs, const float* rhs, float* out, size_t n) {
  const Wide d;
  const Narrow narrow;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto left = kLeftStep == 0 ? hn::Set(narrow, lhs[0]) : hn::LoadU(narrow, lhs + i);
    const auto right = kRightStep == 0 ? hn::Set(narrow, rhs[0]) : hn::LoadU(narrow, rhs + i);
    WideVector result = hn::Zero(d);
    if (F::fast(d, hn::PromoteTo(d, left), hn::PromoteTo(d, right), result)) {
      hn::StoreU(narrowed(narrow, result), narrow, out + i);
      continue;
    }
    for (size_t j = i; j < i + lanes; ++j)
      out[j] = static_cast<float>(F::slow(static_cast<double>(lhs[j * kLeftStep]), static_cast<double>(rhs[j * kRightStep])));
  }
  if (i == n) return;
  // The tail through a vector of its own, filled up with 1 / 1, so that each element sees the same arithmetic.
  HWY_ALIGN float left[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN float right[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN float results[HWY_MAX_BYTES / sizeof(double)];
  for (size_t j = 0; j < lanes; ++j) {
    left[j] = i + j < n ? lhs[(i + j) * kLeftStep] : 1.0F;
    right[j] = i + j < n ? rhs[(i + j) * kRightStep] : 1.0F;
  }
  combine_wide<F, 1, 1>(left, right, results, lanes);
  for (size_t j = i; j < n; ++j) out[j] = results[j - i];
}

void fill_wide(SimdKernels& kernels) {
  NumberLoops<float>& loops = kernels.numbers<float>();
  const auto unary = [&](UnaryKind kind, UnaryLoop<float> loop) { loops.unary[static_cast<size_t>(kind)] = loop; };
  unary(UnaryKind::atan, map_unary_wide<WideArctangent>);
  unary(UnaryKind::log1p, map_unary_wide<WideLog1p>);
  unary(UnaryKind::expm1, map_unary_wide<WideExpm1>);
  unary(UnaryKind::exp2, map_unary_wide<WideExp2>);
  unary(UnaryKind::log2, map_unary_wide<WideLog2>);
  unary(UnaryKind::log10, map_unary_wide<WideLog10>);
  const auto binary = [&]<class F>(BinaryKind kind, F) {
    loops.binary[static_cast<size_t>(kind)] = {combine_wide<F, 1, 1>, combine_wide<F, 1, 0>, combine_wide<F, 0, 1>};
  };
  binary(BinaryKind::fmod, WideFmod());
  binary(BinaryKind::remainder, WideRemainder());
  binary(BinaryKind::floor_divide, WideFloorDivide());
  binary(BinaryKind::atan2, WideAtan2());
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_wide_loops(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_wide, kernels); }

}  // namespace wick::cpu
#endif
