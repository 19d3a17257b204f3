#include "wick/convert/importance_collector.h"

#include <algorithm>
#include <cmath>

#include "wick/base/fail.h"

namespace wick {

void ImportanceCollector::add(const WeightInput& input) {
  const std::vector<float> values = input.values.to_vector<float>();
  const auto columns = static_cast<size_t>(input.values.shape().last());
  if (columns == 0) return;
  const size_t rows = values.size() / columns;
  // Which matrix each product is with.
  std::vector<int64_t> matrices(rows, 0);
  if (input.chosen != nullptr) matrices = input.chosen->to_dtype(DType::i64).to_vector<int64_t>();
  const size_t products_of_row = matrices.size() / std::max<size_t>(rows, 1);
  Sums& sums = sums_[std::string(input.weight)];
  sums.squares.resize(columns * static_cast<size_t>(input.matrices));
  sums.counts.resize(static_cast<size_t>(input.matrices));
  for (size_t product = 0; product < matrices.size(); ++product) {
    const float* row = values.data() + product / products_of_row * columns;
    const auto matrix = static_cast<size_t>(matrices[product]);
    double* squares = sums.squares.data() + matrix * columns;
    for (size_t column = 0; column < columns; ++column) {
      if (!std::isfinite(row[column])) {
        fail(ErrorCode::invalid_argument, "the input of '{}' holds NaN or infinity: the model is broken, or not made for this text",
             input.weight);
      }
      squares[column] += static_cast<double>(row[column]) * row[column];
    }
    ++sums.counts[matrix];
  }
}

std::map<std::string, ImportanceEntry, std::less<>> ImportanceCollector::entries() const {
  std::map<std::string, ImportanceEntry, std::less<>> entries;
  for (const auto& [weight, sums] : sums_) {
    ImportanceEntry& entry = entries[weight];
    for (const uint64_t count : sums.counts) entry.counts.push_back(static_cast<float>(count));
    for (const double square : sums.squares) entry.sums.push_back(static_cast<float>(square));
  }
  return entries;
}

}  // namespace wick
