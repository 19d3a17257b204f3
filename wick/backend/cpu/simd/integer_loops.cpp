// Unary functions of integers, and choices by a condition.
// Plain loops: the compiler turns them into vector code for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/integer_loops.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <limits>
#include <type_traits>

#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/backend/cpu/simd/saturate.h"
#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/op/op.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
HWY_INLINE T negated(T x) {
  return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
}

struct Negate {
  template <class T>
  static HWY_INLINE T of(T x) {
    return negated(x);
  }
};

struct Absolute {
  template <class T>
  static HWY_INLINE T of(T x) {
    return x < T{0} ? negated(x) : x;
  }
};

struct Sign {
  template <class T>
  static HWY_INLINE T of(T x) {
    return static_cast<T>((x > T{0}) - (x < T{0}));
  }
};

struct Same {
  template <class T>
  static HWY_INLINE T of(T x) {
    return x;
  }
};

struct Square {
  template <class T>
  static HWY_INLINE T of(T x) {
    return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
  }
};

struct Relu {
  template <class T>
  static HWY_INLINE T of(T x) {
    return x > T{0} ? x : T{0};
  }
};

template <class T, class F>
void map(const T* x, T* out, size_t n, double /*a*/, double /*b*/) {
  for (size_t i = 0; i < n; ++i) out[i] = F::of(x[i]);
}

// In f64, then as copy converts.
template <class T>
void affine(const T* x, T* out, size_t n, double a, double b) {
  for (size_t i = 0; i < n; ++i) out[i] = saturated<T>(static_cast<double>(x[i]) * a + b);
}

// The limits toward zero: no whole number lies between a limit and that. A limit that is NaN does not limit.
template <class T>
void clamp(const T* x, T* out, size_t n, double a, double b) {
  const T low = a != a ? std::numeric_limits<T>::min() : saturated<T>(a);
  const T high = b != b ? std::numeric_limits<T>::max() : saturated<T>(b);
  for (size_t i = 0; i < n; ++i) {
    const T raised = x[i] < low ? low : x[i];
    out[i] = raised > high ? high : raised;
  }
}

template <class T>
void fill_unary_of(NumberLoops<T>& loops) {
  const auto set = [&](UnaryKind kind, UnaryLoop<T> loop) { loops.unary[static_cast<size_t>(kind)] = loop; };
  set(UnaryKind::neg, map<T, Negate>);
  set(UnaryKind::abs, map<T, Absolute>);
  set(UnaryKind::sign, map<T, Sign>);
  for (const UnaryKind kind : {UnaryKind::floor, UnaryKind::ceil, UnaryKind::round, UnaryKind::trunc}) set(kind, map<T, Same>);
  set(UnaryKind::sqr, map<T, Square>);
  set(UnaryKind::relu, map<T, Relu>);
  set(UnaryKind::affine, affine<T>);
  set(UnaryKind::clamp, clamp<T>);
}

// Both elements are read, so that compilers need no branch.
template <class T, class Condition>
HWY_INLINE T pick(Condition condition, T yes, T no) {
  return condition != 0 ? yes : no;
}

template <class Condition, class T>
void choose(const Condition* HWY_RESTRICT condition, const void* on_true, const void* on_false, void* out, ChoiceSteps steps, size_t n) {
  const T* HWY_RESTRICT yes = static_cast<const T*>(on_true);
  const T* HWY_RESTRICT no = static_cast<const T*>(on_false);
  T* HWY_RESTRICT result = static_cast<T*>(out);
  if (steps.condition == 0) {
    const bool holds = condition[0] != 0;
    const T* source = holds ? yes : no;
    const size_t step = holds ? steps.on_true : steps.on_false;
    for (size_t i = 0; i < n; ++i) result[i] = source[i * step];
  } else if (steps.on_true == 1 && steps.on_false == 1) {
    for (size_t i = 0; i < n; ++i) result[i] = pick(condition[i], yes[i], no[i]);
  } else if (steps.on_true == 1) {
    const T other = no[0];
    for (size_t i = 0; i < n; ++i) result[i] = pick(condition[i], yes[i], other);
  } else if (steps.on_false == 1) {
    const T other = yes[0];
    for (size_t i = 0; i < n; ++i) result[i] = pick(condition[i], other, no[i]);
  } else {
    const T first = yes[0];
    const T second = no[0];
    for (size_t i = 0; i < n; ++i) result[i] = pick(condition[i], first, second);
  }
}

template <class Condition>
void fill_choices(ChooseLoops<Condition>& loops) {
  loops = {choose<Condition, uint8_t>, choose<Condition, uint16_t>, choose<Condition, uint32_t>, choose<Condition, uint64_t>};
}

void fill_integer(SimdKernels& kernels) {
  fill_unary_of(kernels.numbers<uint8_t>());
  fill_unary_of(kernels.numbers<uint32_t>());
  fill_unary_of(kernels.numbers<int8_t>());
  fill_unary_of(kernels.numbers<int16_t>());
  fill_unary_of(kernels.numbers<int32_t>());
  fill_unary_of(kernels.numbers<int64_t>());
  fill_choices(kernels.choose_u8);
  fill_choices(kernels.choose_u32);
  fill_choices(kernels.choose_i64);
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_integer_loops(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_integer, kernels); }

}  // namespace wick::cpu
#endif
