// linear and gated_linear on tiles of interleaved weights. For few rows of activations each tile is unpacked in registers as it streams by;
// for many, a chunk of two tiles is expanded once in the first-level cache and all activations pass over it. Plain rows, which are not
// prepared yet, are interleaved on the way, so that results are the same: that costs no memory, and decode about half of its speed.
#include <algorithm>
#include <span>
#include <vector>

#include "wick/backend/cpu/linear/linear_job.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/weights/prepared_tiles.h"
#include "wick/backend/cpu/weights/unpack.h"

namespace wick::cpu {
namespace {

using Kind = ActivationForm::Kind;

// Threads share out units of so many tiles when there are many rows of activations: more at once where there is enough of them.
constexpr int64_t kTilesOfUnit = 2;
constexpr int64_t kUnitsOfThread = 8;
// For few: of one weight before another's turn. Tile by tile, memory gives two streams at once half of what it gives one (0.5 to 0.7 of it
// on Zen 4 with 18 KiB at a time, 0.9 to 1.0 with 72 KiB).
constexpr int64_t kTilesOfRun = 64;
// Rows of activations that leave unpacking the greatest part of a tile's time.
constexpr int64_t kGemvRows = 2;
// Steps of so few rows come again and again, when many sequences decode: what they interleave each time is better prepared.
constexpr int64_t kDecodeRows = 64;
// Two expanded chunks take a half to two thirds of a first-level cache of 32 KiB.
constexpr int64_t kChunkColumns = 512;
constexpr int64_t kChunkBytes = 11 * 1024;
// Pairs of bf16 come from the second-level cache as quickly.
constexpr int64_t kPairColumns = 2048;

bool is_pairs(const ActivationForm& form) { return form.kind == Kind::bf16 || form.kind == Kind::split_bf16; }
// bf16 that make up a number.
int64_t parts_of(const ActivationForm& form) { return form.kind == Kind::split_bf16 ? 2 : 1; }

// How one call is computed.
struct TilePlan {
  LinearJob job;
  const TileKernels* kernels;
  const ManyRows* many;  // nullptr: with the kernel for few rows
  Activations x;
  int64_t chunk;     // columns that are multiplied at once
  int64_t expanded;  // columns that are expanded at once
  std::span<const Operand> weights;
  std::array<ReadyTiles, kMaxWeights> ready;  // of each weight
};

// Whole tiles of a weight: prepared ones, or the plain rows that they are made of.
struct TileSource {
  DType dtype;
  const std::byte* bytes;
  bool prepared;
};

// Calls body(first row, rows) for each panel of activations.
template <class Body>
void for_each_panel(const LinearJob& job, const ActivationForm& form, Body&& body) {
  const TokenPanels panels{job.rows, form.panel_rows};
  job.runtime->threads().parallel_for(panels.count, std::max<int64_t>(1, 32768 / (job.k * form.panel_rows)),
                                      [&](int64_t begin, int64_t end) {
                                        for (int64_t panel = begin; panel < end; ++panel)
                                          body(panels.first(panel), panels.first(panel + 1) - panels.first(panel));
                                      });
}

// All activations of the call, rounded to 8 bits by all threads.
void quantize(const LinearJob& job, const ActivationForm& form, ScratchFrame& frame, Activations& x) {
  const int64_t blocks = job.k / form.columns;
  const int64_t starts_of_row = job.k / form.sum_columns;
  const int64_t sums_of_row = form.minimum_columns == 0 ? 0 : job.k / form.minimum_columns;
  auto* quants = frame.take<int8_t>(static_cast<size_t>(job.rows * job.k));
  auto* scales = frame.take<float>(static_cast<size_t>(job.rows * blocks));
  auto* starts = frame.take<int32_t>(static_cast<size_t>(job.rows * starts_of_row));
  auto* sums = sums_of_row == 0 ? nullptr : frame.take<float>(static_cast<size_t>(job.rows * sums_of_row));
  for_each_panel(job, form, [&](int64_t first, int64_t rows) {
    for (int64_t row = 0; row < rows; ++row) {
      const SimdKernels::QuantizedRow out{quants + first * job.k + 4 * row, scales + first * blocks + row,
                                          starts + first * starts_of_row + row,
                                          sums == nullptr ? nullptr : sums + first * sums_of_row + row};
      job.runtime->kernels().quantize_row(job.x + (first + row) * job.k, job.k, form, rows, out);
    }
  });
  x.quants = quants;
  x.scales = scales;
  x.starts = starts;
  x.sums = sums;
}

// All activations in panels by all threads: kParts numbers of each, as write(row, columns, rows of the panel, out) makes them.
template <class T, int kParts, class Write>
const T* write_panels(const LinearJob& job, const ActivationForm& form, ScratchFrame& frame, Write&& write) {
  auto* out = frame.take<T>(static_cast<size_t>(kParts * job.rows * job.k));
  for_each_panel(job, form, [&](int64_t first, int64_t rows) {
    for (int64_t row = 0; row < rows; ++row)
      write(job.x + (first + row) * job.k, job.k, rows, out + kParts * first * job.k + row * kActivationBlock);
  });
  return out;
}

void copy_row(const float* x, int64_t n, int64_t rows, float* out) {
  for (int64_t column = 0; column < n; column += kActivationBlock) std::copy_n(x + column, kActivationBlock, out + column * rows);
}

// All activations of the call as `form` wants them.
void arrange(const LinearJob& job, const ActivationForm& form, ScratchFrame& frame, Activations& x) {
  const SimdKernels& kernels = job.runtime->kernels();
  switch (form.kind) {
    case Kind::f32:
      if (form.panel_rows > 1) x.values = write_panels<float, 1>(job, form, frame, copy_row);
      break;
    case Kind::bf16: x.rounded = write_panels<bf16, 1>(job, form, frame, kernels.round_row); break;
    case Kind::split_bf16: x.rounded = write_panels<bf16, 2>(job, form, frame, kernels.split_row); break;
    case Kind::int8: quantize(job, form, frame, x); break;
  }
}

std::span<const Operand> weights_of(const OpCall& call) {
  return call.inputs.subspan(1, call.op == OpId::gated_linear ? 2 : call.outputs.size());
}

// Columns that are expanded in the first-level cache.
int64_t expanded_columns(const ManyRows& many, int64_t k, int64_t block) {
  if (many.expanded_bytes == 0) return k;
  const int64_t fitting = kChunkBytes * kWideActivationBlock / many.expanded_bytes;
  const int64_t columns = std::min({kChunkColumns, k, fitting});
  return std::max(block, columns / block * block);
}

// Tiles of a unit of work for many rows of activations: as many as the kernel takes at once, fewer where threads would wait for each other.
int64_t tiles_of_unit(const OpCall& call, const ManyRows& many) {
  int64_t tiles = 0;
  for (const Operand& output : call.outputs) tiles += output.layout->shape().last() / kInterleavedRows;
  const int64_t shared = tiles / (kUnitsOfThread * runtime_of(call).threads().size());
  return std::clamp(shared / kTilesOfUnit * kTilesOfUnit, kTilesOfUnit, many.tiles);
}

// nullptr: with the kernel for few rows. Kernels round their sums in different orders, so a deterministic product has one for all.
const ManyRows* kernels_of_many(const TileKernels& kernels, int64_t rows, const LinearParams& params) {
  if (params.deterministic) return nullptr;
  if (params.fast && kernels.fast.multiply != nullptr) return rows <= kernels.fast_rows ? nullptr : &kernels.fast;
  if (rows <= kernels.few_rows * kernels.few_passes && rows < kernels.bulk_rows) return nullptr;
  return rows < kernels.bulk_rows ? &kernels.many : &kernels.bulk;
}

// Tells what a pass over all weights reads.
void note_weights(const OpCall& call, const TilePlan& plan) {
  int64_t bytes = 0;
  for (const Operand& weight : plan.weights) bytes += storage_bytes(weight.dtype, weight.layout->elements());
  const bool all_ready = plan.ready[0].count >= plan.weights[0].layout->shape()[0] / kInterleavedRows;
  if (all_ready) runtime_of(call).prefetch().note_weights(plan.ready[0].data, bytes);
}

TilePlan make_plan(const OpCall& call, ScratchFrame& frame) {
  const DType dtype = call.inputs[1].dtype;
  const Layout& x = *call.inputs[0].layout;
  const TileKernels& kernels = runtime_of(call).kernels().tile_kernels(dtype);
  const int64_t rows = x.elements() / x.shape().last();
  const ManyRows* many = kernels_of_many(kernels, rows, call.parameters<LinearParams>());
  LinearJob job = make_job(call, many == nullptr ? kInterleavedRows : tiles_of_unit(call, *many) * kInterleavedRows, frame);
  job.run_rows = (many == nullptr ? kTilesOfRun : many->tiles) * kInterleavedRows;
  TilePlan plan{job, &kernels, many, {.rows = job.rows, .columns = job.k, .values = job.x}, 0, 0, weights_of(call), {}};
  for (size_t index = 0; index < plan.weights.size(); ++index) plan.ready[index] = ready_tiles(plan.weights[index]);
  const ActivationForm& form = many == nullptr ? kernels.few_form : many->form;
  arrange(job, form, frame, plan.x);
  if (many == nullptr) {
    note_weights(call, plan);
    return plan;
  }
  plan.chunk = plan.expanded = expanded_columns(*many, job.k, tile_block_columns(dtype));
  if (is_pairs(form)) plan.chunk = std::min(kPairColumns / parts_of(form), job.k);
  if (many->widen == nullptr) plan.expanded = plan.chunk;
  return plan;
}

// `tiles` tiles as kernels read them. Plain rows are interleaved into `frame`.
const std::byte* interleaved(const LinearJob& job, ScratchFrame& frame, const TileSource& source, int64_t tiles) {
  if (source.prepared) return source.bytes;
  const int64_t tile_bytes = storage_bytes(source.dtype, kInterleavedRows * job.k);
  auto* copy = frame.take<std::byte>(static_cast<size_t>(tiles * tile_bytes));
  for (int64_t tile = 0; tile < tiles; ++tile)
    interleave_tile(source.dtype, source.bytes + tile * tile_bytes, job.k, copy + tile * tile_bytes, job.runtime->kernels().gather_words);
  return copy;
}

// A chunk of whole tiles, interleaved from their first column on, as the kernel of many rows reads it.
ExpandedTiles expand_chunk(const TilePlan& plan, ScratchFrame& frame, const ExpandedTiles& tiles, ColumnChunk chunk) {
  const ManyRows& many = *plan.many;
  const int64_t expanded_bytes = many.expanded_bytes * plan.expanded / kWideActivationBlock;
  const int64_t expanded_tiles = many.widen == nullptr ? tiles.count : 1;
  std::byte* expanded = nullptr;
  if (expanded_bytes > 0) expanded = frame.take<std::byte>(static_cast<size_t>(expanded_bytes * expanded_tiles));
  if (many.widen == nullptr) {
    if (many.expand == nullptr) return {tiles.data, tiles.stride, tiles.count, expanded};
    for (int64_t tile = 0; tile < tiles.count; ++tile)
      many.expand(tiles.data + tile * tiles.stride, chunk, expanded + tile * expanded_bytes);
    return {expanded, expanded_bytes, tiles.count, nullptr};
  }
  constexpr int64_t kHalfBytes = kInterleavedRows * int64_t{sizeof(bf16)};  // of a column of f16 or bf16
  const int64_t pair_bytes = kHalfBytes * parts_of(many.form);
  const int64_t pair_stride = plan.chunk * pair_bytes;
  auto* pairs = frame.take<std::byte>(static_cast<size_t>(pair_stride * tiles.count));
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    const std::byte* data = tiles.data + tile * tiles.stride;
    for (int64_t column = 0; column < chunk.count; column += plan.expanded) {
      const ColumnChunk part{chunk.first + column, std::min(plan.expanded, chunk.count - column)};
      if (many.expand != nullptr) many.expand(data, part, expanded);
      many.widen(many.expand != nullptr ? expanded : data + part.first * kHalfBytes, plan.kernels->many.form, part.count,
                 pairs + tile * pair_stride + column * pair_bytes);
    }
  }
  return {pairs, pair_stride, tiles.count, nullptr};
}

// `count` of the rows that the kernel of few rows reads, from row `first` on: panels of one row.
Activations rows_of(const Activations& x, const ActivationForm& form, int64_t first, int64_t count) {
  const auto from = [&](const auto* data, int64_t columns) { return data == nullptr ? data : data + first * (x.columns / columns); };
  Activations rows{.rows = count, .columns = x.columns, .values = from(x.values, 1), .rounded = from(x.rounded, 1)};
  if (x.quants == nullptr) return rows;
  rows.quants = from(x.quants, 1);
  rows.scales = from(x.scales, form.columns);
  rows.starts = from(x.starts, form.sum_columns);
  rows.sums = x.sums == nullptr ? nullptr : from(x.sums, form.minimum_columns);
  return rows;
}

// Rows of each pass of the kernel of few rows: as even as multiples of four allow, as some kernels take four at once.
int64_t few_rows_of_pass(int64_t rows, int64_t most) {
  const int64_t passes = (rows + most - 1) / most;
  return std::min(most, (rows + 4 * passes - 1) / (4 * passes) * 4);
}

// Whole tiles, one after the other, times all activations, which meet a tile while it is in the first-level cache: as many at a time as the
// kernel of few rows takes: out [tokens, 16 · tiles].
void multiply_tiles(const TilePlan& plan, const std::byte* data, int64_t prefetch_distance, const MatrixView<float>& out) {
  const TileKernels& kernels = *plan.kernels;
  const int64_t tile_bytes = storage_bytes(plan.weights[0].dtype, kInterleavedRows * plan.job.k);
  const auto multiply = kernels.multiply;
  // Finding the rows of a part takes a hundredth of the time of a small model.
  const bool at_once = plan.x.rows <= kernels.few_rows;
  const int64_t rows_of_pass = few_rows_of_pass(plan.x.rows, kernels.few_rows);
  for (int64_t column = 0; column < out.columns; column += kInterleavedRows, data += tile_bytes) {
    if (at_once) {
      multiply(data, prefetch_distance, plan.x, out.data + column, out.stride);
      continue;
    }
    for (int64_t row = 0; row < plan.x.rows; row += rows_of_pass) {
      const int64_t count = std::min(rows_of_pass, plan.x.rows - row);
      multiply(data, row == 0 ? prefetch_distance : 0, rows_of(plan.x, kernels.few_form, row, count), out.row(row) + column, out.stride);
    }
  }
}

// The same of tiles that may have to be interleaved first.
void multiply_by_few(const TilePlan& plan, int thread, const TileSource& source, int64_t tiles, const MatrixView<float>& out) {
  const LinearJob& job = plan.job;
  const int64_t tile_bytes = storage_bytes(source.dtype, kInterleavedRows * job.k);
  // Weights that stream by have pushed the lines of the results out of the cache. One by one, tile after tile, each would cost as much
  // time as a kilobyte of weights.
  for (int64_t row = 0; row < std::min(plan.x.rows, plan.kernels->few_rows); ++row) {
    for (int64_t tile = 0; tile < tiles; ++tile) __builtin_prefetch(out.row(row) + tile * kInterleavedRows, 1);
  }
  if (!source.prepared) {
    for (int64_t tile = 0; tile < tiles; ++tile) {
      ScratchFrame frame(job.runtime->scratch(thread));
      multiply_tiles(plan, interleaved(job, frame, {source.dtype, source.bytes + tile * tile_bytes, false}, 1), 0,
                     out.part(0, tile * kInterleavedRows, out.rows, kInterleavedRows));
    }
    return;
  }
  const auto multiply = [&](int64_t prefetch_distance) {
    multiply_tiles(plan, source.bytes, prefetch_distance, out.part(0, 0, out.rows, tiles * kInterleavedRows));
  };
  const bool gemv = plan.x.rows <= kGemvRows;
  const StreamId stream{gemv ? StreamKind::gemv : StreamKind::skinny_gemm, source.dtype};
  // More rows are bound by arithmetic, which teaches nothing.
  const int64_t bytes = plan.x.rows <= plan.kernels->few_rows ? tiles * tile_bytes : 0;
  job.runtime->prefetch().run(stream, gemv ? plan.kernels->gemv_prefetch : plan.kernels->skinny_prefetch, bytes, multiply);
}

// Prefetches `bytes` bytes of each tile into the second-level cache: products with many rows leave memory idle while they last. Inlined, as
// GCC drops calls of a function that does nothing else.
[[gnu::always_inline]] inline void prefetch_chunk(const ExpandedTiles& tiles, int64_t bytes) {
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(tiles.data + tile * tiles.stride + at, 0, 2);
  }
}

