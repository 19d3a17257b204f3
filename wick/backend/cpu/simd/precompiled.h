// What the files of kernels read whatever the instruction set, for precompiled headers. Highway's operations are read again for each set.
#pragma once

#include <hwy/base.h>
#include <hwy/cache_control.h>
#include <hwy/targets.h>

#if HWY_ARCH_X86
#include <immintrin.h>
#endif

#include "wick/backend/cpu/simd/simd_kernels.h"
