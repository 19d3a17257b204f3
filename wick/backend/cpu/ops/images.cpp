// Pools and interpolation: loops over the rows of each image, images shared out among the threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/base/half.h"
#include "wick/op/interpolation.h"

namespace wick::cpu {
namespace {

// Output elements that are worth a share of a thread.
constexpr int64_t kElementsPerShare = 1 << 15;

// Calls body(first element of the input image, number of the image) for each (batch, channel), on all threads.
template <class Body>
void for_each_image(const OpCall& call, const Body& body) {
  const Layout& x = *call.inputs[0].layout;
  const Shape& out = call.outputs[0].layout->shape();
  const int64_t channels = x.shape()[1];
  const int64_t area = std::max<int64_t>(1, out[2] * out[3]);
  const int64_t grain = std::max<int64_t>(1, kElementsPerShare / area);
  runtime_of(call).threads().parallel_for(x.shape()[0] * channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      body(x.offset() + image / channels * x.stride(0) + image % channels * x.stride(1), image);
    }
  });
}

// Sums of floats are in f32, of f64 in f64.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
T rounded(Sum<T> value) {
  return static_cast<T>(value);
}

template <class T>
void avg_pool(const OpCall& call) {
  const auto& pool = call.parameters<PoolParams>();
  const Layout& x = *call.inputs[0].layout;
  const Shape& out = call.outputs[0].layout->shape();
  const T* data = reinterpret_cast<const T*>(call.inputs[0].buffer->host_data());
  T* result = data_of<T>(call.outputs[0]);
  const int64_t step = x.stride(3);
  const auto count = static_cast<Sum<T>>(pool.kernel[0] * pool.kernel[1]);
  for_each_image(call, [&](int64_t offset, int64_t image) {
    std::vector<Sum<T>> sums(static_cast<size_t>(out[3]));
    for (int64_t row = 0; row < out[2]; ++row) {
      std::fill(sums.begin(), sums.end(), Sum<T>{});
      for (int64_t ky = 0; ky < pool.kernel[0]; ++ky) {
        for (int64_t kx = 0; kx < pool.kernel[1]; ++kx) {
          const T* line = data + offset + (row * pool.stride[0] + ky) * x.stride(2) + kx * step;
          for (int64_t i = 0; i < out[3]; ++i) sums[static_cast<size_t>(i)] += static_cast<Sum<T>>(line[i * pool.stride[1] * step]);
        }
      }
      T* target = result + (image * out[2] + row) * out[3];
      for (int64_t i = 0; i < out[3]; ++i) target[i] = rounded<T>(sums[static_cast<size_t>(i)] / count);
    }
  });
}

