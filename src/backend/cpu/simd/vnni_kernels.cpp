// Interleaved weight tiles times 8-bit activations with AVX-512 VNNI: 16 rows a vector, four columns a 32-bit lane.
//
// A block of 32 columns holds unsigned quants u with w = scale · u − offset, so that for activations x ≈ s · q
//   Σ w·x = scale · s · Σ u·q − offset · (s · Σ q),
// one integer dot product and one precomputed sum a block: formats with a zero point or a minimum differ only in their offset.
#include "backend/cpu/simd/simd_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

// These functions alone are compiled for VNNI; nothing of the standard library is instantiated in them.
#define WICK_VNNI __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define WICK_VNNI_INLINE __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"), always_inline)) inline
#endif

namespace wick::cpu {

#if defined(__x86_64__)
namespace {

constexpr int kVectorBytes = 64;
constexpr int kWords = 8;  // 32-bit words of a row in a block of 32 columns

WICK_VNNI_INLINE __m512i load_words(const std::byte* p, int64_t index) { return _mm512_loadu_si512(p + index * kVectorBytes); }

WICK_VNNI_INLINE __m512 load_f16_scales(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

// 16 unsigned bytes as floats.
WICK_VNNI_INLINE __m512 bytes_to_floats(__m128i bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)); }

// The quants of one block of 32 columns and their scales; half_scale[1] differs from half_scale[0] only in formats with a scale per 16.
struct Block {
  __m512i words[kWords];
  __m512 half_scale[2];
  __m512 half_offset[2];
};

struct Q80 {
  static constexpr int kColumns = 32, kBytes = 34, kGroups = 1, kBlocksPerGroup = 1;
  static constexpr bool kHalves = false;
  struct Header {
    __m512 scale;
  };

  static WICK_VNNI_INLINE Header header(const std::byte* p) { return {load_f16_scales(p)}; }

  template <int kIndex>
  static WICK_VNNI_INLINE void load(const std::byte* p, const Header& h, int /*group*/, Block& block) {
    for (int w = 0; w < kWords; ++w) block.words[w] = load_words(p + 32, w);
    block.half_scale[0] = h.scale;
    block.half_offset[0] = _mm512_mul_ps(h.scale, _mm512_set1_ps(128.0F));
  }
};

struct Q40 {
  static constexpr int kColumns = 32, kBytes = 18, kGroups = 1, kBlocksPerGroup = 1;
  static constexpr bool kHalves = false;
  using Header = Q80::Header;

  static WICK_VNNI_INLINE Header header(const std::byte* p) { return {load_f16_scales(p)}; }

  template <int kIndex>
  static WICK_VNNI_INLINE void load(const std::byte* p, const Header& h, int /*group*/, Block& block) {
    const __m512i mask = _mm512_set1_epi8(15);
    for (int w = 0; w < 4; ++w) {
      const __m512i bytes = load_words(p + 32, w);
      block.words[w] = _mm512_and_si512(bytes, mask);
      block.words[w + 4] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask);
    }
    block.half_scale[0] = h.scale;
    block.half_offset[0] = _mm512_mul_ps(h.scale, _mm512_set1_ps(8.0F));
  }
};

// The 6-bit scales and minima of q4_k and q5_k: 12 bytes a row, here as 12 vectors of 16 rows.
struct KHeader {
  __m512 d;
  __m512 dmin;
  const std::byte* packed;
};

WICK_VNNI_INLINE KHeader k_header(const std::byte* p) { return {load_f16_scales(p), load_f16_scales(p + 32), p + 64}; }

WICK_VNNI_INLINE void k_scales(const KHeader& h, int sub, Block& block) {
  const auto byte = [&](int index) __attribute__((target("avx512f"), always_inline)) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(h.packed + index * 16));
  };
  const __m128i low6 = _mm_set1_epi8(63);
  const __m128i low4 = _mm_set1_epi8(15);
  const __m128i high2 = _mm_set1_epi8(0x30);
  __m128i scale;
  __m128i minimum;
  if (sub < 4) {
    scale = _mm_and_si128(byte(sub), low6);
    minimum = _mm_and_si128(byte(sub + 4), low6);
  } else {
    const __m128i nibbles = byte(sub + 4);
    scale = _mm_or_si128(_mm_and_si128(nibbles, low4), _mm_and_si128(_mm_srli_epi16(byte(sub - 4), 2), high2));
    minimum = _mm_or_si128(_mm_and_si128(_mm_srli_epi16(nibbles, 4), low4), _mm_and_si128(_mm_srli_epi16(byte(sub), 2), high2));
  }
  block.half_scale[0] = _mm512_mul_ps(h.d, bytes_to_floats(scale));
  block.half_offset[0] = _mm512_mul_ps(h.dmin, bytes_to_floats(minimum));
}

