// conv2d and conv_transpose2d as matrix products [out channels, in channels · taps] · [in channels · taps, pixels] whose right operand is
// never written down.
//
// By planes: the input of a strip of output rows is copied once with its zeros around it, one plane for each remainder by the stride, so
// that the pixels that a tap meets lie in a row; the register tile reads that row in place, at an offset for each (channel, tap). Output
// rows then are as wide as the planes, and what lies between them is computed and dropped.
// By packing: where that would drop too much (narrow images with wide kernels: gradients of kernels), the right operand is packed panel by
// panel, over the pixels of all images of the batch.
// Both add the products of an output element in the same order.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "wick/backend/cpu/gemm/conv_plan.h"
#include "wick/backend/cpu/gemm/gemm.h"
#include "wick/backend/cpu/gemm/matrix_source.h"
#include "wick/backend/cpu/op_table.h"

namespace wick::cpu {
namespace {

// A strip's planes and sums stay in the second-level cache.
constexpr int64_t kStripBytes = 1 << 20;
constexpr int64_t kSmallestStrip = 4;
// What packing one element costs, in multiplications of a row of the tile by it.
constexpr int64_t kPackingCost = 48;

template <class T>
struct Strided {
  const T* data;
  std::array<int64_t, 4> strides;
};

template <class T>
struct Job {
  CpuRuntime* runtime;
  const ProductTile<T, T>* tile;
  const ConvPlan* plan;
  const ConvGrid* grid;
  Strided<T> x;
  const T* kernel;  // [groups · out channels, k]
  int64_t k;        // in channels · taps
  DType dtype;
  std::byte* out;

  [[nodiscard]] int64_t taps() const noexcept { return static_cast<int64_t>(grid->taps.size()); }
  [[nodiscard]] const SimdKernels& kernels() const noexcept { return runtime->kernels(); }
};

template <class T>
void scatter_run(const std::byte* values, int64_t n, std::byte* out, int64_t step) {
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(out + i * step * static_cast<int64_t>(sizeof(T)), values + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
}

// n sums rounded to their dtype, `step` elements apart.
template <class T>
void store_run(const SimdKernels& kernels, DType dtype, const T* sums, int64_t n, std::byte* out, int64_t step) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype != DType::f32) {
      constexpr int64_t kChunk = 128;
      std::array<std::byte, kChunk * sizeof(uint16_t)> rounded;
      const int64_t element = info(dtype).block_bytes;
      if (step == 1) return narrow(kernels, sums, n, dtype, out);
      for (int64_t at = 0; at < n; at += kChunk) {
        const int64_t count = std::min(kChunk, n - at);
        narrow(kernels, sums + at, count, dtype, rounded.data());
        std::byte* target = out + at * step * element;
        element == 1 ? scatter_run<uint8_t>(rounded.data(), count, target, step)
                     : scatter_run<uint16_t>(rounded.data(), count, target, step);
      }
      return;
    }
  }
  if (step != 1) return scatter_run<T>(reinterpret_cast<const std::byte*>(sums), n, out, step);
  std::memcpy(out, sums, static_cast<size_t>(n) * sizeof(T));
}

// A pixel of a grid, of one channel of an image.
struct GridPixel {
  int64_t image, channel, row, column;
};

// n sums of the grid's row from a pixel on.
template <class T>
void store_row(const Job<T>& job, const GridPixel& first, const T* sums, int64_t n) {
  const ConvGrid& grid = *job.grid;
  const int64_t channels = job.plan->groups * job.plan->out_channels;
  const int64_t y = grid.first[0] + first.row * grid.out_step[0];
  const int64_t x = grid.first[1] + first.column * grid.out_step[1];
  const int64_t at = ((first.image * channels + first.channel) * job.plan->out_image[0] + y) * job.plan->out_image[1] + x;
  store_run(job.kernels(), job.dtype, sums, n, job.out + at * info(job.dtype).block_bytes, grid.out_step[1]);
}

