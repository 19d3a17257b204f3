// Headers that all kernel files share, for precompiling. Highway's operations are included again for each instruction set.
#pragma once

#include <hwy/base.h>
#include <hwy/cache_control.h>
#include <hwy/targets.h>

#if HWY_ARCH_X86
#include <immintrin.h>
#endif

#include "wick/backend/cpu/simd/simd_kernels.h"
