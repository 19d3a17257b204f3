// Ops along the last dimension, and rope, for every float dtype and layout. Short rows are split over the threads whole; a long row is
// split itself, in pieces whose ends depend on its length alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/ops/axes.h"
#include "wick/backend/cpu/ops/convert.h"
#include "wick/backend/cpu/ops/number_visit.h"
#include "wick/backend/cpu/ops/strided.h"

namespace wick::cpu {
namespace {

bool has_rows_for_threads(int64_t count, int64_t length) { return count > std::max<int64_t>(1, kElementsPerThread / length); }
// Rows longer than this are split.
constexpr int64_t kLongRow = 1 << 18;
constexpr int64_t kPiece = 1 << 16;
// So many strided rows are gathered together, since they often lie side by side.
constexpr int64_t kGatheredRows = 16;

// The rows of x and of the result.
struct Rows {
  Axes axes;
  int64_t length = 1;
  int64_t step = 0;  // bytes between a row's elements
  int64_t out_step = 0;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  DType dtype = DType::f32;
  int64_t size = 4;

  [[nodiscard]] bool is_direct() const { return step == size && out_step == size && !is_narrow_float(dtype); }
};

Rows rows_of(const OpCall& call) {
  const Operand& x = call.inputs[0];
  const Operand& result = call.outputs[0];
  const Shape& shape = x.layout->shape();
  const int last = shape.rank() - 1;
  Rows rows;
  rows.dtype = x.dtype;
  rows.size = info(x.dtype).block_bytes;
  rows.length = shape.last();
  const bool single = rows.length == 1;
  rows.step = single ? rows.size : x.layout->stride(last) * rows.size;
  rows.out_step = single ? rows.size : result.layout->stride(last) * rows.size;
  rows.in = x.buffer->host_data() + x.layout->offset() * rows.size;
  rows.out = result.buffer->host_data() + result.layout->offset() * rows.size;
  for (int dim = 0; dim < last; ++dim)
    rows.axes.push({shape[dim], x.layout->stride(dim) * rows.size, result.layout->stride(dim) * rows.size});
  return rows;
}

// One row in pieces: the whole of it, or one after another for all threads.
class Pieces {
 public:
  Pieces(int64_t length, ThreadPool* threads, Scratch& scratch) : length_(length), threads_(threads), scratch_(scratch) {}

  template <class Body>
  void each(const Body& body) const {
    if (threads_ == nullptr) return body(int64_t{0}, length_);
    threads_->parallel_for(count(), 1, [&](int64_t begin, int64_t end) { body(begin * kPiece, std::min(length_, end * kPiece)); });
  }
  // The pieces' values, joined in order.
  template <class Value, class Join>
  [[nodiscard]] double joined(const Value& value, const Join& join) const {
    if (threads_ == nullptr) return value(int64_t{0}, length_);
    ScratchFrame frame(scratch_);
    auto* values = frame.take<double>(static_cast<size_t>(count()));
    threads_->parallel_for(count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) values[piece] = value(piece * kPiece, std::min(length_, (piece + 1) * kPiece));
    });
    double total = values[0];
    for (int64_t piece = 1; piece < count(); ++piece) total = join(total, values[piece]);
    return total;
  }
  template <class Value>
  [[nodiscard]] double sum(const Value& value) const {
    return joined(value, [](double a, double b) { return a + b; });
  }

 private:
  [[nodiscard]] int64_t count() const { return (length_ + kPiece - 1) / kPiece; }

  int64_t length_;
  ThreadPool* threads_;
  Scratch& scratch_;
};

// Rows at one distance from each other.
struct RowRun {
  Place place;
  Axis distance;
  int64_t count;
};

