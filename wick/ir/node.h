// The expressions of a kernel: what each node computes, for one lane.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "wick/ir/type.h"

namespace [[gnu::visibility("default")]] wick {
namespace ir {

// An expression has no side effect and no order: nodes that compute the same from the same operands are one node. The exceptions are reads
// (load, read, the subgroup nodes): their place among the statements is a `let`.
//
// Floats are IEEE 754 binary16/32/64. add, sub, mul, div, fma and sqrt are rounded to nearest even in MathMode::precise; subnormal
// operands and results may count as zero. A kernel that computes infinities or NaNs is right only where the device keeps them: there is no
// literal for either, and masks use lowest(). Integers have two's complement and wrap.
enum class Op : uint8_t {
  // Leaves.
  constant,       // `bits` as `type`; never an infinity or a NaN
  parameter,      // parameter number `slot`
  group_id,       // index of this group in the grid, in dimension `slot` (0 to 2); u32
  group_count,    // groups of the grid in dimension `slot`; u32
  local_id,       // index of this lane in its group, 0 to group_size - 1; u32
  subgroup_lane,  // local_id % subgroup_size; u32
  subgroup_id,    // local_id / subgroup_size; u32
  loop_index,     // the index of the loop whose number is `slot`; u32
  atomic_result,  // what the element held before the atomic whose number is `slot`
  // One operand.
  negate,       // -a; integers wrap
  logical_not,  // b1: not a; integers: every bit
  absolute,     // floats: the sign bit cleared
  exp2,         // f16, f32: 2^a within 4 units in the last place; f16 operands of these four may be computed as f32
  log2,         // f16, f32: within 4 units in the last place, or 2^-21 absolutely for a in [0.5, 2]; a > 0
  sine,         // f16, f32: within 2^-11 absolutely for |a| <= pi, unspecified beyond
  square_root,  // floats; a >= 0
  truncate,     // floats: towards zero, to a whole number
  // Two operands of one type.
  add,          // integers and floats
  subtract,     // integers and floats
  multiply,     // integers and floats
  divide,       // integers: towards zero, and a fault where b is zero or the quotient overflows; floats: within 2.5 units in the
                // last place where the device's own division is no better
  remainder,    // integers: a - b * (a / b), the same faults
  minimum,      // integers and floats; with a NaN: either operand
  maximum,      // integers and floats; with a NaN: either operand
  bit_and,      // integers and b1
  bit_or,       // integers and b1
  bit_xor,      // integers and b1
  shift_left,   // integer a, u32 count b < bits of a, else a fault; zeros enter
  shift_right,  // integer a, u32 count b < bits of a, else a fault; u32: zeros enter, signed: copies of the sign
  less,         // a < b as b1; false with a NaN
  less_equal,   // a <= b as b1; false with a NaN
  equal,        // a == b as b1; false with a NaN; -0 equals 0
  // Three operands.
  fma,     // floats: a * b + c rounded once, or twice where no instruction does it; f16 may round to f32 on the way
  select,  // b1 a ? b : c; b and c are both computed, so a select never guards a fault: a gate does
  dot4,    // u32 a, b; i32 c: c + the four products of the signed bytes of a and b; wraps
  // Conversions.
  cast,         // the value of a as `type`. Integers to integers: the low bits. To b1: a != 0. From b1: 0 or 1. Integers to floats and
                // floats to narrower floats: to nearest even, f16 overflows to infinity. Floats to integers: towards zero, unspecified
                // outside the type's range. f16 converts only from and to f32 (the builder goes through f32).
  bitcast,      // the bits of a as `type`, among i32, u32 and f32, or between i64 and f64
  unpack_half,  // u32: its low 16 bits, which are a binary16, as f32, exactly
  pack_halves,  // f32 a, b: the bits of two binary16 as u32, a's in the low half; each a neighbour of the operand, on most devices the
                // nearest, ties to even, and unspecified beyond the largest finite one
  // Vectors, which exist only between memory and their lanes: `lanes` of 2 or 4 elements of i32, u32 or f32.
  vector,  // 2 or 4 scalars
  lane,    // scalar number `slot` of a vector
  // Reads.
  load,  // element `a` of buffer or shared array `slot`; with three operands (index, gate, alternative) the alternative where the
         // gate is false, and memory is not touched there. With `lanes` > 1: elements a … a + lanes - 1, a multiple of `lanes`,
         // a false gate gives the alternative in every lane
  read,  // the value of variable `slot`
  subgroup_reduce,       // add, minimum or maximum (`reduce`) of a over the subgroup, in any order; i32, u32 and f32
  subgroup_shuffle_xor,  // the a of the lane whose subgroup_lane is this one's xor `slot`, a constant below subgroup_size
  subgroup_broadcast,    // the a of the lane whose subgroup_lane is `slot`
  // Packed halves. Behind the reads, since an operation's number decides in which order a kernel's reads stand.
  fma_halves,  // three operands: u32 a, b, c, each two binary16: a * b + c of the lower and of the upper ones, rounded to binary16 once, or
               // twice
};
inline constexpr int kOpCount = static_cast<int>(Op::fma_halves) + 1;

// Where memory is: a buffer is seen by the whole grid, a shared array by one group, whose contents are unspecified at first.
enum class Space : uint8_t { buffer, shared };
enum class Reduce : uint8_t { add, minimum, maximum };

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

struct Node {
  Op op{};
  Type type{};
  uint8_t lanes = 1;
  Space space{};
  Reduce reduce{};
  uint32_t slot = 0;
  uint32_t epoch = 0;  // reads: the same read after a write to what it reads is another node
  uint64_t bits = 0;
  std::array<NodeId, 4> operands{kNoNode, kNoNode, kNoNode, kNoNode};

  friend bool operator==(const Node&, const Node&) = default;
  [[nodiscard]] int operand_count() const noexcept {
    int count = 0;
    while (count < 4 && operands[static_cast<std::size_t>(count)] != kNoNode) ++count;
    return count;
  }
};

[[nodiscard]] std::string_view to_string(Op op) noexcept;
// constant, parameter, ids, loop_index and atomic_result: nothing to compute.
[[nodiscard]] constexpr bool is_leaf(Op op) noexcept { return op <= Op::atomic_result; }
[[nodiscard]] constexpr bool is_read(Op op) noexcept { return op >= Op::load && op <= Op::subgroup_broadcast; }
[[nodiscard]] constexpr bool is_subgroup(Op op) noexcept { return op >= Op::subgroup_reduce && op <= Op::subgroup_broadcast; }
[[nodiscard]] constexpr bool is_comparison(Op op) noexcept { return op == Op::less || op == Op::less_equal || op == Op::equal; }

}  // namespace ir
}  // namespace wick
