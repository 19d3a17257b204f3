#include "wick/convert/importance_collector.h"

#include <cmath>

#include "wick/base/fail.h"

namespace wick {

void ImportanceCollector::add(std::string_view weight, const Tensor& input) {
  const std::vector<float> values = input.to_vector<float>();
  const auto columns = static_cast<size_t>(input.shape().last());
  Sums& sums = sums_[std::string(weight)];
  sums.squares.resize(columns);
  for (size_t index = 0; index < values.size(); ++index) {
    if (!std::isfinite(values[index])) {
      fail(ErrorCode::invalid_argument, "the input of '{}' holds NaN or infinity: the model is broken, or not made for this text", weight);
    }
    sums.squares[index % columns] += static_cast<double>(values[index]) * values[index];
  }
  sums.tokens += columns == 0 ? 0 : values.size() / columns;
}

std::map<std::string, ImportanceEntry, std::less<>> ImportanceCollector::entries() const {
  std::map<std::string, ImportanceEntry, std::less<>> entries;
  for (const auto& [weight, sums] : sums_) {
    ImportanceEntry& entry = entries[weight];
    entry.counts = {static_cast<float>(sums.tokens)};
    for (const double square : sums.squares) entry.sums.push_back(static_cast<float>(square));
  }
  return entries;
}

}  // namespace wick