// Calls body(x, out, pieces) for the rows of a run.
template <class T, class Body>
void staged_rows(const Rows& rows, const SimdKernels& kernels, Scratch& scratch, ThreadPool* threads, const RowRun& run, const Body& body) {
  const auto& [place, distance, count] = run;
  const auto length = static_cast<size_t>(rows.length);
  const Pieces pieces(rows.length, threads, scratch);
  const bool gathers = rows.step != rows.size;
  ScratchFrame frame(scratch);
  std::byte* raw = nullptr;
  if (gathers) {
    raw = frame.take<std::byte>(length * static_cast<size_t>(count * rows.size));
    const int64_t raw_row = rows.length * rows.size;
    if (std::abs(distance.step) < std::abs(rows.step)) {
      for (int64_t i = 0; i < rows.length; ++i)
        copy_elements(rows.in + place.in + i * rows.step, distance.step, raw + i * rows.size, raw_row, count, rows.size);
    } else {
      for (int64_t row = 0; row < count; ++row)
        copy_elements(rows.in + place.in + row * distance.step, rows.step, raw + row * raw_row, rows.size, rows.length, rows.size);
    }
  }
  for (int64_t row = 0; row < count; ++row) {
    ScratchFrame row_frame(scratch);
    const std::byte* source = gathers ? raw + row * rows.length * rows.size : rows.in + place.in + row * distance.step;
    std::byte* target = rows.out + place.out + row * distance.out_step;
    const T* x = reinterpret_cast<const T*>(source);
    if (is_narrow_float(rows.dtype)) {
      auto* numbers = row_frame.take<T>(length);
      read_numbers(kernels, rows.dtype, source, rows.length, numbers);
      x = numbers;
    }
    const bool writes = rows.out_step == rows.size && !is_narrow_float(rows.dtype);
    T* out = writes ? reinterpret_cast<T*>(target) : row_frame.take<T>(length);
    body(x, out, pieces);
    if (writes) continue;
    std::byte* narrow = reinterpret_cast<std::byte*>(out);
    if (is_narrow_float(rows.dtype)) {
      narrow = rows.out_step == rows.size ? target : row_frame.take<std::byte>(length * sizeof(T));
      write_numbers(kernels, out, rows.length, rows.dtype, narrow);
    }
    if (narrow != target) copy_elements(narrow, rows.size, target, rows.out_step, rows.length, rows.size);
  }
}

// Calls body(x, out, pieces) for each row as numbers of type T; x and out do not overlap.
template <class T, class Body>
void for_each_row(const OpCall& call, const Body& body) {
  const Rows rows = rows_of(call);
  CpuRuntime& runtime = runtime_of(call);
  const Axis inner = rows.axes.rank == 0 ? Axis{1, 0, 0} : rows.axes.list[static_cast<size_t>(rows.axes.rank - 1)];
  const int64_t count = rows.axes.count();
  const bool is_long = rows.length > kLongRow;
  const auto run_share = [&](Scratch& scratch, ThreadPool* threads, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      const int64_t most = is_long ? 1 : kGatheredRows;
      const int64_t together = std::min({end - row, inner.extent - row % inner.extent, most});
      staged_rows<T>(rows, runtime.kernels(), scratch, threads, {place_of(rows.axes, row), inner, together}, body);
      row += together;
    }
  };
  if (is_long) return run_share(runtime.scratch(0), &runtime.threads(), 0, count);
  share_equally(runtime, count, has_rows_for_threads(count, rows.length),
                [&](Scratch& scratch, int64_t begin, int64_t end) { run_share(scratch, nullptr, begin, end); });
}