// An operand's elements as T: where they lie, or widened into scratch, row-major.
template <class T>
Strided<T> as_wide(CpuRuntime& runtime, const Operand& operand, ScratchFrame& frame) {
  const Layout& layout = *operand.layout;
  const std::byte* data = operand.buffer->host_data() + layout.offset() * info(operand.dtype).block_bytes;
  if (operand.dtype == DType::f32 || operand.dtype == DType::f64) {
    return {reinterpret_cast<const T*>(data), {layout.stride(0), layout.stride(1), layout.stride(2), layout.stride(3)}};
  }
  const Shape& shape = layout.shape();
  auto* wide = frame.take<T>(static_cast<size_t>(shape.elements()));
  const int64_t rows = shape[0] * shape[1] * shape[2];
  if constexpr (std::is_same_v<T, float>) {
    runtime.threads().parallel_for(rows, std::max<int64_t>(1, 32768 / std::max<int64_t>(shape[3], 1)), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t offset =
            row / shape[2] / shape[1] * layout.stride(0) + row / shape[2] % shape[1] * layout.stride(1) + row % shape[2] * layout.stride(2);
        const MatrixSource source{data + offset * info(operand.dtype).block_bytes, operand.dtype, 0, layout.stride(3)};
        if (source.column_stride == 1) {
          widen(runtime.kernels(), operand.dtype, source.data, shape[3], wide + row * shape[3]);
          continue;
        }
        for (int64_t i = 0; i < shape[3]; ++i) widen(runtime.kernels(), operand.dtype, source.at(0, i).data, 1, wide + row * shape[3] + i);
      }
    });
  }
  return {wide, {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1}};
}

// The kernel's elements that take part in a grid, as rows of the left operand.
template <class T>
const T* kernel_matrix(CpuRuntime& runtime, ScratchFrame& frame, const ConvPlan& plan, const ConvGrid& grid, const Strided<T>& kernel) {
  const auto taps = static_cast<int64_t>(grid.taps.size());
  const int64_t k = plan.in_channels * taps;
  bool in_order = plan.kernel_in_stride == taps && plan.kernel_out_stride == k && plan.kernel_group_stride == plan.out_channels * k;
  for (int64_t tap = 0; tap < taps; ++tap) in_order = in_order && grid.taps[static_cast<size_t>(tap)].kernel_offset == tap;
  if (in_order) return kernel.data;
  const int64_t rows = plan.groups * plan.out_channels;
  auto* matrix = frame.take<T>(static_cast<size_t>(rows * k));
  runtime.threads().parallel_for(rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(k, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* source = kernel.data + row / plan.out_channels * plan.kernel_group_stride + row % plan.out_channels * plan.kernel_out_stride;
      T* target = matrix + row * k;
      for (int64_t channel = 0; channel < plan.in_channels; ++channel) {
        for (const ConvTap& tap : grid.taps) *target++ = source[channel * plan.kernel_in_stride + tap.kernel_offset];
      }
    }
  });
  return matrix;
}

// The planes of a strip of `rows` output rows, for one group of one image: [channel][plane][extents].
struct Planes {
  int64_t rows;
  std::array<int64_t, 2> low;                 // the smallest place of the taps
  std::array<int64_t, 2> extents;             // of one plane
  std::vector<std::array<int64_t, 2>> kinds;  // the remainders by the step that taps meet, one plane each
  std::vector<int64_t> offsets;               // of each (channel, tap)
  int64_t columns;                            // from the strip's first pixel to its last, in a plane
  int64_t elements;                           // of all planes, and a vector's tail
};

template <class T>
Planes plan_planes(const Job<T>& job, int64_t rows) {
  const ConvGrid& grid = *job.grid;
  Planes planes{rows, grid.taps.front().place, {}, {}, {}, 0, 0};
  std::array<int64_t, 2> high = planes.low;
  for (const ConvTap& tap : grid.taps) {
    for (size_t axis = 0; axis < 2; ++axis) {
      planes.low[axis] = std::min(planes.low[axis], tap.place[axis]);
      high[axis] = std::max(high[axis], tap.place[axis]);
    }
  }
  const std::array<int64_t, 2> pixels = {rows, grid.extents[1]};
  for (size_t axis = 0; axis < 2; ++axis) planes.extents[axis] = pixels[axis] + (high[axis] - planes.low[axis]) / grid.step[axis];
  const int64_t plane_elements = planes.extents[0] * planes.extents[1];
  std::vector<int64_t> of_taps;
  for (const ConvTap& tap : grid.taps) {
    const std::array<int64_t, 2> away = {tap.place[0] - planes.low[0], tap.place[1] - planes.low[1]};
    const std::array<int64_t, 2> kind = {away[0] % grid.step[0], away[1] % grid.step[1]};
    const auto found = std::find(planes.kinds.begin(), planes.kinds.end(), kind);
    const int64_t plane = found - planes.kinds.begin();
    if (found == planes.kinds.end()) planes.kinds.push_back(kind);
    of_taps.push_back(plane * plane_elements + away[0] / grid.step[0] * planes.extents[1] + away[1] / grid.step[1]);
  }
  const int64_t channel_elements = static_cast<int64_t>(planes.kinds.size()) * plane_elements;
  for (int64_t channel = 0; channel < job.plan->in_channels; ++channel) {
    for (const int64_t offset : of_taps) planes.offsets.push_back(channel * channel_elements + offset);
  }
  planes.columns = (rows - 1) * planes.extents[1] + grid.extents[1];
  planes.elements = job.plan->in_channels * channel_elements + job.tile->columns;
  return planes;
}

