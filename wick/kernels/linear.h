// Products of activations with the rows of a weight: y[token, row] = Σ over columns x[token, column] · weight[row, column], in f32.
#pragma once

#include <optional>
#include <string>

#include "wick/ir/builder.h"
#include "wick/ir/kernel.h"
#include "wick/kernels/weight_rows.h"
#include "wick/op/device_caps.h"
#include "wick/op/op.h"

namespace wick::kernels {

// The activation of a pair of products.
[[nodiscard]] ir::Value gate_of(GateKind kind, const ir::Value& gate, const ir::Value& up);

// Inputs of a kernel in addition to x and weights, each in its own buffer of f32: norm [columns], applied to x as rms_norm; a
// bias [rows] of each weight; a residual [tokens, rows] of the only weight.
struct LinearExtras {
  bool norm = false, bias = false, residual = false;

  [[nodiscard]] uint32_t number() const noexcept { return (norm ? 1U : 0U) | (bias ? 2U : 0U) | (residual ? 4U : 0U); }
  [[nodiscard]] std::string suffix() const {
    return std::string(norm ? "_norm" : "") + (bias ? "_bias" : "") + (residual ? "_residual" : "");
  }
};

struct LinearForm {
  DType dtype = DType::f32;
  RowAccess access = RowAccess::elements;
  // Two weights, gate and up, of one dtype and shape: y = gate_of(gate, x · gate, x · up).
  std::optional<GateKind> gate = {};
  // Up to three weights of one dtype and layout, each with a result of its own; 1 if gated.
  uint32_t weights = 1;
  LinearExtras extras = {};
  // The weight is [experts, rows, columns], and what is multiplied are pairs of a token and an expert.
  bool experts = false;
  // How many subgroups share a row's columns, for weights of few rows: a power of two up to 4.
  uint32_t split = 1;
};

// Few tokens: several lanes for each row, each weight read once for all tokens, of which `tokens` have room. Buffers w (and its codebook,
// and "up" if gated, or the further weights), x, the norm, the biases, the residual, y (and the further results), of f32. Parameters: those
// of WeightRows; x_offset, columns, epsilon if there is a norm, rows, y_offset, how many tokens there are; rows and y_offset of each
// further weight; residual_offset. Grid: Σ ⌈rows / rows_per_group⌉, over two dimensions if need be. x and y have dense rows; of units of
// more than one element, x begins at a multiple of four. Of experts, with room for one token: buffer ids i32 [pairs] behind x; parameters
// ids_offset, experts and used, how many pairs have the same row of x, last. The grid's third dimension counts pairs. The results of an id
// that is no expert are NaN.
inline constexpr uint32_t kMaxMatvecTokens = 4;
inline constexpr uint32_t kMaxMatvecWeights = 3;
[[nodiscard]] ir::Kernel matvec(const LinearForm& form, uint32_t tokens, const DeviceCaps& caps);
[[nodiscard]] uint32_t matvec_rows_per_group(const LinearForm& form, const DeviceCaps& caps);
// LinearForm::split for `rows` in all: as many lanes as the device has room for at once.
[[nodiscard]] uint32_t matvec_split(int64_t rows, const DeviceCaps& caps);

// Many tokens: blocks of block × block results, from slices of both in shared memory. Buffers and parameters as above, of one weight.
// Grid: ⌈rows / block⌉ × ⌈tokens / block⌉. Not gated, and of the extras a bias only.
// With experts: buffer plan of group_by_expert after x, parameters experts, used and plan_pairs, the offset of its pairs, last; the
// grid's second dimension counts the plan's tiles.
[[nodiscard]] ir::Kernel linear_blocks(const LinearForm& form, const DeviceCaps& caps);
[[nodiscard]] uint32_t linear_block(const DeviceCaps& caps);

// y[i] = gate_of(gate[i], y[i]). Buffers gate, y of f32. Parameters count, y_offset. Grid: groups_for(count), of quads groups_for(count /
// 4): both parameters are multiples of four.
[[nodiscard]] ir::Kernel gate_pairs(GateKind kind, bool quads, const DeviceCaps& caps);
// y[i] = gate_of(gate[i], up[i]) for f16 gate and up, of which infinities count as the largest numbers, and y of f16, which saturates, or
// f32. Buffers gate, up (u32, two numbers each), y (the same, or f32). Parameters count and y_offset, multiples of eight. Grid:
// groups_for(count / 8).
[[nodiscard]] ir::Kernel gate_halves(GateKind kind, bool to_halves, const DeviceCaps& caps);

// (token, expert) pairs by expert, those that name no expert last: buffer ids i32 [pairs], plan u32 [3 · tiles + pairs]: for each tile the
// expert, the place of its first pair in the order and how many pairs it has, at most `block` and 0 where it is not used; then the order.
// Parameters ids_offset, pairs, tiles. Grid: 1. There are at most pairs / block + min(pairs, experts + 1) tiles.
[[nodiscard]] ir::Kernel group_by_expert(uint32_t experts, uint32_t block, const DeviceCaps& caps);

}  // namespace wick::kernels
