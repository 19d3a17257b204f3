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

struct Job {
  CpuRuntime* runtime;
  const float* x;
  int64_t rows;
  int64_t k;
  int64_t unit;   // weight rows in a unit of work
  int64_t units;
  size_t count;
  std::array<Product, kMaxWeights> products;
};

Job make_job(const OpCall& call, int64_t unit) {
  const Layout& x = *call.inputs[0].layout;
  Job job{&runtime_of(call), data_of<const float>(call.inputs[0]), x.elements() / x.shape().last(), x.shape().last(), unit, 0, 0, {}};
  for (size_t index = 0; index < call.outputs.size(); ++index) {
    const Operand& weight = call.inputs[index + 1];
    const int64_t outputs = weight.layout->shape()[0];
    job.products[job.count++] = {&weight, outputs, job.units, data_of<float>(call.outputs[index])};
    job.units += (outputs + unit - 1) / unit;
  }
  return job;
}

// Calls body(thread, product, first row, rows) for the units of work of each thread's range.
template <class Body>
void run_units(const Job& job, Body&& body) {
  job.runtime->threads().run([&](int thread, int threads) {
    const int64_t end = job.units * (thread + 1) / threads;
    for (int64_t unit = job.units * thread / threads; unit < end; ++unit) {
      size_t index = job.count - 1;
      while (job.products[index].first_unit > unit) --index;
      const Product& product = job.products[index];
      const int64_t first = (unit - product.first_unit) * job.unit;
      body(thread, product, first, std::min(job.unit, product.outputs - first));
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
  if (weight.dtype == DType::f32 && layout.stride(1) == 1) return {data_of<const float>(weight) + first * layout.stride(0), layout.stride(0)};
  auto* rows = job.runtime->scratch(thread).get<float>(kWeightRows, static_cast<size_t>(kPanelRows * job.k));
  const int64_t element = quantized ? 0 : info(weight.dtype).block_bytes;
  for (int64_t row = 0; row < count; ++row) {
    const std::span<float> target(rows + row * job.k, static_cast<size_t>(job.k));
    const std::byte* base = weight.buffer->host_data();
    if (quantized) {
      unpack_rows(job.runtime->kernels(), weight.dtype, base + storage_bytes(weight.dtype, layout.offset() + (first + row) * job.k), target);
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

void multiply_plain(const Job& job, int thread, const Operand& weight, int64_t first, int64_t count, float* out, int64_t out_stride) {
  const WeightRows rows = widen_rows(job, thread, weight, first, count);
  job.runtime->kernels().panel(rows.data, rows.stride, count, job.x, job.k, job.rows, job.k, out, out_stride);
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

// A tile of 16 interleaved rows, or the few plain rows behind the last tile.
void multiply_tile(const Job& job, int thread, const QuantizedActivations& x, const Operand& weight, int64_t first, int64_t count, float* out,
                   int64_t out_stride) {
  const std::byte* rows = weight.buffer->host_data() + storage_bytes(weight.dtype, first * job.k);
  if (count == kInterleavedRows) {
    job.runtime->kernels().tile_kernel(weight.dtype)(rows, x, out, out_stride);
    return;
  }
  auto* widened = job.runtime->scratch(thread).get<float>(kWeightRows, static_cast<size_t>(job.k));
  for (int64_t row = 0; row < count; ++row) {
    const DType plain = plain_dtype(weight.dtype);
    unpack_rows(job.runtime->kernels(), plain, rows + row * storage_bytes(plain, job.k), {widened, static_cast<size_t>(job.k)});
    job.runtime->kernels().panel(widened, job.k, 1, job.x, job.k, job.rows, job.k, out + row, out_stride);
  }
}

// Computes gate and up side by side for a unit of rows, then silu(gate) · up: multiply(operand, out) fills [rows, count].
template <class Multiply>
void gate_unit(const Job& job, int thread, int64_t first, int64_t count, float* out, int64_t outputs, Multiply&& multiply) {
  Scratch& scratch = job.runtime->scratch(thread);
  const auto elements = static_cast<size_t>(job.rows * count);
  auto* gate = scratch.get<float>(kGate, elements);
  auto* up = scratch.get<float>(kUp, elements);
  multiply(0, gate);
  multiply(1, up);
  job.runtime->kernels().silu_multiply(gate, up, gate, elements);
  for (int64_t row = 0; row < job.rows; ++row) {
    std::memcpy(out + row * outputs + first, gate + row * count, static_cast<size_t>(count) * sizeof(float));
  }
}

}  // namespace

void linear_plain(const OpCall& call) {
  const Job job = make_job(call, kPanelRows);
  run_units(job, [&](int thread, const Product& product, int64_t first, int64_t count) {
    multiply_plain(job, thread, *product.weight, first, count, product.out + first, product.outputs);
  });
}

void linear_interleaved(const OpCall& call) {
  const Job job = make_job(call, kInterleavedRows);
  const QuantizedActivations x = quantize(job);
  run_units(job, [&](int thread, const Product& product, int64_t first, int64_t count) {
    multiply_tile(job, thread, x, *product.weight, first, count, product.out + first, product.outputs);
  });
}

void gated_linear_plain(const OpCall& call) {
  const Job job = make_job(call, kPanelRows);
  run_units(job, [&](int thread, const Product& product, int64_t first, int64_t count) {
    gate_unit(job, thread, first, count, product.out, product.outputs, [&](size_t which, float* out) {
      multiply_plain(job, thread, call.inputs[which + 1], first, count, out, count);
    });
  });
}

void gated_linear_interleaved(const OpCall& call) {
  const Job job = make_job(call, kInterleavedRows);
  const QuantizedActivations x = quantize(job);
  run_units(job, [&](int thread, const Product& product, int64_t first, int64_t count) {
    gate_unit(job, thread, first, count, product.out, product.outputs, [&](size_t which, float* out) {
      multiply_tile(job, thread, x, call.inputs[which + 1], first, count, out, count);
    });
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
