// A CompiledKernel is a kernel of the user's own, written with ir/builder.h and compiled for one device while the program runs: in the
// device's language, or for the interpreter on the CPU, which is truth, not speed.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "wick/ir/builder.h"
#include "wick/tensor/custom_op.h"
#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// Argument for one buffer of a kernel: a tensor, or an operand of a custom op.
class KernelBuffer {
 public:
  KernelBuffer(const Tensor& tensor) : storage_(*tensor.storage()), layout_(tensor.layout()), tracked_(tensor.is_tracked()) {}  // NOLINT
  KernelBuffer(const CustomOperand& operand) : storage_(operand.storage), layout_(operand.layout) {}                            // NOLINT

  [[nodiscard]] const Storage& storage() const noexcept { return storage_; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] bool is_tracked() const noexcept { return tracked_; }

 private:
  const Storage& storage_;
  const Layout& layout_;
  bool tracked_ = false;
};

// Argument for a parameter, of the type that the kernel declares.
using KernelParameter = std::variant<uint32_t, int32_t, float>;

class CompiledKernel {
 public:
  // Errors: those of the verifier, naming kernel and fault; unsupported where the device lacks what the kernel needs, or its compiler
  // refuses it.
  CompiledKernel(const ir::Kernel& kernel, const Device& device);

  // A kernel of the device's own language (Device::compile). What is checked at a launch is what the signature says of its arguments: no
  // run of it is proved to stay inside of them.
  CompiledKernel(const std::string& name, const KernelSource& source, const std::string& entry, const KernelSignature& signature,
                 const Device& device);

  // Queues one run over so many groups. A buffer of u32 takes a tensor of any dtype, quantized ones too, as the words of its bytes; every
  // other buffer one whose elements are its own (f8e4m3: u8). A kernel sees a tensor's bytes to the next multiple of 16. Nothing here has
  // a gradient: a CustomOp that launches the kernel can bring one.
  // Errors, naming kernel and argument: invalid_argument for a wrong number of arguments, a parameter of another type, a tensor without
  // elements, or one that is written and given twice; dtype_mismatch; device_mismatch; unsupported for a tensor that is not row-major from
  // the beginning of its storage, that is tracked, or for more groups than the device takes.
  void launch(ir::Grid grid, std::span<const KernelBuffer> buffers, std::span<const KernelParameter> parameters = {}) const;
  void launch(ir::Grid grid, std::initializer_list<KernelBuffer> buffers, std::initializer_list<KernelParameter> parameters = {}) const {
    launch(grid, std::span(buffers.begin(), buffers.size()), std::span(parameters.begin(), parameters.size()));
  }

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::string_view name() const noexcept { return name_; }

 private:
  void check_buffer(const ir::BufferArgument& argument, const KernelBuffer& given) const;
  void check_overlaps(std::span<const KernelBuffer> buffers) const;

  Device device_;  // outlives the program
  std::string name_;
  std::vector<ir::BufferArgument> buffers_;
  std::vector<ir::ParameterArgument> parameters_;
  std::shared_ptr<const Program> program_;
};

}  // namespace wick
