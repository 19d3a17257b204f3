// Elements by index: gather, index_select, scatter and index_add, all as one walk over the ids. Ids are checked before anything moves.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/ops/convert.h"
#include "wick/backend/cpu/ops/index_walk.h"
#include "wick/backend/cpu/ops/number_visit.h"
#include "wick/backend/cpu/ops/visit_dtype.h"
#include "wick/op/index_range.h"

namespace wick::cpu {
namespace {

template <class Id>
bool all_inside(const Id* ids, int64_t count, int64_t extent) {
  // As unsigned numbers negative ids are large ones.
  using Unsigned = std::make_unsigned_t<Id>;
  Unsigned largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, static_cast<Unsigned>(ids[i]));
  return static_cast<uint64_t>(largest) < static_cast<uint64_t>(extent) && (std::is_unsigned_v<Id> || static_cast<Id>(largest) >= 0);
}

// The id that means "nothing": op/op.h.
template <class Id>
bool is_nothing(Id id, int64_t extent) {
  return id == std::numeric_limits<Id>::max() && static_cast<uint64_t>(id) >= static_cast<uint64_t>(extent);
}

// Throws index_out_of_range for the first id that is none. Returns whether some mean "nothing".
bool check_ids(const OpCall& call, const Operand& ids, int dim, int64_t extent) {
  const Layout& layout = *ids.layout;
  bool holes = false;
  visit_ids(ids.dtype, [&]<class Id>(Id) {
    const auto* base = reinterpret_cast<const Id*>(ids.buffer->host_data());
    if (layout.is_contiguous()) {
      std::atomic<bool> inside{true};
      runtime_of(call).threads().parallel_for(layout.elements(), kElementsPerThread, [&](int64_t begin, int64_t end) {
        if (!all_inside(base + layout.offset() + begin, end - begin, extent)) inside = false;
      });
      if (inside) return;
    }
    int64_t at = 0;
    for_each_offset(layout, [&](int64_t offset) {
      const auto id = static_cast<int64_t>(base[offset]);
      if (is_nothing(base[offset], extent)) {
        holes = true;
      } else if (id < 0 || id >= extent) {
        fail_index(call.op, id, layout.shape(), at, dim, extent);
      }
      ++at;
    });
  });
  return holes;
}

// A vector of ids for slices of `dim`, seen as one id for each element of `shape`.
Layout spread(const Layout& ids, const Shape& shape, int dim) {
  std::array<int64_t, kMaxRank> strides{};
  strides[static_cast<size_t>(dim)] = ids.stride(0);
  return Layout(shape, std::span<const int64_t>(strides).first(static_cast<size_t>(shape.rank())), ids.offset());
}

template <class Word>
void copy_row(const Word* source, int64_t source_stride, Word* target, int64_t target_stride, int64_t count) {
  if (source_stride == 1 && target_stride == 1) {
    // A call of memcpy costs more than a few elements.
    if (count >= 32) {
      std::memcpy(target, source, static_cast<size_t>(count) * sizeof(Word));
    } else {
      for (int64_t i = 0; i < count; ++i) target[i] = source[i];
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) target[i * target_stride] = source[i * source_stride];
}

// What all rows of a walk share. Ids were checked, so that those of signed types are read as unsigned numbers of the same size.
struct WalkJob {
  const std::byte* ids;
  const std::byte* from;
  std::byte* to;
  int64_t step;      // from one id's element to the next one's
  uint64_t nothing;  // the id that means "nothing", as an unsigned number of its type; where no id does: one that the type does not hold
  const SimdKernels* kernels = nullptr;  // where rows are added
};
using RowLoop = void (*)(const WalkRow& row, const WalkJob& job);

// body(uint8_t{}), body(uint32_t{}) or body(uint64_t{}) by the size of an id.
template <class Body>
RowLoop for_ids(DType ids, Body&& body) {
  switch (info(ids).block_bytes) {
    case 1: return body(uint8_t{});
    case 4: return body(uint32_t{});
    default: return body(uint64_t{});
  }
}

// The largest number of the ids' type, if it means "nothing" to an operand of that extent.
uint64_t nothing_of(DType ids, int64_t extent) {
  uint64_t nothing = 0;
  visit_ids(ids, [&]<class Id>(Id) {
    constexpr Id kLast = std::numeric_limits<Id>::max();
    nothing = is_nothing(kLast, extent) ? static_cast<uint64_t>(kLast) : ~uint64_t{0};
  });
  return nothing;
}

void run_rows(const IndexWalk& walk, int64_t begin, int64_t end, RowLoop loop, const WalkJob& job) {
  walk.for_each_row(begin, end, [&](const WalkRow& row) { loop(row, job); });
}

template <class Id, class Word>
void gather_row(const WalkRow& row, const WalkJob& job) {
  const Id* ids = reinterpret_cast<const Id*>(job.ids) + row.offsets[kIds];
  const Word* source = reinterpret_cast<const Word*>(job.from) + row.offsets[kIndexed];
  Word* target = reinterpret_cast<Word*>(job.to) + row.offsets[kValues];
  // Copies: what a loop stores cannot change them.
  const auto [ids_stride, target_stride, stride] = row.strides;
  const int64_t step = job.step;
  const int64_t count = row.count;
  if (ids_stride == 0) return copy_row(source + static_cast<int64_t>(*ids) * step, stride, target, target_stride, count);
  if (ids_stride == 1 && target_stride == 1) {
    if (stride == 0 && step == 1) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < count; ++i) target[i] = source[static_cast<int64_t>(ids[i])];
    } else {
#pragma GCC unroll 4
      for (int64_t i = 0; i < count; ++i) target[i] = source[static_cast<int64_t>(ids[i]) * step + i * stride];
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) target[i * target_stride] = source[static_cast<int64_t>(ids[i * ids_stride]) * step + i * stride];
}

// The same where some ids mean "nothing".
template <class Id, class Word>
void gather_row_with_holes(const WalkRow& row, const WalkJob& job) {
  const auto* ids = reinterpret_cast<const Id*>(job.ids);
  for (int64_t i = 0; i < row.count; ++i) {
    const Id id = ids[row.offsets[kIds] + i * row.strides[kIds]];
    const int64_t chosen = row.offsets[kIndexed] + i * row.strides[kIndexed];
    reinterpret_cast<Word*>(job.to)[row.offsets[kValues] + i * row.strides[kValues]] =
        id == job.nothing ? Word{} : reinterpret_cast<const Word*>(job.from)[chosen + static_cast<int64_t>(id) * job.step];
  }
}

RowLoop gather_loop(DType ids, DType elements, bool holes) {
  return for_ids(ids, [&]<class Id>(Id) {
    RowLoop loop = nullptr;
    visit_word(elements, [&]<class Word>(Word) { loop = holes ? gather_row_with_holes<Id, Word> : gather_row<Id, Word>; });
    return loop;
  });
}

void gather_walk(const OpCall& call, const Layout& ids_layout, bool holes) {
  const Operand& x = call.inputs[0];
  const Operand& ids = call.inputs[1];
  const int dim = call.parameters<IndexParams>().dim;
  const IndexWalk walk(ids_layout, *call.outputs[0].layout, *x.layout, dim);
  const WalkJob job{ids.buffer->host_data(), x.buffer->host_data(), call.outputs[0].buffer->host_data(), walk.step(),
                    nothing_of(ids.dtype, x.layout->shape()[dim])};
  const RowLoop loop = gather_loop(ids.dtype, x.dtype, holes);
  runtime_of(call).threads().parallel_for(walk.elements(), kElementsPerThread,
                                          [&](int64_t begin, int64_t end) { run_rows(walk, begin, end, loop, job); });
}

// target = source, or target += source. Integers wrap around.
template <bool kAdd, class T>
void put(T& target, T value) {
  if constexpr (!kAdd) {
    target = value;
  } else if constexpr (std::is_integral_v<T>) {
    target = static_cast<T>(static_cast<uint64_t>(target) + static_cast<uint64_t>(value));
  } else {
    target += value;
  }
}

template <bool kAdd, class Id, class T>
void scatter_row(const WalkRow& row, const WalkJob& job) {
  const Id* ids = reinterpret_cast<const Id*>(job.ids) + row.offsets[kIds];
  const T* source = reinterpret_cast<const T*>(job.from) + row.offsets[kValues];
  T* target = reinterpret_cast<T*>(job.to) + row.offsets[kIndexed];
  // Copies: what a loop stores cannot change them.
  const auto [ids_stride, source_stride, stride] = row.strides;
  const int64_t step = job.step;
  const int64_t count = row.count;
  if (ids_stride == 0) {
    target += static_cast<int64_t>(*ids) * step;
    if constexpr (!kAdd) {
      copy_row(source, source_stride, target, stride, count);
    } else if (stride == 1 && source_stride == 1) {
      job.kernels->numbers<T>().add_row(source, target, static_cast<size_t>(count));
    } else {
      for (int64_t i = 0; i < count; ++i) put<kAdd>(target[i * stride], source[i * source_stride]);
    }
    return;
  }
  if (ids_stride == 1 && source_stride == 1) {
#pragma GCC unroll 2
    for (int64_t i = 0; i < count; ++i) put<kAdd>(target[static_cast<int64_t>(ids[i]) * step + i * stride], source[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    put<kAdd>(target[static_cast<int64_t>(ids[i * ids_stride]) * step + i * stride], source[i * source_stride]);
  }
}

// The same where some ids mean "nothing".
template <bool kAdd, class Id, class T>
void scatter_row_with_holes(const WalkRow& row, const WalkJob& job) {
  const auto* ids = reinterpret_cast<const Id*>(job.ids);
  for (int64_t i = 0; i < row.count; ++i) {
    const Id id = ids[row.offsets[kIds] + i * row.strides[kIds]];
    if (id == job.nothing) continue;
    const int64_t chosen = row.offsets[kIndexed] + i * row.strides[kIndexed];
    put<kAdd>(reinterpret_cast<T*>(job.to)[chosen + static_cast<int64_t>(id) * job.step],
              reinterpret_cast<const T*>(job.from)[row.offsets[kValues] + i * row.strides[kValues]]);
  }
}

template <bool kAdd, class T>
RowLoop scatter_loop_of(DType ids, bool holes) {
  return for_ids(ids, [&]<class Id>(Id) -> RowLoop {
    if (holes) return scatter_row_with_holes<kAdd, Id, T>;
    return scatter_row<kAdd, Id, T>;
  });
}

// A narrow float is added as f32; integers of one size wrap around to the same bits.
RowLoop add_loop(DType ids, DType elements, bool holes) {
  switch (elements) {
    case DType::u8:
    case DType::i8: return scatter_loop_of<true, uint8_t>(ids, holes);
    case DType::i16: return scatter_loop_of<true, int16_t>(ids, holes);
    case DType::u32:
    case DType::i32: return scatter_loop_of<true, uint32_t>(ids, holes);
    case DType::i64: return scatter_loop_of<true, int64_t>(ids, holes);
    case DType::f64: return scatter_loop_of<true, double>(ids, holes);
    default: return scatter_loop_of<true, float>(ids, holes);
  }
}

RowLoop move_loop(DType ids, DType elements, bool holes) {
  RowLoop loop = nullptr;
  visit_word(elements, [&]<class Word>(Word) { loop = scatter_loop_of<false, Word>(ids, holes); });
  return loop;
}

// The dimension other than dim with the largest extent: places that differ in it never write to the same element, so threads share it
// out and each element's writes stay in order. -1: there is none.
int dimension_to_split(const Shape& shape, int dim) {
  int best = -1;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != dim && (best < 0 || shape[d] > shape[best])) best = d;
  }
  return best;
}

struct ScatterJob {
  const Operand& ids;
  Layout ids_layout;  // of the source's shape
  const Operand& source;
  Layout target;
  int dim;
  bool holes;  // some ids mean "nothing"
};

// add(row, job) for each row of the walk, in the order of each element's writes; RowLoop, or what stands around one.
template <class Add>
void scatter_walk(const OpCall& call, const ScatterJob& job, std::byte* target, const Add& add) {
  const Shape& shape = job.source.layout->shape();
  const uint64_t nothing = nothing_of(job.ids.dtype, job.target.shape()[job.dim]);
  const auto run = [&](const Layout& id_part, const Layout& source_part, const Layout& target_part) {
    const IndexWalk walk(id_part, source_part, target_part, job.dim);
    const WalkJob walk_job{job.ids.buffer->host_data(), job.source.buffer->host_data(), target, walk.step(), nothing,
                           &runtime_of(call).kernels()};
    walk.for_each_row(0, walk.elements(), [&](const WalkRow& row) { add(row, walk_job); });
  };
  const int split = dimension_to_split(shape, job.dim);
  if (split < 0) return run(job.ids_layout, *job.source.layout, job.target);
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread * shape[split] / std::max<int64_t>(1, shape.elements()));
  runtime_of(call).threads().parallel_for(shape[split], grain, [&](int64_t begin, int64_t end) {
    run(job.ids_layout.narrow(split, begin, end - begin), job.source.layout->narrow(split, begin, end - begin),
        job.target.narrow(split, begin, end - begin));
  });
}