// Whole tiles at once, chunk by chunk: out [tokens, 16 · tiles].
void multiply_by_many(const TilePlan& plan, int thread, const TileSource& source, int64_t tiles, const MatrixView<float>& out) {
  const LinearJob& job = plan.job;
  const int64_t tile_bytes = storage_bytes(source.dtype, kInterleavedRows * job.k);
  ScratchFrame frame(job.runtime->scratch(thread));
  const std::byte* rows = interleaved(job, frame, source, tiles);
  // Rows of the result may lie a power of two apart, which would fall into one set of the cache: sum up elsewhere.
  const int64_t lanes = tiles * kInterleavedRows;
  float* sums = nullptr;
  if (plan.chunk < job.k) sums = frame.take<float>(static_cast<size_t>(job.rows * lanes));
  // Integers alone: chunks of floats are larger than what a core asks for at once.
  const bool prefetches = source.prepared && plan.many->form.kind == Kind::int8;
  for (int64_t first = 0; first < job.k; first += plan.chunk) {
    const ColumnChunk chunk{first, std::min(plan.chunk, job.k - first)};
    const bool last = first + chunk.count == job.k;
    ScratchFrame chunk_frame(job.runtime->scratch(thread));
    const ExpandedTiles expanded = expand_chunk(plan, chunk_frame, {rows, tile_bytes, tiles, nullptr}, chunk);
    if (prefetches) {
      const std::byte* next = last ? rows + tiles * tile_bytes : rows + (first + chunk.count) * tile_bytes / job.k;
      prefetch_chunk({next, tile_bytes, tiles, nullptr}, plan.chunk * tile_bytes / job.k);
    }
    plan.many->multiply(expanded, chunk, plan.x, {first > 0 ? sums : nullptr, lanes, last ? out.data : sums, last ? out.stride : lanes});
  }
}

