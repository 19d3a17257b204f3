// The meaning of an attention plan: which positions a token attends to, and which plans are invalid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "wick/op/op.h"

namespace wick {

struct PositionRange {
  int64_t begin, end;
};

// The positions, of so many that are filled, that a token at `position` sees.
[[nodiscard]] inline PositionRange visible_positions(const AttentionParams& params, int64_t position, int64_t length) noexcept {
  int64_t begin = 0;
  if (params.window > 0) begin = std::max(begin, position - params.window + 1);
  if (params.chunk > 0) begin = std::max(begin, position - position % params.chunk);
  return {begin, params.causal ? position + 1 : length};
}

// A plan's numbers, in host memory.
struct AttentionPlanNumbers {
  std::span<const int32_t> starts, lengths, table;

  [[nodiscard]] int64_t sequences() const noexcept { return static_cast<int64_t>(lengths.size()); }
  [[nodiscard]] int64_t blocks() const noexcept { return lengths.empty() ? 0 : static_cast<int64_t>(table.size() / lengths.size()); }
};

// Throws invalid_argument where the starts are not from 0 to `tokens` in order, a length is below its sequence's tokens or more than the
// table, the mask (`masked` positions; -1: none) or params.longest have, or an entry for a position that a token sees is no block of a
// cache of so many slots.
void check_attention_plan(const AttentionPlanNumbers& plan, int64_t tokens, int64_t slots, int64_t masked, const AttentionParams& params);

}  // namespace wick
