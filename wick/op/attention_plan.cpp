#include "wick/op/attention_plan.h"

#include "wick/base/fail.h"

namespace wick {

void check_attention_plan(const AttentionPlanNumbers& plan, int64_t tokens, int64_t slots, int64_t masked, const AttentionParams& params) {
  if (plan.starts.front() != 0 || plan.starts.back() != tokens) {
    fail(ErrorCode::invalid_argument, "attention: the plan's starts run from {} to {}, and must run from 0 to {} tokens",
         plan.starts.front(), plan.starts.back(), tokens);
  }
  const int64_t reach = plan.blocks() * params.block_size;
  for (int64_t sequence = 0; sequence < plan.sequences(); ++sequence) {
    const auto at = static_cast<size_t>(sequence);
    const int64_t count = int64_t{plan.starts[at + 1]} - plan.starts[at], length = plan.lengths[at];
    if (count < 0) {
      fail(ErrorCode::invalid_argument, "attention: the plan's sequence {} begins at token {} and ends at {}", sequence, plan.starts[at],
           plan.starts[at + 1]);
    }
    const bool fits = length <= reach && (masked < 0 || length <= masked) && (params.longest == 0 || length <= params.longest);
    if (length < count || !fits) {
      fail(
          ErrorCode::invalid_argument,
          "attention: the plan's sequence {} has {} tokens and a length of {}; allowed: at least as many as tokens, at most {} by its table"
          "{}{}",
          sequence, count, length, reach, masked < 0 ? "" : fmt::format(", {} by the mask", masked),
          params.longest == 0 ? "" : fmt::format(", {} by `longest`", params.longest));
    }
    if (count == 0) continue;
    const int64_t first = visible_positions(params, length - count, length).begin / params.block_size;
    for (int64_t block = first; block * params.block_size < length; ++block) {
      const int64_t entry = plan.table[static_cast<size_t>(sequence * plan.blocks() + block)];
      const int64_t used = std::min(params.block_size, length - block * params.block_size);
      if (entry >= 0 && entry <= (slots - used) / params.block_size) continue;
      fail(ErrorCode::invalid_argument,
           "attention: the plan's sequence {} has its block {} at {}, and the cache has {} slots, which are {} blocks of {}", sequence,
           block, entry, slots, slots / params.block_size, params.block_size);
    }
  }
}

}  // namespace wick
