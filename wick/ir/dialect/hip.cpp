// HIP C++, for hiprtc and clang.
#include "wick/ir/dialect/cuda_family.h"

namespace wick::ir {
namespace {

constexpr uint8_t kF16 = types(Type::f16);

// clang-format off
// _Float16 has the operators of arithmetic; the rest goes through f32, which is as exact.
constexpr std::array kOwn{
    Spelling{Op::minimum, kF16, "$0 < $1 ? $0 : $1"},
    Spelling{Op::maximum, kF16, "$0 < $1 ? $1 : $0"},
    Spelling{Op::absolute, kF16, "(_Float16)fabsf((float)$0)"},
    Spelling{Op::exp2, kF16, "(_Float16)exp2f((float)$0)"},
    Spelling{Op::log2, kF16, "(_Float16)log2f((float)$0)"},
    Spelling{Op::sine, kF16, "(_Float16)sinf((float)$0)"},
    Spelling{Op::square_root, kF16, "(_Float16)sqrtf((float)$0)"},
    Spelling{Op::truncate, kF16, "(_Float16)truncf((float)$0)"},
    Spelling{Op::fma, kF16, "(_Float16)fmaf((float)$0, (float)$1, (float)$2)"},
    Spelling{Op::dot4, any(), "wick_dot4($0, $1, $2)"},
    Spelling{Op::unpack_half, any(), "(float)__builtin_bit_cast(_Float16, (unsigned short)$0)"},
    Spelling{Op::pack_halves, any(), "(unsigned)__builtin_bit_cast(unsigned short, (_Float16)$1) << 16 | __builtin_bit_cast(unsigned short, (_Float16)$0)"},
    Spelling{Op::subgroup_shuffle_xor, any(), "__shfl_xor($0, $n, $s)"},
    Spelling{Op::subgroup_broadcast, any(), "__shfl($0, $n, $s)"},
};
constexpr auto kSpellings = join(kOwn, kCudaFamilySpellings);

constexpr std::array kConversions{
    Conversion{Op::bitcast, any(), any(), "__builtin_bit_cast($T, $0)"},
};

constexpr std::array kPreambles{
    // Which instruction the processor has is told by an option (backend/rocm/architectures.h).
    Preamble{Feature::dot4, R"(__device__ __forceinline__ int wick_dot4(unsigned a, unsigned b, int c) {
#if defined(WICK_SUDOT4)
  return __builtin_amdgcn_sudot4(true, (int)a, true, (int)b, c, false);
#elif defined(WICK_SDOT4)
  return __builtin_amdgcn_sdot4((int)a, (int)b, c, false);
#else
  for (int i = 0; i < 32; i += 8) c += (int)(signed char)(a >> i) * (int)(signed char)(b >> i);
  return c;
#endif
}
)"},
    Preamble{Feature::subgroup_reduce, R"(template <class T> __device__ __forceinline__ T wick_subgroup_add(T x) {
  for (int m = $s / 2; m > 0; m /= 2) x += __shfl_xor(x, m, $s);
  return x;
}
template <class T> __device__ __forceinline__ T wick_subgroup_min(T x) {
  for (int m = $s / 2; m > 0; m /= 2) { const T y = __shfl_xor(x, m, $s); x = y < x ? y : x; }
  return x;
}
template <class T> __device__ __forceinline__ T wick_subgroup_max(T x) {
  for (int m = $s / 2; m > 0; m /= 2) { const T y = __shfl_xor(x, m, $s); x = x < y ? y : x; }
  return x;
}
)"},
};
// clang-format on

std::string head(const Kernel& kernel, const Usage& usage, const Dialect& dialect) {
  // Of the file: in a function it would have to stand before the shared arrays.
  const std::string pragma = kernel.math == MathMode::precise ? "#pragma clang fp contract(off)\n" : "#pragma clang fp contract(fast)\n";
  return pragma + cuda_family().head(kernel, usage, dialect);
}

Dialect make() {
  Dialect d = cuda_family();
  d.name = "HIP C++";
  d.extension = "hip";
  d.types[static_cast<std::size_t>(Type::f16)] = "_Float16";
  d.elements[static_cast<std::size_t>(Element::f16)] = "_Float16";
  d.f32_atomic_add = "atomicAdd(&$m[$i], $x)";
  d.spellings = kSpellings;
  d.conversions = kConversions;
  d.preambles = kPreambles;
  d.head = head;
  return d;
}

}  // namespace

const Dialect& hip_dialect() {
  static const Dialect dialect = make();
  return dialect;
}

}  // namespace wick::ir
