// Common parts of CUDA C++ and HIP C++.
#pragma once

#include "wick/ir/dialect/spellings.h"

namespace wick::ir {

// clang-format off
inline constexpr std::array kCudaFamilySpellings{
    Spelling{Op::minimum, integers(), "$0 < $1 ? $0 : $1"},
    Spelling{Op::maximum, integers(), "$0 < $1 ? $1 : $0"},
    Spelling{Op::minimum, types(Type::f32), "fminf($0, $1)"},
    Spelling{Op::maximum, types(Type::f32), "fmaxf($0, $1)"},
    Spelling{Op::minimum, types(Type::f64), "fmin($0, $1)"},
    Spelling{Op::maximum, types(Type::f64), "fmax($0, $1)"},
    Spelling{Op::absolute, types(Type::f32), "fabsf($0)"},
    Spelling{Op::absolute, types(Type::f64), "fabs($0)"},
    Spelling{Op::exp2, types(Type::f32), "exp2f($0)"},
    Spelling{Op::log2, types(Type::f32), "log2f($0)"},
    Spelling{Op::sine, types(Type::f32), "sinf($0)"},
    Spelling{Op::square_root, types(Type::f32), "sqrtf($0)"},
    Spelling{Op::truncate, types(Type::f32), "truncf($0)"},
    Spelling{Op::fma, types(Type::f32), "fmaf($0, $1, $2)"},
};
// clang-format on
inline constexpr auto kCudaFamilyCommon = join(kWrappingSpellings, kCommonSpellings);

// The columns that both fill alike.
[[nodiscard]] Dialect cuda_family();

}  // namespace wick::ir
