#include "wick/op/index_range.h"

#include <fmt/ranges.h>

#include <vector>

#include "wick/base/fail.h"

namespace wick {

void fail_index(OpId op, int64_t id, const Shape& ids, int64_t at, int dim, int64_t extent) {
  std::vector<int64_t> place(static_cast<size_t>(ids.rank()));
  for (int d = ids.rank() - 1; d >= 0; --d) {
    place[static_cast<size_t>(d)] = at % ids[d];
    at /= ids[d];
  }
  fail(ErrorCode::index_out_of_range, "{}: id {} at [{}] is out of range for dimension {} of {} elements; {}", to_string(op), id,
       fmt::join(place, ", "), dim, extent, extent == 0 ? "none is allowed" : fmt::format("allowed: 0 to {}", extent - 1));
}

}  // namespace wick
