#include "classify.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

namespace mnist {

int64_t Result::total() const {
  int64_t sum = 0;
  for (const auto& row : confusion) sum = std::accumulate(row.begin(), row.end(), sum);
  return sum;
}

int64_t Result::right() const {
  int64_t sum = 0;
  for (size_t digit = 0; digit < confusion.size(); ++digit) sum += confusion[digit][digit];
  return sum;
}

void Result::print() const {
  std::printf("%ld of %ld images are right: %.2f %%\n\n       seen as\n      ", static_cast<long>(right()), static_cast<long>(total()),
              100 * accuracy());
  for (size_t digit = 0; digit < confusion.size(); ++digit) std::printf("%6zu", digit);
  std::printf("   found\n");
  for (size_t digit = 0; digit < confusion.size(); ++digit) {
    const auto& row = confusion[digit];
    std::printf("%s %zu  ", digit == 0 ? "is" : "  ", digit);
    for (const int64_t count : row) count == 0 ? std::printf("     .") : std::printf("%6ld", static_cast<long>(count));
    const int64_t all = std::accumulate(row.begin(), row.end(), int64_t{0});
    if (all > 0) std::printf("  %5.1f %%", 100.0 * static_cast<double>(row[digit]) / static_cast<double>(all));
    std::printf("\n");
  }
}

Result classify(const wick::nn::Module& net, const Images& images, int64_t batch, const wick::Device& device, wick::DType dtype) {
  const wick::NoGradScope no_grad;
  Result result;
  std::vector<int64_t> indices;
  for (int64_t first = 0; first < images.size(); first += batch) {
    indices.resize(static_cast<size_t>(std::min(batch, images.size() - first)));
    std::iota(indices.begin(), indices.end(), first);
    const wick::Tensor logits = net.forward(batch_of(images, indices, {}, device).to_dtype(dtype)).to_dtype(wick::DType::f32);
    const wick::Tensor labels = labels_of(images, indices, device);
    result.loss += wick::nn::cross_entropy(logits, labels).item() * static_cast<double>(indices.size());
    const std::vector<uint32_t> seen = logits.argmax(-1).to_vector<uint32_t>();
    for (size_t i = 0; i < indices.size(); ++i) ++result.confusion[images.labels[static_cast<size_t>(indices[i])]][seen[i]];
  }
  result.loss /= static_cast<double>(std::max<int64_t>(images.size(), 1));
  return result;
}

}  // namespace mnist
