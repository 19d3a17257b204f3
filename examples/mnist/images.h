// The images and labels of MNIST, as their makers' files hold them: 28 × 28 pixels, 0 … 255, and the digit that each shows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "wick/tensor/tensor.h"

namespace wick::mnist {

inline constexpr int64_t kSide = 28;
inline constexpr int64_t kPixels = kSide * kSide;
inline constexpr int64_t kClasses = 10;
// Of the training images; every net here was trained with pixels x / 255 as (x - mean) / deviation.
inline constexpr float kMean = 0.1307F;
inline constexpr float kDeviation = 0.3081F;

struct Images {
  std::vector<uint8_t> pixels;  // one image after another
  std::vector<uint8_t> labels;

  [[nodiscard]] int64_t size() const noexcept { return static_cast<int64_t>(labels.size()); }
  [[nodiscard]] std::span<const uint8_t> image(int64_t index) const {
    return std::span(pixels).subspan(static_cast<size_t>(index * kPixels), static_cast<size_t>(kPixels));
  }
  void add(const Images& other, int64_t index);
  // Leaves the first `count`.
  void keep(int64_t count);
};

// t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz of that folder. Errors: not_found, corrupt_file, each naming the file.
[[nodiscard]] Images load_test_images(const std::filesystem::path& folder);

// How far an image is moved, in pixels; what comes in from outside is black.
struct Shift {
  int right = 0;
  int down = 0;
};
// Images `indices`, [n, 1, 28, 28] f32, normalised; each moved by its shift where there are any.
[[nodiscard]] Tensor batch_of(const Images& images, std::span<const int64_t> indices, std::span<const Shift> shifts, const Device& device);
// Their labels, u32 [n].
[[nodiscard]] Tensor labels_of(const Images& images, std::span<const int64_t> indices, const Device& device);

}  // namespace wick::mnist
