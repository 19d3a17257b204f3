// The inner loops over contiguous elements of one number type: elementwise functions, comparisons, conversions, parts of reductions.
// f16, bf16 and f8e4m3 have none of their own: they pass through f32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "wick/op/op.h"

namespace wick::cpu {

// out[i] = f(x[i]); out may be x. a and b are UnaryParams'.
template <class T>
using UnaryLoop = void (*)(const T* x, T* out, size_t n, double a, double b);
template <class T>
using BinaryLoop = void (*)(const T* lhs, const T* rhs, T* out, size_t n);
template <class T>
using CompareLoop = void (*)(const T* lhs, const T* rhs, uint8_t* out, size_t n);

// Which operand of a binary loop is one element for all n.
enum class Splat : uint8_t { none, rhs, lhs };
inline constexpr size_t kSplats = 3;

// The types that loops compute in, in the order of NumberLoops::convert.
using Numbers = std::tuple<uint8_t, uint32_t, int8_t, int16_t, int32_t, int64_t, float, double>;
inline constexpr size_t kNumbers = std::tuple_size_v<Numbers>;

// The accumulator type of a sum: f64 for floats, 64 bits with wrap-around for integers.
template <class T>
struct SumOf {
  using Type = uint64_t;
};
template <>
struct SumOf<float> {
  using Type = double;
};
template <>
struct SumOf<double> {
  using Type = double;
};

template <class T>
struct NumberLoops {
  using Sum = typename SumOf<T>::Type;

  // By UnaryKind; nullptr where the function leaves the integers, or has no loop (has_loop in op_table.h).
  std::array<UnaryLoop<T>, kUnaryKinds.size()> unary{};
  // By BinaryKind and Splat; nullptr where there is no loop.
  std::array<std::array<BinaryLoop<T>, kSplats>, kBinaryKinds.size()> binary{};
  // By CompareKind; without Splat::lhs, which is the mirrored kind with Splat::rhs.
  std::array<std::array<CompareLoop<T>, 2>, kCompareKinds.size()> compare{};
  // To each type of Numbers, as copy converts: floats to integers toward zero and saturating, integers to integers by their low bits.
  std::array<void (*)(const T* x, void* out, size_t n), kNumbers> convert{};
  // To a float that may be rounded once more without harm (round_to_odd in base/half.h).
  void (*to_odd)(const T* x, float* out, size_t n) = nullptr;

  // Over n elements, at least 1. NaN counts as smallest and as largest.
  Sum (*sum)(const T* x, size_t n) = nullptr;
  T (*smallest)(const T* x, size_t n) = nullptr;
  T (*largest)(const T* x, size_t n) = nullptr;
  // Sums of n columns at once: adds one more row to the accumulators.
  void (*add_row)(const T* x, T* sums, size_t n) = nullptr;
  void (*smallest_row)(const T* x, T* best, size_t n) = nullptr;
  void (*largest_row)(const T* x, T* best, size_t n) = nullptr;
  // place[i] = number where x[i] is better than best[i].
  void (*smallest_place)(const T* x, T* best, uint32_t* place, uint32_t number, size_t n) = nullptr;
  void (*largest_place)(const T* x, T* best, uint32_t* place, uint32_t number, size_t n) = nullptr;
};

using AllNumberLoops = std::tuple<NumberLoops<uint8_t>, NumberLoops<uint32_t>, NumberLoops<int8_t>, NumberLoops<int16_t>,
                                  NumberLoops<int32_t>, NumberLoops<int64_t>, NumberLoops<float>, NumberLoops<double>>;

// out[i] = condition[i] != 0 ? on_true[i] : on_false[i] for elements of 1, 2, 4 and 8 bytes; a step of 0 is one element for all n.
struct ChoiceSteps {
  size_t condition = 1;
  size_t on_true = 1;
  size_t on_false = 1;
};
template <class Condition>
using ChooseLoop = void (*)(const Condition* condition, const void* on_true, const void* on_false, void* out, ChoiceSteps steps, size_t n);
template <class Condition>
using ChooseLoops = std::array<ChooseLoop<Condition>, 4>;  // by the logarithm of the element's size

}  // namespace wick::cpu
