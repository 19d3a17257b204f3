#include "mnist/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "wick/nn/loss.h"

namespace wick::mnist {

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

std::string Result::table() const {
  std::string text = "       seen as\n      ";
  for (size_t digit = 0; digit < confusion.size(); ++digit) text += fmt::format("{:6}", digit);
  text += "   found\n";
  for (size_t digit = 0; digit < confusion.size(); ++digit) {
    const auto& row = confusion[digit];
    text += fmt::format("{} {}  ", digit == 0 ? "is" : "  ", digit);
    for (const int64_t count : row) text += count == 0 ? "     ." : fmt::format("{:6}", count);
    const int64_t all = std::accumulate(row.begin(), row.end(), int64_t{0});
    text += all == 0 ? "\n" : fmt::format("  {:5.1f} %\n", 100.0 * static_cast<double>(row[digit]) / static_cast<double>(all));
  }
  return text;
}

Result classify(const nn::Module& net, const Images& images, int64_t batch, const Device& device,
                const std::function<void(int64_t done)>& progress) {
  Result result;
  std::vector<int64_t> indices;
  for (int64_t first = 0; first < images.size(); first += batch) {
    indices.resize(static_cast<size_t>(std::min(batch, images.size() - first)));
    std::iota(indices.begin(), indices.end(), first);
    const Tensor logits = net.forward(batch_of(images, indices, {}, device)).detach();
    const Tensor labels = labels_of(images, indices, device);
    result.loss += nn::cross_entropy(logits, labels).item() * static_cast<double>(indices.size());
    const std::vector<uint32_t> seen = logits.argmax(-1).to_vector<uint32_t>();
    for (size_t i = 0; i < indices.size(); ++i) ++result.confusion[images.labels[static_cast<size_t>(indices[i])]][seen[i]];
    if (progress) progress(indices.back() + 1);
  }
  result.loss /= static_cast<double>(std::max<int64_t>(images.size(), 1));
  return result;
}

}  // namespace wick::mnist
