// The order of texts by how well they answer a query.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace wick {

// The indices of scores from the highest to the lowest; equals in their order.
[[nodiscard]] std::vector<size_t> rank_scores(std::span<const float> scores);

}  // namespace wick
