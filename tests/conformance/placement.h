// A Placement says where a tensor's elements lie in its storage: the layouts that ops must cope with, by name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "wick/layout/layout.h"

namespace wick::conformance {

// contiguous: row-major. narrowed: a window of a larger tensor. transposed: the last two dimensions swapped. permuted: all dimensions
// in reverse. strided: every second element. flipped: every stride negative. broadcast: the first dimension's stride is 0;
// broadcast_last: the last one's.
enum class View { contiguous, narrowed, transposed, permuted, strided, flipped, broadcast, broadcast_last };
inline constexpr std::array<std::string_view, 8> kViewNames = {"contiguous", "narrowed", "transposed", "permuted",
                                                               "strided",    "flipped",  "broadcast",  "broadcast_last"};
[[nodiscard]] constexpr std::string_view to_string(View view) noexcept { return kViewNames[static_cast<size_t>(view)]; }

struct Placement {
  int64_t storage_elements = 0;
  Layout layout;
};

[[nodiscard]] Placement place(const Shape& shape, View view);
// The views that differ from each other for this shape; without the broadcast ones for a target of writes.
[[nodiscard]] std::vector<View> views_of(const Shape& shape);
[[nodiscard]] std::vector<View> target_views_of(const Shape& shape);

}  // namespace wick::conformance
