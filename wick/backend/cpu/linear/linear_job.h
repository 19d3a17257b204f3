// A LinearJob is one call of linear or gated_linear, for tiles and for plain rows: its operands, and how the work is divided among threads.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "wick/backend/cpu/cpu_runtime.h"

namespace wick::cpu {

inline constexpr size_t kMaxWeights = 3;

// Rows of activations that are multiplied with a unit of weights before the next unit's turn.
struct Tokens {
  int64_t first;
  int64_t count;
};

// Rows of a weight that are multiplied with some rows of activations.
struct UnitRows {
  int64_t first;
  int64_t count;
  Tokens tokens;
};

// One weight matrix of a call and where its products go.
struct Product {
  const Operand* weight;
  int64_t outputs;     // rows of the weight
  int64_t first_unit;  // number of its first unit of work, counted over all weights of the call
  float* out;          // [rows, outputs]
  const float* bias;   // [outputs]; of a gated pair the gate's; nullptr: none

  // Where the products of these rows go.
  [[nodiscard]] MatrixView<float> results(const UnitRows& rows) const noexcept {
    return {out + rows.tokens.first * outputs + rows.first, outputs, rows.tokens.count, rows.count};
  }
};

struct LinearJob {
  CpuRuntime* runtime;
  const float* x;
  int64_t rows;
  int64_t k;
  int64_t unit;  // weight rows in a unit of work
  int64_t units;
  int64_t block;     // rows of activations in a block: at first all
  int64_t run_rows;  // the most weight rows that are worked on at once: at first those of a unit
  size_t count;
  std::array<Product, kMaxWeights> products;
  const float* up_bias;   // of a gated pair; nullptr: none
  const float* residual;  // [rows, outputs] of the one product; nullptr: none
  GateKind gate;
};

// Whether linear on this dtype is done by tiles of interleaved rows.
[[nodiscard]] bool has_tile_kernels(const SimdKernels& kernels, DType dtype);
// Whether a call of linear or gated_linear may be done by tiles: it rounds activations.
[[nodiscard]] bool can_multiply_tiles(const OpCall& call);
// Whether it is done by the kernel for few rows of activations, whose time goes into reading weights.
[[nodiscard]] bool streams_tiles(const OpCall& call);
// Calls of linear or gated_linear of which streams_tiles() is true, with one fork-join for all.
void stream_tiles(std::span<const OpCall> calls);

// Units of `unit` weight rows. gated_linear has one product for gate and up. Activations are normalized here, by all threads,
// into `frame`, which the calling thread keeps until the product is done.
[[nodiscard]] LinearJob make_job(const OpCall& call, int64_t unit, ScratchFrame& frame);
// Makes blocks of activations that stay in the second-level cache beside the weights; `element` is their size as the kernel reads them.
void block_tokens(LinearJob& job, int64_t element);

// Adds rows that lie `stride` apart, if there are any, to those of out.
inline void add_rows(const LinearJob& job, const float* rows, int64_t stride, const MatrixView<float>& out) {
  if (rows == nullptr) return;
  const auto add = job.runtime->kernels().numbers<float>().add_row;
  for (int64_t token = 0; token < out.rows; ++token) add(rows + token * stride, out.row(token), static_cast<size_t>(out.columns));
}

// Adds elements [first, …) of a bias, if there is one, to each row.
inline void add_bias(const LinearJob& job, const float* bias, int64_t first, const MatrixView<float>& out) {
  add_rows(job, bias == nullptr ? nullptr : bias + first, 0, out);
}

// Adds bias and residual to a product.
inline void finish(const LinearJob& job, const Product& product, const UnitRows& rows) {
  const MatrixView<float> out = product.results(rows);
  add_bias(job, product.bias, rows.first, out);
  add_rows(job, job.residual == nullptr ? nullptr : job.residual + (out.data - product.out), product.outputs, out);
}

// Calls body(thread, product, rows) for units [begin, end) in runs of one weight, block of tokens by block.
template <class Body>
void run_unit_range(const LinearJob& job, int thread, int64_t begin, int64_t end, const Body& body) {
  for (int64_t token = 0; token < job.rows; token += job.block) {
    const Tokens tokens{token, std::min(job.block, job.rows - token)};
    for (size_t index = 0; index < job.count; ++index) {
      const Product& product = job.products[index];
      const int64_t last = std::min(product.outputs, (end - product.first_unit) * job.unit);
      for (int64_t row = std::max<int64_t>(0, begin - product.first_unit) * job.unit; row < last; row += job.run_rows) {
        body(thread, product, UnitRows{row, std::min(job.run_rows, last - row), tokens});
      }
    }
  }
}

// The same for all units, which threads share.
template <class Body>
void run_units(const LinearJob& job, const Body& body) {
  job.runtime->threads().share_out(job.units,
                                   [&](int thread, int64_t begin, int64_t end) { run_unit_range(job, thread, begin, end, body); });
}

// Computes gate and up side by side for a unit of rows, then the activation of both: multiply(which, out) fills [tokens, rows].
template <class Multiply>
void gate_unit(const LinearJob& job, int thread, const Product& product, const UnitRows& rows, Multiply&& multiply) {
  ScratchFrame frame(job.runtime->scratch(thread));
  const auto elements = static_cast<size_t>(rows.tokens.count * rows.count);
  const MatrixView<float> gate{frame.take<float>(elements), rows.count, rows.tokens.count, rows.count};
  const MatrixView<float> up{frame.take<float>(elements), rows.count, rows.tokens.count, rows.count};
  multiply(0, gate);
  multiply(1, up);
  add_bias(job, product.bias, rows.first, gate);
  add_bias(job, job.up_bias, rows.first, up);
  const auto activate = job.runtime->kernels().gate_multiply[static_cast<size_t>(job.gate)];
  const MatrixView<float> out = product.results(rows);
  for (int64_t token = 0; token < out.rows; ++token)
    activate(gate.row(token), up.row(token), out.row(token), static_cast<size_t>(out.columns));
}

}  // namespace wick::cpu
