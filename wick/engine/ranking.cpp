#include "wick/engine/ranking.h"

#include <algorithm>
#include <numeric>

namespace wick {

std::vector<size_t> rank_scores(std::span<const float> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t left, size_t right) { return scores[left] > scores[right]; });
  return order;
}

}  // namespace wick
