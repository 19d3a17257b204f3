// Running sums along the last dimension. Floats are summed in f64 and each sum is rounded once, so that a million f32 numbers lose
// nothing; integers wrap around. The order of additions depends on the shape alone, never on the number of threads.
#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/ops/index_walk.h"
#include "wick/backend/cpu/ops/visit_dtype.h"

namespace wick::cpu {
namespace {

// Columns that are scanned side by side: their sums stay in the first-level cache.
constexpr int64_t kColumns = 512;
// Rows of this many blocks or more are scanned block by block, so that a single row keeps all threads busy.
constexpr int64_t kBlock = 8192;
constexpr int64_t kBlocksToShare = 8;

template <class T>
using SumOf = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <class T>
T narrowed(SumOf<T> sum) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return static_cast<T>(sum);
  } else {
    return T(round_to_odd(sum));
  }
}

// One scan: `count` elements, `stride` apart.
template <class T>
SumOf<T> sum_of(const T* x, int64_t stride, int64_t count) {
  SumOf<T> sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<SumOf<T>>(x[i * stride]);
  return sum;
}

template <class T>
void scan(const T* x, int64_t stride, T* out, int64_t out_stride, int64_t count, SumOf<T> before) {
  SumOf<T> sum = before;
#pragma GCC unroll 4
  for (int64_t i = 0; i < count; ++i) {
    sum += static_cast<SumOf<T>>(x[i * stride]);
    out[i * out_stride] = narrowed<T>(sum);
  }
}

// `columns` neighbouring scans at once, row by row of memory.
template <class T>
void scan_columns(const T* x, int64_t stride, T* out, int64_t out_stride, int64_t count, int64_t columns) {
  std::array<SumOf<T>, kColumns> sums{};
  for (int64_t i = 0; i < count; ++i) {
    const T* row = x + i * stride;
    T* target = out + i * out_stride;
    for (int64_t c = 0; c < columns; ++c) {
      sums[static_cast<size_t>(c)] += static_cast<SumOf<T>>(row[c]);
      target[c] = narrowed<T>(sums[static_cast<size_t>(c)]);
    }
  }
}

// The sums of all blocks first, then each block from the sum of those before it.
template <class T>
void scan_blocks(CpuRuntime& runtime, const T* x, int64_t stride, T* out, int64_t out_stride, int64_t count) {
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  ScratchFrame frame(runtime.scratch(0));
  auto* sums = frame.take<SumOf<T>>(static_cast<size_t>(blocks));
  const auto length = [&](int64_t block) { return std::min(kBlock, count - block * kBlock); };
  runtime.threads().parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) sums[b] = sum_of(x + b * kBlock * stride, stride, length(b));
  });
  SumOf<T> before = 0;
  for (int64_t b = 0; b < blocks; ++b) before += std::exchange(sums[b], before);
  runtime.threads().parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      scan(x + b * kBlock * stride, stride, out + b * kBlock * out_stride, out_stride, length(b), sums[b]);
    }
  });
}

template <class T>
void cumsum(const OpCall& call) {
  const Layout& from = *call.inputs[0].layout;
  const Layout& to = *call.outputs[0].layout;
  const int last = from.rank() - 1;
  const int64_t count = from.shape()[last];
  const int64_t stride = from.stride(last);
  const int64_t out_stride = to.stride(last);
  const IndexWalk rows(from.narrow(last, 0, 1), to.narrow(last, 0, 1));
  const auto* x = reinterpret_cast<const T*>(call.inputs[0].buffer->host_data());
  auto* out = reinterpret_cast<T*>(call.outputs[0].buffer->host_data());
  CpuRuntime& runtime = runtime_of(call);
  const auto visit = [&](const WalkRow& row, bool in_blocks) {
    const T* source = x + row.offsets[0];
    T* target = out + row.offsets[1];
    if (row.strides[0] == 1 && row.strides[1] == 1 && row.count > 1) {
      for (int64_t c = 0; c < row.count; c += kColumns) {
        scan_columns(source + c, stride, target + c, out_stride, count, std::min(kColumns, row.count - c));
      }
      return;
    }
    for (int64_t i = 0; i < row.count; ++i) {
      const T* start = source + i * row.strides[0];
      T* end = target + i * row.strides[1];
      if (in_blocks) scan_blocks(runtime, start, stride, end, out_stride, count);
      if (!in_blocks) scan(start, stride, end, out_stride, count, SumOf<T>{});
    }
  };
  if (count >= kBlock * kBlocksToShare && rows.elements() < 64) {
    rows.for_each_row(0, rows.elements(), [&](const WalkRow& row) { visit(row, true); });
    return;
  }
  runtime.threads().parallel_for(rows.elements(), std::max<int64_t>(1, kElementsPerThread / count), [&](int64_t begin, int64_t end) {
    rows.for_each_row(begin, end, [&](const WalkRow& row) { visit(row, false); });
  });
}

}  // namespace

void cumsum_any(const OpCall& call) {
  visit_dtype(call.inputs[0].dtype, [&]<class T>(T) { cumsum<T>(call); });
}

}  // namespace wick::cpu
