// The Queue records what it is given into one command buffer after another, and hands each over when it is full or somebody waits for it.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "wick/backend/webgpu/memory.h"
#include "wick/backend/webgpu/program.h"
#include "wick/backend/webgpu/recording.h"
#include "wick/device/block_span.h"
#include "wick/device/byte_kernels.h"
#include "wick/device/submission_queue.h"

namespace wick::webgpu {

// A device that refused work is taken for lost. WebGPU itself puts barriers between commands.
class Queue final : public SubmissionQueue {
 public:
  explicit Queue(std::shared_ptr<Device> device);
  ~Queue() override;

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;

  [[nodiscard]] Device& device() const noexcept { return *device_; }
  // A block that goes.
  void forget(const Block& block);

 private:
  using Span = BlockSpan<Block>;
  // A layout, then block, offset and size of each buffer.
  using GroupKey = std::vector<uint64_t>;
  struct GroupKeyHash {
    size_t operator()(const GroupKey& key) const noexcept;
  };
  // A submission, and wgpu-native's own number of it.
  struct Running {
    uint64_t serial = 0;
    uint64_t index = 0;
  };

  [[nodiscard]] bool has_recorded() const noexcept override { return !recording_.is_empty() || written_bytes_ > 0; }
  void submit() override;
  [[nodiscard]] uint64_t completed() override;
  void wait_for_driver(uint64_t serial) override;

  // These are called with mutex_ held.
  void submit_if_full();
  void note_failures();
  // From a place that is a multiple of four.
  void write_words(const std::byte* source, const Span& target);
  [[nodiscard]] uint64_t record_download(const Span& words);
  void record_launch(const Launch& launch);
  [[nodiscard]] BindGroup bind_group(const Launch& launch, BindGroupLayout layout);

  std::shared_ptr<Device> device_;
  Owned<BufferHandle> parameters_;  // of one submission's launches
  Recording recording_;
  size_t written_bytes_ = 0;  // by uploads since the last submission
  std::deque<Running> running_;
  // The last number that is done, as wgpu-native told some thread of ours.
  std::shared_ptr<std::atomic<uint64_t>> done_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::unordered_map<GroupKey, Owned<BindGroup>, GroupKeyHash> groups_;
  GroupKey key_;  // of the launch at hand
  ByteKernels byte_kernels_;

  std::mutex download_mutex_;
  Owned<BufferHandle> download_;  // made by the first download
};

}  // namespace wick::webgpu
