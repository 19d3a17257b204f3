// The CPU implementation of Runtime, and its state for the implementations of ops.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wick/backend/cpu/cpu_memory.h"
#include "wick/backend/cpu/scratch.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/weights/prefetch.h"
#include "wick/backend/cpu/weights/prepared_tiles.h"
#include "wick/base/thread_pool.h"
#include "wick/device/runtime.h"

namespace wick::cpu {

// A thread's share of an op is worth a fork from about this many elements on; where an element is only copied or added, from more.
inline constexpr int64_t kElementsPerThread = 16384, kCopiedElementsPerThread = 32768;

class CpuRuntime final : public Runtime {
 public:
  // `prefetch`: see PrefetchTable.
  CpuRuntime(int threads, InstructionSet set, const std::string& cache_directory, std::optional<int64_t> prefetch);

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes, Lifetime lifetime) override { return memory_->allocate(bytes, lifetime); }
  [[nodiscard]] std::unique_ptr<Buffer> import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) override;
  [[nodiscard]] Queue& queue() noexcept override;
  [[nodiscard]] OpFunction override_for(OpId op, int kind, DType dtype) const noexcept override;
  [[nodiscard]] int64_t fused_linear_rows() const noexcept override { return std::numeric_limits<int64_t>::max(); }
  [[nodiscard]] std::shared_ptr<const PreparedWeight> prepare_weight(const Operand& weight, const WeightUse& use) override {
    return preparer_.add(weight, use);
  }
  void finish_preparing() override { preparer_.finish(); }
  [[nodiscard]] std::shared_ptr<const Program> compile(const ir::Kernel& kernel) override;
  [[nodiscard]] size_t allocated_bytes() const noexcept override { return memory_->allocated_bytes(); }
  [[nodiscard]] size_t peak_allocated_bytes() const noexcept override { return memory_->peak_allocated_bytes(); }
  [[nodiscard]] MeasuredPeaks measure_peaks() override;
  [[nodiscard]] bool rest() noexcept override;

  [[nodiscard]] ThreadPool& threads() noexcept { return threads_; }
  [[nodiscard]] PrefetchTable& prefetch() noexcept { return prefetch_; }
  [[nodiscard]] WeightPreparer& preparer() noexcept { return preparer_; }
  [[nodiscard]] const SimdKernels& kernels() const noexcept { return kernels_; }
  // Scratch of thread `index` of the pool while it runs a task. Index 0 is the calling thread, which may also use it outside tasks; as
  // several threads may call at once, each has its own.
  [[nodiscard]] Scratch& scratch(int index) noexcept { return index == 0 ? callers_scratch() : scratch_[static_cast<size_t>(index)]; }

 private:
  [[nodiscard]] static Scratch& callers_scratch() noexcept;

  DeviceCaps caps_;
  std::shared_ptr<MemoryPool> memory_ = std::make_shared<MemoryPool>();
  std::unique_ptr<Queue> queue_;
  const SimdKernels& kernels_;
  ThreadPool threads_;
  PrefetchTable prefetch_;
  std::vector<Scratch> scratch_;
  WeightPreparer preparer_{*memory_, threads_, kernels_};  // its thread uses the others
};

[[nodiscard]] inline CpuRuntime& runtime_of(const OpCall& call) { return static_cast<CpuRuntime&>(*call.runtime); }

// Calls body(scratch, begin, end) on an equal part of [0, count) in each thread, with that thread's scratch; on all of it in the calling
// thread where there is one thread only or it is not worth a fork.
template <class Body>
void share_equally(CpuRuntime& runtime, int64_t count, bool worth_a_fork, const Body& body) {
  if (!worth_a_fork || runtime.threads().size() == 1) return body(runtime.scratch(0), int64_t{0}, count);
  runtime.threads().run(
      [&](int index, int threads) { body(runtime.scratch(index), count * index / threads, count * (index + 1) / threads); });
}

// The first element of an operand as T*, its layout's offset applied.
template <class T>
[[nodiscard]] T* data_of(const Operand& operand) {
  return reinterpret_cast<T*>(operand.buffer->host_data()) + operand.layout->offset();
}

}  // namespace wick::cpu