// The few plain rows behind the last tile.
void multiply_tail(const LinearJob& job, int thread, DType dtype, const std::byte* rows, const MatrixView<float>& out) {
  const SimdKernels& kernels = job.runtime->kernels();
  ScratchFrame frame(job.runtime->scratch(thread));
  auto* widened = frame.take<float>(static_cast<size_t>(job.k));
  for (int64_t row = 0; row < out.columns; ++row) {
    unpack_rows(kernels, dtype, rows + row * storage_bytes(dtype, job.k), {widened, static_cast<size_t>(job.k)});
    kernels.panel({widened, job.k, 1, job.k}, {job.x, job.k, job.rows, job.k}, out.part(0, row, out.rows, 1));
  }
}

// Rows from `first` on of weight number `which`, all activations: out [tokens, rows]. `first` begins a tile.
void multiply_rows(const TilePlan& plan, int thread, size_t which, int64_t first, const MatrixView<float>& out) {
  const LinearJob& job = plan.job;
  const Operand& weight = plan.weights[which];
  const ReadyTiles& ready = plan.ready[which];
  const int64_t tile_bytes = storage_bytes(weight.dtype, kInterleavedRows * job.k);
  const int64_t first_tile = first / kInterleavedRows, tiles = out.columns / kInterleavedRows, tiled = tiles * kInterleavedRows;
  const std::byte* plain = plain_data(weight) + storage_bytes(weight.dtype, weight.layout->offset()) + first_tile * tile_bytes;
  int64_t prepared = std::clamp<int64_t>(ready.count - first_tile, 0, tiles);
  // The kernel of many rows takes all tiles of a unit at once, wherever they come from.
  if (plan.many != nullptr && prepared < tiles) prepared = 0;
  const auto multiply = plan.many == nullptr ? multiply_by_few : multiply_by_many;
  if (prepared > 0) multiply(plan, thread, {weight.dtype, ready.data + first_tile * tile_bytes, true}, prepared, out);
  if (prepared < tiles) {
    const int64_t done = prepared * kInterleavedRows;
    multiply(plan, thread, {weight.dtype, plain + prepared * tile_bytes, false}, tiles - prepared,
             out.part(0, done, out.rows, tiled - done));
  }
  if (tiled < out.columns)
    multiply_tail(job, thread, weight.dtype, plain + tiles * tile_bytes, out.part(0, tiled, out.rows, out.columns - tiled));
}

