// A BlockQueue is a SubmissionQueue over a driver's own blocks of memory: commands come to it as spans of them.
#pragma once

#include <cstddef>
#include <mutex>

#include "wick/device/submissions/block_span.h"
#include "wick/device/submissions/submission_queue.h"

namespace wick {

// Block: the Buffer that the driver makes.
template <class Block>
class BlockQueue : public SubmissionQueue {
 public:
  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) final {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    if (!failure_) record_upload(source, Span::of(target, offset, bytes));
  }
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) final {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    if (!failure_) record_copy(Span::of(source, source_offset, bytes), Span::of(target, target_offset, bytes));
  }
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) final {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    if (!failure_) record_fill(Span::of(target, offset, bytes), value);
  }
  void launch(const Launch& launch) final {
    const std::lock_guard lock(mutex_);
    if (!failure_) record_launch(launch);
  }

 protected:
  using Span = BlockSpan<Block>;

  // These are called with mutex_ held, for a device that is not lost and spans of at least one byte; those of a copy are as long as each
  // other.
  virtual void record_upload(const std::byte* source, const Span& target) = 0;
  virtual void record_copy(const Span& source, const Span& target) = 0;
  virtual void record_fill(const Span& target, std::byte value) = 0;
  virtual void record_launch(const Launch& launch) = 0;
};

}  // namespace wick
