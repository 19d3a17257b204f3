// A GuardedRuntime runs the ops of another runtime and checks what they touch: bytes before and behind each output, elements between
// the output's own, and every input.
#pragma once

#include <memory>

#include "wick/device/buffer_splitter.h"
#include "wick/device/runtime.h"

namespace wick::conformance {

class GuardedRuntime final : public Runtime, public BufferSplitter {
 public:
  explicit GuardedRuntime(std::shared_ptr<Runtime> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return inner_->caps(); }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes, Lifetime lifetime) override { return inner_->allocate(bytes, lifetime); }
  [[nodiscard]] std::unique_ptr<Buffer> import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) override {
    return inner_->import_host(data, bytes, std::move(owner));
  }
  [[nodiscard]] Queue& queue() noexcept override { return inner_->queue(); }
  [[nodiscard]] OpFunction override_for(OpId op, int kind, DType dtype) const noexcept override;
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

  // The op of the inner runtime on outputs between canaries. Throws std::runtime_error naming what was overwritten.
  void call(const OpCall& call);

 private:
  std::shared_ptr<Runtime> inner_;
};

}  // namespace wick::conformance