// Units [begin, end) of linear or gated_linear.
void run_plan_range(const TilePlan& plan, OpId op, int thread, int64_t begin, int64_t end) {
  const LinearJob& job = plan.job;
  if (op == OpId::gated_linear) {
    return run_unit_range(job, thread, begin, end, [&](int, const Product& product, const UnitRows& rows) {
      gate_unit(job, thread, product, rows,
                [&](size_t which, const MatrixView<float>& out) { multiply_rows(plan, thread, which, rows.first, out); });
    });
  }
  run_unit_range(job, thread, begin, end, [&](int, const Product& product, const UnitRows& rows) {
    multiply_rows(plan, thread, static_cast<size_t>(product.weight - plan.weights.data()), rows.first, product.results(rows));
    finish(job, product, rows);
  });
}

}  // namespace

bool has_tile_kernels(const SimdKernels& kernels, DType dtype) {
  return has_tile_layout(dtype) && kernels.tile_kernels(dtype).multiply != nullptr;
}

bool can_multiply_tiles(const OpCall& call) {
  if (call.parameters<LinearParams>().precise) return false;
  const std::span<const Operand> operands = weights_of(call);
  return std::all_of(operands.begin(), operands.end(), [&](const Operand& weight) {
    return has_tile_kernels(runtime_of(call).kernels(), weight.dtype) && weight.layout->is_contiguous() &&
           weight.layout->shape()[1] % tile_block_columns(weight.dtype) == 0;
  });
}

