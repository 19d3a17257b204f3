// Rows of keys sorted on the device, for sort itself and for ops that bring equal ids together.
#pragma once

#include <memory>

#include "wick/device/runtime.h"

namespace wick::launchers {

// Both [rows, length].
struct SortedRows {
  std::unique_ptr<Buffer> keys;   // u32, `words` for each key
  std::unique_ptr<Buffer> order;  // u32: where in its row each of them was
};

// Sorts the rows of keys of one or two words (kernels/order_key.h), stably. Errors: unsupported for more words than a kernel counts.
[[nodiscard]] SortedRows sort_rows(Runtime& runtime, const Buffer& keys, int64_t rows, int64_t length, uint32_t words);

}  // namespace wick::launchers
