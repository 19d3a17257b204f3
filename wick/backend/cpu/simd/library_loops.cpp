#include "wick/backend/cpu/simd/library_loops.h"

#include <cmath>
#include <type_traits>

#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/op/division.h"

namespace wick::cpu {
namespace {

// In f64, rounded once.
template <class T, auto kFunction>
void map(const T* x, T* out, size_t n, double /*a*/, double /*b*/) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<T>(kFunction(static_cast<double>(x[i])));
}

template <class T, auto kFunction, size_t kLeftStep, size_t kRightStep>
void combine(const T* lhs, const T* rhs, T* out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    out[i] = static_cast<T>(kFunction(static_cast<double>(lhs[i * kLeftStep]), static_cast<double>(rhs[i * kRightStep])));
  }
}

template <class T>
void fill_unary_of(NumberLoops<T>& loops) {
  const auto set = [&]<class F>(UnaryKind kind, F) { loops.unary[static_cast<size_t>(kind)] = map<T, F{}>; };
  set(UnaryKind::tan, [](double x) { return std::tan(x); });
  set(UnaryKind::asin, [](double x) { return std::asin(x); });
  set(UnaryKind::acos, [](double x) { return std::acos(x); });
  set(UnaryKind::atan, [](double x) { return std::atan(x); });
  set(UnaryKind::sinh, [](double x) { return std::sinh(x); });
  set(UnaryKind::cosh, [](double x) { return std::cosh(x); });
  set(UnaryKind::asinh, [](double x) { return std::asinh(x); });
  set(UnaryKind::acosh, [](double x) { return std::acosh(x); });
  set(UnaryKind::atanh, [](double x) { return std::atanh(x); });
  set(UnaryKind::exp2, [](double x) { return std::exp2(x); });
  set(UnaryKind::expm1, [](double x) { return std::expm1(x); });
  set(UnaryKind::log2, [](double x) { return std::log2(x); });
  set(UnaryKind::log10, [](double x) { return std::log10(x); });
  set(UnaryKind::log1p, [](double x) { return std::log1p(x); });
}

template <class T>
void fill_binary_of(NumberLoops<T>& loops) {
  const auto set = [&]<class F>(BinaryKind kind, F) {
    loops.binary[static_cast<size_t>(kind)] = {combine<T, F{}, 1, 1>, combine<T, F{}, 1, 0>, combine<T, F{}, 0, 1>};
  };
  set(BinaryKind::fmod, [](double lhs, double rhs) { return std::fmod(lhs, rhs); });
  set(BinaryKind::remainder, [](double lhs, double rhs) { return floor_remainder(lhs, rhs); });
  set(BinaryKind::floor_divide, [](double lhs, double rhs) { return floor_quotient(lhs, rhs); });
  set(BinaryKind::atan2, [](double y, double x) { return std::atan2(y, x); });
}

}  // namespace

void fill_library_loops(SimdKernels& kernels) {
  fill_unary_of(kernels.numbers<float>());
  fill_unary_of(kernels.numbers<double>());
  fill_binary_of(kernels.numbers<float>());
  fill_binary_of(kernels.numbers<double>());
}

}  // namespace wick::cpu
