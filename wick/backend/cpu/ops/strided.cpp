#include "wick/backend/cpu/ops/strided.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/base/fail.h"

namespace wick::cpu {
namespace {

constexpr size_t kOperands = 4;
// Long enough that the call of its loop costs nothing, short enough to share the work evenly.
constexpr int64_t kRunElements = 16384;
constexpr int64_t kTileColumns = 64;
constexpr int64_t kTileBytes = 16384;
constexpr int64_t kMaxTileRows = 64;

// One dimension of all operands; steps are in bytes.
struct Dimension {
  int64_t extent = 1;
  std::array<int64_t, kOperands> step{};
};

// Operand 0 is the output.
struct Loop {
  size_t operands = 0;
  int rank = 0;
  std::array<Dimension, kMaxRank> dims;
  std::array<std::byte*, kOperands> data{};
  std::array<int64_t, kOperands> size{};

  [[nodiscard]] const Dimension& inner() const { return dims[static_cast<size_t>(rank - 1)]; }
};

template <class Body>
void visit_size(int64_t bytes, const Body& body) {
  switch (bytes) {
    case 1: return body(uint8_t{});
    case 2: return body(uint16_t{});
    case 4: return body(uint32_t{});
    case 8: return body(uint64_t{});
    default: WICK_ASSERT(false);
  }
}

const Operand& operand_of(const OpCall& call, size_t index) { return index == 0 ? call.outputs[0] : call.inputs[index - 1]; }

std::byte* first_element(const Operand& operand) {
  return operand.buffer->host_data() + operand.layout->offset() * info(operand.dtype).block_bytes;
}

// Whether `outer` and `inner` are one dimension in every operand.
bool joins(const Dimension& outer, const Dimension& inner, size_t operands) {
  for (size_t index = 0; index < operands; ++index) {
    if (outer.step[index] != inner.step[index] * inner.extent) return false;
  }
  return true;
}

// Output steps become positive and fall from the outermost dimension to the innermost.
void arrange(Loop& loop) {
  const auto begin = loop.dims.begin();
  const auto end = begin + loop.rank;
  for (auto dim = begin; dim != end; ++dim) {
    if (dim->step[0] >= 0) continue;
    for (size_t index = 0; index < loop.operands; ++index) {
      loop.data[index] += dim->step[index] * (dim->extent - 1);
      dim->step[index] = -dim->step[index];
    }
  }
  const auto farther = [](const Dimension& a, const Dimension& b) { return a.step[0] > b.step[0]; };
  if (std::is_sorted(begin, end, farther)) return;
  for (size_t dim = 1; dim < static_cast<size_t>(loop.rank); ++dim) {  // stable, without the memory that std::stable_sort takes
    for (size_t at = dim; at > 0 && farther(loop.dims[at], loop.dims[at - 1]); --at) std::swap(loop.dims[at], loop.dims[at - 1]);
  }
}

Loop loop_of(const OpCall& call) {
  Loop loop;
  loop.operands = call.inputs.size() + 1;
  WICK_ASSERT(loop.operands <= kOperands);
  const Shape& shape = call.outputs[0].layout->shape();
  for (size_t index = 0; index < loop.operands; ++index) {
    const Operand& operand = operand_of(call, index);
    loop.size[index] = info(operand.dtype).block_bytes;
    loop.data[index] = first_element(operand);
  }
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] == 1) continue;
    Dimension& entry = loop.dims[static_cast<size_t>(loop.rank++)];
    entry.extent = shape[dim];
    for (size_t index = 0; index < loop.operands; ++index)
      entry.step[index] = operand_of(call, index).layout->stride(dim) * loop.size[index];
  }
  if (loop.rank == 0) {
    loop.rank = 1;
    loop.dims[0].step = loop.size;
    return loop;
  }
  arrange(loop);
  int kept = 0;
  for (int dim = 1; dim < loop.rank; ++dim) {
    Dimension& last = loop.dims[static_cast<size_t>(kept)];
    const Dimension& next = loop.dims[static_cast<size_t>(dim)];
    if (joins(last, next, loop.operands)) {
      last.extent *= next.extent;
      last.step = next.step;
    } else {
      loop.dims[static_cast<size_t>(++kept)] = next;
    }
  }
  loop.rank = kept + 1;
  return loop;
}

// How a loop is cut: blocks of `columns` of the innermost dimension by `rows` of another one.
struct Cut {
  bool gathers = false;
  int row_dim = -1;  // none: blocks are runs
  int64_t rows = 1;
  int64_t columns = kRunElements;
};