template <class T>
struct ImageRow {
  const T* data;
  int64_t width, stride;
};

// out[i] = x at `first` + i · step along a row of the image, zeros outside it.
template <class T>
void fill_row(const ImageRow<T>& row, int64_t first, int64_t step, int64_t n, T* out) {
  const int64_t begin = std::min(n, first >= 0 ? 0 : (-first + step - 1) / step);
  const int64_t end = std::max(begin, std::min(n, first >= row.width ? 0 : (row.width - first + step - 1) / step));
  std::fill_n(out, begin, T{});
  const T* source = row.data + (first + begin * step) * row.stride;
  if (step * row.stride == 1) {
    std::copy_n(source, end - begin, out + begin);
  } else {
    for (int64_t i = 0; i < end - begin; ++i) out[begin + i] = source[i * step * row.stride];
  }
  std::fill_n(out + end, n - end, T{});
}

template <class T>
void fill_planes(const Job<T>& job, const Planes& planes, int64_t image, int64_t group, int64_t first_row, T* out) {
  const ConvGrid& grid = *job.grid;
  for (int64_t channel = 0; channel < job.plan->in_channels; ++channel) {
    const T* x = job.x.data + image * job.x.strides[0] + (group * job.plan->in_channels + channel) * job.x.strides[1];
    for (const std::array<int64_t, 2>& kind : planes.kinds) {
      for (int64_t row = 0; row < planes.extents[0]; ++row, out += planes.extents[1]) {
        const int64_t y = planes.low[0] + kind[0] + (first_row + row) * grid.step[0];
        if (y < 0 || y >= job.plan->in_image[0]) {
          std::fill_n(out, planes.extents[1], T{});
          continue;
        }
        fill_row(ImageRow<T>{x + y * job.x.strides[2], job.plan->in_image[1], job.x.strides[3]}, planes.low[1] + kind[1], grid.step[1],
                 planes.extents[1], out);
      }
    }
  }
  std::fill_n(out, job.tile->columns, T{});
}

template <class T>
void pack_kernel_rows(const Job<T>& job, int64_t row, int64_t rows, int64_t depth, int64_t part, T* left) {
  job.tile->copy({job.kernel + row * job.k + depth, job.k, rows, part}, left, kProductStride);
  if (rows % 2 != 0) std::fill_n(left + rows * kProductStride, part, T{});
}

template <class T>
void convolve_strip(const Job<T>& job, Scratch& scratch, const Planes& planes, int64_t image, int64_t group, int64_t first_row) {
  const ProductTile<T, T>& tile = *job.tile;
  const int64_t channels = job.plan->out_channels;
  const int64_t stride = (planes.columns + tile.columns - 1) / tile.columns * tile.columns;
  ScratchFrame frame(scratch);
  auto* pixels = frame.take<T>(static_cast<size_t>(planes.elements));
  auto* sums = frame.take<T>(static_cast<size_t>(channels * stride));
  auto* left = frame.take<T>(static_cast<size_t>(tile.rows * kProductStride));
  fill_planes(job, planes, image, group, first_row, pixels);
  for (int64_t depth = 0; depth < job.k; depth += kProductDepth) {
    const int64_t part = std::min(kProductDepth, job.k - depth);
    for (int64_t row = 0; row < channels; row += tile.rows) {
      const int64_t rows = std::min(tile.rows, channels - row);
      pack_kernel_rows(job, group * channels + row, rows, depth, part, left);
      for (int64_t column = 0; column < stride; column += tile.columns) {
        tile.multiply_at(left, pixels + column, std::span(planes.offsets).subspan(static_cast<size_t>(depth), static_cast<size_t>(part)),
                         {sums + row * stride + column, stride, rows, tile.columns}, depth > 0);
      }
    }
  }
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t row = 0; row < planes.rows; ++row) {
      store_row(job, {image, group * channels + channel, first_row + row, 0}, sums + channel * stride + row * planes.extents[1],
                job.grid->extents[1]);
    }
  }
}

