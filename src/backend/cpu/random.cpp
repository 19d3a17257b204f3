// Random numbers: words of the stream a few thousand at a time, turned into numbers while they are in the cache.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "backend/cpu/cpu_runtime.h"
#include "backend/cpu/op_table.h"
#include "backend/cpu/visit_dtype.h"
#include "device/uniform_range.h"

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
    kernels.uniform_f64(words, range.low, range.span, range.cap, out, n);
  } else {
    std::array<float, std::is_same_v<T, float> ? 1 : kWords> numbers;
    auto* target = numbers.data();
    if constexpr (std::is_same_v<T, float>) target = out;
    kernels.uniform_f32(words, uniform_bits(dtype), static_cast<float>(range.low), static_cast<float>(range.span),
                        static_cast<float>(range.cap), target, n);
    if constexpr (!std::is_same_v<T, float>) {
      for (size_t i = 0; i < n; ++i) out[i] = T(numbers[i]);
    }
  }
}

// Box-Muller in f64 for every dtype: rounding is then the only difference between machines with exact functions.
template <class T>
void normal_numbers(const uint32_t* words, double mean, double deviation, T* out, int64_t count) {
  const auto number = [words](int64_t i) {
    if constexpr (std::is_same_v<T, double>) {
      return static_cast<double>(static_cast<int64_t>((static_cast<uint64_t>(words[2 * i + 1]) << 32 | words[2 * i]) >> 11)) * 0x1p-53;
    } else {
      return static_cast<double>(words[i]) * 0x1p-32;
    }
  };
  constexpr double kUnit = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-32;
  const auto store = [&](int64_t i, double z) {
    const double value = mean + deviation * z;
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
      out[i] = static_cast<T>(value);
    } else {
      out[i] = T(round_to_odd(value));
    }
  };
  for (int64_t i = 0; i < count; i += 2) {
    const double radius = std::sqrt(-2 * std::log(number(i) + kUnit));
    const double angle = 2 * std::numbers::pi * number(i + 1);
    store(i, radius * std::cos(angle));
    if (i + 1 < count) store(i + 1, radius * std::sin(angle));
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
          if (params.kind == RandomKind::normal) normal_numbers(words.data(), params.a, params.b, out + at, count);
        }
      });
    }
  });
}

}  // namespace wick::cpu