template <class T>
void softmax(const OpCall& call) {
  const bool log = call.parameters<SoftmaxParams>().log;
  const SimdKernels& kernels = runtime_of(call).kernels();
  const NumberLoops<T>& numbers = kernels.numbers<T>();
  const RowLoops<T>& loops = kernels.rows<T>();
  for_each_row<T>(call, [&](const T* x, T* out, const Pieces& pieces) {
    // NaN is the largest, and makes the row NaN.
    const auto largest = static_cast<T>(pieces.joined(
        [&](int64_t begin, int64_t end) { return static_cast<double>(numbers.largest(x + begin, static_cast<size_t>(end - begin))); },
        [](double a, double b) { return a > b || std::isnan(a) ? a : b; }));
    const double sum = pieces.sum([&](int64_t begin, int64_t end) {
      return loops.exp_and_sum(x + begin, largest, log ? nullptr : out + begin, static_cast<size_t>(end - begin));
    });
    pieces.each([&](int64_t begin, int64_t end) {
      const auto n = static_cast<size_t>(end - begin);
      if (log) return loops.subtract(x + begin, largest, static_cast<T>(std::log(sum)), out + begin, n);
      loops.scale(out + begin, static_cast<T>(1 / sum), out + begin, n);
    });
  });
}

template <class T>
void normalize(const OpCall& call, bool centred, double epsilon) {
  const SimdKernels& kernels = runtime_of(call).kernels();
  const NumberLoops<T>& numbers = kernels.numbers<T>();
  const RowLoops<T>& loops = kernels.rows<T>();
  const auto length = static_cast<double>(call.inputs[0].layout->shape().last());
  const auto* weight = data_of<const T>(call.inputs[1]);
  const auto* bias = centred ? data_of<const T>(call.inputs[2]) : nullptr;
  for_each_row<T>(call, [&](const T* x, T* out, const Pieces& pieces) {
    T mean = 0;
    if (centred) {
      const double sum = pieces.sum(
          [&](int64_t begin, int64_t end) { return static_cast<double>(numbers.sum(x + begin, static_cast<size_t>(end - begin))); });
      mean = static_cast<T>(sum / length);
    }
    const double squares =
        pieces.sum([&](int64_t begin, int64_t end) { return loops.sum_of_squares(x + begin, mean, static_cast<size_t>(end - begin)); });
    const auto factor = static_cast<T>(1 / std::sqrt(squares / length + epsilon));
    pieces.each([&](int64_t begin, int64_t end) {
      loops.normalize(x + begin, {mean, factor, weight + begin, bias == nullptr ? nullptr : bias + begin}, out + begin,
                      static_cast<size_t>(end - begin));
    });
  });
}

template <class T>
void add_and_normalize(const OpCall& call) {
  const Operand& x = call.inputs[0];
  CpuRuntime& runtime = runtime_of(call);
  const SimdKernels& kernels = runtime.kernels();
  const BinaryLoop<T> add = kernels.numbers<T>().binary[static_cast<size_t>(BinaryKind::add)][static_cast<size_t>(Splat::none)];
  const RowLoops<T>& loops = kernels.rows<T>();
  const int64_t length = x.layout->shape().last(), count = x.layout->elements() / length, size = info(x.dtype).block_bytes;
  const auto n = static_cast<size_t>(length);
  const bool narrow = is_narrow_float(x.dtype);
  const double epsilon = static_cast<double>(call.parameters<RmsNormParams>().epsilon);
  const auto row_of = [&](const Operand& operand, int64_t row) {
    return operand.buffer->host_data() + (operand.layout->offset() + row * length) * size;
  };
  const auto run_share = [&](Scratch& scratch, int64_t begin, int64_t end) {
    ScratchFrame frame(scratch);
    T* numbers = narrow ? frame.take<T>(2 * n) : nullptr;
    for (int64_t row = begin; row < end; ++row) {
      const auto number_of = [&](const Operand& operand, T* staging) -> const T* {
        if (!narrow) return reinterpret_cast<const T*>(row_of(operand, row));
        read_numbers(kernels, x.dtype, row_of(operand, row), length, staging);
        return staging;
      };
      T* sum = narrow ? numbers : reinterpret_cast<T*>(row_of(call.outputs[0], row));
      T* norm = narrow ? numbers + n : reinterpret_cast<T*>(row_of(call.outputs[1], row));
      add(number_of(x, numbers), number_of(call.inputs[1], numbers + n), sum, n);
      const double squares = loops.sum_of_squares(sum, 0, n);
      const auto factor = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(length) + epsilon));
      loops.normalize(sum, {.factor = factor, .weight = data_of<const T>(call.inputs[2])}, norm, n);
      if (!narrow) continue;
      write_numbers(kernels, sum, length, x.dtype, row_of(call.outputs[0], row));
      write_numbers(kernels, norm, length, x.dtype, row_of(call.outputs[1], row));
    }
  };
  share_equally(runtime, count, has_rows_for_threads(count, length), run_share);
}

