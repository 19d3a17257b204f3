// linear and gated_linear. Plain weights are widened to f32 a few rows at a time and multiplied in f32; interleaved ones go through
// integer dot products with activations rounded to 8 bits. Each thread owns a fixed range of weight rows and reads it once.
#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/cpu_runtime.h"
#include "backend/cpu/op_table.h"
#include "backend/cpu/unpack.h"
#include "quant/interleave.h"

namespace wick::cpu {
namespace {

constexpr size_t kMaxWeights = 3;

// Scratch slots of a thread.
enum Slot : size_t { kWeightRows, kGate, kUp, kQuants, kScales, kBlockSums, kHalfSums };

// One weight matrix of a call and where its products go.
struct Product {
  const Operand* weight;
  int64_t outputs;     // rows of the weight
  int64_t first_unit;  // number of its first unit of work, counted over all weights of the call
  float* out;          // [rows, outputs]
};

// Rows of activations that are multiplied with a unit of weights before the next unit's turn: few enough to stay in the second-level
// cache meanwhile.
struct Tokens {
  int64_t first;
  int64_t count;
};

struct Job {
  CpuRuntime* runtime;
  const float* x;
  int64_t rows;
  int64_t k;
  int64_t unit;  // weight rows in a unit of work
  int64_t units;
  int64_t block;  // rows of activations in a block
  size_t count;
  std::array<Product, kMaxWeights> products;
};

// A second-level cache of 1 MiB keeps a block of activations beside the weights that stream through it.
constexpr int64_t kActivationBytes = 512 * 1024;

// `element`: bytes of an activation as the kernel reads it.
Job make_job(const OpCall& call, int64_t unit, int64_t element) {
  const Layout& x = *call.inputs[0].layout;
  const int64_t k = x.shape().last();
  const int64_t block = std::max<int64_t>(16, kActivationBytes / (k * element) / 16 * 16);
  Job job{&runtime_of(call), data_of<const float>(call.inputs[0]), x.elements() / k, k, unit, 0, block, 0, {}};
  for (size_t index = 0; index < call.outputs.size(); ++index) {
    const Operand& weight = call.inputs[index + 1];
    const int64_t outputs = weight.layout->shape()[0];
    job.products[job.count++] = {&weight, outputs, job.units, data_of<float>(call.outputs[index])};
    job.units += (outputs + unit - 1) / unit;
  }
  return job;
}

// Calls body(thread, product, first row, rows, tokens) for the units of work of each thread's range, block of tokens by block.
template <class Body>
void run_units(const Job& job, Body&& body) {
  job.runtime->threads().run([&](int thread, int threads) {
    const int64_t end = job.units * (thread + 1) / threads;
    for (int64_t token = 0; token < job.rows; token += job.block) {
      const Tokens tokens{token, std::min(job.block, job.rows - token)};
      for (int64_t unit = job.units * thread / threads; unit < end; ++unit) {
        size_t index = job.count - 1;
        while (job.products[index].first_unit > unit) --index;
        const Product& product = job.products[index];
        const int64_t first = (unit - product.first_unit) * job.unit;
        body(thread, product, first, std::min(job.unit, product.outputs - first), tokens);
      }
    }
  });
}

// Rows [first, first + count) of a plain weight as f32: in place if it is f32 already, else widened into scratch.
struct WeightRows {
  const float* data;
  int64_t stride;
};

WeightRows widen_rows(const Job& job, int thread, const Operand& weight, int64_t first, int64_t count) {
  const Layout& layout = *weight.layout;
  const bool quantized = is_quantized(weight.dtype);
  if (weight.dtype == DType::f32 && layout.stride(1) == 1)
    return {data_of<const float>(weight) + first * layout.stride(0), layout.stride(0)};
  auto* rows = job.runtime->scratch(thread).get<float>(kWeightRows, static_cast<size_t>(kPanelRows * job.k));
  const int64_t element = quantized ? 0 : info(weight.dtype).block_bytes;
  for (int64_t row = 0; row < count; ++row) {
    const std::span<float> target(rows + row * job.k, static_cast<size_t>(job.k));
    const std::byte* base = weight.buffer->host_data();
    if (quantized) {
      unpack_rows(job.runtime->kernels(), weight.dtype, base + storage_bytes(weight.dtype, layout.offset() + (first + row) * job.k),
                  target);
      continue;
    }
    const std::byte* source = base + (layout.offset() + (first + row) * layout.stride(0)) * element;
    if (layout.stride(1) == 1) {
      unpack_rows(job.runtime->kernels(), weight.dtype, source, target);
      continue;
    }
    for (int64_t i = 0; i < job.k; ++i) {
      unpack_rows(job.runtime->kernels(), weight.dtype, source + i * layout.stride(1) * element, target.subspan(static_cast<size_t>(i), 1));
    }
  }
  return {rows, job.k};
}

// Row `first` of a float weight whose rows are contiguous; nullptr otherwise.
template <class T>
const T* contiguous_row(const Operand& weight, DType dtype, int64_t first) {
  if (weight.dtype != dtype || weight.layout->stride(1) != 1) return nullptr;
  return data_of<const T>(weight) + first * weight.layout->stride(0);
}

// out[t · out_stride + r] for the tokens t of the block, counted from its first, and `count` rows r of a plain weight.
void multiply_plain(const Job& job, int thread, const bf16* rounded, const Operand& weight, int64_t first, int64_t count, Tokens tokens,
                    float* out, int64_t out_stride) {
  const SimdKernels& kernels = job.runtime->kernels();
  const float* x = job.x + tokens.first * job.k;
  const int64_t stride = weight.layout->stride(0);
  if (const auto* rows = contiguous_row<f16>(weight, DType::f16, first)) {
    return kernels.panel_f16(rows, stride, count, x, job.k, tokens.count, job.k, out, out_stride);
  }
  if (const auto* rows = contiguous_row<bf16>(weight, DType::bf16, first)) {
    if (rounded == nullptr) return kernels.panel_bf16(rows, stride, count, x, job.k, tokens.count, job.k, out, out_stride);
    return kernels.panel_bf16_pairs(rows, stride, count, rounded + tokens.first * job.k, job.k, tokens.count, job.k, out, out_stride);
  }
  const WeightRows rows = widen_rows(job, thread, weight, first, count);
  kernels.panel(rows.data, rows.stride, count, x, job.k, tokens.count, job.k, out, out_stride);
}

// A job on plain weights. A quantized one is widened for every block, so there all activations are one block.
Job make_plain_job(const OpCall& call) {
  Job job = make_job(call, kPanelRows, sizeof(float));
  if (is_quantized(call.inputs[1].dtype)) job.block = job.rows;
  return job;
}

// The activations rounded to bf16, where weights and processor make a bf16 dot product possible and the caller allows it; else nullptr.
const bf16* round_to_bf16(const OpCall& call, const Job& job) {
  const SimdKernels& kernels = job.runtime->kernels();
  const bool possible = call.inputs[1].dtype == DType::bf16 && kernels.panel_bf16_pairs != nullptr && job.k % 32 == 0;
  if (!possible || call.parameters<LinearParams>().precise) return nullptr;
  auto* rounded = job.runtime->scratch(0).get<bf16>(kQuants, static_cast<size_t>(job.rows * job.k));
  job.runtime->threads().parallel_for(job.rows * job.k, 32768, [&](int64_t begin, int64_t end) {
    kernels.f32_to_bf16(job.x + begin, reinterpret_cast<uint16_t*>(rounded + begin), static_cast<size_t>(end - begin));
  });
  return rounded;
}

// All activations of the call, rounded to 8 bits by all threads; they lie in the scratch of the calling thread.
QuantizedActivations quantize(const Job& job) {
  Scratch& scratch = job.runtime->scratch(0);
  const auto elements = static_cast<size_t>(job.rows * job.k);
  QuantizedActivations x{job.rows,
                         job.k,
                         scratch.get<int8_t>(kQuants, elements),
                         scratch.get<float>(kScales, elements / 32),
                         scratch.get<float>(kBlockSums, elements / 32),
                         scratch.get<float>(kHalfSums, elements / 16)};
  job.runtime->threads().parallel_for(job.rows, std::max<int64_t>(1, 32768 / job.k), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t blocks = job.k / kActivationBlock;
      job.runtime->kernels().quantize_row(job.x + row * job.k, job.k, x.quants + row * job.k, x.scales + row * blocks,
                                          x.block_sums + row * blocks, x.half_sums + row * blocks * 2);
    }
  });
  return x;
}