bool streams_tiles(const OpCall& call) {
  if (!can_multiply_tiles(call)) return false;
  const Layout& x = *call.inputs[0].layout;
  const TileKernels& kernels = runtime_of(call).kernels().tile_kernels(call.inputs[1].dtype);
  return kernels_of_many(kernels, x.elements() / x.shape().last(), call.parameters<LinearParams>()) == nullptr;
}

void stream_tiles(std::span<const OpCall> calls) {
  CpuRuntime& runtime = runtime_of(calls.front());
  WeightPreparer::Op op(runtime.preparer());
  op.set_few_rows(weights_of(calls.front()).front());
  ScratchFrame frame(runtime.scratch(0));
  std::vector<TilePlan> plans;
  plans.reserve(calls.size());
  int64_t units = 0;
  for (const OpCall& call : calls) {
    plans.push_back(make_plan(call, frame));
    units += plans.back().job.units;
  }
  runtime.threads().share_out(units, [&](int thread, int64_t begin, int64_t end) {
    for (size_t index = 0, first = 0; index < plans.size(); first += static_cast<size_t>(plans[index++].job.units)) {
      const TilePlan& plan = plans[index];
      const auto before = static_cast<int64_t>(first);
      const int64_t from = std::max<int64_t>(0, begin - before), to = std::min(plan.job.units, end - before);
      if (from < to) run_plan_range(plan, calls[index].op, thread, from, to);
    }
  });
}

void linear_tiles(const OpCall& call) {
  WeightPreparer::Op op(runtime_of(call).preparer());
  ScratchFrame frame(runtime_of(call).scratch(0));
  const TilePlan plan = make_plan(call, frame);
  if (plan.job.rows <= kDecodeRows) op.set_few_rows(plan.weights.front());
  plan.job.runtime->threads().share_out(plan.job.units,
                                        [&](int thread, int64_t begin, int64_t end) { run_plan_range(plan, call.op, thread, begin, end); });
}

}  // namespace wick::cpu
