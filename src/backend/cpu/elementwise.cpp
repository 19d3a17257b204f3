// Elementwise ops: copies between dtypes and layouts, fill, unary and binary functions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backend/cpu/cpu_runtime.h"
#include "backend/cpu/op_table.h"
#include "backend/cpu/unpack.h"
#include "base/half.h"
#include "quant/interleave.h"

namespace wick::cpu {
namespace {

// Below this many elements a fork costs more than it saves.
constexpr int64_t kElementsPerThread = 32768;

// Calls body(type tag) with a value of the C++ type of a plain dtype.
template <class Body>
void visit_plain(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::u8: return body(uint8_t{});
    case DType::u32: return body(uint32_t{});
    case DType::i16: return body(int16_t{});
    case DType::i32: return body(int32_t{});
    case DType::i64: return body(int64_t{});
    case DType::bf16: return body(bf16{});
    case DType::f16: return body(f16{});
    case DType::f32: return body(float{});
    case DType::f64: return body(double{});
    case DType::f8e4m3: return body(f8e4m3{});
    default: WICK_ASSERT(!is_quantized(dtype));
  }
}

// Toward zero, saturating; NaN becomes 0.
template <class To>
To saturate(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (value >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

// An i64 as a double that can be rounded once more without harm: beyond 2^53 the digits that are lost set the last one kept (round to
// odd: Boldo & Melquiond 2008).
double to_odd_double(int64_t value) {
  const uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (magnitude >> 53 == 0) return static_cast<double>(value);
  constexpr uint64_t kLost = 0x7ff;
  const auto folded = static_cast<double>((magnitude & ~kLost) | ((magnitude & kLost) != 0 ? kLost + 1 : 0));
  return value < 0 ? -folded : folded;
}

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    return static_cast<To>(value);  // the low bits, as two's complement has them
  } else if constexpr (std::is_integral_v<To>) {
    return saturate<To>(static_cast<double>(value));
  } else if constexpr (std::is_same_v<To, double>) {
    return static_cast<double>(value);
  } else if constexpr (!std::is_same_v<To, float> && std::is_integral_v<From>) {
    return To(round_to_odd(to_odd_double(value)));
  } else if constexpr (!std::is_same_v<To, float> && std::is_same_v<From, double>) {
    return To(round_to_odd(value));
  } else {
    return To(static_cast<float>(value));
  }
}

// The layouts' rows along the last dimension, in pairs: body(source offset, target offset).
template <class Body>
void for_each_row_pair(const Layout& source, const Layout& target, Body&& body) {
  const int last = source.rank() - 1;
  if (last < 0) {
    body(source.offset(), target.offset());
    return;
  }
  if (source.elements() == 0) return;
  std::array<int64_t, kMaxRank> index{};
  int64_t from = source.offset();
  int64_t to = target.offset();
  while (true) {
    body(from, to);
    int dim = last - 1;
    for (; dim >= 0; --dim) {
      const auto d = static_cast<size_t>(dim);
      from += source.stride(dim);
      to += target.stride(dim);
      if (++index[d] < source.shape()[dim]) break;
      from -= source.stride(dim) * source.shape()[dim];
      to -= target.stride(dim) * source.shape()[dim];
      index[d] = 0;
    }
    if (dim < 0) return;
  }
}

template <class From, class To>
void copy_row(const SimdKernels& kernels, const From* source, int64_t source_stride, To* target, int64_t target_stride, int64_t n) {
  const auto count = static_cast<size_t>(n);
  if (source_stride == 1 && target_stride == 1) {
    if constexpr (std::is_same_v<From, To>) {
      std::memcpy(target, source, count * sizeof(From));
      return;
    } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, f16>) {
      return kernels.f32_to_f16(source, reinterpret_cast<uint16_t*>(target), count);
    } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, bf16>) {
      return kernels.f32_to_bf16(source, reinterpret_cast<uint16_t*>(target), count);
    } else if constexpr (std::is_same_v<From, f16> && std::is_same_v<To, float>) {
      return kernels.f16_to_f32(reinterpret_cast<const uint16_t*>(source), target, count);
    } else if constexpr (std::is_same_v<From, bf16> && std::is_same_v<To, float>) {
      return kernels.bf16_to_f32(reinterpret_cast<const uint16_t*>(source), target, count);
    }
  }
  for (int64_t i = 0; i < n; ++i) target[i * target_stride] = convert<To>(source[i * source_stride]);
}

}  // namespace

