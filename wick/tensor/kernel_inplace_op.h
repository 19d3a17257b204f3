// A CompiledKernel as an op that writes to its first operand: tensor.inplace_op1(KernelInplaceOp1(kernel, launch)). The kernel's buffers
// are the operands in their order, and the launch says over how many groups it runs, with which parameters.
#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/tensor/compiled_kernel.h"
#include "wick/tensor/custom_op.h"

namespace [[gnu::visibility("default")]] wick {

struct KernelLaunch {
  ir::Grid grid;
  std::vector<KernelParameter> parameters = {};
};

// How the kernel is launched for the operand that it writes to.
using PlanLaunch = std::function<KernelLaunch(const CustomOperand& written)>;

// Errors of an op that is applied: those of CompiledKernel::launch.
template <class Base, class... Operands>
class KernelInplaceOp final : public Base {
 public:
  KernelInplaceOp(CompiledKernel kernel, PlanLaunch plan) : kernel_(std::move(kernel)), plan_(std::move(plan)) {}

  [[nodiscard]] std::string_view name() const override { return kernel_.name(); }
  void cpu_forward(const Operands&... operands) const override { launch(operands...); }
  void device_forward(DeviceKind /*kind*/, const Operands&... operands) const override { launch(operands...); }

 private:
  void launch(const Operands&... operands) const {
    const KernelBuffer buffers[] = {operands...};
    const KernelLaunch launch = plan_(first(operands...));
    kernel_.launch(launch.grid, buffers, launch.parameters);
  }
  static const CustomOperand& first(const CustomOperand& written, const auto&... /*others*/) { return written; }

  CompiledKernel kernel_;
  PlanLaunch plan_;
};

using KernelInplaceOp1 = KernelInplaceOp<InplaceOp1, CustomOperand>;
using KernelInplaceOp2 = KernelInplaceOp<InplaceOp2, CustomOperand, CustomOperand>;
using KernelInplaceOp3 = KernelInplaceOp<InplaceOp3, CustomOperand, CustomOperand, CustomOperand>;

}  // namespace wick
