// The images and labels of MNIST: 28 × 28 pixels, and the digit that each shows.
#pragma once

#include <wick/wick.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace mnist {

inline constexpr int64_t kSide = 28;
inline constexpr int64_t kPixels = kSide * kSide;
inline constexpr int64_t kClasses = 10;
// Of the training images; every net here was trained with pixels from 0 to 1 as (x - mean) / deviation.
inline constexpr float kMean = 0.1307F;
inline constexpr float kDeviation = 0.3081F;

struct Images {
  std::vector<float> pixels;  // one image after another, normalised
  std::vector<uint32_t> labels;

  [[nodiscard]] int64_t size() const noexcept { return static_cast<int64_t>(labels.size()); }
  [[nodiscard]] std::span<const float> image(int64_t index) const {
    return std::span(pixels).subspan(static_cast<size_t>(index * kPixels), static_cast<size_t>(kPixels));
  }
  void add(const Images& other, int64_t index);
  // Leaves the first `count`.
  void keep(int64_t count);
};

// The test set in that folder, t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz. Errors: wick::load_mnist's; corrupt_file for images
// of another size and labels that are no digits.
[[nodiscard]] Images load_test_images(const std::filesystem::path& folder);

// How far an image is moved, in pixels; what comes in from outside is black.
struct Shift {
  int right = 0;
  int down = 0;
};
// Images `indices`, f32 [n, 1, 28, 28]; each moved by its shift where there are any.
[[nodiscard]] wick::Tensor batch_of(const Images& images, std::span<const int64_t> indices, std::span<const Shift> shifts,
                                    const wick::Device& device);
// Their labels, u32 [n].
[[nodiscard]] wick::Tensor labels_of(const Images& images, std::span<const int64_t> indices, const wick::Device& device);

}  // namespace mnist
