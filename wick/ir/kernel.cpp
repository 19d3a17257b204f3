#include "wick/ir/kernel.h"

#include <algorithm>
#include <array>

namespace wick::ir {

std::string_view to_string(Op op) noexcept {
  constexpr static std::array<std::string_view, kOpCount> kNames{"constant",
                                                                 "parameter",
                                                                 "group_id",
                                                                 "group_count",
                                                                 "local_id",
                                                                 "subgroup_lane",
                                                                 "subgroup_id",
                                                                 "loop_index",
                                                                 "atomic_result",
                                                                 "negate",
                                                                 "logical_not",
                                                                 "absolute",
                                                                 "exp2",
                                                                 "log2",
                                                                 "sine",
                                                                 "square_root",
                                                                 "truncate",
                                                                 "add",
                                                                 "subtract",
                                                                 "multiply",
                                                                 "divide",
                                                                 "remainder",
                                                                 "minimum",
                                                                 "maximum",
                                                                 "bit_and",
                                                                 "bit_or",
                                                                 "bit_xor",
                                                                 "shift_left",
                                                                 "shift_right",
                                                                 "less",
                                                                 "less_equal",
                                                                 "equal",
                                                                 "fma",
                                                                 "select",
                                                                 "dot4",
                                                                 "cast",
                                                                 "bitcast",
                                                                 "unpack_half",
                                                                 "pack_halves",
                                                                 "vector",
                                                                 "lane",
                                                                 "load",
                                                                 "read",
                                                                 "subgroup_reduce",
                                                                 "subgroup_shuffle_xor",
                                                                 "subgroup_broadcast",
                                                                 "fma_halves"};
  return kNames[static_cast<std::size_t>(op)];
}

std::string_view to_string(StatementKind kind) noexcept {
  constexpr static std::array<std::string_view, 17> kNames{"comment",  "let",       "variable",      "assign",     "store",     "atomic",
                                                           "loop",     "when",      "end",           "barrier",    "tile_fill", "tile_set",
                                                           "tile_get", "tile_load", "tile_multiply", "tile_scale", "tile_store"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(AtomicOp op) noexcept {
  constexpr static std::array<std::string_view, 6> kNames{"add", "minimum", "maximum", "bit_and", "bit_or", "exchange"};
  return kNames[static_cast<std::size_t>(op)];
}

uint64_t Kernel::shared_bytes() const noexcept {
  uint64_t bytes = 0;
  // Every array begins at a multiple of 16 bytes, as the strictest language lays them out.
  for (const SharedArray& array : shared) {
    bytes += (uint64_t{array.count} * static_cast<uint64_t>(info(array.element).bytes) + 15) / 16 * 16;
  }
  return bytes;
}

bool has_lane_tiles(const DeviceCaps& caps) noexcept {
  return std::find(caps.tiles.begin(), caps.tiles.end(), kLaneTile) != caps.tiles.end();
}

}  // namespace wick::ir
