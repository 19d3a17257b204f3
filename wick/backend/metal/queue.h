// The Queue writes what it is given into one command buffer after another, and hands each over when it is full or somebody waits for it.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "wick/backend/metal/memory.h"
#include "wick/backend/metal/program.h"
#include "wick/base/error.h"
#include "wick/device/last_work.h"
#include "wick/device/queue.h"

namespace wick::metal {

// A submission is a command buffer with one encoder, whose launches run one behind the other; they are numbered from 1 in their order. A
// device that is lost, or had no memory for what was queued, stays so: what is queued from then on is dropped, and every wait throws the
// error.
class Queue final : public wick::Queue, public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  ~Queue() override;

  // By the processor where nothing is queued for the target, else by a kernel, from memory of its own.
  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  void flush() override;
  void synchronize() override;
  [[nodiscard]] std::unique_ptr<Event> record() override;

  [[nodiscard]] Device& device() const noexcept { return *device_; }
  // Hands over what is queued up to that submission, and returns when it is done. What failed is thrown by the next wait.
  void finish(uint64_t serial);
  void finish(const Block& block);
  // As finish(). Errors: what failed.
  void wait(uint64_t serial);
  [[nodiscard]] bool is_done(uint64_t serial);
  [[nodiscard]] bool is_lost() noexcept;

 private:
  struct Span;
  struct Running {
    uint64_t serial = 0;
    Owned<id<MTLCommandBuffer>> commands;
  };
  // What an index of the encoder has.
  struct Binding {
    id<MTLBuffer> buffer = nil;
    size_t offset = 0;
  };

  // These are called with mutex_ held.
  void open();
  void submit();
  // Notes submissions that are done, and what failed.
  void retire();
  void note_failure(id<MTLCommandBuffer> commands);
  [[nodiscard]] uint64_t recorded() const noexcept { return submitted_ + 1; }  // the number that the open command buffer will have
  [[nodiscard]] static Span span(const Buffer& buffer, size_t offset, size_t bytes);
  void bind(NSUInteger index, id<MTLBuffer> buffer, size_t offset);
  void write_launch(const Launch& launch);
  void write_copy(const Span& source, const Span& target);
  void write_fill(const Span& target, std::byte value);
  [[nodiscard]] const Program& byte_program(std::shared_ptr<const Program>& program, ir::Kernel (*kernel)(ir::Element),
                                            ir::Element element);

  std::shared_ptr<Device> device_;
  std::mutex mutex_;
  Owned<id<MTLCommandBuffer>> commands_;  // that is open
  Owned<id<MTLComputeCommandEncoder>> encoder_;
  id<MTLComputePipelineState> bound_pipeline_ = nil;
  std::array<Binding, 31> bound_{};
  size_t launches_ = 0;      // in the open command buffer
  size_t staged_bytes_ = 0;  // for it
  std::deque<Running> running_;
  uint64_t submitted_ = 0, done_ = 0;  // the last numbers
  Owned<id<MTLCommandBuffer>> last_;   // that was submitted
  LastWork last_work_;                 // that was queued
  std::optional<Error> failure_;       // once the device is lost
  std::shared_ptr<const Program> copy_bytes_, copy_words_, fill_bytes_, fill_words_;
};

}  // namespace wick::metal
