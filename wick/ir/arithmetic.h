// The values of pure nodes, defined once for the interpreter and for constant folding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/ir/node.h"

namespace wick::ir {

// A lane's value: the bits of its type, zeros above them (i32 as its 32 bits, f16 as its 16). b1 is 0 or 1.
using Bits = uint64_t;

[[nodiscard]] double real_of(Type type, Bits bits) noexcept;          // floats
[[nodiscard]] int64_t whole_of(Type type, Bits bits) noexcept;        // integers and b1
[[nodiscard]] Bits bits_of_real(Type type, double value) noexcept;    // rounded to nearest even
[[nodiscard]] Bits bits_of_whole(Type type, int64_t value) noexcept;  // the low bits
[[nodiscard]] bool is_finite_constant(Type type, Bits bits) noexcept;

// Why a lane's operands have no result; the result is 0 then.
enum class FaultKind : uint8_t { none, divide_by_zero, divide_overflow, shift_count };
struct Fault {
  FaultKind kind = FaultKind::none;
  std::size_t lane = 0;
};

// result[i] = op(a[i], b[i], c[i]) for each i with active[i]. `operand_type` is the type of a (the result's is `node.type`). Gives the
// first fault of an active lane. Not for leaves, reads, vector and lane.
Fault evaluate(const Node& node, Type operand_type, std::span<const uint8_t> active, std::span<const Bits> a, std::span<const Bits> b,
               std::span<const Bits> c, std::span<Bits> result);

}  // namespace wick::ir