// Sums of a dtype narrower than f32: a row-major f32 copy of the whole target takes them, and is rounded back once.
void scatter_add_narrow(const OpCall& call, ScatterJob job, RowLoop loop) {
  const DType dtype = job.source.dtype;
  const int64_t size = info(dtype).block_bytes;
  CpuRuntime& runtime = runtime_of(call);
  const SimdKernels& kernels = runtime.kernels();
  std::byte* target = call.outputs[0].buffer->host_data();
  ScratchFrame frame(runtime.scratch(0));
  auto* sums = frame.take<float>(static_cast<size_t>(job.target.elements()));
  const Layout of_sums(job.target.shape());
  const IndexWalk both(job.target, of_sums);
  const auto for_each_row = [&](const auto& body) {
    runtime.threads().parallel_for(both.elements(), kElementsPerThread,
                                   [&](int64_t begin, int64_t end) { both.for_each_row(begin, end, body); });
  };
  for_each_row([&](const WalkRow& row) {
    read_strided(kernels, dtype, target + row.offsets[0] * size, row.strides[0], row.count, sums + row.offsets[1]);
  });
  job.target = of_sums;
  scatter_walk(call, job, reinterpret_cast<std::byte*>(sums), [&](const WalkRow& row, WalkJob chunk) {
    alignas(64) std::array<float, kChunk> values;  // NOLINT: uninitialised
    const std::byte* source = chunk.from + row.offsets[kValues] * size;
    chunk.from = reinterpret_cast<const std::byte*>(values.data());
    WalkRow part{{row.offsets[kIds], 0, row.offsets[kIndexed]}, {row.strides[kIds], 1, row.strides[kIndexed]}, 0};
    for (int64_t at = 0; at < row.count; at += part.count) {
      part.count = std::min(kChunk, row.count - at);
      read_strided(kernels, dtype, source + at * row.strides[kValues] * size, row.strides[kValues], part.count, values.data());
      loop(part, chunk);
      for (const size_t operand : {kIds, kIndexed}) part.offsets[operand] += part.count * part.strides[operand];
    }
  });
  for_each_row([&](const WalkRow& row) {
    write_strided(kernels, sums + row.offsets[1], row.count, dtype, target + row.offsets[0] * size, row.strides[0]);
  });
}