// The rows `tokens` of the activations.
QuantizedActivations slice(const QuantizedActivations& x, Tokens tokens) {
  const int64_t blocks = x.columns / kActivationBlock;
  return {tokens.count,
          x.columns,
          x.quants + tokens.first * x.columns,
          x.scales + tokens.first * blocks,
          x.block_sums + tokens.first * blocks,
          x.half_sums + tokens.first * blocks * 2};
}

// A tile of 16 interleaved rows, or the few plain rows behind the last tile.
void multiply_tile(const Job& job, int thread, const QuantizedActivations& x, const Operand& weight, int64_t first, int64_t count,
                   Tokens tokens, float* out, int64_t out_stride) {
  const SimdKernels& kernels = job.runtime->kernels();
  const std::byte* rows = weight.buffer->host_data() + storage_bytes(weight.dtype, first * job.k);
  if (count == kInterleavedRows) return kernels.tile_kernel(weight.dtype)(rows, slice(x, tokens), out, out_stride);
  auto* widened = job.runtime->scratch(thread).get<float>(kWeightRows, static_cast<size_t>(job.k));
  for (int64_t row = 0; row < count; ++row) {
    const DType plain = plain_dtype(weight.dtype);
    unpack_rows(kernels, plain, rows + row * storage_bytes(plain, job.k), {widened, static_cast<size_t>(job.k)});
    kernels.panel(widened, job.k, 1, job.x + tokens.first * job.k, job.k, tokens.count, job.k, out + row, out_stride);
  }
}

