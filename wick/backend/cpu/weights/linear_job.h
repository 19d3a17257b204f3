// What linear and gated_linear by tiles and by plain rows share: the call taken apart, and the threads' work handed out.
#pragma once

#include <algorithm>
#include <array>

#include "wick/backend/cpu/cpu_runtime.h"

namespace wick::cpu {

inline constexpr size_t kMaxWeights = 3;

// One weight matrix of a call and where its products go.
struct Product {
  const Operand* weight;
  int64_t outputs;     // rows of the weight
  int64_t first_unit;  // number of its first unit of work, counted over all weights of the call
  float* out;          // [rows, outputs]
  const float* bias;   // [outputs]; of a gated pair the gate's; nullptr: none
};

// Rows of activations that are multiplied with a unit of weights before the next unit's turn.
struct Tokens {
  int64_t first;
  int64_t count;
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

// Units of `unit` weight rows. gated_linear has one product for gate and up. Activations are normalized here, by all threads,
// into `frame`, which the calling thread keeps until the product is done.
[[nodiscard]] LinearJob make_job(const OpCall& call, int64_t unit, ScratchFrame& frame);
// Makes blocks of activations that stay in the second-level cache beside the weights; `element` is their size as the kernel reads them.
void block_tokens(LinearJob& job, int64_t element);

// Adds a bias to [tokens, count], whose rows are `stride` apart.
inline void add_bias(const float* bias, float* out, int64_t stride, int64_t tokens, int64_t count) {
  if (bias == nullptr) return;
  for (int64_t token = 0; token < tokens; ++token) {
    for (int64_t i = 0; i < count; ++i) out[token * stride + i] += bias[i];
  }
}

// What follows a product's rows [first, first + count) of these tokens: bias and residual.
inline void finish(const LinearJob& job, const Product& product, int64_t first, int64_t count, Tokens tokens) {
  if (product.bias == nullptr && job.residual == nullptr) return;
  const int64_t begin = tokens.first * product.outputs + first;
  add_bias(product.bias == nullptr ? nullptr : product.bias + first, product.out + begin, product.outputs, tokens.count, count);
  if (job.residual == nullptr) return;
  for (int64_t token = 0; token < tokens.count; ++token) {
    const int64_t row = begin + token * product.outputs;
    for (int64_t i = 0; i < count; ++i) product.out[row + i] += job.residual[row + i];
  }
}

// Calls body(thread, product, first row, rows, tokens) for runs of units of one weight, block of tokens by block.
template <class Body>
void run_units(const LinearJob& job, Body&& body) {
  job.runtime->threads().share_out(job.units, [&](int thread, int64_t begin, int64_t end) {
    for (int64_t token = 0; token < job.rows; token += job.block) {
      const Tokens tokens{token, std::min(job.block, job.rows - token)};
      for (size_t index = 0; index < job.count; ++index) {
        const Product& product = job.products[index];
        const int64_t last = std::min(product.outputs, (end - product.first_unit) * job.unit);
        for (int64_t row = std::max<int64_t>(0, begin - product.first_unit) * job.unit; row < last; row += job.run_rows) {
          body(thread, product, row, std::min(job.run_rows, last - row), tokens);
        }
      }
    }
  });
}

// Computes gate and up side by side for a unit of rows, then the activation of both: multiply(which, out) fills [tokens, count].
template <class Multiply>
void gate_unit(const LinearJob& job, int thread, const Product& product, int64_t first, int64_t count, Tokens tokens, Multiply&& multiply) {
  ScratchFrame frame(job.runtime->scratch(thread));
  const auto elements = static_cast<size_t>(tokens.count * count);
  auto* gate = frame.take<float>(elements);
  auto* up = frame.take<float>(elements);
  multiply(0, gate);
  multiply(1, up);
  add_bias(product.bias == nullptr ? nullptr : product.bias + first, gate, count, tokens.count, count);
  add_bias(job.up_bias == nullptr ? nullptr : job.up_bias + first, up, count, tokens.count, count);
  const auto activate = job.runtime->kernels().gate_multiply[static_cast<size_t>(job.gate)];
  for (int64_t token = 0; token < tokens.count; ++token) {
    float* out = product.out + (tokens.first + token) * product.outputs + first;
    activate(gate + token * count, up + token * count, out, static_cast<size_t>(count));
  }
}

}  // namespace wick::cpu