// rope's operands, in elements.
template <class T>
void rope(const OpCall& call) {
  const RopeStyle style = call.parameters<RopeParams>().style;
  const Operand& x = call.inputs[0];
  const Operand& table = call.inputs[1];
  const Shape& shape = x.layout->shape();
  const int64_t heads = shape[1];
  const int64_t head_dim = shape[2];
  const int64_t pairs = table.layout->shape()[1];
  CpuRuntime& runtime = runtime_of(call);
  const RowLoops<T>& loops = runtime.kernels().rows<T>();
  const auto rotate = style == RopeStyle::interleaved ? loops.rotate_neighbours : loops.rotate_halves;
  const Rows rows = rows_of(call);
  const auto turn_tokens = [&](Scratch& scratch, int64_t begin, int64_t end) {
    ScratchFrame frame(scratch);
    T* cosines = frame.take<T>(static_cast<size_t>(2 * pairs));
    T* sines = cosines + pairs;
    for (int64_t token = begin; token < end; ++token) {
      const float* angles = data_of<const float>(table) + token * table.layout->stride(0);
      for (int64_t pair = 0; pair < pairs; ++pair) {
        cosines[pair] = angles[pair * table.layout->stride(1)];
        sines[pair] = angles[pair * table.layout->stride(1) + table.layout->stride(2)];
      }
      const Axis distance{heads, x.layout->stride(1) * rows.size, call.outputs[0].layout->stride(1) * rows.size};
      for (int64_t head = 0; head < heads; head += kGatheredRows) {
        const Place place{token * x.layout->stride(0) * rows.size + head * distance.step,
                          token * call.outputs[0].layout->stride(0) * rows.size + head * distance.out_step};
        staged_rows<T>(rows, runtime.kernels(), scratch, nullptr, {place, distance, std::min(kGatheredRows, heads - head)},
                       [&](const T* from, T* to, const Pieces& /*pieces*/) {
                         rotate(from, cosines, sines, to, static_cast<size_t>(pairs));
                         std::copy(from + 2 * pairs, from + head_dim, to + 2 * pairs);
                       });
      }
    }
  };
  share_equally(runtime, shape[0], shape[0] > 1 && shape.elements() >= 2 * kElementsPerThread, turn_tokens);
}

// Calls body(a number of the type that the op computes in).
template <class Body>
void visit_float(const OpCall& call, const Body& body) {
  if (call.inputs[0].dtype == DType::f64) return body(double{});
  body(float{});
}

}  // namespace

void softmax_any(const OpCall& call) {
  visit_float(call, [&]<class T>(T) { softmax<T>(call); });
}

void rms_norm_any(const OpCall& call) {
  visit_float(call, [&]<class T>(T) { normalize<T>(call, false, static_cast<double>(call.parameters<RmsNormParams>().epsilon)); });
}

void add_rms_norm_any(const OpCall& call) {
  visit_float(call, [&]<class T>(T) { add_and_normalize<T>(call); });
}

void layer_norm_any(const OpCall& call) {
  visit_float(call, [&]<class T>(T) { normalize<T>(call, true, static_cast<double>(call.parameters<LayerNormParams>().epsilon)); });
}

void rope_any(const OpCall& call) {
  visit_float(call, [&]<class T>(T) { rope<T>(call); });
}

}  // namespace wick::cpu
