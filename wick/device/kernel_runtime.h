// A KernelRuntime is a device whose ops are portable kernels: a driver's memory behind a pool, its compiler behind a cache.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "wick/device/buffer_splitter.h"
#include "wick/device/caching_allocator.h"
#include "wick/device/capture.h"
#include "wick/device/kernel_driver.h"
#include "wick/device/program_cache.h"
#include "wick/device/program_plan.h"
#include "wick/device/runtime.h"
#include "wick/device/trace.h"
#include "wick/device/validate.h"

namespace wick {

class KernelRuntime final : public Runtime, public BufferSplitter {
 public:
  explicit KernelRuntime(std::unique_ptr<KernelDriver> driver, const DeviceOptions& options = {});
  ~KernelRuntime() override { forget_programs(); }

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return driver_->caps(); }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes, Lifetime lifetime) override;
  [[nodiscard]] std::unique_ptr<Buffer> import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) override;
  [[nodiscard]] Queue& queue() noexcept override { return is_recording() ? *recorder_ : outer_queue(); }
  // None while launches are checked or recorded: what a driver's own libraries queue is not seen.
  [[nodiscard]] OpFunction override_for(OpId op, int kind, DType dtype) const noexcept override {
    return validation_ != nullptr || (is_recording() && !is_planning()) ? nullptr : driver_->override_for(op, kind, dtype);
  }
  [[nodiscard]] bool runs_kernels() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<const Program> compile(const ir::Kernel& kernel) override;
  [[nodiscard]] std::shared_ptr<const Program> compile_source(const std::string& name, const KernelSource& source, const std::string& entry,
                                                              const KernelSignature& signature) override;
  void validate(const Launch& launch) override {
    if (validation_) validation_->check(launch);
  }
  [[nodiscard]] const Program* split(const Program& program, std::span<const uint32_t> parts, uint32_t part_bytes) override;
  [[nodiscard]] bool is_lost() const noexcept override { return driver_->is_lost(); }
  [[nodiscard]] size_t allocated_bytes() const noexcept override { return allocator_->statistics().allocated; }
  [[nodiscard]] size_t peak_allocated_bytes() const noexcept override { return allocator_->statistics().peak_allocated; }

  [[nodiscard]] KernelDriver& driver() noexcept { return *driver_; }

  // Another handle on the bytes of a buffer of this device, which stay until both are gone; and of a program that compile() gave.
  // A recording's own buffers stay until its memory goes.
  [[nodiscard]] std::shared_ptr<Buffer> share(Buffer& buffer);
  [[nodiscard]] std::shared_ptr<const Program> share(const Program& program);
  // Makes queue() return `recorder` to the calling thread until it stops; other threads use the device's queue. False if one records
  // already. For Graph.
  [[nodiscard]] bool record_with(Queue& recorder) {
    std::thread::id nobody;
    if (!recording_thread_.compare_exchange_strong(nobody, std::this_thread::get_id())) return false;
    recorder_ = &recorder;
    if (validation_ == nullptr) arena_ = allocator_->make_arena();
    return true;
  }
  // Returns the recording's memory, which is to be kept as long as it.
  std::shared_ptr<CachingAllocator::Arena> stop_recording() noexcept {
    std::shared_ptr<CachingAllocator::Arena> arena = std::move(arena_);
    recording_thread_ = std::thread::id();
    return arena;
  }
  // Whether the calling thread records.
  [[nodiscard]] bool is_recording() const noexcept override {
    return recording_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  // Makes the programs that `body` needs, several at once, so that the first run of a model does not wait for one after the other. `body`
  // calls the ops whose programs are wanted on buffers of their sizes, and what it launches does not run; it is not called where the
  // driver makes one program at a time, while launches are checked, or while a graph is recorded. A program that cannot be made says so
  // when it is launched. Errors: those of `body`.
  void compile_together(const std::function<void()>& body);
  // Whether the calling thread is in it: a driver's own library then queues nothing.
  [[nodiscard]] bool is_planning() const noexcept { return plan_ != nullptr && is_recording(); }

  // The driver's queue, if it captures work and nothing looks at what it is given; else nullptr.
  [[nodiscard]] CaptureQueue* capture_queue() noexcept {
    return validation_ != nullptr || trace_ ? nullptr : dynamic_cast<CaptureQueue*>(&driver_->queue());
  }

  [[nodiscard]] CachingAllocator& allocator() noexcept { return *allocator_; }

 private:
  [[nodiscard]] Queue& inner_queue() noexcept { return validation_ ? *validation_ : driver_->queue(); }
  [[nodiscard]] Queue& outer_queue() noexcept { return trace_ ? *trace_ : inner_queue(); }
  [[nodiscard]] std::shared_ptr<const Program> make(ir::Kernel prepared);
  // So that share() finds it.
  [[nodiscard]] std::shared_ptr<const Program> remember(std::shared_ptr<const Program> program);
  // The driver's binary of a text: kept from an earlier run, or made now.
  [[nodiscard]] std::shared_ptr<const Program> build(ir::Kernel prepared, const std::string& text);
  [[nodiscard]] std::vector<std::byte> compile_text(const ir::Kernel& prepared, const std::string& text);
  // Beside the cache's entries, where there is a cache. Returns a part of the error's message: the path.
  [[nodiscard]] std::string keep_refused(const ir::Kernel& prepared, const std::string& text) const;

  std::shared_ptr<KernelDriver> driver_;
  std::shared_ptr<CachingAllocator> allocator_;
  std::optional<ProgramCache> cache_;
  std::shared_ptr<ValidatingQueue> validation_;  // nullptr: none
  std::optional<TracingQueue> trace_;
  std::atomic<std::thread::id> recording_thread_;
  // The recording thread's.
  Queue* recorder_ = nullptr;
  ProgramPlan* plan_ = nullptr;
  std::shared_ptr<CachingAllocator::Arena> arena_;
  std::mutex compiled_mutex_;
  struct Compiled {
    std::weak_ptr<const Program> program;
    std::map<std::vector<uint32_t>, std::shared_ptr<const Program>> split;  // by the parts of each buffer
  };
  std::unordered_map<const Program*, Compiled> compiled_;
};

}  // namespace wick
