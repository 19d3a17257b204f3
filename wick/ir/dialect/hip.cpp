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
    // Of f16, 16 × 16 times 16 × 16, into f32. A lane has numbers of one row of the left tile, WICK_TILE_PLACES one after the other from
    // WICK_TILE_FIRST on, of one column of the right tile the same, and of the sums' column every WICK_TILE_STEP-th from WICK_TILE_ROW on
    // (AMD, "RDNA3 ISA" and "RDNA4 ISA", 7.9; "CDNA3 ISA", 7). Where no option tells the instruction, every lane has a whole tile.
    Preamble{Feature::tiles, R"(#if defined(WICK_WMMA11)
#define WICK_TILE_PLACES 16
#define WICK_TILE_SUMS 8
#define WICK_TILE_FIRST 0u
#define WICK_TILE_ROW (threadIdx.x / 16u % 2u)
#define WICK_TILE_STEP 2u
#define WICK_TILE_MULTIPLY(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)
#elif defined(WICK_WMMA12)
#define WICK_TILE_PLACES 8
#define WICK_TILE_SUMS 8
#define WICK_TILE_FIRST (threadIdx.x / 16u % 2u * 8u)
#define WICK_TILE_ROW WICK_TILE_FIRST
#define WICK_TILE_STEP 1u
#define WICK_TILE_MULTIPLY(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c)
#elif defined(WICK_MFMA)
#define WICK_TILE_PLACES 4
#define WICK_TILE_SUMS 4
#define WICK_TILE_FIRST (threadIdx.x / 16u % 4u * 4u)
#define WICK_TILE_ROW WICK_TILE_FIRST
#define WICK_TILE_STEP 1u
#define WICK_TILE_MULTIPLY(a, b, c) __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0)
#endif
#ifdef WICK_TILE_PLACES
typedef _Float16 wick_tile_halves __attribute__((ext_vector_type(WICK_TILE_PLACES)));
typedef float wick_tile_sums __attribute__((ext_vector_type(WICK_TILE_SUMS)));
struct wick_tile_a { wick_tile_halves x; };
struct wick_tile_b { wick_tile_halves x; };
struct wick_tile_c { wick_tile_sums x; };
__device__ __forceinline__ void wick_tile_load(wick_tile_a& t, const _Float16* p, unsigned stride) {
  p += threadIdx.x % 16u * stride + WICK_TILE_FIRST;
  for (unsigned i = 0; i < WICK_TILE_PLACES; ++i) t.x[i] = p[i];
}
__device__ __forceinline__ void wick_tile_load(wick_tile_b& t, const _Float16* p, unsigned stride) {
  p += WICK_TILE_FIRST * stride + threadIdx.x % 16u;
  for (unsigned i = 0; i < WICK_TILE_PLACES; ++i) t.x[i] = p[i * stride];
}
__device__ __forceinline__ void wick_tile_load(wick_tile_c& t, const float* p, unsigned stride) {
  p += WICK_TILE_ROW * stride + threadIdx.x % 16u;
  for (unsigned i = 0; i < WICK_TILE_SUMS; ++i) t.x[i] = p[i * WICK_TILE_STEP * stride];
}
__device__ __forceinline__ void wick_tile_store(float* p, const wick_tile_c& t, unsigned stride) {
  p += WICK_TILE_ROW * stride + threadIdx.x % 16u;
  for (unsigned i = 0; i < WICK_TILE_SUMS; ++i) p[i * WICK_TILE_STEP * stride] = t.x[i];
}
__device__ __forceinline__ void wick_tile_multiply(wick_tile_c& c, const wick_tile_a& a, const wick_tile_b& b) {
  c.x = WICK_TILE_MULTIPLY(a.x, b.x, c.x);
}
#else
#define WICK_TILE_SUMS 256
struct wick_tile_a { _Float16 x[256]; };
struct wick_tile_b { _Float16 x[256]; };
struct wick_tile_c { float x[256]; };
template <class T, class U> __device__ __forceinline__ void wick_tile_load(T& t, const U* p, unsigned stride) {
  for (unsigned i = 0; i < 256; ++i) t.x[i] = p[i / 16 * stride + i % 16];
}
__device__ __forceinline__ void wick_tile_store(float* p, const wick_tile_c& t, unsigned stride) {
  for (unsigned i = 0; i < 256; ++i) p[i / 16 * stride + i % 16] = t.x[i];
}
__device__ __forceinline__ void wick_tile_multiply(wick_tile_c& c, const wick_tile_a& a, const wick_tile_b& b) {
  for (unsigned i = 0; i < 256; ++i) {
    for (unsigned k = 0; k < 16; ++k) c.x[i] += (float)a.x[i / 16 * 16 + k] * (float)b.x[k * 16 + i % 16];
  }
}
#endif
__device__ __forceinline__ void wick_tile_fill(wick_tile_c& t, float x) {
  for (unsigned i = 0; i < WICK_TILE_SUMS; ++i) t.x[i] = x;
}
__device__ __forceinline__ void wick_tile_scale(wick_tile_c& t, const wick_tile_c& f) {
  for (unsigned i = 0; i < WICK_TILE_SUMS; ++i) t.x[i] *= f.x[i];
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
  d.tile_type = "$R";
  d.tile_roles = {"wick_tile_a", "wick_tile_b", "wick_tile_c"};
  d.tile_fill = "wick_tile_fill($n, $x);";
  d.tile_load = "wick_tile_load($n, &$m[$i], $t);";
  d.tile_load_words = "wick_tile_load($n, reinterpret_cast<const _Float16*>(&$m[$i]), 2u * $t);";
  d.tile_multiply = "wick_tile_multiply($n, $l, $p);";
  d.tile_load_sums = "wick_tile_load($n, &$m[$i], $t);";
  d.tile_scale = "wick_tile_scale($n, $l);";
  d.tile_store = "wick_tile_store(&$m[$i], $n, $t);";
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
