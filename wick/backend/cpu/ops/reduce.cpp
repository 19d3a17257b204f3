// Reductions over the last dimensions of any view. Where the reduced dimensions lie densest, each result takes in runs of them; where a
// kept dimension does, many results take in rows of it at once.
//
// The work is cut into segments whose ends depend on the shape alone, and their results are joined in order: the answer does not depend
// on the number of threads. Sums of f32 are made in blocks of at most 1024 elements (32 rows) and the blocks' sums in f64.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>
#include <utility>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/ops/axes.h"
#include "wick/backend/cpu/ops/convert.h"
#include "wick/backend/cpu/ops/number_visit.h"
#include "wick/backend/cpu/ops/strided.h"

namespace wick::cpu {
namespace {

constexpr int64_t kSegment = 1 << 18;
constexpr int64_t kColumns = 2048;
constexpr int64_t kRowsPerSum = 32;

struct Problem {
  const SimdKernels* kernels = nullptr;
  ThreadPool* threads = nullptr;
  ReduceKind kind = ReduceKind::sum;
  DType dtype = DType::f32;
  DType out_dtype = DType::f32;
  int64_t size = 4;  // of an input's element
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  Axes kept;
  Axes reduced;
  int64_t length = 1;  // elements behind each result

  [[nodiscard]] bool gives_place() const { return kind == ReduceKind::argmin || kind == ReduceKind::argmax; }
  [[nodiscard]] bool smallest() const { return kind == ReduceKind::min || kind == ReduceKind::argmin; }
  [[nodiscard]] bool sums() const { return kind == ReduceKind::sum || kind == ReduceKind::mean; }
};

Problem problem_of(const OpCall& call) {
  Problem problem;
  const ReduceParams& params = call.parameters<ReduceParams>();
  const Operand& in = call.inputs[0];
  const Operand& out = call.outputs[0];
  CpuRuntime& runtime = runtime_of(call);
  problem.kernels = &runtime.kernels();
  problem.threads = &runtime.threads();
  problem.kind = params.kind;
  problem.dtype = in.dtype;
  problem.out_dtype = out.dtype;
  problem.size = info(in.dtype).block_bytes;
  problem.in = in.buffer->host_data() + in.layout->offset() * problem.size;
  const int64_t out_size = info(out.dtype).block_bytes;
  problem.out = out.buffer->host_data() + out.layout->offset() * out_size;
  const Shape& shape = in.layout->shape();
  const int kept = shape.rank() - params.dims;
  for (int dim = 0; dim < kept; ++dim)
    problem.kept.push({shape[dim], in.layout->stride(dim) * problem.size, out.layout->stride(dim) * out_size});
  std::array<Axis, kMaxRank> reduced;
  for (int dim = kept; dim < shape.rank(); ++dim)
    reduced[static_cast<size_t>(dim - kept)] = {shape[dim], in.layout->stride(dim) * problem.size, 0};
  const auto list = std::span(reduced).first(static_cast<size_t>(params.dims));
  // Only places care for the order of the elements.
  for (size_t end = list.size(); !problem.gives_place() && end > 1; --end) {  // at most eight: bubbles are quick
    for (size_t at = 1; at < end; ++at) {
      if (std::abs(list[at - 1].step) < std::abs(list[at].step)) std::swap(list[at - 1], list[at]);
    }
  }
  for (const Axis& axis : list) problem.reduced.push(axis);
  problem.length = problem.reduced.count();
  return problem;
}

template <class T>
bool is_nan(T x) {
  return x != x;
}

// The first element that equals `best`, or is NaN; there is one. Sixteen at a time, which become vector code.
template <class T>
const T* first_of(const T* x, int64_t n, T best) {
  constexpr int64_t kStep = 16;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    int found = 0;
    for (int64_t j = 0; j < kStep; ++j) found |= static_cast<int>(x[i + j] == best) | static_cast<int>(is_nan(x[i + j]));
    if (found != 0) break;
  }
  return std::find_if(x + i, x + n, [best](T value) { return value == best || is_nan(value); });
}

// What some of the elements behind one result have given.
template <class T>
struct Partial {
  typename SumOf<T>::Type sum = 0;
  T best = 0;
  uint32_t place = 0;
};

template <class T>
class Reducer {
 public:
  explicit Reducer(const Problem& problem) : p_(problem), loops_(problem.kernels->numbers<T>()), narrow_(is_narrow_float(problem.dtype)) {}

