// The inner loops of ops along a row: softmax, normalisation, rotation. A row may be given in pieces.
#pragma once

#include <cstddef>
#include <tuple>

namespace wick::cpu {

// out[i] = (x[i] - mean) · factor · weight[i] + bias[i]; no bias: nullptr.
template <class T>
struct RowNorm {
  T mean = 0;
  T factor = 1;
  const T* weight = nullptr;
  const T* bias = nullptr;
};

template <class T>
struct RowLoops {
  // out[i] = e^(x[i] - shift), for no x above shift; the sum of them. out may be x, or nullptr.
  double (*exp_and_sum)(const T* x, T shift, T* out, size_t n) = nullptr;
  void (*scale)(const T* x, T factor, T* out, size_t n) = nullptr;
  // out[i] = (x[i] - first) - second
  void (*subtract)(const T* x, T first, T second, T* out, size_t n) = nullptr;
  // Σ (x[i] - shift)²
  double (*sum_of_squares)(const T* x, T shift, size_t n) = nullptr;
  void (*normalize)(const T* x, const RowNorm<T>& norm, T* out, size_t n) = nullptr;
  // Pairs (x[2i], x[2i + 1]), or (x[i], x[i + pairs]), turned by the angles whose cosines and sines are given. out is not x.
  void (*rotate_neighbours)(const T* x, const T* cosines, const T* sines, T* out, size_t pairs) = nullptr;
  void (*rotate_halves)(const T* x, const T* cosines, const T* sines, T* out, size_t pairs) = nullptr;
};

using AllRowLoops = std::tuple<RowLoops<float>, RowLoops<double>>;

}  // namespace wick::cpu
