// CUDA C++, for NVRTC and nvcc.
#include "wick/ir/dialect/cuda_family.h"
#include "wick/ir/dialect/spellings.h"

namespace wick::ir {
namespace {

constexpr uint8_t kF16 = types(Type::f16), kF32 = types(Type::f32), kF64 = types(Type::f64);

// clang-format off
constexpr std::array kOwn{
    // The _rn functions are never contracted to a fused multiply-add.
    Spelling{Op::add, kF32, "$0 + $1", "__fadd_rn($0, $1)"},
    Spelling{Op::subtract, kF32, "$0 - $1", "__fsub_rn($0, $1)"},
    Spelling{Op::multiply, kF32, "$0 * $1", "__fmul_rn($0, $1)"},
    Spelling{Op::divide, kF32, "__fdividef($0, $1)", "__fdiv_rn($0, $1)"},
    Spelling{Op::square_root, kF32, "sqrtf($0)", "__fsqrt_rn($0)"},
    Spelling{Op::exp2, kF32, "exp2f($0)"},
    Spelling{Op::log2, kF32, "__log2f($0)", "log2f($0)"},
    Spelling{Op::sine, kF32, "__sinf($0)", "sinf($0)"},
    Spelling{Op::add, kF64, "$0 + $1", "__dadd_rn($0, $1)"},
    Spelling{Op::subtract, kF64, "$0 - $1", "__dsub_rn($0, $1)"},
    Spelling{Op::multiply, kF64, "$0 * $1", "__dmul_rn($0, $1)"},
    Spelling{Op::add, kF16, "__hadd($0, $1)", "__hadd_rn($0, $1)"},
    Spelling{Op::subtract, kF16, "__hsub($0, $1)", "__hsub_rn($0, $1)"},
    Spelling{Op::multiply, kF16, "__hmul($0, $1)", "__hmul_rn($0, $1)"},
    Spelling{Op::divide, kF16, "__hdiv($0, $1)"},
    Spelling{Op::fma, kF16, "__hfma($0, $1, $2)"},
    Spelling{Op::negate, kF16, "__hneg($0)"},
    Spelling{Op::absolute, kF16, "__habs($0)"},
    Spelling{Op::minimum, kF16, "__hmin($0, $1)"},
    Spelling{Op::maximum, kF16, "__hmax($0, $1)"},
    Spelling{Op::square_root, kF16, "hsqrt($0)"},
    Spelling{Op::exp2, kF16, "hexp2($0)"},
    Spelling{Op::log2, kF16, "hlog2($0)"},
    Spelling{Op::sine, kF16, "hsin($0)"},
    Spelling{Op::truncate, kF16, "htrunc($0)"},
    Spelling{Op::less, kF16, "__hlt($0, $1)"},
    Spelling{Op::less_equal, kF16, "__hle($0, $1)"},
    Spelling{Op::equal, kF16, "__heq($0, $1)"},
    Spelling{Op::dot4, any(), "__dp4a((int)$0, (int)$1, $2)"},
    Spelling{Op::unpack_half, any(), "__half2float(__ushort_as_half((unsigned short)$0))"},
    Spelling{Op::pack_halves, any(), "wick_pack_halves($0, $1)"},
    Spelling{Op::fma_halves, any(), "wick_fma_halves($0, $1, $2)"},
    Spelling{Op::subgroup_shuffle_xor, any(), "__shfl_xor_sync(0xffffffffu, $0, $n)"},
    Spelling{Op::subgroup_broadcast, any(), "__shfl_sync(0xffffffffu, $0, $n)"},
};
constexpr auto kSpellings = join(kOwn, kCudaFamilySpellings);

constexpr std::array kConversions{
    Conversion{Op::cast, kF32, kF16, "__float2half_rn($0)"},
    Conversion{Op::cast, kF16, kF32, "__half2float($0)"},
    Conversion{Op::bitcast, types(Type::u32), kF32, "__uint_as_float($0)"},
    Conversion{Op::bitcast, types(Type::i32), kF32, "__int_as_float($0)"},
    Conversion{Op::bitcast, kF32, types(Type::u32), "__float_as_uint($0)"},
    Conversion{Op::bitcast, kF32, types(Type::i32), "__float_as_int($0)"},
    Conversion{Op::bitcast, types(Type::i64), kF64, "__longlong_as_double($0)"},
    Conversion{Op::bitcast, kF64, types(Type::i64), "__double_as_longlong($0)"},
};

constexpr std::array kPreambles{
    Preamble{Feature::f16, "#include <cuda_fp16.h>\n"},
    Preamble{Feature::unpack_half, "#include <cuda_fp16.h>\n"},
    Preamble{Feature::pack_halves, R"(#include <cuda_fp16.h>
__device__ __forceinline__ unsigned wick_pack_halves(float a, float b) {
  const __half2 halves = __floats2half2_rn(a, b);
  return *reinterpret_cast<const unsigned*>(&halves);
}
)"},
    Preamble{Feature::fma_halves, R"(#ifdef __CUDACC__
__device__ __forceinline__ unsigned wick_fma_halves(unsigned a, unsigned b, unsigned c) {
  unsigned sums;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sums) : "r"(a), "r"(b), "r"(c));
  return sums;
}
#endif
)"},
    Preamble{Feature::tiles, "#include <mma.h>\n"},
    // From 8.0 on, past the registers and the first-level cache.
    Preamble{Feature::copies, R"(#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void wick_copy(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void wick_copies_arrive() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
__device__ __forceinline__ void wick_copy(void* to, const void* from) { *(uint4*)to = *(const uint4*)from; }
__device__ __forceinline__ void wick_copies_arrive() {}
#endif
)"},
    // Left, right and sums are uint4, uint2 and float4. A lane has of the sums rows g and g + 8, columns 2t and 2t + 1.
    Preamble{Feature::lane_tiles, R"(#include <cuda_fp16.h>
#ifdef __CUDACC__
__device__ __forceinline__ void wick_tile_multiply(float4& c, uint4 a, uint2 b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c.x), "+f"(c.y), "+f"(c.z), "+f"(c.w) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}
#endif
__device__ __forceinline__ void wick_tile_fill(float4& c, float x) { c = float4{x, x, x, x}; }
__device__ __forceinline__ void wick_tile_scale(float4& c, float4 f) { c = float4{c.x * f.x, c.y * f.y, c.z * f.z, c.w * f.w}; }
__device__ __forceinline__ unsigned wick_tile_pair(const __half* first, const __half* second) {
  return *(const unsigned short*)first | (unsigned)*(const unsigned short*)second << 16;
}
__device__ __forceinline__ void wick_tile_load(uint4& a, const __half* p, unsigned stride) {
  p += threadIdx.x % 32u / 4u * stride + threadIdx.x % 4u * 2u;
  a = uint4{wick_tile_pair(p, p + 1), wick_tile_pair(p + 8u * stride, p + 8u * stride + 1), wick_tile_pair(p + 8, p + 9),
            wick_tile_pair(p + 8u * stride + 8, p + 8u * stride + 9)};
}
__device__ __forceinline__ void wick_tile_load(uint2& b, const __half* p, unsigned stride) {
  p += threadIdx.x % 4u * 2u * stride + threadIdx.x % 32u / 4u;
  b = uint2{wick_tile_pair(p, p + stride), wick_tile_pair(p + 8u * stride, p + 9u * stride)};
}
__device__ __forceinline__ void wick_tile_load(float4& c, const float* p, unsigned stride) {
  p += threadIdx.x % 32u / 4u * stride + threadIdx.x % 4u * 2u;
  c = float4{p[0], p[1], p[8u * stride], p[8u * stride + 1u]};
}
__device__ __forceinline__ void wick_tile_store(float* p, float4 c, unsigned stride) {
  p += threadIdx.x % 32u / 4u * stride + threadIdx.x % 4u * 2u;
  p[0] = c.x;
  p[1] = c.y;
  p[8u * stride] = c.z;
  p[8u * stride + 1u] = c.w;
}
)"},
    Preamble{Feature::subgroup_reduce, R"(template <class T> __device__ __forceinline__ T wick_subgroup_add(T x) {
  for (int m = $s / 2; m > 0; m /= 2) x += __shfl_xor_sync(0xffffffffu, x, m);
  return x;
}
template <class T> __device__ __forceinline__ T wick_subgroup_min(T x) {
  for (int m = $s / 2; m > 0; m /= 2) { const T y = __shfl_xor_sync(0xffffffffu, x, m); x = y < x ? y : x; }
  return x;
}
template <class T> __device__ __forceinline__ T wick_subgroup_max(T x) {
  for (int m = $s / 2; m > 0; m /= 2) { const T y = __shfl_xor_sync(0xffffffffu, x, m); x = x < y ? y : x; }
  return x;
}
)"},
};
// clang-format on