template <class T>
void convolve_by_planes(const Job<T>& job) {
  ThreadPool& pool = job.runtime->threads();
  const int64_t height = job.grid->extents[0];
  const int64_t images = job.plan->batch * job.plan->groups;
  const Planes whole = plan_planes(job, height);
  const int64_t row_bytes = (whole.elements + job.plan->out_channels * whole.columns) / height * static_cast<int64_t>(sizeof(T));
  int64_t strip = std::max(kSmallestStrip, kStripBytes / std::max<int64_t>(row_bytes, 1));
  const int64_t strips_wanted = (2 * pool.size() + images - 1) / images;
  strip = std::min({height, strip, std::max(kSmallestStrip, height / strips_wanted)});
  const int64_t strips = (height + strip - 1) / strip;
  strip = (height + strips - 1) / strips;
  const Planes planes = plan_planes(job, strip);
  const Planes last = plan_planes(job, height - (strips - 1) * strip);
  const auto run_tasks = [&](int thread, int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t number = task % strips;
      convolve_strip(job, job.runtime->scratch(thread), number + 1 == strips ? last : planes, task / strips / job.plan->groups,
                     task / strips % job.plan->groups, number * strip);
    }
  };
  const int64_t tasks = images * strips;
  if (pool.size() == 1 || images * job.plan->out_channels * whole.columns * job.k < kParallelWork) return run_tasks(0, 0, tasks);
  pool.run([&](int thread, int threads) { run_tasks(thread, tasks * thread / threads, tasks * (thread + 1) / threads); });
}

// Where in the input each tap meets each column of a panel, columns being the grid's pixels of all images in order.
template <class T>
class PanelPixels {
 public:
  PanelPixels(const Job<T>& job, int64_t column, int64_t columns) : job_(job), columns_(static_cast<size_t>(columns)) {
    const int64_t area = job.grid->extents[0] * job.grid->extents[1];
    for (size_t i = 0; i < columns_; ++i) {
      const int64_t pixel = column + static_cast<int64_t>(i);
      start_[i] = pixel / area * job.x.strides[0];
      y_[i] = pixel % area / job.grid->extents[1] * job.grid->step[0];
      x_[i] = pixel % job.grid->extents[1] * job.grid->step[1];
    }
  }

  // Offsets of the tap's elements in channel 0 of the image; kOutside for those in the padding.
  void offsets_of(const ConvTap& tap, int64_t* offsets) const {
    for (size_t i = 0; i < columns_; ++i) {
      const int64_t y = y_[i] + tap.place[0];
      const int64_t x = x_[i] + tap.place[1];
      const bool inside = y >= 0 && y < job_.plan->in_image[0] && x >= 0 && x < job_.plan->in_image[1];
      offsets[i] = inside ? start_[i] + y * job_.x.strides[2] + x * job_.x.strides[3] : kOutside;
    }
  }

  static constexpr int64_t kOutside = INT64_MIN;

 private:
  static constexpr size_t kMaxColumns = 64;
  const Job<T>& job_;
  size_t columns_;
  std::array<int64_t, kMaxColumns> start_, y_, x_;
};

// Rows `depth` … of the right operand at pixels `column` …
template <class T>
void pack_pixels(const Job<T>& job, int64_t group, int64_t depth, int64_t column, const MatrixView<T>& panel) {
  const int64_t columns = panel.columns;
  const PanelPixels<T> pixels(job, column, columns);
  const int64_t taps = job.taps();
  const int64_t kept = std::min(taps, panel.rows);
  std::vector<int64_t> offsets(static_cast<size_t>(kept * columns));
  for (int64_t i = 0; i < panel.rows; ++i) {
    T* out = panel.row(i);
    const int64_t tap = (depth + i) % taps;
    const T* x = job.x.data + (group * job.plan->in_channels + (depth + i) / taps) * job.x.strides[1];
    int64_t* row = offsets.data() + i % kept * columns;
    // The first time that a tap comes by in this block; afterwards the same one is due again, if all are kept.
    if (i < kept || kept < taps) pixels.offsets_of(job.grid->taps[static_cast<size_t>(tap)], row);
    for (int64_t j = 0; j < columns; ++j) out[j] = row[j] == PanelPixels<T>::kOutside ? T{} : x[row[j]];
  }
}

