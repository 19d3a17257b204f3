#include "images.h"

#include <algorithm>

namespace mnist {

using wick::Tensor;

void Images::add(const Images& other, int64_t index) {
  const std::span<const float> image = other.image(index);
  pixels.insert(pixels.end(), image.begin(), image.end());
  labels.push_back(other.labels[static_cast<size_t>(index)]);
}

void Images::keep(int64_t count) {
  const auto kept = static_cast<size_t>(std::min(count, size()));
  labels.resize(kept);
  pixels.resize(kept * static_cast<size_t>(kPixels));
}

Images load_test_images(const std::filesystem::path& folder) {
  const wick::nn::Dataset data = wick::load_mnist(folder, wick::MnistPart::test);
  Images images{data.inputs().to_vector<float>(), data.targets().to_vector<uint32_t>()};
  if (data.inputs().shape() != wick::Shape{data.size(), 1, kSide, kSide} ||
      std::ranges::any_of(images.labels, [](uint32_t label) { return label >= kClasses; })) {
    throw wick::Error(wick::ErrorCode::corrupt_file, folder.string() + ": not images of 28 x 28 pixels with labels from 0 to 9");
  }
  for (float& pixel : images.pixels) pixel = (pixel - kMean) / kDeviation;
  return images;
}

Tensor batch_of(const Images& images, std::span<const int64_t> indices, std::span<const Shift> shifts, const wick::Device& device) {
  constexpr float kBlack = -kMean / kDeviation;
  std::vector<float> values(indices.size() * static_cast<size_t>(kPixels), kBlack);
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::span<const float> image = images.image(indices[i]);
    const Shift shift = i < shifts.size() ? shifts[i] : Shift{};
    float* target = values.data() + i * static_cast<size_t>(kPixels);
    for (int64_t y = std::max(0, shift.down); y < kSide + std::min(0, shift.down); ++y) {
      for (int64_t x = std::max(0, shift.right); x < kSide + std::min(0, shift.right); ++x) {
        target[y * kSide + x] = image[static_cast<size_t>((y - shift.down) * kSide + x - shift.right)];
      }
    }
  }
  return Tensor::from_owned(std::move(values), {static_cast<int64_t>(indices.size()), 1, kSide, kSide}, device);
}

Tensor labels_of(const Images& images, std::span<const int64_t> indices, const wick::Device& device) {
  std::vector<uint32_t> values;
  for (const int64_t index : indices) values.push_back(images.labels[static_cast<size_t>(index)]);
  return Tensor::from_owned(std::move(values), {static_cast<int64_t>(indices.size())}, device);
}

}  // namespace mnist
