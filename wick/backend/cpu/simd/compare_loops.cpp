// Comparisons: 1 where they hold, else 0.
// Plain loops: the compiler turns them into vector code for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/compare_loops.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/op/op.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

struct Equal {
  template <class T>
  static HWY_INLINE bool of(T lhs, T rhs) {
    return lhs == rhs;
  }
};

struct NotEqual {
  template <class T>
  static HWY_INLINE bool of(T lhs, T rhs) {
    return lhs != rhs;
  }
};

struct LessOrEqual {
  template <class T>
  static HWY_INLINE bool of(T lhs, T rhs) {
    return lhs <= rhs;
  }
};

struct GreaterOrEqual {
  template <class T>
  static HWY_INLINE bool of(T lhs, T rhs) {
    return lhs >= rhs;
  }
};

struct Less {
  template <class T>
  static HWY_INLINE bool of(T lhs, T rhs) {
    return lhs < rhs;
  }
};

struct Greater {
  template <class T>
  static HWY_INLINE bool of(T lhs, T rhs) {
    return lhs > rhs;
  }
};

template <class T, class F, size_t kRightStep>
void compare(const T* HWY_RESTRICT lhs, const T* HWY_RESTRICT rhs, uint8_t* HWY_RESTRICT out, size_t n) {
  const T right = rhs[0];
  for (size_t i = 0; i < n; ++i) out[i] = F::of(lhs[i], kRightStep == 0 ? right : rhs[i]) ? 1 : 0;
}

template <class T, class F>
void set(NumberLoops<T>& loops, CompareKind kind) {
  loops.compare[static_cast<size_t>(kind)] = {compare<T, F, 1>, compare<T, F, 0>};
}

template <class T>
void fill_compare_of(NumberLoops<T>& loops) {
  set<T, Equal>(loops, CompareKind::eq);
  set<T, NotEqual>(loops, CompareKind::ne);
  set<T, LessOrEqual>(loops, CompareKind::le);
  set<T, GreaterOrEqual>(loops, CompareKind::ge);
  set<T, Less>(loops, CompareKind::lt);
  set<T, Greater>(loops, CompareKind::gt);
}

void fill_compare(SimdKernels& kernels) {
  kernels.for_each_number([](auto& loops) HWY_ATTR { fill_compare_of(loops); });
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_compare_loops(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_compare, kernels); }

}  // namespace wick::cpu
#endif