// From 9.0 on a kernel may be launched before the one before it has written everything, which it waits for. It does not let the next one
// be launched before its own end: groups that wait beside those that work are spread unevenly over the processors, and a token of Q4_K_M
// took 9 % longer on an H200.
std::string head(const Kernel& kernel, const Usage& usage, const Dialect& dialect) {
  return cuda_family().head(kernel, usage, dialect) + R"(#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
)";
}

Dialect make() {
  Dialect d = cuda_family();
  d.name = "CUDA C++";
  d.extension = "cu";
  d.types[static_cast<std::size_t>(Type::f16)] = "__half";
  d.elements[static_cast<std::size_t>(Element::f16)] = "__half";
  d.vector_load_once = "__ldcs(reinterpret_cast<const $V*>(&$m[$i]))";
  d.copy = "wick_copy(&$m[$i], &$f[$j]);";
  d.copies_arrive = "wick_copies_arrive();";
  d.f32_atomic_add = "atomicAdd(&$m[$i], $x)";
  d.tile_type = "nvcuda::wmma::fragment<nvcuda::wmma::$R";
  d.tile_roles = {"matrix_a, $M, $N, $K, __half, nvcuda::wmma::row_major>", "matrix_b, $M, $N, $K, __half, nvcuda::wmma::row_major>",
                  "accumulator, $M, $N, $K, float>"};
  d.tile_fill = "nvcuda::wmma::fill_fragment($n, $x);";
  d.tile_load = "nvcuda::wmma::load_matrix_sync($n, &$m[$i], $t);";
  d.tile_load_words = "nvcuda::wmma::load_matrix_sync($n, reinterpret_cast<const __half*>(&$m[$i]), 2u * $t);";
  d.tile_multiply = "nvcuda::wmma::mma_sync($n, $l, $p, $n);";
  d.tile_load_sums = "nvcuda::wmma::load_matrix_sync($n, &$m[$i], $t, nvcuda::wmma::mem_row_major);";
  d.tile_scale = "for (int e = 0; e < $n.num_elements; ++e) $n.x[e] *= $l.x[e];";
  d.tile_store = "nvcuda::wmma::store_matrix_sync(&$m[$i], $n, $t, nvcuda::wmma::mem_row_major);";
  d.lane_tiles = {.types = {"uint4", "uint2", "float4"},
                  .fill = "wick_tile_fill($n, $x);",
                  .set = "$n = $x;",
                  .get = "$v = $n.$e;",
                  .load = "wick_tile_load($n, &$m[$i], $t);",
                  .load_words = "wick_tile_load($n, reinterpret_cast<const __half*>(&$m[$i]), 2u * $t);",
                  .multiply = "wick_tile_multiply($n, $l, $p);",
                  .scale = "wick_tile_scale($n, $l);",
                  .store = "wick_tile_store(&$m[$i], $n, $t);"};
  d.spellings = kSpellings;
  d.conversions = kConversions;
  d.preambles = kPreambles;
  d.head = head;
  return d;
}

}  // namespace

const Dialect& cuda_dialect() {
  static const Dialect dialect = make();
  return dialect;
}

}  // namespace wick::ir