struct Q4K {
  static constexpr int kColumns = 256, kBytes = 144, kGroups = 4, kBlocksPerGroup = 2;
  static constexpr bool kHalves = false;
  using Header = KHeader;

  static WICK_VNNI_INLINE Header header(const std::byte* p) { return k_header(p); }

  template <int kIndex>
  static WICK_VNNI_INLINE void load(const std::byte* p, const Header& h, int group, Block& block) {
    const __m512i mask = _mm512_set1_epi8(15);
    for (int w = 0; w < kWords; ++w) {
      const __m512i bytes = load_words(p + 256, group * kWords + w);
      block.words[w] = _mm512_and_si512(kIndex == 0 ? bytes : _mm512_srli_epi16(bytes, 4), mask);
    }
    k_scales(h, 2 * group + kIndex, block);
  }
};

struct Q5K {
  static constexpr int kColumns = 256, kBytes = 176, kGroups = 4, kBlocksPerGroup = 2;
  static constexpr bool kHalves = false;
  using Header = KHeader;

  static WICK_VNNI_INLINE Header header(const std::byte* p) { return k_header(p); }

  template <int kIndex>
  static WICK_VNNI_INLINE void load(const std::byte* p, const Header& h, int group, Block& block) {
    const __m512i mask = _mm512_set1_epi8(15);
    const __m512i high = _mm512_set1_epi8(16);
    const __m128i shift = _mm_cvtsi32_si128(2 * group);
    for (int w = 0; w < kWords; ++w) {
      const __m512i bytes = load_words(p + 256 + 8 * kVectorBytes, group * kWords + w);
      const __m512i bits = _mm512_srl_epi16(load_words(p + 256, w), shift);
      const __m512i low = _mm512_and_si512(kIndex == 0 ? bytes : _mm512_srli_epi16(bytes, 4), mask);
      block.words[w] = _mm512_or_si512(low, _mm512_and_si512(_mm512_slli_epi16(bits, 4 - kIndex), high));
    }
    k_scales(h, 2 * group + kIndex, block);
  }
};

struct Q6K {
  static constexpr int kColumns = 256, kBytes = 210, kGroups = 2, kBlocksPerGroup = 4;
  static constexpr bool kHalves = true;
  struct Header {
    __m512 d;
    const std::byte* scales;
  };

  static WICK_VNNI_INLINE Header header(const std::byte* p) { return {load_f16_scales(p), p + 32}; }

  template <int kIndex>
  static WICK_VNNI_INLINE void load(const std::byte* p, const Header& h, int group, Block& block) {
    const __m512i mask = _mm512_set1_epi8(15);
    const __m512i high_mask = _mm512_set1_epi8(0x30);
    const std::byte* low = p + 32 + 256;
    const std::byte* high = low + 32 * kVectorBytes;
    for (int w = 0; w < kWords; ++w) {
      const __m512i bytes = load_words(low, group * 16 + kIndex % 2 * kWords + w);
      const __m512i bits = load_words(high, group * kWords + w);
      const __m512i nibbles = _mm512_and_si512(kIndex < 2 ? bytes : _mm512_srli_epi16(bytes, 4), mask);
      __m512i upper;
      if constexpr (kIndex == 0) upper = _mm512_slli_epi16(bits, 4);
      if constexpr (kIndex == 1) upper = _mm512_slli_epi16(bits, 2);
      if constexpr (kIndex == 2) upper = bits;
      if constexpr (kIndex == 3) upper = _mm512_srli_epi16(bits, 2);
      block.words[w] = _mm512_or_si512(nibbles, _mm512_and_si512(upper, high_mask));
    }
    for (int half = 0; half < 2; ++half) {
      const std::byte* scales = h.scales + (8 * group + 2 * kIndex + half) * 16;
      const __m512i factors = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(scales)));
      block.half_scale[half] = _mm512_mul_ps(h.d, _mm512_cvtepi32_ps(factors));
      block.half_offset[half] = _mm512_mul_ps(block.half_scale[half], _mm512_set1_ps(32.0F));
    }
  }
};

WICK_VNNI_INLINE __m512i broadcast_word(const int8_t* quants) {
  int32_t word;
  __builtin_memcpy(&word, quants, sizeof(word));
  return _mm512_set1_epi32(word);
}