  void run(Scratch& scratch) {
    if (const int column = column_axis(); column >= 0) {
      by_columns(scratch, column);
    } else {
      by_runs(scratch);
    }
  }

 private:
  using Sum = typename SumOf<T>::Type;

  [[nodiscard]] bool beats(T x, T best) const { return (p_.smallest() ? x < best : x > best) || (is_nan(x) && !is_nan(best)); }

  void join(Partial<T>& into, const Partial<T>& next) const {
    into.sum += next.sum;
    if (!beats(next.best, into.best)) return;
    into.best = next.best;
    into.place = next.place;
  }

  void write(const Partial<T>& partial, std::byte* out) const {
    if (p_.gives_place()) {
      *reinterpret_cast<uint32_t*>(out) = partial.place;
    } else if (std::is_integral_v<T> || !p_.sums()) {
      const T value = p_.sums() ? static_cast<T>(partial.sum) : partial.best;
      if (narrow_) {
        convert_elements(*p_.kernels, DType::f32, reinterpret_cast<const std::byte*>(&value), p_.out_dtype, out, 1);
      } else {
        *reinterpret_cast<T*>(out) = value;
      }
    } else {
      const auto value = static_cast<double>(partial.sum) / (p_.kind == ReduceKind::mean ? static_cast<double>(p_.length) : 1.0);
      if (narrow_) {
        convert_elements(*p_.kernels, DType::f64, reinterpret_cast<const std::byte*>(&value), p_.out_dtype, out, 1);
      } else {
        *reinterpret_cast<T*>(out) = static_cast<T>(value);
      }
    }
  }

  // --- By runs: the elements behind one result, one after another ---

  // Calls visit(numbers, n, place of the first) for reduced elements [begin, end).
  template <class Visit>
  void for_each_chunk(const std::byte* base, int64_t begin, int64_t end, const Visit& visit) const {
    const Axis inner = p_.reduced.rank == 0 ? Axis{1, p_.size, 0} : p_.reduced.list[static_cast<size_t>(p_.reduced.rank - 1)];
    if (!narrow_ && inner.step == p_.size && (inner.extent >= kChunk / 8 || p_.reduced.rank <= 1)) {
      for (int64_t at = begin; at < end;) {
        const int64_t n = std::min({inner.extent - at % inner.extent, end - at, p_.sums() ? kSegment : kChunk});
        visit(reinterpret_cast<const T*>(base + place_of(p_.reduced, at).in), n, at);
        at += n;
      }
      return;
    }
    alignas(64) std::array<std::byte, kChunk * sizeof(T)> raw;  // NOLINT: uninitialised
    alignas(64) std::array<T, kChunk> numbers;                  // NOLINT: uninitialised
    for (int64_t at = begin; at < end;) {
      const int64_t n = std::min(kChunk, end - at);
      for (int64_t filled = 0; filled < n;) {
        const int64_t count = std::min(inner.extent - (at + filled) % inner.extent, n - filled);
        copy_elements(base + place_of(p_.reduced, at + filled).in, inner.step, raw.data() + filled * p_.size, p_.size, count, p_.size);
        filled += count;
      }
      visit(as_numbers(raw.data(), n, numbers.data()), n, at);
      at += n;
    }
  }

  // Contiguous elements as numbers: themselves where they are that, else widened into `room`.
  const T* as_numbers(const std::byte* raw, int64_t n, T* room) const {
    if constexpr (std::is_same_v<T, float>) {
      if (narrow_) {
        read_numbers(*p_.kernels, p_.dtype, raw, n, room);
        return room;
      }
    }
    return reinterpret_cast<const T*>(raw);
  }