// Computes gate and up side by side for a unit of rows, then silu(gate) · up: multiply(which, out) fills [tokens, count].
template <class Multiply>
void gate_unit(const Job& job, int thread, int64_t first, int64_t count, Tokens tokens, float* out, int64_t outputs, Multiply&& multiply) {
  Scratch& scratch = job.runtime->scratch(thread);
  const auto elements = static_cast<size_t>(tokens.count * count);
  auto* gate = scratch.get<float>(kGate, elements);
  auto* up = scratch.get<float>(kUp, elements);
  multiply(0, gate);
  multiply(1, up);
  job.runtime->kernels().silu_multiply(gate, up, gate, elements);
  for (int64_t token = 0; token < tokens.count; ++token) {
    std::memcpy(out + (tokens.first + token) * outputs + first, gate + token * count, static_cast<size_t>(count) * sizeof(float));
  }
}

}  // namespace

void linear_plain(const OpCall& call) {
  const Job job = make_plain_job(call);
  const bf16* rounded = round_to_bf16(call, job);
  run_units(job, [&](int thread, const Product& product, int64_t first, int64_t count, Tokens tokens) {
    float* out = product.out + tokens.first * product.outputs + first;
    multiply_plain(job, thread, rounded, *product.weight, first, count, tokens, out, product.outputs);
  });
}

void linear_interleaved(const OpCall& call) {
  const Job job = make_job(call, kInterleavedRows, sizeof(int8_t));
  const QuantizedActivations x = quantize(job);
  run_units(job, [&](int thread, const Product& product, int64_t first, int64_t count, Tokens tokens) {
    float* out = product.out + tokens.first * product.outputs + first;
    multiply_tile(job, thread, x, *product.weight, first, count, tokens, out, product.outputs);
  });
}

void gated_linear_plain(const OpCall& call) {
  const Job job = make_plain_job(call);
  const bf16* rounded = round_to_bf16(call, job);
  run_units(job, [&](int thread, const Product& product, int64_t first, int64_t count, Tokens tokens) {
    gate_unit(job, thread, first, count, tokens, product.out, product.outputs, [&](size_t which, float* out) {
      multiply_plain(job, thread, rounded, call.inputs[which + 1], first, count, tokens, out, count);
    });
  });
}

void gated_linear_interleaved(const OpCall& call) {
  const Job job = make_job(call, kInterleavedRows, sizeof(int8_t));
  const QuantizedActivations x = quantize(job);
  run_units(job, [&](int thread, const Product& product, int64_t first, int64_t count, Tokens tokens) {
    gate_unit(job, thread, first, count, tokens, product.out, product.outputs,
              [&](size_t which, float* out) { multiply_tile(job, thread, x, call.inputs[which + 1], first, count, tokens, out, count); });
  });
}

void repack(const OpCall& call) {
  const Operand& weight = call.inputs[0];
  const int64_t columns = weight.layout->shape()[1];
  const int64_t tiles = weight.layout->shape()[0] / kInterleavedRows;
  const int64_t tile_bytes = storage_bytes(weight.dtype, columns * kInterleavedRows);
  const std::byte* source = weight.buffer->host_data() + storage_bytes(weight.dtype, weight.layout->offset());
  std::byte* target = call.outputs[0].buffer->host_data();
  CpuRuntime& runtime = runtime_of(call);
  runtime.threads().run([&](int thread, int threads) {
    for (int64_t tile = tiles * thread / threads; tile < tiles * (thread + 1) / threads; ++tile) {
      interleave_tile(weight.dtype, source + tile * tile_bytes, columns, target + tile * tile_bytes);
    }
  });
  // The rows behind the last whole tile stay plain.
  const int64_t tiled = tiles * tile_bytes;
  std::memcpy(target + tiled, source + tiled, static_cast<size_t>(storage_bytes(weight.dtype, weight.layout->elements()) - tiled));
}

}  // namespace wick::cpu