template <class T>
void store_panel(const Job<T>& job, int64_t channel, int64_t column, int64_t columns, const T* sums) {
  const int64_t width = job.grid->extents[1];
  const int64_t area = job.grid->extents[0] * width;
  for (int64_t done = 0; done < columns;) {
    const int64_t pixel = column + done;
    const int64_t n = std::min(columns - done, width - pixel % width);
    store_row(job, {pixel / area, channel, pixel % area / width, pixel % width}, sums + done, n);
    done += n;
  }
}

template <class T>
void convolve_by_packing(const Job<T>& job) {
  const ProductTile<T, T>& tile = *job.tile;
  const int64_t channels = job.plan->out_channels;
  const int64_t pixels = job.plan->batch * job.grid->extents[0] * job.grid->extents[1];
  for_each_part(
      job.runtime->threads(), {job.plan->groups, channels, pixels, job.k, tile.rows, tile.columns},
      [&](int thread, int64_t group, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
        Scratch& scratch = job.runtime->scratch(thread);
        const ProductOperands operands{[&](int64_t row, int64_t rows, int64_t depth, int64_t part, T* packed) {
                                         pack_kernel_rows(job, group * channels + row, rows, depth, part, packed);
                                       },
                                       [&](int64_t depth, int64_t part, int64_t column, int64_t columns, T* packed) {
                                         pack_pixels(job, group, depth, column, MatrixView<T>{packed, tile.columns, part, columns});
                                       },
                                       DirectRight<T>{}, ProductSources{}};
        const ProductRegion region{row_begin, row_end, column_begin, column_end, job.k, even_passes(row_end - row_begin, tile.rows)};
        RegionProduct(tile, scratch, region, operands).run_aside(scratch, [&](int64_t row, int64_t column, int64_t columns, const T* sums) {
          store_panel(job, group * channels + row, column, columns, sums);
        });
      });
}

// Whether the pixels that planes drop cost less than packing would. Depends on shapes alone.
template <class T>
bool prefers_planes(const Job<T>& job) {
  const Planes planes = plan_planes(job, job.grid->extents[0]);
  const int64_t tile = job.tile->columns;
  // The kernel is copied for each image, which costs about as much as another tile of columns.
  const int64_t by_planes = ((planes.columns + tile - 1) / tile + 1) * tile * job.plan->out_channels;
  const int64_t by_packing = job.grid->extents[0] * job.grid->extents[1] * (job.plan->out_channels + kPackingCost);
  return by_planes <= by_packing;
}

template <class T>
void store_zeros(const Job<T>& job) {
  const std::vector<T> zeros(static_cast<size_t>(job.grid->extents[1]));
  for (int64_t channel = 0; channel < job.plan->batch * job.plan->groups * job.plan->out_channels; ++channel) {
    for (int64_t row = 0; row < job.grid->extents[0]; ++row) store_row(job, {0, channel, row, 0}, zeros.data(), job.grid->extents[1]);
  }
}

template <class T>
void convolve(const OpCall& call, const ProductTile<T, T>& tile) {
  CpuRuntime& runtime = runtime_of(call);
  const Operand& result = call.outputs[0];
  ScratchFrame frame(runtime.scratch(0));
  const Strided<T> x = as_wide<T>(runtime, call.inputs[0], frame);
  const Strided<T> kernel = as_wide<T>(runtime, call.inputs[1], frame);
  const ConvPlan plan = plan_conv(call, kernel.strides);
  for (const ConvGrid& grid : plan.grids) {
    Job<T> job{&runtime,
               &tile,
               &plan,
               &grid,
               x,
               nullptr,
               plan.in_channels * static_cast<int64_t>(grid.taps.size()),
               result.dtype,
               result.buffer->host_data() + result.layout->offset() * info(result.dtype).block_bytes};
    if (grid.taps.empty()) {
      store_zeros(job);
      continue;
    }
    ScratchFrame grid_frame(runtime.scratch(0));
    job.kernel = kernel_matrix(runtime, grid_frame, plan, grid, kernel);
    if (prefers_planes(job)) {
      convolve_by_planes(job);
    } else {
      convolve_by_packing(job);
    }
  }
}

}  // namespace

void conv_float(const OpCall& call) { convolve(call, runtime_of(call).kernels().product.f32); }
void conv_f64(const OpCall& call) { convolve(call, runtime_of(call).kernels().product.f64); }

}  // namespace wick::cpu
