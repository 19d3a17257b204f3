// A Tensor is an n-dimensional array on one device: a storage seen through a layout. Copies of a Tensor share their elements.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/half.h"
#include "device/device.h"
#include "layout/layout.h"
#include "tensor/storage.h"

namespace wick {

// The DType of a C++ type.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::i16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<f16> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<f8e4m3> {
  static constexpr DType value = DType::f8e4m3;
};

class Tensor {
 public:
  Tensor(std::shared_ptr<const Storage> storage, const Layout& layout) : storage_(std::move(storage)), layout_(layout) {}

  // Uninitialised elements. For a quantized dtype the last extent must be a multiple of the block length.
  // Errors: out_of_memory; shape_mismatch.
  [[nodiscard]] static Tensor empty(const Shape& shape, DType dtype, const Device& device, Lifetime lifetime = Lifetime::transient);
  [[nodiscard]] static Tensor zeros(const Shape& shape, DType dtype, const Device& device);
  [[nodiscard]] static Tensor full(const Shape& shape, double value, DType dtype, const Device& device);
  // Copies values.size() elements, which must be the shape's.
  template <class T>
  [[nodiscard]] static Tensor from_span(std::span<const T> values, const Shape& shape, const Device& device) {
    return from_bytes(std::as_bytes(values), shape, DTypeOf<T>::value, device);
  }
  template <class T>
  [[nodiscard]] static Tensor from_vector(const std::vector<T>& values, const Shape& shape, const Device& device) {
    return from_span(std::span<const T>(values), shape, device);
  }
  // Row-major bytes of that dtype. Errors: shape_mismatch if their number is not the shape's.
  [[nodiscard]] static Tensor from_bytes(std::span<const std::byte> bytes, const Shape& shape, DType dtype, const Device& device);
  // The same memory where the device works in host memory, else a copy; `owner` keeps the bytes alive. Nothing may write to it.
  [[nodiscard]] static Tensor import_host(std::span<const std::byte> bytes, const Shape& shape, DType dtype, const Device& device,
                                          std::shared_ptr<const void> owner);

  [[nodiscard]] DType dtype() const noexcept { return storage_->dtype(); }
  [[nodiscard]] const Device& device() const noexcept { return storage_->device(); }
  [[nodiscard]] const Shape& shape() const noexcept { return layout_.shape(); }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] int rank() const noexcept { return layout_.rank(); }
  [[nodiscard]] int64_t dim(int index) const;
  [[nodiscard]] int64_t elements() const noexcept { return layout_.elements(); }
  [[nodiscard]] bool is_contiguous() const noexcept { return layout_.is_contiguous(); }
  [[nodiscard]] const std::shared_ptr<const Storage>& storage() const noexcept { return storage_; }

  // Views: no element moves. A quantized tensor's rows must stay whole: its last dimension cannot be narrowed, moved, repeated or
  // flipped (unsupported).
  [[nodiscard]] Tensor narrow(int dim, int64_t start, int64_t length) const { return view(layout_.narrow(dim, start, length)); }
  [[nodiscard]] Tensor transpose(int dim0, int dim1) const { return view(layout_.transpose(dim0, dim1)); }
  [[nodiscard]] Tensor permute(std::initializer_list<int> order) const {
    return view(layout_.permute(std::span(order.begin(), order.size())));
  }
  [[nodiscard]] Tensor broadcast_to(const Shape& shape) const { return view(layout_.broadcast_to(shape)); }
  [[nodiscard]] Tensor squeeze(int dim) const { return view(layout_.squeeze(dim)); }
  [[nodiscard]] Tensor unsqueeze(int dim) const { return view(layout_.unsqueeze(dim)); }
  [[nodiscard]] Tensor flip(int dim) const { return view(layout_.flip(dim)); }
  // A view where the strides allow it, a copy elsewhere. Blocks of a quantized tensor must stay whole, rows of an interleaved one too.
  [[nodiscard]] Tensor reshape(const Shape& shape) const;
  // Itself if it is row-major already, a copy elsewhere.
  [[nodiscard]] Tensor contiguous() const;

  // The elements in row-major order, converted to T (f32 -> i32 truncates and saturates; NaN becomes 0).
  template <class T>
  [[nodiscard]] std::vector<T> to_vector() const;
  // The elements' bytes in row-major order, in the tensor's own dtype.
  [[nodiscard]] std::vector<std::byte> to_bytes() const;

  // "Tensor[[2, 3], f32, cuda:0]"; the device is left out for the CPU.
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] Tensor view(const Layout& layout) const;

  std::shared_ptr<const Storage> storage_;
  Layout layout_;
};

}  // namespace wick
