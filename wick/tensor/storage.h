// A Storage is a device's bytes with a dtype; tensors share it and look at it through their layouts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wick/device/buffer.h"
#include "wick/device/device.h"
#include "wick/layout/dtype.h"

namespace [[gnu::visibility("default")]] wick {

class CustomOp1;
class CustomOp2;
class CustomOp3;
class InplaceOp1;
class InplaceOp2;
class InplaceOp3;
class Storage;
class Tensor;

using SharedStorage = std::shared_ptr<const Storage>;

class Storage {
 public:
  Storage(Device device, DType dtype, std::shared_ptr<Buffer> buffer)
      : device_(std::move(device)), dtype_(dtype), buffer_(std::move(buffer)) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] Buffer& buffer() const noexcept { return *buffer_; }
  [[nodiscard]] const std::shared_ptr<Buffer>& shared_buffer() const noexcept { return buffer_; }
  // How often the elements were written to: a tape that has saved a tensor sees by it whether they are still the same.
  [[nodiscard]] uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  // Also drops what is known of the old elements: their prepared form, and the host's copy.
  void bump_version() const noexcept {
    version_.store(version() + 1, std::memory_order_relaxed);
    if (prepared_ != nullptr) prepared_.reset();
    if (!host_ids_.empty()) host_ids_ = {};
  }
  // The device's prepared form of a weight (device/prepared_weight.h); nullptr: none.
  [[nodiscard]] const PreparedWeight* prepared() const noexcept { return prepared_.get(); }
  // Not while another thread uses the storage.
  void set_prepared(std::shared_ptr<const PreparedWeight> prepared) const noexcept { prepared_ = std::move(prepared); }

  // All elements, if they are few i32 numbers that came from the host to a device with kernels and were not written to since: ids among
  // them are checked without a wait for the device. Else empty.
  [[nodiscard]] std::span<const int32_t> host_ids() const noexcept { return host_ids_; }
  // Not while another thread uses the storage.
  void set_host_ids(std::vector<int32_t> ids) const noexcept { host_ids_ = std::move(ids); }

  // The functions of a storage alone, each operand with the layout to see it through: the op of that name in Tensor, without its tape.
  // Results are row-major. Defined in storage_methods.cpp.

  [[nodiscard]] SharedStorage try_clone(const Layout& layout) const;
  void const_set(double value, const Layout& layout) const;
  [[nodiscard]] SharedStorage affine(const Layout& layout, double multiplier, double addend) const;
  [[nodiscard]] SharedStorage powf(const Layout& layout, double exponent) const;
  [[nodiscard]] SharedStorage elu(const Layout& layout, double alpha) const;
  [[nodiscard]] SharedStorage cmp(CompareKind kind, const Storage& rhs, const Layout& layout, const Layout& rhs_layout) const;
  // Over these dimensions, which stay as extents of 1.
  [[nodiscard]] SharedStorage reduce_op(ReduceKind kind, const Layout& layout, std::span<const int> dims) const;
  [[nodiscard]] SharedStorage to_dtype(const Layout& layout, DType dtype) const;
  [[nodiscard]] Tensor apply_op1(const Layout& layout, const CustomOp1& op) const;
  [[nodiscard]] Tensor apply_op2(const Layout& layout, const Storage& second, const Layout& second_layout, const CustomOp2& op) const;
  [[nodiscard]] Tensor apply_op3(const Layout& layout, const Storage& second, const Layout& second_layout, const Storage& third,
                                 const Layout& third_layout, const CustomOp3& op) const;
  void inplace_op1(const Layout& layout, const InplaceOp1& op) const;
  void inplace_op2(const Layout& layout, const Storage& second, const Layout& second_layout, const InplaceOp2& op) const;
  void inplace_op3(const Layout& layout, const Storage& second, const Layout& second_layout, const Storage& third,
                   const Layout& third_layout, const InplaceOp3& op) const;
  [[nodiscard]] SharedStorage unary_impl(const UnaryParams& params, const Layout& layout) const;
  [[nodiscard]] SharedStorage binary_impl(BinaryKind kind, const Storage& rhs, const Layout& layout, const Layout& rhs_layout) const;
  // One-dimensional convolutions use the second number of each pair.
  [[nodiscard]] SharedStorage conv1d(const Layout& layout, const Storage& kernel, const Layout& kernel_layout,
                                     const ConvParams& params) const;
  [[nodiscard]] SharedStorage conv_transpose1d(const Layout& layout, const Storage& kernel, const Layout& kernel_layout,
                                               const ConvParams& params) const;
  [[nodiscard]] SharedStorage conv2d(const Layout& layout, const Storage& kernel, const Layout& kernel_layout,
                                     const ConvParams& params) const;
  [[nodiscard]] SharedStorage conv_transpose2d(const Layout& layout, const Storage& kernel, const Layout& kernel_layout,
                                               const ConvParams& params) const;
  [[nodiscard]] SharedStorage avg_pool2d(const Layout& layout, std::array<int64_t, 2> kernel, std::array<int64_t, 2> stride) const;
  [[nodiscard]] SharedStorage max_pool2d(const Layout& layout, std::array<int64_t, 2> kernel, std::array<int64_t, 2> stride) const;
  [[nodiscard]] SharedStorage upsample_nearest1d(const Layout& layout, int64_t length) const;
  [[nodiscard]] SharedStorage upsample_nearest2d(const Layout& layout, int64_t height, int64_t width) const;
  // The scales, where given, are output pixels per input pixel; both or none.
  [[nodiscard]] SharedStorage upsample_bilinear2d(const Layout& layout, int64_t height, int64_t width, bool align_corners,
                                                  std::optional<double> scale_height = {}, std::optional<double> scale_width = {}) const;
  // This storage is the condition.
  [[nodiscard]] SharedStorage where_cond(const Layout& layout, const Storage& on_true, const Layout& true_layout, const Storage& on_false,
                                         const Layout& false_layout) const;
  [[nodiscard]] SharedStorage gather(const Layout& layout, const Storage& ids, const Layout& ids_layout, int dim) const;
  void scatter_set(const Layout& layout, const Storage& ids, const Layout& ids_layout, const Storage& source, const Layout& source_layout,
                   int dim) const;
  void scatter_add(const Layout& layout, const Storage& ids, const Layout& ids_layout, const Storage& source, const Layout& source_layout,
                   int dim) const;
  [[nodiscard]] SharedStorage index_add(const Layout& layout, const Storage& ids, const Layout& ids_layout, const Storage& source,
                                        const Layout& source_layout, int dim) const;
  [[nodiscard]] SharedStorage index_select(const Storage& ids, const Layout& layout, const Layout& ids_layout, int dim) const;
  // [..., m, k] · [..., k, n], as the layouts have it.
  [[nodiscard]] SharedStorage matmul(const Storage& rhs, const Layout& layout, const Layout& rhs_layout) const;
  // The layout's elements in row-major order, to `target` from element `target_offset` on.
  void copy_strided_src(const Storage& target, int64_t target_offset, const Layout& layout) const;
  // `rows` rows of `columns` elements; strides and offsets in elements.
  void copy2d(const Storage& target, int64_t rows, int64_t columns, int64_t source_stride, int64_t target_stride, int64_t source_offset,
              int64_t target_offset) const;

 private:
  Device device_;
  DType dtype_;
  std::shared_ptr<Buffer> buffer_;
  mutable std::atomic<uint64_t> version_{0};
  mutable std::vector<int32_t> host_ids_;
  mutable std::shared_ptr<const PreparedWeight> prepared_;  // goes before the bytes that it was made of
};

}  // namespace wick
