// Arithmetic of two operands: floats by IEEE 754, integers in two's complement, wrapping around.
// Plain loops: the compiler turns them into vector code for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/binary_loops.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <type_traits>

#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/op/op.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

// For products and the like of integers: 64 bits wrap around as the narrower ones do, and no sign gets in the way.
template <class T>
HWY_INLINE uint64_t bits_of(T value) {
  return static_cast<uint64_t>(value);
}

struct Add {
  template <class T>
  static HWY_INLINE T of(T lhs, T rhs) {
    if constexpr (std::is_floating_point_v<T>) return lhs + rhs;
    return static_cast<T>(bits_of(lhs) + bits_of(rhs));
  }
};

struct Subtract {
  template <class T>
  static HWY_INLINE T of(T lhs, T rhs) {
    if constexpr (std::is_floating_point_v<T>) return lhs - rhs;
    return static_cast<T>(bits_of(lhs) - bits_of(rhs));
  }
};

struct Multiply {
  template <class T>
  static HWY_INLINE T of(T lhs, T rhs) {
    if constexpr (std::is_floating_point_v<T>) return lhs * rhs;
    return static_cast<T>(bits_of(lhs) * bits_of(rhs));
  }
};

// Of integers: toward zero; by zero it gives 0, and the smallest one by -1 wraps around to itself.
struct Divide {
  template <class T>
  static HWY_INLINE T of(T lhs, T rhs) {
    if constexpr (std::is_floating_point_v<T>) {
      return lhs / rhs;
    } else {
      if (rhs == 0) return 0;
      if (std::is_signed_v<T> && rhs == static_cast<T>(-1)) return static_cast<T>(0 - bits_of(lhs));
      return static_cast<T>(lhs / rhs);
    }
  }
};

// NaN in either operand gives NaN.
struct Minimum {
  template <class T>
  static HWY_INLINE T of(T lhs, T rhs) {
    return lhs < rhs || lhs != lhs ? lhs : rhs;
  }
};

struct Maximum {
  template <class T>
  static HWY_INLINE T of(T lhs, T rhs) {
    return lhs > rhs || lhs != lhs ? lhs : rhs;
  }
};

// By squaring; a negative power is what is left of it toward zero.
struct IntegerPower {
  template <class T>
  static T of(T base, T exponent) {
    if (exponent < T{0}) return base == T{1} ? T{1} : base == static_cast<T>(-1) ? (exponent % 2 == 0 ? T{1} : static_cast<T>(-1)) : T{0};
    uint64_t result = 1;
    uint64_t square = bits_of(base);
    for (uint64_t left = bits_of(exponent); left > 0; left >>= 1) {
      if ((left & 1) != 0) result *= square;
      square *= square;
    }
    return static_cast<T>(result);
  }
};

template <class T, class F, size_t kLeftStep, size_t kRightStep>
void combine(const T* HWY_RESTRICT lhs, const T* HWY_RESTRICT rhs, T* HWY_RESTRICT out, size_t n) {
  const T left = lhs[0];
  const T right = rhs[0];
  for (size_t i = 0; i < n; ++i) out[i] = F::of(kLeftStep == 0 ? left : lhs[i], kRightStep == 0 ? right : rhs[i]);
}

template <class T, class F>
void set(NumberLoops<T>& loops, BinaryKind kind) {
  loops.binary[static_cast<size_t>(kind)] = {combine<T, F, 1, 1>, combine<T, F, 1, 0>, combine<T, F, 0, 1>};
}

template <class T>
void fill_binary_of(NumberLoops<T>& loops) {
  set<T, Add>(loops, BinaryKind::add);
  set<T, Subtract>(loops, BinaryKind::sub);
  set<T, Multiply>(loops, BinaryKind::mul);
  set<T, Divide>(loops, BinaryKind::div);
  set<T, Minimum>(loops, BinaryKind::minimum);
  set<T, Maximum>(loops, BinaryKind::maximum);
  if constexpr (std::is_integral_v<T>) set<T, IntegerPower>(loops, BinaryKind::pow);  // of floats: pow_loops.cpp
}

void fill_binary(SimdKernels& kernels) {
  kernels.for_each_number([](auto& loops) HWY_ATTR { fill_binary_of(loops); });
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_binary_loops(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_binary, kernels); }

}  // namespace wick::cpu
#endif
