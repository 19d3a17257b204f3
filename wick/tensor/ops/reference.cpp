#include "wick/tensor/ops/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/quant/block_format.h"
#include "wick/quant/unpack_row.h"

namespace wick {
namespace {

// Rust's `as` and candle's to_dtype: toward zero, saturating, NaN to 0.
template <class T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  // The largest double below 2^63 for i64; exact for the narrower types.
  constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= kLow) return std::numeric_limits<T>::min();
  if (value >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <class T>
T load(const std::byte* base, int64_t index) {
  T value;
  std::memcpy(&value, base + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* base, int64_t index, T value) {
  std::memcpy(base + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

double load_as_double(DType dtype, const std::byte* base, int64_t index) {
  switch (dtype) {
    case DType::u8: return load<uint8_t>(base, index);
    case DType::u32: return load<uint32_t>(base, index);
    case DType::i8: return load<int8_t>(base, index);
    case DType::i16: return load<int16_t>(base, index);
    case DType::i32: return load<int32_t>(base, index);
    case DType::i64: return static_cast<double>(load<int64_t>(base, index));
    case DType::bf16: return load<bf16>(base, index);
    case DType::f16: return load<f16>(base, index);
    case DType::f32: return load<float>(base, index);
    case DType::f64: return load<double>(base, index);
    case DType::f8e4m3: return load<f8e4m3>(base, index);
    default: break;
  }
  WICK_ASSERT(!is_quantized(dtype));
  return 0;
}

void store_double(DType dtype, std::byte* base, int64_t index, double value) {
  switch (dtype) {
    case DType::u8: return store(base, index, saturate<uint8_t>(value));
    case DType::u32: return store(base, index, saturate<uint32_t>(value));
    case DType::i8: return store(base, index, saturate<int8_t>(value));
    case DType::i16: return store(base, index, saturate<int16_t>(value));
    case DType::i32: return store(base, index, saturate<int32_t>(value));
    case DType::i64: return store(base, index, saturate<int64_t>(value));
    case DType::bf16: return store(base, index, bf16(round_to_odd(value)));
    case DType::f16: return store(base, index, f16(round_to_odd(value)));
    case DType::f32: return store(base, index, static_cast<float>(value));
    case DType::f64: return store(base, index, value);
    case DType::f8e4m3: return store(base, index, f8e4m3(round_to_odd(value)));
    default: break;
  }
  WICK_ASSERT(!is_quantized(dtype));
}

// Quantized tensors are read row by row; their layouts are contiguous in the last dimension (the tensor class keeps it so).
void read_quantized(const Operand& operand, std::vector<double>& values) {
  const Layout& layout = *operand.layout;
  const int64_t row_elements = layout.shape().last();
  std::vector<float> row(static_cast<size_t>(row_elements));
  const int last = layout.rank() - 1;
  if (layout.elements() == 0) return;
  const Layout rows = last < 0 ? layout : layout.narrow(last, 0, 1);
  size_t at = 0;
  for_each_offset(rows, [&](int64_t offset) {
    unpack_row(operand.dtype, operand.buffer->host_data(), operand.buffer->bytes(), offset / row_elements, row);
    for (const float value : row) values[at++] = value;
  });
}

// The bytes of pack(), but that a block with a number that is not finite becomes one of NaNs. Copies write q8_0 alone.
void write_quantized(const ReferenceTensor& tensor, const Operand& operand) {
  WICK_ASSERT(operand.dtype == DType::q8_0);
  const BlockFormat& format = *find_block_format(operand.dtype);
  constexpr uint16_t kNaN = 0x7e00;
  const auto block_elements = static_cast<size_t>(info(operand.dtype).block_elements);
  std::vector<float> block(block_elements);
  size_t at = 0;
  // Blocks lie along the last dimension, whose elements are neighbours.
  for_each_offset(*operand.layout, [&](int64_t offset) {
    block[at % block_elements] = static_cast<float>(tensor.values[at]);
    if (++at % block_elements != 0) return;
    const auto last = static_cast<int64_t>(block_elements) - 1;
    std::byte* target = operand.buffer->host_data() + storage_bytes(operand.dtype, offset - last);
    format.pack(block, target);
    const bool finite = std::all_of(block.begin(), block.end(), [](float value) { return std::isfinite(value); });
    if (!finite) std::memcpy(target, &kNaN, sizeof(kNaN));
  });
}

}  // namespace

int64_t as_integer(double value) noexcept { return saturate<int64_t>(value); }

double wrap_integer(DType dtype, int64_t value) noexcept {
  switch (dtype) {
    case DType::u8: return static_cast<uint8_t>(value);
    case DType::u32: return static_cast<uint32_t>(value);
    case DType::i8: return static_cast<int8_t>(value);
    case DType::i16: return static_cast<int16_t>(value);
    case DType::i32: return static_cast<int32_t>(value);
    default: return static_cast<double>(value);
  }
}

ReferenceTensor read_reference(const Operand& operand) {
  ReferenceTensor tensor{operand.layout->shape(), std::vector<double>(static_cast<size_t>(operand.layout->elements())), operand.dtype};
  if (is_quantized(operand.dtype)) {
    read_quantized(operand, tensor.values);
    return tensor;
  }
  size_t at = 0;
  const std::byte* base = operand.buffer->host_data();
  for_each_offset(*operand.layout, [&](int64_t offset) { tensor.values[at++] = load_as_double(operand.dtype, base, offset); });
  return tensor;
}

ReferenceTensor download_reference(Runtime& runtime, const Operand& operand) {
  if (runtime.caps().host_memory) return read_reference(operand);
  // Of plain elements only those that the layout reaches; blocks are read whole.
  const bool plain = !is_quantized(operand.dtype);
  const auto [begin, end] = operand.layout->touched_range();
  const auto element = static_cast<size_t>(info(operand.dtype).block_bytes);
  const size_t first = plain ? static_cast<size_t>(begin) * element : 0;
  std::vector<std::byte> bytes(plain ? static_cast<size_t>(end - begin) * element : operand.buffer->bytes());
  runtime.queue().download(*operand.buffer, first, bytes.data(), bytes.size());
  const std::unique_ptr<Buffer> host = wrap_host_memory(bytes.data(), bytes.size(), nullptr);
  const Layout layout(operand.layout->shape(), operand.layout->strides(), operand.layout->offset() - (plain ? begin : 0));
  return read_reference({host.get(), operand.dtype, &layout});
}

void write_reference(const ReferenceTensor& tensor, const Operand& operand) {
  if (is_quantized(operand.dtype)) return write_quantized(tensor, operand);
  size_t at = 0;
  std::byte* base = operand.buffer->host_data();
  for_each_offset(*operand.layout, [&](int64_t offset) { store_double(operand.dtype, base, offset, tensor.values[at++]); });
}

void run_reference(const OpCall& call) {
  std::vector<ReferenceTensor> inputs;
  for (const Operand& operand : call.inputs) inputs.push_back(read_reference(operand));
  std::vector<ReferenceTensor> outputs;
  for (const Operand& operand : call.outputs) {
    if (rule(call.op).updates) {
      outputs.push_back(read_reference(operand));
    } else {
      outputs.push_back({operand.layout->shape(), std::vector<double>(static_cast<size_t>(operand.layout->elements())), operand.dtype});
    }
  }
  rule(call.op).reference(call.params, inputs, outputs);
  for (size_t index = 0; index < outputs.size(); ++index) write_reference(outputs[index], call.outputs[index]);
}

}  // namespace wick