// sum += the product of one block of 16 rows with columns [32 · index, +32) of one activation row.
template <bool kHalves>
WICK_VNNI_INLINE __m512 add_block(const Block& block, const QuantizedActivations& x, int64_t row, int64_t index, __m512 sum) {
  const int8_t* quants = x.quants + row * x.columns + index * kActivationBlock;
  const int64_t blocks = x.columns / kActivationBlock;
  const __m512 scale = _mm512_set1_ps(x.scales[row * blocks + index]);
  if constexpr (kHalves) {
    for (int half = 0; half < 2; ++half) {
      __m512i dot = _mm512_setzero_si512();
      for (int w = half * 4; w < half * 4 + 4; ++w) dot = _mm512_dpbusd_epi32(dot, block.words[w], broadcast_word(quants + 4 * w));
      sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_mul_ps(block.half_scale[half], scale), sum);
      sum = _mm512_fnmadd_ps(block.half_offset[half], _mm512_set1_ps(x.half_sums[(row * blocks + index) * 2 + half]), sum);
    }
    return sum;
  } else {
    __m512i dot = _mm512_setzero_si512();
    for (int w = 0; w < kWords; ++w) dot = _mm512_dpbusd_epi32(dot, block.words[w], broadcast_word(quants + 4 * w));
    sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_mul_ps(block.half_scale[0], scale), sum);
    return _mm512_fnmadd_ps(block.half_offset[0], _mm512_set1_ps(x.block_sums[row * blocks + index]), sum);
  }
}

// The same for rows row + kToken … row + kTokens - 1; a recursion instead of a loop keeps the sums in registers.
template <class Format, int kTokens, int kToken = 0>
WICK_VNNI_INLINE void add_tokens(const Block& block, const QuantizedActivations& x, int64_t row, int64_t index, __m512 (&sums)[kTokens]) {
  if constexpr (kToken < kTokens) {
    sums[kToken] = add_block<Format::kHalves>(block, x, row + kToken, index, sums[kToken]);
    add_tokens<Format, kTokens, kToken + 1>(block, x, row, index, sums);
  }
}

// A single row is bound by memory: ask for the block's lines this far ahead of their use.
constexpr int64_t kPrefetchBytes = 4096;

template <int kBytes>
WICK_VNNI_INLINE void prefetch(const std::byte* p) {
  for (int at = 0; at < kBytes; at += kVectorBytes) _mm_prefetch(reinterpret_cast<const char*>(p) + kPrefetchBytes + at, _MM_HINT_T0);
}

// Block kIndex of a group, then the ones behind it, for kTokens rows of activations from `row` on.
template <class Format, int kTokens, int kIndex>
WICK_VNNI_INLINE void add_group(const std::byte* p, const typename Format::Header& header, int group, const QuantizedActivations& x,
                                int64_t row, int64_t first_block, __m512 (&sums)[kTokens]) {
  if constexpr (kIndex < Format::kBlocksPerGroup) {
    Block block;
    Format::template load<kIndex>(p, header, group, block);
    const int64_t index = first_block + group * Format::kBlocksPerGroup + kIndex;
    add_tokens<Format, kTokens>(block, x, row, index, sums);
    add_group<Format, kTokens, kIndex + 1>(p, header, group, x, row, first_block, sums);
  }
}

template <class Format, int kTokens>
WICK_VNNI void multiply_rows(const std::byte* tile, const QuantizedActivations& x, int64_t row, float* out, int64_t out_stride) {
  __m512 sums[kTokens];
  for (int t = 0; t < kTokens; ++t) sums[t] = _mm512_setzero_ps();
  const int64_t blocks = x.columns / Format::kColumns;
  for (int64_t block = 0; block < blocks; ++block) {
    const std::byte* p = tile + block * Format::kBytes * 16;
    if constexpr (kTokens == 1) prefetch<Format::kBytes * 16>(p);
    const typename Format::Header header = Format::header(p);
    for (int group = 0; group < Format::kGroups; ++group) {
      add_group<Format, kTokens, 0>(p, header, group, x, row, block * (Format::kColumns / kActivationBlock), sums);
    }
  }
  for (int t = 0; t < kTokens; ++t) _mm512_storeu_ps(out + (row + t) * out_stride, sums[t]);
}

template <class Format>
void multiply_tile(const std::byte* tile, const QuantizedActivations& x, float* out, int64_t out_stride) {
  int64_t row = 0;
  for (; row + 8 <= x.rows; row += 8) multiply_rows<Format, 8>(tile, x, row, out, out_stride);
  for (; row + 4 <= x.rows; row += 4) multiply_rows<Format, 4>(tile, x, row, out, out_stride);
  for (; row + 2 <= x.rows; row += 2) multiply_rows<Format, 2>(tile, x, row, out, out_stride);
  for (; row < x.rows; ++row) multiply_rows<Format, 1>(tile, x, row, out, out_stride);
}

}  // namespace
#endif

void fill_vnni_kernels(SimdKernels& kernels) {
#if defined(__x86_64__)
  if (kernels.set != InstructionSet::avx512_vnni) return;
  kernels.tile_kernel(DType::q4_0_x16) = multiply_tile<Q40>;
  kernels.tile_kernel(DType::q8_0_x16) = multiply_tile<Q80>;
  kernels.tile_kernel(DType::q4_k_x16) = multiply_tile<Q4K>;
  kernels.tile_kernel(DType::q5_k_x16) = multiply_tile<Q5K>;
  kernels.tile_kernel(DType::q6_k_x16) = multiply_tile<Q6K>;
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
