// The Queue records what it is given into one command buffer after another, and hands each over when it is full or somebody waits for it.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "wick/backend/webgpu/memory.h"
#include "wick/backend/webgpu/program.h"
#include "wick/backend/webgpu/recording.h"
#include "wick/base/error.h"
#include "wick/device/last_work.h"
#include "wick/device/queue.h"

namespace wick::webgpu {

// Submissions are numbered from 1 in their order. A device that is lost, or refused work, stays so: what is queued for it from then on is
// dropped, and every wait throws the error. WebGPU itself puts barriers between commands.
class Queue final : public wick::Queue, public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(std::shared_ptr<Device> device);
  ~Queue() override;

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  void flush() override;
  void synchronize() override;
  [[nodiscard]] std::unique_ptr<Event> record() override;

  [[nodiscard]] Device& device() const noexcept { return *device_; }
  // Hands over what is recorded up to that submission, and returns when it is done.
  void wait(uint64_t serial);
  [[nodiscard]] bool is_done(uint64_t serial);
  [[nodiscard]] bool is_lost() noexcept;
  void throw_if_lost();
  // A block that goes.
  void forget(const Block& block);

 private:
  struct Span;
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

  // These are called with mutex_ held.
  void submit();
  void submit_if_full();
  void note_failures();
  [[nodiscard]] uint64_t recorded() const noexcept { return submitted_ + 1; }  // the number that the recording will have
  [[nodiscard]] static Span span(const Buffer& buffer, size_t offset, size_t bytes);
  // From a place that is a multiple of four.
  void write_words(const std::byte* source, const Span& target);
  void write_edge(const std::byte* source, const Span& target);
  void copy_bytes(const Span& source, const Span& target);
  void fill_bytes(const Span& target, std::byte value);
  // A view of a span that a kernel may have, and where in it the span begins.
  [[nodiscard]] std::pair<BufferArgument, uint32_t> view(const Span& span) const;
  void record_launch(const Launch& launch);
  [[nodiscard]] BindGroup bind_group(const Launch& launch, BindGroupLayout layout);
  [[nodiscard]] const Program& byte_program(std::shared_ptr<const Program>& program, ir::Kernel (*kernel)());

  std::shared_ptr<Device> device_;
  Owned<BufferHandle> parameters_;  // of one submission's launches

  std::mutex mutex_;
  Recording recording_;
  size_t written_bytes_ = 0;  // by uploads since the last submission
  std::deque<Running> running_;
  uint64_t submitted_ = 0;  // the last number handed over
  // The last number that is done, as wgpu-native told some thread of ours.
  std::shared_ptr<std::atomic<uint64_t>> done_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::unordered_map<GroupKey, Owned<BindGroup>, GroupKeyHash> groups_;
  GroupKey key_;                  // of the launch at hand
  LastWork last_work_;            // that was queued
  std::optional<Error> failure_;  // once the device is lost
  std::shared_ptr<const Program> copy_bytes_, fill_bytes_;
  std::unique_ptr<Block> edge_;  // where single words are uploaded to

  std::mutex download_mutex_;
  Owned<BufferHandle> download_;  // made by the first download
};

}  // namespace wick::webgpu