bool is_direct(const Loop& loop, size_t index) { return loop.inner().step[index] == loop.size[index]; }

// The first input that must be gathered says which dimension gives the rows of a tile: the one along which it lies densest.
Cut cut_of(const Loop& loop) {
  Cut cut;
  cut.gathers = !is_direct(loop, 0);
  for (size_t index = 1; index < loop.operands; ++index) {
    const int64_t step = loop.inner().step[index];
    if (step == 0 || is_direct(loop, index)) continue;
    cut.gathers = true;
    int64_t best = std::abs(step);
    for (int dim = 0; cut.row_dim < 0 && dim < loop.rank - 1; ++dim) {
      const int64_t other = std::abs(loop.dims[static_cast<size_t>(dim)].step[index]);
      if (other == 0 || other >= best) continue;
      best = other;
      cut.row_dim = dim;
    }
  }
  if (!cut.gathers) return cut;
  const int64_t largest = *std::max_element(loop.size.begin(), loop.size.end());
  if (cut.row_dim < 0) {
    cut.columns = kTileBytes / largest;
  } else {
    cut.columns = kTileColumns;
    cut.rows = std::min(kMaxTileRows, kTileBytes / (kTileColumns * largest));
  }
  return cut;
}

struct alignas(64) Tile {
  std::array<std::byte, kTileBytes> bytes;  // [rows, columns]
};

// Where a tile's elements lie, in bytes.
struct TileInput {
  const std::byte* data;
  int64_t row_step, column_step, size;
};

// A tile of an input, row by row, read along whichever dimension is denser.
void gather(const SimdKernels& kernels, const TileInput& in, int64_t rows, int64_t columns, std::byte* tile, int64_t tile_columns) {
  const int64_t size = in.size;
  if (size == 4 && in.row_step == size) {
    return kernels.product.bf16_pairs.transpose({reinterpret_cast<const uint32_t*>(in.data), in.column_step / size, columns, rows},
                                                reinterpret_cast<uint32_t*>(tile), tile_columns);
  }
  if (std::abs(in.row_step) >= std::abs(in.column_step)) {
    for (int64_t row = 0; row < rows; ++row)
      copy_elements(in.data + row * in.row_step, in.column_step, tile + row * tile_columns * size, size, columns, size);
    return;
  }
  for (int64_t column = 0; column < columns; ++column)
    copy_elements(in.data + column * in.column_step, in.row_step, tile + column * size, tile_columns * size, rows, size);
}

struct Job {
  const SimdKernels& kernels;
  const Loop& loop;
  const Cut& cut;
  RunFunction function;
  const void* context;
};

// One block: `rows` runs of `columns` elements.
void run_block(const Job& job, const std::array<std::byte*, kOperands>& data, int64_t rows, int64_t columns) {
  const Loop& loop = job.loop;
  std::array<RunInput, kOperands> inputs;
  std::array<int64_t, kOperands> row_step{};
  if (job.cut.row_dim >= 0) row_step = loop.dims[static_cast<size_t>(job.cut.row_dim)].step;
  if (!job.cut.gathers) {
    for (size_t index = 1; index < loop.operands; ++index) inputs[index] = {data[index], loop.inner().step[index] == 0};
    job.function(job.context, data[0], inputs.data() + 1, columns);
    return;
  }
  std::array<Tile, kOperands> tiles;  // NOLINT: uninitialised
  for (size_t index = 1; index < loop.operands; ++index) {
    const int64_t step = loop.inner().step[index];
    if (step == 0 || is_direct(loop, index)) continue;
    gather(job.kernels, {data[index], row_step[index], step, loop.size[index]}, rows, columns, tiles[index].bytes.data(), job.cut.columns);
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t index = 1; index < loop.operands; ++index) {
      const int64_t step = loop.inner().step[index];
      const bool lies_well = step == 0 || is_direct(loop, index);
      inputs[index] = {
          lies_well ? data[index] + row * row_step[index] : tiles[index].bytes.data() + row * job.cut.columns * loop.size[index],
          step == 0};
    }
    std::byte* out = data[0] + row * row_step[0];
    if (is_direct(loop, 0)) {
      job.function(job.context, out, inputs.data() + 1, columns);
    } else {
      job.function(job.context, tiles[0].bytes.data(), inputs.data() + 1, columns);
      copy_elements(tiles[0].bytes.data(), loop.size[0], out, loop.inner().step[0], columns, loop.size[0]);
    }
  }
}

