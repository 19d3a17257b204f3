// Sine and cosine of parts of a turn; math.h has those of numbers.
#pragma once

#include "wick/ir/builder.h"

namespace wick::kernels {

// An angle as a quarter of the turn, counted from the middle (u32, modulo 4), and the rest in [-π/4, π/4].
struct Angle {
  ir::Value quarter, rest;
};
// Angles in turns: 2^-32 turns in a u32 as f32, 2^-64 turns in an i64 as f64.
[[nodiscard]] Angle angle_of_turns(const ir::Value& turns);
[[nodiscard]] ir::Value sine(const Angle& angle);
[[nodiscard]] ir::Value cosine(const Angle& angle);

// The upper half of the product of two u32.
[[nodiscard]] ir::Value multiply_high(const ir::Value& a, const ir::Value& b);

}  // namespace wick::kernels
