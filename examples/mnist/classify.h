// Classifying images with a net, and what came of it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "mnist/images.h"
#include "wick/nn/module.h"

namespace wick::mnist {

struct Result {
  // By digit shown, then by digit seen.
  std::array<std::array<int64_t, kClasses>, kClasses> confusion{};
  double loss = 0;  // the mean cross entropy

  [[nodiscard]] int64_t total() const;
  [[nodiscard]] int64_t right() const;
  [[nodiscard]] double accuracy() const { return static_cast<double>(right()) / static_cast<double>(total()); }
  // The confusion matrix as a table of text.
  [[nodiscard]] std::string table() const;
};

[[nodiscard]] Result classify(const nn::Module& net, const Images& images, int64_t batch, const Device& device,
                              const std::function<void(int64_t done)>& progress = {});

}  // namespace wick::mnist