void add_any(const OpCall& call, const ScatterJob& job) {
  const RowLoop loop = add_loop(job.ids.dtype, job.source.dtype, job.holes);
  if (is_narrow_float(job.source.dtype)) return scatter_add_narrow(call, job, loop);
  scatter_walk(call, job, call.outputs[0].buffer->host_data(), loop);
}

// Whole rows of memory by number. The processor cannot guess where the next ones are, so they are asked for ahead of their turn.
template <class Id>
void select_rows(const OpCall& call, const Id* ids, size_t row_bytes) {
  constexpr int64_t kAhead = 8;
  constexpr size_t kLine = 64;
  const Operand& x = call.inputs[0];
  const int64_t size = info(x.dtype).block_bytes;
  const int64_t ids_stride = call.inputs[1].layout->stride(0);
  const std::byte* source = x.buffer->host_data() + x.layout->offset() * size;
  const int64_t step = x.layout->stride(0) * size;
  std::byte* target = call.outputs[0].buffer->host_data() + call.outputs[0].layout->offset() * size;
  const int64_t rows = call.outputs[0].layout->shape()[0];
  const auto place = [&](int64_t row) { return source + static_cast<int64_t>(ids[row * ids_stride]) * step; };
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread * 4 / static_cast<int64_t>(row_bytes));
  runtime_of(call).threads().parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (row + kAhead < end) {
        const std::byte* next = place(row + kAhead);
        for (size_t line = 0; line < std::min(row_bytes, 4 * kLine); line += kLine) __builtin_prefetch(next + line);
      }
      std::memcpy(target + static_cast<size_t>(row) * row_bytes, place(row), row_bytes);
    }
  });
}

