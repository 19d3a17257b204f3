// Runtimes that stand before another one: a base that passes everything on, and one that lacks some of its ops.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "wick/device/buffer_splitter.h"
#include "wick/device/device.h"
#include "wick/device/registry.h"
#include "wick/device/runtime.h"
#include "wick/tensor/ops/dispatch.h"

namespace wick {

class ForwardingRuntime : public Runtime, public BufferSplitter {
 public:
  explicit ForwardingRuntime(std::shared_ptr<Runtime> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return inner_->caps(); }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes, Lifetime lifetime) override { return inner_->allocate(bytes, lifetime); }
  [[nodiscard]] std::unique_ptr<Buffer> import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) override {
    return inner_->import_host(data, bytes, std::move(owner));
  }
  [[nodiscard]] Queue& queue() noexcept override { return inner_->queue(); }
  [[nodiscard]] OpFunction override_for(OpId op, int kind, DType dtype) const noexcept override {
    return inner_->override_for(op, kind, dtype);
  }
  [[nodiscard]] std::shared_ptr<const PreparedWeight> prepare_weight(const Operand& weight, const WeightUse& use) override {
    return inner_->prepare_weight(weight, use);
  }
  void finish_preparing() override { inner_->finish_preparing(); }
  [[nodiscard]] bool runs_kernels() const noexcept override { return inner_->runs_kernels(); }
  [[nodiscard]] std::shared_ptr<const Program> compile(const ir::Kernel& kernel) override { return inner_->compile(kernel); }
  void validate(const Launch& launch) override { inner_->validate(launch); }
  [[nodiscard]] const Program* split(const Program& program, std::span<const uint32_t> parts, uint32_t part_bytes) override {
    auto* const splitter = dynamic_cast<BufferSplitter*>(inner_.get());
    return splitter == nullptr ? nullptr : splitter->split(program, parts, part_bytes);
  }
  [[nodiscard]] bool is_lost() const noexcept override { return inner_->is_lost(); }
  [[nodiscard]] size_t allocated_bytes() const noexcept override { return inner_->allocated_bytes(); }
  [[nodiscard]] size_t peak_allocated_bytes() const noexcept override { return inner_->peak_allocated_bytes(); }
  [[nodiscard]] MeasuredPeaks measure_peaks() override { return inner_->measure_peaks(); }

 protected:
  [[nodiscard]] Runtime& inner() const noexcept { return *inner_; }

 private:
  std::shared_ptr<Runtime> inner_;
};

// A runtime without the ops for which `lacks` holds; the dtype is that of the op's defining operand. Its memory is not the host's, so that
// only a fallback runs them.
class LackingRuntime final : public ForwardingRuntime {
 public:
  using Lacks = std::function<bool(OpId, DType)>;
  LackingRuntime(std::shared_ptr<Runtime> inner, Lacks lacks)
      : ForwardingRuntime(std::move(inner)), caps_(ForwardingRuntime::caps()), lacks_(std::move(lacks)) {
    caps_.host_memory = false;
  }

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return caps_; }
  // The inner runtime's portable kernels are found here too, since runs_kernels() is false.
  [[nodiscard]] OpFunction override_for(OpId op, int kind, DType dtype) const noexcept override {
    return lacks_(op, dtype) ? nullptr : implementation(inner(), op, kind, dtype);
  }
  [[nodiscard]] bool runs_kernels() const noexcept override { return false; }

 private:
  DeviceCaps caps_;
  Lacks lacks_;
};

// A device opened anew, without some ops, as the device `as`. `fallback`: the CPU runs them.
inline Device open_lacking(DeviceLocation location, const DeviceOptions& options, LackingRuntime::Lacks lacks, bool fallback,
                           DeviceLocation as) {
  auto runtime = std::make_shared<LackingRuntime>(open_runtime(location.kind, location.index, options), std::move(lacks));
  if (fallback) {
    runtime->set_op_fallback(std::make_unique<OpFallback>(open_runtime(DeviceKind::cpu, 0, {.threads = options.threads})));
  }
  return Device::adopt(as, std::move(runtime));
}
inline Device open_lacking(DeviceLocation location, const DeviceOptions& options, LackingRuntime::Lacks lacks, bool fallback) {
  return open_lacking(location, options, std::move(lacks), fallback, location);
}

}  // namespace wick
