// Custom ops: functions that users bring, with a forward for each backend that they know and, if they like, a gradient.
//
// A forward gets each operand as a storage and the layout to see it through (any strides and offsets) and returns a new tensor, or
// writes to its first operand. A backend that an op does not know: unsupported, "my_op: no cuda implementation".
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "wick/device/device_kind.h"
#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// One operand of a custom op.
struct CustomOperand {
  const Storage& storage;
  const Layout& layout;

  [[nodiscard]] const Device& device() const noexcept { return storage.device(); }
  [[nodiscard]] DType dtype() const noexcept { return storage.dtype(); }
  [[nodiscard]] const Shape& shape() const noexcept { return layout.shape(); }
  // The address of the element at the layout's offset, in host memory. Errors: dtype_mismatch; unsupported where the device's memory is
  // not the host's.
  template <class T>
  [[nodiscard]] T* data() const {
    return reinterpret_cast<T*>(host_bytes(DTypeOf<std::remove_const_t<T>>::value)) + layout.offset();
  }
  // All elements of a row-major operand. Errors: those of data; unsupported for other layouts.
  template <class T>
  [[nodiscard]] std::span<T> elements() const {
    check_contiguous();
    return {data<T>(), static_cast<size_t>(layout.elements())};
  }

 private:
  [[nodiscard]] std::byte* host_bytes(DType dtype) const;
  void check_contiguous() const;
};

namespace custom_op {
// Errors: unsupported, naming the op.
[[noreturn]] void fail_gradient(std::string_view op);
[[noreturn]] void fail_device(std::string_view op, DeviceKind kind);
}  // namespace custom_op

// A forward for the CPU and one for all other kinds of devices, each refusing until it is overridden.
template <class Result, class... Operands>
class CustomForward {
 public:
  CustomForward() = default;
  virtual ~CustomForward() = default;

  // How errors name the op.
  [[nodiscard]] virtual std::string_view name() const = 0;

  virtual Result cpu_forward(const Operands&... /*operands*/) const { refuse(DeviceKind::cpu); }
  // On every other kind of device. An op that knows some of them leaves the rest to this function of its base.
  virtual Result device_forward(DeviceKind kind, const Operands&... /*operands*/) const { refuse(kind); }

  Result forward(DeviceKind kind, const Operands&... operands) const {
    return kind == DeviceKind::cpu ? cpu_forward(operands...) : device_forward(kind, operands...);
  }

 protected:
  CustomForward(const CustomForward&) = default;
  CustomForward(CustomForward&&) noexcept = default;
  CustomForward& operator=(const CustomForward&) = default;
  CustomForward& operator=(CustomForward&&) noexcept = default;

  [[noreturn]] void refuse_gradient() const { custom_op::fail_gradient(name()); }

 private:
  [[noreturn]] void refuse(DeviceKind kind) const { custom_op::fail_device(name(), kind); }
};

// The gradients of the operands in `backward`, none for one that has no gradient. They have the operand's shape and dtype.
class CustomOp1 : public CustomForward<Tensor, CustomOperand> {
 public:
  [[nodiscard]] virtual std::optional<Tensor> backward(const Tensor& /*x*/, const Tensor& /*result*/, const Tensor& /*gradient*/) const {
    refuse_gradient();
  }
};

class CustomOp2 : public CustomForward<Tensor, CustomOperand, CustomOperand> {
 public:
  using Gradients = std::array<std::optional<Tensor>, 2>;
  [[nodiscard]] virtual Gradients backward(const Tensor& /*first*/, const Tensor& /*second*/, const Tensor& /*result*/,
                                           const Tensor& /*gradient*/) const {
    refuse_gradient();
  }
};

class CustomOp3 : public CustomForward<Tensor, CustomOperand, CustomOperand, CustomOperand> {
 public:
  using Gradients = std::array<std::optional<Tensor>, 3>;
  [[nodiscard]] virtual Gradients backward(const Tensor& /*first*/, const Tensor& /*second*/, const Tensor& /*third*/,
                                           const Tensor& /*result*/, const Tensor& /*gradient*/) const {
    refuse_gradient();
  }
};

// They write to their first operand.
class InplaceOp1 : public CustomForward<void, CustomOperand> {};
class InplaceOp2 : public CustomForward<void, CustomOperand, CustomOperand> {};
class InplaceOp3 : public CustomForward<void, CustomOperand, CustomOperand, CustomOperand> {};

}  // namespace wick
