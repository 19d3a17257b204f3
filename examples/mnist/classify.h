// Classifying images with a net, and what came of it.
#pragma once

#include <array>
#include <cstdint>

#include "images.h"

namespace mnist {

struct Result {
  // By digit shown, then by digit seen.
  std::array<std::array<int64_t, kClasses>, kClasses> confusion{};
  double loss = 0;  // the mean cross entropy

  [[nodiscard]] int64_t total() const;
  [[nodiscard]] int64_t right() const;
  [[nodiscard]] double accuracy() const { return static_cast<double>(right()) / static_cast<double>(total()); }
  // The accuracy and the confusion matrix, to standard output.
  void print() const;
};

// `dtype`: of the net.
[[nodiscard]] Result classify(const wick::nn::Module& net, const Images& images, int64_t batch, const wick::Device& device,
                              wick::DType dtype = wick::DType::f32);

}  // namespace mnist
