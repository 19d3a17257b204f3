#include "tensor/tensor.h"

#include <cstring>

#include "base/error.h"
#include "quant/block_format.h"
#include "tensor/ops/copy.h"
#include "tensor/ops/fill.h"

namespace wick {
namespace {

int64_t checked_bytes(const Shape& shape, DType dtype) {
  const DTypeInfo& entry = info(dtype);
  if (shape.elements() > 0 && shape.last() % entry.block_elements != 0) {
    fail(ErrorCode::shape_mismatch, "tensor {} of {}: the last extent {} is not a multiple of the block length {}", shape.to_string(),
         entry.name, shape.last(), entry.block_elements);
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.elements() / entry.block_elements, entry.block_bytes, &bytes)) {
    fail(ErrorCode::out_of_memory, "tensor {} of {}: more than 2^63 - 1 bytes", shape.to_string(), entry.name);
  }
  return bytes;
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, const Device& device, Lifetime lifetime) {
  std::shared_ptr<Buffer> buffer = device.runtime().allocate(static_cast<size_t>(checked_bytes(shape, dtype)), lifetime);
  return Tensor(std::make_shared<Storage>(device, dtype, std::move(buffer)), Layout(shape));
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, const Device& device) {
  Tensor result = empty(shape, dtype, device);
  fill(result, value);
  return result;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, const Device& device) { return full(shape, 0, dtype, device); }

Tensor Tensor::from_bytes(std::span<const std::byte> bytes, const Shape& shape, DType dtype, const Device& device) {
  const int64_t expected = checked_bytes(shape, dtype);
  if (static_cast<int64_t>(bytes.size()) != expected) {
    fail(ErrorCode::shape_mismatch, "tensor {} of {}: {} bytes given, {} needed", shape.to_string(), to_string(dtype), bytes.size(),
         expected);
  }
  Tensor result = empty(shape, dtype, device);
  device.runtime().queue().upload(bytes.data(), result.storage_->buffer(), 0, bytes.size());
  return result;
}

Tensor Tensor::import_host(std::span<const std::byte> bytes, const Shape& shape, DType dtype, const Device& device,
                           std::shared_ptr<const void> owner) {
  const int64_t expected = checked_bytes(shape, dtype);
  if (static_cast<int64_t>(bytes.size()) != expected) {
    fail(ErrorCode::shape_mismatch, "tensor {} of {}: {} bytes given, {} needed", shape.to_string(), to_string(dtype), bytes.size(),
         expected);
  }
  std::shared_ptr<Buffer> buffer =
      device.runtime().import_host(const_cast<std::byte*>(bytes.data()), bytes.size(), std::move(owner));  // NOLINT: see import_host
  return Tensor(std::make_shared<Storage>(device, dtype, std::move(buffer)), Layout(shape));
}

int64_t Tensor::dim(int index) const {
  const int dim = index < 0 ? index + rank() : index;
  if (dim < 0 || dim >= rank()) fail(ErrorCode::index_out_of_range, "dimension {} of shape {}", index, shape().to_string());
  return shape()[dim];
}

Tensor Tensor::view(const Layout& layout) const {
  if (is_quantized(dtype())) {
    const int last = layout.rank() - 1;
    const bool whole = last >= 0 && layout.shape().last() == shape().last() && (layout.elements() == 0 || layout.stride(last) == 1);
    if (!whole) fail(ErrorCode::unsupported, "{}: rows of a quantized tensor must stay whole; convert it with to_dtype first", describe());
  }
  return Tensor(storage_, layout);
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (is_quantized(dtype()) && shape.elements() == elements() && is_contiguous() && !is_interleaved(dtype())) {
    (void)checked_bytes(shape, dtype());
    return Tensor(storage_, Layout(shape, layout_.offset()));
  }
  if (const std::optional<Layout> layout = layout_.reshape(shape)) return view(*layout);
  return contiguous().reshape(shape);
}

Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  Tensor result = empty(shape(), dtype(), device());
  copy(*this, result);
  return result;
}

std::vector<std::byte> Tensor::to_bytes() const {
  const Tensor source = contiguous();
  std::vector<std::byte> bytes(static_cast<size_t>(checked_bytes(shape(), dtype())));
  const auto offset = static_cast<size_t>(storage_bytes(dtype(), source.layout().offset()));
  device().runtime().queue().download(source.storage_->buffer(), offset, bytes.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor source = dtype() == DTypeOf<T>::value ? *this : to_dtype(*this, DTypeOf<T>::value);
  const std::vector<std::byte> bytes = source.to_bytes();
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template std::vector<uint8_t> Tensor::to_vector() const;
template std::vector<uint32_t> Tensor::to_vector() const;
template std::vector<int16_t> Tensor::to_vector() const;
template std::vector<int32_t> Tensor::to_vector() const;
template std::vector<int64_t> Tensor::to_vector() const;
template std::vector<bf16> Tensor::to_vector() const;
template std::vector<f16> Tensor::to_vector() const;
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<f8e4m3> Tensor::to_vector() const;

std::string Tensor::describe() const {
  const std::string place = device().is_cpu() ? "" : ", " + device().location().to_string();
  return fmt::format("Tensor[{}, {}{}]", shape().to_string(), to_string(dtype()), place);
}

}  // namespace wick