int64_t extent_of_blocks(const Job& job, int dim) {
  return dim == job.loop.rank - 1 ? job.cut.columns : dim == job.cut.row_dim ? job.cut.rows : 1;
}

// Blocks [begin, end) in row-major order of their places.
void run_blocks(const Job& job, const std::array<int64_t, kMaxRank>& counts, int64_t begin, int64_t end) {
  const Loop& loop = job.loop;
  std::array<int64_t, kMaxRank> place{};
  int64_t rest = begin;
  for (int dim = loop.rank - 1; dim >= 0; --dim) {
    const auto d = static_cast<size_t>(dim);
    place[d] = rest % counts[d];
    rest /= counts[d];
  }
  for (int64_t block = begin; block < end; ++block) {
    std::array<std::byte*, kOperands> data = loop.data;
    int64_t rows = 1;
    int64_t columns = 1;
    for (int dim = 0; dim < loop.rank; ++dim) {
      const auto d = static_cast<size_t>(dim);
      const int64_t width = extent_of_blocks(job, dim);
      const int64_t first = place[d] * width;
      for (size_t index = 0; index < loop.operands; ++index) data[index] += first * loop.dims[d].step[index];
      const int64_t here = std::min(width, loop.dims[d].extent - first);
      if (dim == loop.rank - 1) columns = here;
      if (dim == job.cut.row_dim) rows = here;
    }
    run_block(job, data, rows, columns);
    for (int dim = loop.rank - 1; dim >= 0; --dim) {
      const auto d = static_cast<size_t>(dim);
      if (++place[d] < counts[d]) break;
      place[d] = 0;
    }
  }
}

// Whether all elements are one run that lies row-major in every operand, as those of most small tensors do.
bool is_one_run(const OpCall& call) {
  const Layout& out = *call.outputs[0].layout;
  return out.elements() <= kRunElements && out.is_contiguous() &&
         std::all_of(call.inputs.begin(), call.inputs.end(), [](const Operand& input) { return input.layout->is_contiguous(); });
}

void run_at_once(const OpCall& call, RunFunction function, const void* context) {
  std::array<RunInput, kOperands> inputs;
  WICK_ASSERT(call.inputs.size() <= inputs.size());
  for (size_t index = 0; index < call.inputs.size(); ++index) inputs[index].data = first_element(call.inputs[index]);
  function(context, first_element(call.outputs[0]), inputs.data(), call.outputs[0].layout->elements());
}

}  // namespace

void for_each_run_erased(const OpCall& call, RunFunction function, const void* context) {
  if (is_one_run(call)) return run_at_once(call, function, context);
  const Loop loop = loop_of(call);
  const Cut cut = cut_of(loop);
  const Job job{runtime_of(call).kernels(), loop, cut, function, context};
  if (loop.rank == 1 && loop.inner().extent <= cut.columns) return run_block(job, loop.data, 1, loop.inner().extent);
  std::array<int64_t, kMaxRank> counts{};
  int64_t blocks = 1;
  for (int dim = 0; dim < loop.rank; ++dim) {
    const int64_t width = extent_of_blocks(job, dim);
    counts[static_cast<size_t>(dim)] = (loop.dims[static_cast<size_t>(dim)].extent + width - 1) / width;
    blocks *= counts[static_cast<size_t>(dim)];
  }
  const int64_t elements_per_block = std::max<int64_t>(1, call.outputs[0].layout->elements() / blocks);
  const int64_t grain = std::max<int64_t>(1, kCopiedElementsPerThread / elements_per_block);
  runtime_of(call).threads().parallel_for(blocks, grain, [&](int64_t begin, int64_t end) { run_blocks(job, counts, begin, end); });
}

void copy_elements(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step, int64_t n, int64_t element_bytes) {
  if (source_step == element_bytes && target_step == element_bytes) {
    std::memcpy(target, source, static_cast<size_t>(n * element_bytes));
    return;
  }
  visit_size(element_bytes, [&]<class T>(T) {
    const auto* from = reinterpret_cast<const T*>(source);
    auto* to = reinterpret_cast<T*>(target);
    const int64_t from_step = source_step / static_cast<int64_t>(sizeof(T));
    const int64_t to_step = target_step / static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  });
}

void repeat_element(const std::byte* value, std::byte* target, int64_t n, int64_t element_bytes) {
  visit_size(element_bytes, [&]<class T>(T) { std::fill_n(reinterpret_cast<T*>(target), n, *reinterpret_cast<const T*>(value)); });
}

}  // namespace wick::cpu
