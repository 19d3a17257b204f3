// The Queue writes what it is given into one command buffer after another, and hands each over when it is full or somebody waits for it.
#pragma once

#include <array>
#include <deque>
#include <memory>

#include "wick/backend/metal/memory.h"
#include "wick/backend/metal/program.h"
#include "wick/device/submissions/block_span.h"
#include "wick/device/submissions/byte_kernels.h"
#include "wick/device/submissions/submission_queue.h"

namespace wick::metal {

// A submission is a command buffer with one encoder, whose launches run one behind the other. A device that had no memory for what was
// queued is taken for lost.
class Queue final : public SubmissionQueue {
 public:
  explicit Queue(std::shared_ptr<Device> device);
  ~Queue() override;

  // By the processor where nothing is queued for the target, else by a kernel, from memory of its own.
  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  [[nodiscard]] std::unique_ptr<Event> record() override;

  [[nodiscard]] Device& device() const noexcept { return *device_; }
  // Returns when nothing that is queued touches it.
  void finish_block(const Block& block) noexcept;

 private:
  using Span = BlockSpan<Block>;
  struct Running {
    uint64_t serial = 0;
    Owned<id<MTLCommandBuffer>> commands;
  };
  // The binding at one index of the encoder.
  struct Binding {
    id<MTLBuffer> buffer = nil;
    size_t offset = 0;
  };

  [[nodiscard]] bool has_recorded() const noexcept override { return static_cast<bool>(encoder_); }
  void submit() override;
  [[nodiscard]] uint64_t completed() override;
  void wait_for_driver(uint64_t serial) override;

  // These are called with mutex_ held.
  void open();
  // Notes submissions that are done, and what failed.
  void retire();
  void note_failure(id<MTLCommandBuffer> commands);
  void bind(NSUInteger index, id<MTLBuffer> buffer, size_t offset);
  void write_launch(const Launch& launch);
  [[nodiscard]] std::shared_ptr<const wick::Program> compile(const ir::Kernel& kernel);
  [[nodiscard]] uint64_t last_use(const Block& block);
  // Where so many bytes may wait for the copy of an upload; nullptr: no memory.
  [[nodiscard]] Block* reserve_staging(size_t bytes, size_t& offset);

  std::shared_ptr<Device> device_;
  Owned<id<MTLCommandBuffer>> commands_;  // that is open
  Owned<id<MTLComputeCommandEncoder>> encoder_;
  id<MTLComputePipelineState> bound_pipeline_ = nil;
  std::array<Binding, 31> bound_{};
  size_t launches_ = 0;                         // in the open command buffer
  size_t staged_bytes_ = 0;                     // for it
  std::deque<std::unique_ptr<Block>> staging_;  // of small uploads; the last is written from staging_used_ on
  size_t staging_used_ = 0;
  std::deque<Running> running_;
  uint64_t done_ = 0;                 // the last number
  Owned<id<MTLCommandBuffer>> last_;  // that was submitted
  ByteKernels byte_kernels_;
};

}  // namespace wick::metal