// Whether each slice of the first dimension is one run of memory, long enough for memcpy.
bool has_solid_rows(const Layout& layout) {
  constexpr int64_t kShortest = 8;
  const Layout row = layout.narrow(0, 0, 1);
  return row.elements() >= kShortest && row.is_contiguous();
}

}  // namespace

void gather_any(const OpCall& call) {
  const int dim = call.parameters<IndexParams>().dim;
  const bool holes = check_ids(call, call.inputs[1], dim, call.inputs[0].layout->shape()[dim]);
  gather_walk(call, *call.inputs[1].layout, holes);
}

void index_select_any(const OpCall& call) {
  const Operand& x = call.inputs[0];
  const Operand& ids = call.inputs[1];
  const int dim = call.parameters<IndexParams>().dim;
  const bool holes = check_ids(call, ids, dim, x.layout->shape()[dim]);
  if (!holes && dim == 0 && has_solid_rows(*x.layout)) {
    const int64_t row_elements = x.layout->elements() / x.layout->shape()[0];
    visit_ids(ids.dtype, [&]<class Id>(Id) {
      select_rows(call, data_of<const Id>(ids), static_cast<size_t>(row_elements * info(x.dtype).block_bytes));
    });
    return;
  }
  gather_walk(call, spread(*ids.layout, call.outputs[0].layout->shape(), dim), holes);
}

void scatter_any(const OpCall& call) {
  const auto& [dim, add] = call.parameters<ScatterParams>();
  const Operand& target = call.outputs[0];
  const bool holes = check_ids(call, call.inputs[0], dim, target.layout->shape()[dim]);
  const ScatterJob job{call.inputs[0], *call.inputs[0].layout, call.inputs[1], *target.layout, dim, holes};
  if (add) return add_any(call, job);
  scatter_walk(call, job, target.buffer->host_data(), move_loop(job.ids.dtype, target.dtype, holes));
}

void index_add_any(const OpCall& call) {
  const int dim = call.parameters<IndexParams>().dim;
  const Operand& ids = call.inputs[0];
  const Operand& source = call.inputs[1];
  const bool holes = check_ids(call, ids, dim, call.outputs[0].layout->shape()[dim]);
  add_any(call, {ids, spread(*ids.layout, source.layout->shape(), dim), source, *call.outputs[0].layout, dim, holes});
}

}  // namespace wick::cpu
