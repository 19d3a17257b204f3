// What division of integers leaves, and its quotient toward minus infinity. Processors have no vector code for them, so one loop serves all
// instruction sets. By zero all are 0.
#include <type_traits>

#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

namespace wick::cpu {
namespace {

// By -1 nothing is left, and the smallest number has no quotient to divide for.
template <class T>
bool leaves_nothing(T rhs) {
  return rhs == 0 || (std::is_signed_v<T> && rhs == static_cast<T>(-1));
}

struct Fmod {
  template <class T>
  static T of(T lhs, T rhs) {
    return leaves_nothing(rhs) ? T{0} : static_cast<T>(lhs % rhs);
  }
};

struct Remainder {
  template <class T>
  static T of(T lhs, T rhs) {
    const T rest = Fmod::of(lhs, rhs);
    return rest != 0 && (rest < 0) != (rhs < 0) ? static_cast<T>(rest + rhs) : rest;
  }
};

struct FloorDivide {
  template <class T>
  static T of(T lhs, T rhs) {
    if (rhs == 0) return 0;
    if (leaves_nothing(rhs)) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(lhs));
    return static_cast<T>(lhs / rhs - (lhs % rhs != 0 && (lhs < 0) != (rhs < 0) ? 1 : 0));
  }
};

template <class T, class F, size_t kLeftStep, size_t kRightStep>
void divide(const T* lhs, const T* rhs, T* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = F::of(lhs[i * kLeftStep], rhs[i * kRightStep]);
}

template <class F, class T>
void set(NumberLoops<T>& loops, BinaryKind kind) {
  loops.binary[static_cast<size_t>(kind)] = {divide<T, F, 1, 1>, divide<T, F, 1, 0>, divide<T, F, 0, 1>};
}

}  // namespace

void fill_division_loops(SimdKernels& kernels) {
  kernels.for_each_number([]<class T>(NumberLoops<T>& loops) {
    if constexpr (std::is_integral_v<T>) {
      set<Fmod>(loops, BinaryKind::fmod);
      set<Remainder>(loops, BinaryKind::remainder);
      set<FloorDivide>(loops, BinaryKind::floor_divide);
    }
  });
}

}  // namespace wick::cpu
