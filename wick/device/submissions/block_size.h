// How large a driver's blocks of memory are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wick/base/fail.h"

namespace wick {

// For a buffer of so many bytes. Kernels and copies take whole words and vectors, and views begin at multiples of 256 at most.
[[nodiscard]] constexpr size_t whole_block(size_t bytes) noexcept {
  constexpr size_t kGranule = 256;
  return std::max(kGranule, (bytes + kGranule - 1) / kGranule * kGranule);
}

// Errors: unsupported for a buffer of more bytes than a device takes in one block, naming both numbers.
inline void check_block(std::string_view place, size_t bytes, uint64_t most) {
  if (whole_block(bytes) > most)
    fail(ErrorCode::unsupported, "{}: a buffer of {} bytes, and the device takes {} at most in one", place, bytes, most);
}

}  // namespace wick