void copy_plain(const OpCall& call) {
  const Layout& source = *call.inputs[0].layout;
  const Layout& target = *call.outputs[0].layout;
  const int last = source.rank() - 1;
  const int64_t n = source.shape().last();
  const int64_t source_stride = last < 0 ? 1 : source.stride(last);
  const int64_t target_stride = last < 0 ? 1 : target.stride(last);
  CpuRuntime& runtime = runtime_of(call);
  visit_plain(call.inputs[0].dtype, [&]<class From>(From) {
    visit_plain(call.outputs[0].dtype, [&]<class To>(To) {
      const auto* from = reinterpret_cast<const From*>(call.inputs[0].buffer->host_data());
      auto* to = reinterpret_cast<To*>(call.outputs[0].buffer->host_data());
      if (source.is_contiguous() && target.is_contiguous()) {
        runtime.threads().parallel_for(source.elements(), kElementsPerThread, [&](int64_t begin, int64_t end) {
          copy_row(runtime.kernels(), from + source.offset() + begin, 1, to + target.offset() + begin, 1, end - begin);
        });
        return;
      }
      for_each_row_pair(source, target, [&](int64_t source_offset, int64_t target_offset) {
        copy_row(runtime.kernels(), from + source_offset, source_stride, to + target_offset, target_stride, n);
      });
    });
  });
}

void copy_quantized(const OpCall& call) {
  const Operand& source = call.inputs[0];
  const Operand& target = call.outputs[0];
  CpuRuntime& runtime = runtime_of(call);
  const int64_t width = source.layout->shape().last();
  const std::span<float> row(runtime.scratch(0).get<float>(0, static_cast<size_t>(width)), static_cast<size_t>(width));
  const int last = source.layout->rank() - 1;
  const int64_t target_stride = last < 0 ? 1 : target.layout->stride(last);
  visit_plain(target.dtype, [&]<class To>(To) {
    auto* to = reinterpret_cast<To*>(target.buffer->host_data());
    for_each_row_pair(*source.layout, *target.layout, [&](int64_t source_offset, int64_t target_offset) {
      unpack_row(source.dtype, source.buffer->host_data(), source.buffer->bytes(), source_offset / width, row);
      copy_row(runtime.kernels(), row.data(), 1, to + target_offset, target_stride, width);
    });
  });
}

void fill_any(const OpCall& call) {
  const double value = call.parameters<FillParams>().value;
  visit_plain(call.outputs[0].dtype, [&]<class T>(T) {
    auto* base = reinterpret_cast<T*>(call.outputs[0].buffer->host_data());
    const T element = convert<T>(value);
    for_each_offset(*call.outputs[0].layout, [&](int64_t offset) { base[offset] = element; });
  });
}

