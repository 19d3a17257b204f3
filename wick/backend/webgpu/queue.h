// The Queue records what it is given into one command buffer after another, and hands each over when it is full or somebody waits for it.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <span>

#include "wick/backend/webgpu/memory.h"
#include "wick/backend/webgpu/program.h"
#include "wick/backend/webgpu/recording.h"
#include "wick/device/submissions/argument_cache.h"
#include "wick/device/submissions/block_queue.h"
#include "wick/device/submissions/byte_kernels.h"

namespace wick::webgpu {

// A device that refused work is taken for lost. WebGPU itself puts barriers between commands.
class Queue final : public BlockQueue<Block> {
 public:
  explicit Queue(std::shared_ptr<Device> device);
  ~Queue() override;

  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;

  [[nodiscard]] Device& device() const noexcept { return *device_; }
  // A block that goes.
  void forget(const Block& block) {
    const std::lock_guard lock(mutex_);
    groups_.forget(block);
  }

 private:
  // A submission, and wgpu-native's own number of it.
  struct Running {
    uint64_t serial = 0;
    uint64_t index = 0;
  };

  [[nodiscard]] bool has_recorded() const noexcept override { return !recording_.is_empty() || written_bytes_ > 0; }
  void submit() override;
  [[nodiscard]] uint64_t completed() override;
  void wait_for_driver(uint64_t serial) override;
  void record_upload(const std::byte* source, const Span& target) override;
  void record_copy(const Span& source, const Span& target) override;
  void record_fill(const Span& target, std::byte value) override;
  void record_launch(const Launch& launch) override;

  // These are called with mutex_ held.
  void submit_if_full();
  void note_failures();
  // From a place that is a multiple of four.
  void write_words(const std::byte* source, const Span& target);
  [[nodiscard]] Owned<BindGroup> make_group(const Launch& launch, BindGroupLayout layout, std::span<const Span> spans) const;

  std::shared_ptr<Device> device_;
  Owned<BufferHandle> parameters_;  // of one submission's launches
  Recording recording_;
  size_t written_bytes_ = 0;  // by uploads since the last submission
  std::deque<Running> running_;
  // The last number that is done, as wgpu-native told some thread of ours.
  std::shared_ptr<std::atomic<uint64_t>> done_ = std::make_shared<std::atomic<uint64_t>>(0);
  ArgumentCache<Block, Owned<BindGroup>> groups_;
  ByteKernels byte_kernels_;

  std::mutex download_mutex_;
  Owned<BufferHandle> download_;  // made by the first download
};

}  // namespace wick::webgpu
