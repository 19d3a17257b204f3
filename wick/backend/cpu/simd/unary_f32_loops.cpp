// Unary functions of f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/unary_f32_loops.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

void fill_unary_f32(SimdKernels& kernels) { fill_unary(kernels.numbers<float>()); }

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_unary_f32_loops(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_unary_f32, kernels); }

}  // namespace wick::cpu
#endif