namespace {

float binary_scalar(BinaryKind kind, float lhs, float rhs) {
  switch (kind) {
    case BinaryKind::add: return lhs + rhs;
    case BinaryKind::sub: return lhs - rhs;
    case BinaryKind::mul: return lhs * rhs;
    case BinaryKind::div: return lhs / rhs;
    case BinaryKind::minimum: return std::isnan(lhs) || lhs < rhs ? lhs : rhs;
    case BinaryKind::maximum: return std::isnan(lhs) || lhs > rhs ? lhs : rhs;
    case BinaryKind::pow: return std::pow(lhs, rhs);
  }
  return lhs;
}

// By squaring, in two's complement; a negative power is what is left of it toward zero.
template <class T>
T integer_power(T base, T exponent) {
  if (exponent < T{0}) return base == T{1} ? T{1} : base == static_cast<T>(-1) ? (exponent % 2 == 0 ? T{1} : static_cast<T>(-1)) : T{0};
  uint64_t result = 1;
  auto square = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left > 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

// Two's complement, wrapping around; a division by zero gives 0.
template <class T>
T binary_scalar_integer(BinaryKind kind, T lhs, T rhs) {
  const auto left = static_cast<uint64_t>(lhs);
  const auto right = static_cast<uint64_t>(rhs);
  switch (kind) {
    case BinaryKind::add: return static_cast<T>(left + right);
    case BinaryKind::sub: return static_cast<T>(left - right);
    case BinaryKind::mul: return static_cast<T>(left * right);
    case BinaryKind::div:
      if (rhs == 0) return 0;
      // The smallest integer divided by -1 has no room.
      return std::is_signed_v<T> && rhs == static_cast<T>(-1) ? static_cast<T>(0 - left) : static_cast<T>(lhs / rhs);
    case BinaryKind::minimum: return std::min(lhs, rhs);
    case BinaryKind::maximum: return std::max(lhs, rhs);
    case BinaryKind::pow: return integer_power(lhs, rhs);
  }
  return 0;
}

// out = f(lhs, rhs) element by element, through any layouts; out is row-major.
template <class T, class Function>
void combine_strided(const OpCall& call, T* out, Function&& function) {
  const Layout& left = *call.inputs[0].layout;
  const Layout& right = *call.inputs[1].layout;
  const auto* lhs = reinterpret_cast<const T*>(call.inputs[0].buffer->host_data());
  const auto* rhs = reinterpret_cast<const T*>(call.inputs[1].buffer->host_data());
  const int last = left.rank() - 1;
  const int64_t n = left.shape().last();
  const int64_t left_stride = last < 0 ? 0 : left.stride(last);
  const int64_t right_stride = last < 0 ? 0 : right.stride(last);
  for_each_row_pair(left, right, [&](int64_t left_offset, int64_t right_offset) {
    for (int64_t i = 0; i < n; ++i) *out++ = function(lhs[left_offset + i * left_stride], rhs[right_offset + i * right_stride]);
  });
}

}  // namespace

void binary_f32(const OpCall& call) {
  const BinaryKind kind = call.parameters<BinaryParams>().kind;
  const Layout& left = *call.inputs[0].layout;
  const Layout& right = *call.inputs[1].layout;
  CpuRuntime& runtime = runtime_of(call);
  auto* out = data_of<float>(call.outputs[0]);
  if (left.is_contiguous() && right.is_contiguous()) {
    const auto* lhs = data_of<const float>(call.inputs[0]);
    const auto* rhs = data_of<const float>(call.inputs[1]);
    runtime.threads().parallel_for(left.elements(), kElementsPerThread, [&](int64_t begin, int64_t end) {
      const auto n = static_cast<size_t>(end - begin);
      if (kind == BinaryKind::add) return runtime.kernels().add(lhs + begin, rhs + begin, out + begin, n);
      if (kind == BinaryKind::mul) return runtime.kernels().multiply(lhs + begin, rhs + begin, out + begin, n);
      for (int64_t i = begin; i < end; ++i) out[i] = binary_scalar(kind, lhs[i], rhs[i]);
    });
    return;
  }
  combine_strided(call, out, [kind](float lhs, float rhs) { return binary_scalar(kind, lhs, rhs); });
}

void binary_integer(const OpCall& call) {
  const BinaryKind kind = call.parameters<BinaryParams>().kind;
  visit_plain(call.outputs[0].dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      combine_strided(call, data_of<T>(call.outputs[0]), [kind](T lhs, T rhs) { return binary_scalar_integer(kind, lhs, rhs); });
    }
  });
}

}  // namespace wick::cpu
