// Random numbers: words of the stream a few thousand at a time, turned into numbers while they are in the cache.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/ops/visit_dtype.h"
#include "wick/op/uniform_range.h"

namespace wick::cpu {
namespace {

// Words of one turn; a multiple of 4, the words of a block.
constexpr int64_t kWords = 2048;

template <class T>
constexpr int64_t kWordsOf = std::is_same_v<T, double> ? 2 : 1;

template <class T>
void uniform_numbers(const SimdKernels& kernels, const uint32_t* words, DType dtype, const UniformRange& range, T* out, int64_t count) {
  const auto n = static_cast<size_t>(count);
  if constexpr (std::is_same_v<T, double>) {
    kernels.uniform_f64(words, {range.low, range.span, range.cap}, out, n);
  } else {
    std::array<float, std::is_same_v<T, float> ? 1 : kWords> numbers;
    auto* target = numbers.data();
    if constexpr (std::is_same_v<T, float>) target = out;
    kernels.uniform_f32(words, uniform_bits(dtype),
                        {static_cast<float>(range.low), static_cast<float>(range.span), static_cast<float>(range.cap)}, target, n);
    if constexpr (!std::is_same_v<T, float>) {
      for (size_t i = 0; i < n; ++i) out[i] = T(numbers[i]);
    }
  }
}

// Word i as a number in [0, 1): all 32 bits of it, for f64 the upper 53 of two.
template <class T>
double unit_number(const uint32_t* words, size_t i) {
  if constexpr (std::is_same_v<T, double>) {
    const uint64_t number = (static_cast<uint64_t>(words[2 * i + 1]) << 32 | words[2 * i]) >> 11;
    return static_cast<double>(static_cast<int64_t>(number)) * 0x1p-53;
  } else {
    return static_cast<double>(words[i]) * 0x1p-32;
  }
}

template <class T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    return static_cast<T>(value);
  } else {
    return T(round_to_odd(value));
  }
}

// Box-Muller in f64 for every dtype, so that f32 differs between machines by the last rounding at most.
template <class T>
void normal_numbers(const SimdKernels& kernels, const uint32_t* words, double mean, double deviation, T* out, int64_t count) {
  constexpr size_t kPairs = static_cast<size_t>(kWords / kWordsOf<T> / 2);
  constexpr double kUnit = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-32;
  const auto pairs = static_cast<size_t>(count + 1) / 2;
  const auto apply = [&](UnaryKind kind, const double* x, double* result) {
    kernels.numbers<double>().unary[static_cast<size_t>(kind)](x, result, pairs, 0, 0);
  };
  alignas(64) std::array<double, kPairs> radius;
  alignas(64) std::array<double, kPairs> angle;
  alignas(64) std::array<double, kPairs> cosine;
  alignas(64) std::array<double, kPairs> sine;
  for (size_t i = 0; i < pairs; ++i) radius[i] = unit_number<T>(words, 2 * i) + kUnit;
  for (size_t i = 0; i < pairs; ++i) angle[i] = 2 * std::numbers::pi * unit_number<T>(words, 2 * i + 1);
  apply(UnaryKind::log, radius.data(), cosine.data());
  for (size_t i = 0; i < pairs; ++i) cosine[i] = std::max(-2 * cosine[i], 0.0);
  apply(UnaryKind::sqrt, cosine.data(), radius.data());
  apply(UnaryKind::cos, angle.data(), cosine.data());
  apply(UnaryKind::sin, angle.data(), sine.data());
  for (size_t i = 0; i < pairs; ++i) {
    out[2 * i] = rounded<T>(mean + deviation * (radius[i] * cosine[i]));
    if (2 * i + 1 < static_cast<size_t>(count)) out[2 * i + 1] = rounded<T>(mean + deviation * (radius[i] * sine[i]));
  }
}

}  // namespace

void random_any(const OpCall& call) {
  const auto& params = call.parameters<RandomParams>();
  const Operand& target = call.outputs[0];
  const SimdKernels& kernels = runtime_of(call).kernels();
  visit_dtype(target.dtype, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) {
      constexpr int64_t kElements = kWords / kWordsOf<T>;
      const UniformRange range = uniform_range_of(target.dtype, params.a, params.b);
      T* out = data_of<T>(target);
      runtime_of(call).threads().parallel_for(target.layout->elements(), 4 * kElements, [&](int64_t begin, int64_t end) {
        alignas(64) std::array<uint32_t, kWords> words;
        for (int64_t at = begin; at < end; at += kElements) {
          const int64_t count = std::min(kElements, end - at);
          const auto blocks = static_cast<size_t>((count * kWordsOf<T> + 3) / 4);
          kernels.philox(params.seed, (params.offset + static_cast<uint64_t>(at * kWordsOf<T>)) / 4, words.data(), blocks);
          if (params.kind == RandomKind::uniform) uniform_numbers(kernels, words.data(), target.dtype, range, out + at, count);
          if (params.kind == RandomKind::normal) normal_numbers(kernels, words.data(), params.a, params.b, out + at, count);
        }
      });
    }
  });
}

}  // namespace wick::cpu