// Floats compare as f32, which holds each of them; integers and f64 as themselves.
template <class T>
auto comparable(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

// NaN is larger than anything, and the first of equal elements stays.
template <class V>
bool exceeds(V value, V best) {
  return best == best && !(value <= best);
}

template <class T>
void max_pool(const OpCall& call) {
  const auto& pool = call.parameters<PoolParams>();
  const Layout& x = *call.inputs[0].layout;
  const Shape& out = call.outputs[0].layout->shape();
  const int64_t width = x.shape()[3];
  const T* data = reinterpret_cast<const T*>(call.inputs[0].buffer->host_data());
  T* values = data_of<T>(call.outputs[0]);
  auto* places = data_of<uint32_t>(call.outputs[1]);
  for_each_image(call, [&](int64_t offset, int64_t image) {
    for (int64_t row = 0; row < out[2]; ++row) {
      const int64_t y = row * pool.stride[0];
      for (int64_t column = 0; column < out[3]; ++column) {
        const int64_t first = column * pool.stride[1];
        const T* window = data + offset + y * x.stride(2) + first * x.stride(3);
        T best = window[0];
        int64_t place = y * width + first;
        for (int64_t ky = 0; ky < pool.kernel[0]; ++ky) {
          for (int64_t kx = 0; kx < pool.kernel[1]; ++kx) {
            const T value = window[ky * x.stride(2) + kx * x.stride(3)];
            if (!exceeds(comparable(value), comparable(best))) continue;
            best = value;
            place = (y + ky) * width + first + kx;
          }
        }
        const int64_t at = (image * out[2] + row) * out[3] + column;
        values[at] = best;
        places[at] = static_cast<uint32_t>(place);
      }
    }
  });
}

// Elements of that size are moved as they are.
template <class Bits>
void upsample_nearest(const OpCall& call) {
  const Layout& x = *call.inputs[0].layout;
  const Shape& out = call.outputs[0].layout->shape();
  const Bits* data = reinterpret_cast<const Bits*>(call.inputs[0].buffer->host_data());
  Bits* result = data_of<Bits>(call.outputs[0]);
  std::vector<int64_t> columns(static_cast<size_t>(out[3]));
  for (int64_t i = 0; i < out[3]; ++i) columns[static_cast<size_t>(i)] = nearest_source(i, x.shape()[3], out[3]) * x.stride(3);
  for_each_image(call, [&](int64_t offset, int64_t image) {
    for (int64_t row = 0; row < out[2]; ++row) {
      const Bits* line = data + offset + nearest_source(row, x.shape()[2], out[2]) * x.stride(2);
      Bits* target = result + (image * out[2] + row) * out[3];
      for (size_t i = 0; i < columns.size(); ++i) target[i] = line[columns[i]];
    }
  });
}

template <class T>
void upsample_bilinear(const OpCall& call) {
  using Value = Sum<T>;
  struct Column {
    int64_t low, high;
    Value weight;
  };
  const auto& params = call.parameters<UpsampleParams>();
  const Layout& x = *call.inputs[0].layout;
  const Shape& out = call.outputs[0].layout->shape();
  const T* data = reinterpret_cast<const T*>(call.inputs[0].buffer->host_data());
  T* result = data_of<T>(call.outputs[0]);
  std::vector<Column> columns(static_cast<size_t>(out[3]));
  for (int64_t i = 0; i < out[3]; ++i) {
    const InterpolationTap tap = interpolation_tap(i, x.shape()[3], params.step[1], params.align_corners);
    columns[static_cast<size_t>(i)] = {tap.low * x.stride(3), tap.high * x.stride(3), static_cast<Value>(tap.weight)};
  }
  for_each_image(call, [&](int64_t offset, int64_t image) {
    for (int64_t row = 0; row < out[2]; ++row) {
      const InterpolationTap tap = interpolation_tap(row, x.shape()[2], params.step[0], params.align_corners);
      const T* upper = data + offset + tap.low * x.stride(2);
      const T* lower = data + offset + tap.high * x.stride(2);
      const auto weight = static_cast<Value>(tap.weight);
      T* target = result + (image * out[2] + row) * out[3];
      for (size_t i = 0; i < columns.size(); ++i) {
        const Column& column = columns[i];
        const auto mix = [&](const T* line) {
          return static_cast<Value>(line[column.low]) * (1 - column.weight) + static_cast<Value>(line[column.high]) * column.weight;
        };
        target[i] = rounded<T>(mix(upper) * (1 - weight) + mix(lower) * weight);
      }
    }
  });
}

}  // namespace

void avg_pool_float(const OpCall& call) {
  switch (call.inputs[0].dtype) {
    case DType::bf16: return avg_pool<bf16>(call);
    case DType::f16: return avg_pool<f16>(call);
    case DType::f8e4m3: return avg_pool<f8e4m3>(call);
    case DType::f64: return avg_pool<double>(call);
    default: return avg_pool<float>(call);
  }
}

void max_pool_any(const OpCall& call) {
  switch (call.inputs[0].dtype) {
    case DType::u8: return max_pool<uint8_t>(call);
    case DType::u32: return max_pool<uint32_t>(call);
    case DType::i8: return max_pool<int8_t>(call);
    case DType::i16: return max_pool<int16_t>(call);
    case DType::i32: return max_pool<int32_t>(call);
    case DType::i64: return max_pool<int64_t>(call);
    case DType::bf16: return max_pool<bf16>(call);
    case DType::f16: return max_pool<f16>(call);
    case DType::f8e4m3: return max_pool<f8e4m3>(call);
    case DType::f64: return max_pool<double>(call);
    default: return max_pool<float>(call);
  }
}

void upsample_any(const OpCall& call) {
  const DType dtype = call.inputs[0].dtype;
  if (call.parameters<UpsampleParams>().mode == UpsampleMode::nearest) {
    switch (info(dtype).block_bytes) {
      case 1: return upsample_nearest<uint8_t>(call);
      case 2: return upsample_nearest<uint16_t>(call);
      case 4: return upsample_nearest<uint32_t>(call);
      default: return upsample_nearest<uint64_t>(call);
    }
  }
  switch (dtype) {
    case DType::bf16: return upsample_bilinear<bf16>(call);
    case DType::f16: return upsample_bilinear<f16>(call);
    case DType::f8e4m3: return upsample_bilinear<f8e4m3>(call);
    case DType::f64: return upsample_bilinear<double>(call);
    default: return upsample_bilinear<float>(call);
  }
}

}  // namespace wick::cpu
