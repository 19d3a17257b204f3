// The error of all implementations of ops with ids for an id that is out of range.
#pragma once

#include <cstdint>

#include "wick/layout/layout.h"
#include "wick/op/op.h"

namespace wick {

// Throws index_out_of_range: "gather: id 9 at [1, 2] is out of range for dimension 1 of 5 elements; allowed: 0 to 4". `at` is the id's
// place in row-major order of `ids`; `extent` the elements that dimension `dim` has.
[[noreturn]] void fail_index(OpId op, int64_t id, const Shape& ids, int64_t at, int dim, int64_t extent);

}  // namespace wick