  [[nodiscard]] Partial<T> reduce_run(const std::byte* base, int64_t begin, int64_t end) const {
    Partial<T> partial;
    bool first = true;
    for_each_chunk(base, begin, end, [&](const T* x, int64_t n, int64_t place) {
      const auto count = static_cast<size_t>(n);
      if (p_.sums()) {
        partial.sum += loops_.sum(x, count);
        return;
      }
      const T best = p_.smallest() ? loops_.smallest(x, count) : loops_.largest(x, count);
      if (!first && !beats(best, partial.best)) return;
      first = false;
      partial.best = best;
      if (!p_.gives_place()) return;
      const T* at = first_of(x, n, best);
      partial.place = static_cast<uint32_t>(place + (at - x));
    });
    return partial;
  }

  void by_runs(Scratch& scratch) {
    const int64_t results = p_.kept.count();
    const int64_t segments = (p_.length + kSegment - 1) / kSegment;
    const int64_t grain = std::max<int64_t>(1, kCopiedElementsPerThread / std::min(p_.length, kSegment));
    ScratchFrame frame(scratch);
    auto* partials = segments == 1 ? nullptr : frame.take<Partial<T>>(static_cast<size_t>(results * segments));
    p_.threads->parallel_for(results * segments, grain, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const Place place = place_of(p_.kept, unit / segments);
        const int64_t first = unit % segments * kSegment;
        const Partial<T> partial = reduce_run(p_.in + place.in, first, std::min(first + kSegment, p_.length));
        if (segments == 1) {
          write(partial, p_.out + place.out);
        } else {
          partials[unit] = partial;
        }
      }
    });
    for (int64_t result = 0; segments > 1 && result < results; ++result) {
      Partial<T> total = partials[result * segments];
      for (int64_t segment = 1; segment < segments; ++segment) join(total, partials[result * segments + segment]);
      write(total, p_.out + place_of(p_.kept, result).out);
    }
  }

  // --- By columns: rows of a kept dimension, one accumulator for each of its results ---

  // The kept axis that lies denser than every reduced one; -1 where there is none.
  [[nodiscard]] int column_axis() const {
    int64_t densest = INT64_MAX;
    for (const Axis& axis : p_.reduced.all()) densest = std::min(densest, std::abs(axis.step));
    int found = -1;
    for (int dim = 0; dim < p_.kept.rank; ++dim) {
      const Axis& axis = p_.kept.list[static_cast<size_t>(dim)];
      if (axis.step == 0 || std::abs(axis.step) >= densest || axis.extent < 4) continue;
      densest = std::abs(axis.step);
      found = dim;
    }
    return found;
  }

  struct Accumulators {
    alignas(64) std::array<T, kColumns> row;
    alignas(64) std::array<T, kColumns> best;  // or the sum of the last few rows
    alignas(64) std::array<Sum, kColumns> sum;
    alignas(64) std::array<uint32_t, kColumns> place;
    alignas(64) std::array<std::byte, kColumns * 2> raw;  // of narrow elements
  };

  const T* row_at(const std::byte* source, int64_t step, int64_t n, Accumulators& a) const {
    if (step == p_.size && !narrow_) return reinterpret_cast<const T*>(source);
    if (!narrow_) {
      copy_elements(source, step, reinterpret_cast<std::byte*>(a.row.data()), p_.size, n, p_.size);
      return a.row.data();
    }
    if (step == p_.size) return as_numbers(source, n, a.row.data());
    copy_elements(source, step, a.raw.data(), p_.size, n, p_.size);
    return as_numbers(a.raw.data(), n, a.row.data());
  }

  void flush(Accumulators& a, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      a.sum[static_cast<size_t>(i)] += static_cast<Sum>(a.best[static_cast<size_t>(i)]);
      a.best[static_cast<size_t>(i)] = 0;
    }
  }

  void take_row(const T* x, int64_t number, bool first, int64_t n, Accumulators& a) const {
    const auto count = static_cast<size_t>(n);
    if (p_.sums()) {
      loops_.add_row(x, a.best.data(), count);
    } else if (first) {
      std::copy_n(x, n, a.best.begin());
      if (p_.gives_place()) std::fill_n(a.place.begin(), n, static_cast<uint32_t>(number));
    } else if (p_.gives_place()) {
      (p_.smallest() ? loops_.smallest_place : loops_.largest_place)(x, a.best.data(), a.place.data(), static_cast<uint32_t>(number),
                                                                     count);
    } else {
      (p_.smallest() ? loops_.smallest_row : loops_.largest_row)(x, a.best.data(), count);
    }
  }

  // Rows [begin, end) of the reduced elements into n columns from `base` on.
  void reduce_columns(const std::byte* base, int64_t step, int64_t n, int64_t begin, int64_t end, Accumulators& a) const {
    if (p_.sums()) {
      std::fill_n(a.sum.begin(), n, Sum{0});
      std::fill_n(a.best.begin(), n, T{0});
    }
    const Axis inner = p_.reduced.rank == 0 ? Axis{1, 0, 0} : p_.reduced.list[static_cast<size_t>(p_.reduced.rank - 1)];
    for (int64_t number = begin; number < end;) {
      const std::byte* source = base + place_of(p_.reduced, number).in;
      const int64_t run_end = std::min(end, number + inner.extent - number % inner.extent);
      for (; number < run_end; ++number, source += inner.step) {
        take_row(row_at(source, step, n, a), number, number == begin, n, a);
        if (p_.sums() && (number - begin) % kRowsPerSum == kRowsPerSum - 1) flush(a, n);
      }
    }
    if (p_.sums()) flush(a, n);
  }

  [[nodiscard]] Partial<T> partial_at(const Accumulators& a, int64_t i) const {
    const auto at = static_cast<size_t>(i);
    Partial<T> partial;
    if (p_.sums()) {
      partial.sum = a.sum[at];
    } else {
      partial.best = a.best[at];
      if (p_.gives_place()) partial.place = a.place[at];
    }
    return partial;
  }

  void by_columns(Scratch& scratch, int column) {
    const Axis columns = p_.kept.list[static_cast<size_t>(column)];
    Axes others;
    for (int dim = 0; dim < p_.kept.rank; ++dim) {
      if (dim != column) others.push(p_.kept.list[static_cast<size_t>(dim)]);
    }
    const int64_t width = std::min(columns.extent, kColumns);
    const int64_t blocks = (columns.extent + width - 1) / width;
    const int64_t rows = std::max<int64_t>(kRowsPerSum, kSegment / width);  // of a segment
    const int64_t segments = (p_.length + rows - 1) / rows;
    const int64_t places = others.count() * blocks;
    ScratchFrame frame(scratch);
    auto* partials = segments == 1 ? nullptr : frame.take<Partial<T>>(static_cast<size_t>(places * segments * width));
    const int64_t grain = std::max<int64_t>(1, kCopiedElementsPerThread / (width * std::min(rows, p_.length)));
    p_.threads->parallel_for(places * segments, grain, [&](int64_t begin, int64_t end) {
      Accumulators a;  // NOLINT: uninitialised
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t block = unit / segments;
        const Place place = place_of(others, block / blocks);
        const int64_t first = block % blocks * width;
        const int64_t n = std::min(width, columns.extent - first);
        const int64_t row = unit % segments * rows;
        reduce_columns(p_.in + place.in + first * columns.step, columns.step, n, row, std::min(row + rows, p_.length), a);
        std::byte* out = p_.out + place.out + first * columns.out_step;
        for (int64_t i = 0; i < n; ++i) {
          if (segments == 1) {
            write(partial_at(a, i), out + i * columns.out_step);
          } else {
            partials[unit * width + i] = partial_at(a, i);
          }
        }
      }
    });
    if (segments == 1) return;
    for (int64_t block = 0; block < places; ++block) {
      const int64_t first = block % blocks * width;
      std::byte* out = p_.out + place_of(others, block / blocks).out + first * columns.out_step;
      for (int64_t i = 0; i < std::min(width, columns.extent - first); ++i) {
        Partial<T> total = partials[block * segments * width + i];
        for (int64_t segment = 1; segment < segments; ++segment) join(total, partials[(block * segments + segment) * width + i]);
        write(total, out + i * columns.out_step);
      }
    }
  }

  const Problem& p_;
  const NumberLoops<T>& loops_;
  bool narrow_;
};

}  // namespace

void reduce_any(const OpCall& call) {
  const Problem problem = problem_of(call);
  visit_number(problem.dtype, [&]<class T>(T) { Reducer<T>(problem).run(runtime_of(call).scratch(0)); });
}

}  // namespace wick::cpu
