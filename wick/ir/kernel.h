// A Kernel is a program for the lanes of a group: its arguments, its expressions, and the statements that say in which order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wick/ir/node.h"
#include "wick/op/device_caps.h"

namespace [[gnu::visibility("default")]] wick {
namespace ir {

enum class AtomicOp : uint8_t { add, minimum, maximum, bit_and, bit_or, exchange };
enum class BarrierScope : uint8_t { shared, shared_and_buffers };
enum class TileRole : uint8_t { left, right, accumulator };  // of a product: left [m, k] × right [k, n] added to accumulator [m, n]

// Statements run in order; a lane runs those inside a `when` or a `loop` only where its own condition holds. There is no return and no
// break, so the control flow of a group is known before it runs.
enum class StatementKind : uint8_t {
  comment,        // `text`, for whoever reads the kernel
  let,            // computes node `target` here. Reads must be let; schedule() gives every other expression its place too
  variable,       // declares variable `slot` with the value of operand 0; it lives to the end of the enclosing block
  assign,         // variable `slot` = operand 0
  store,          // element operand 0 of `slot` in `space` = operand 1, where operand 2 (a b1, if there is one) holds; a vector stores
                  // its lanes to consecutive elements, from a multiple of their number
  atomic,         // element operand 0 (i32 or u32; f32 adds by capability) = AtomicOp(element, operand 1), indivisibly; `target` is the
                  // atomic_result node. Relaxed: it orders no other access
  loop,           // for (u32 i = operand 0; i < operand 1; i += step); the bounds are computed once; i + step never wraps
  when,           // if operand 0 (b1)
  end,            // of the innermost loop or when
  barrier,        // every lane of the group arrives before any goes on, and sees what the others wrote to `scope` before it
  tile_fill,      // every element of tile `slot` = operand 0 (f32, the same for all lanes)
  tile_set,       // tile `slot` of kLaneTile = operand 0 of every lane: of a left or right one a vector of u32, two f16 in each, of an
                  // accumulator one of four f32
  tile_get,       // variable `source` (f32) = element `left` of the four that the lane has of tile `slot`, an accumulator of kLaneTile
  tile_load,      // tile `slot` = matrix in `space`, array `source`: element (row, column) at operand 0 + row * operand 1 + column.
                  // In an array of u32, a tile of f16 takes two elements from each word, the lower bits first; operands count words.
                  // Here and in tile_store the operands are multiples of 16 bytes, or of a tile's row if that is shorter
  tile_multiply,  // tile `slot` += tile `left` × tile `right`, products and sums in f32, in any order
  tile_scale,     // tile `slot` *= tile `left`, element by element; both are accumulators
  tile_store,     // tile `slot`, an accumulator, to element operand 0 + row * operand 1 + column of `source` in `space`
};
// Between a tile_load from memory and the last tile_multiply that uses the tile, nothing may be written there: a device without matrix
// tiles reads the elements when it multiplies.

// The product whose operands lanes can set, on devices that have it among their tiles. Subgroups have 32 lanes. Lane l sets, with g = l / 4
// and t = l % 4, of left [16, 16] in four words elements (g, 2t) and (g, 2t + 1); the same of row g + 8; (g, 2t + 8) and (g, 2t + 9); the
// same of row g + 8. Of right [16, 8] in two words elements (2t, g) and (2t + 1, g); (2t + 8, g) and (2t + 9, g). The first of a pair is
// the word's lower half. Of an accumulator [16, 8] it has elements (g, 2t) and (g, 2t + 1), and the same of row g + 8. This is the layout
// of mma.m16n8k16 (NVIDIA, PTX ISA 8.5, 9.7.14.5.8).
inline constexpr TileShape kLaneTile{16, 8, 16};
inline constexpr uint32_t kLaneTileLanes = 32;
[[nodiscard]] bool has_lane_tiles(const DeviceCaps& caps) noexcept;
struct LaneTilePlace {
  uint32_t row, column;
};
[[nodiscard]] constexpr LaneTilePlace lane_tile_place(TileRole role, uint32_t lane, uint32_t word, uint32_t half) noexcept {
  const uint32_t g = lane / 4, pair = lane % 4 * 2 + half;
  return role == TileRole::left ? LaneTilePlace{g + word % 2 * 8, pair + word / 2 * 8} : LaneTilePlace{pair + word * 8, g};
}
inline constexpr uint32_t kLaneTileSums = 4;  // elements of an accumulator that a lane has
[[nodiscard]] constexpr LaneTilePlace lane_sum_place(uint32_t lane, uint32_t element) noexcept {
  return {lane / 4 + element / 2 * 8, lane % 4 * 2 + element % 2};
}

struct Statement {
  StatementKind kind{};
  Space space{};
  AtomicOp atomic{};
  BarrierScope scope{};
  bool unroll = false;  // loop: a wish
  bool late = false;    // store: a hint that no lane reads the shared memory before the next barrier, so what is stored may be on its way
  uint32_t slot = 0;
  uint32_t source = 0;
  uint32_t left = 0, right = 0;
  uint32_t step = 1;
  NodeId target = kNoNode;  // let: the node; loop: its loop_index; atomic: its atomic_result
  std::array<NodeId, 3> operands{kNoNode, kNoNode, kNoNode};
  std::string text;
};

enum class Access : uint8_t { read, read_write };
// Fast lets the language contract and reorder floating-point arithmetic and use its faster functions.
enum class MathMode : uint8_t { precise, fast };

// Buffers of one launch do not overlap, unless both are only read. They begin at addresses that are multiples of 16 bytes.
struct BufferArgument {
  std::string name;
  Element element{};
  Access access{};
  bool once = false;  // a hint: a launch reads each element once or nearly so, and needs no cache for vectors of them
};
struct ParameterArgument {
  std::string name;
  Type type{};  // i32, u32 or f32
};
struct SharedArray {
  Element element{};
  uint32_t count = 0;
};
struct Tile {
  TileRole role{};
  Element element{};
  uint32_t rows = 0, columns = 0;
};

struct Kernel {
  std::string name;
  uint32_t group_size = 1;
  uint32_t subgroup_size = 0;  // 0: no node depends on it
  MathMode math = MathMode::precise;
  std::vector<BufferArgument> buffers;
  std::vector<ParameterArgument> parameters;
  std::vector<SharedArray> shared;
  std::vector<Type> variables;
  std::vector<Tile> tiles;
  std::vector<Node> nodes;
  std::vector<Statement> body;
  std::string entry{};  // of a kernel that is no text of ours, and has no body here: the name of its function

  [[nodiscard]] const Node& node(NodeId id) const { return nodes[id]; }
  [[nodiscard]] Element element_of(Space space, uint32_t slot) const {
    return space == Space::buffer ? buffers[slot].element : shared[slot].element;
  }
  [[nodiscard]] uint64_t shared_bytes() const noexcept;
};

[[nodiscard]] std::string_view to_string(StatementKind kind) noexcept;
[[nodiscard]] std::string_view to_string(AtomicOp op) noexcept;

// How many groups run the kernel.
struct Grid {
  uint32_t x = 1, y = 1, z = 1;
};

}  // namespace ir
}  // namespace wick
