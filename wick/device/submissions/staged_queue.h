// A StagedQueue is a BlockQueue whose bytes pass through memory of the host's that the device copies from and to, unless the host sees a
// block itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/device/readback_queue.h"
#include "wick/device/submissions/block_queue.h"

namespace wick {

// Block: beside a Buffer, host(), where the host sees its bytes (nullptr: nowhere), and last_use, the last submission that touches it.
// Staging: memory of the host's, which it sees at host().
template <class Block, class Staging>
class StagedQueue : public BlockQueue<Block>, public ReadbackQueue {
 public:
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override {
    const Span from = Span::of(source, offset, bytes);
    if (bytes == 0 || from.block->host() != nullptr) {
      this->synchronize();
      if (bytes > 0) std::memcpy(target, from.block->host() + from.offset, bytes);
      return;
    }
    const std::lock_guard download_lock(download_mutex_);
    for (size_t at = 0; at < bytes; at += kPieceBytes) {
      const Span part = from.part(at, std::min(kPieceBytes, bytes - at));
      uint64_t serial = 0;
      {
        const std::lock_guard lock(mutex_);
        if (failure_) throw Error(*failure_);
        if (download_ == nullptr) download_ = needed(make_staging(kPieceBytes, Direction::to_host), "a download");
        serial = record_to_host(part, *download_);
      }
      this->wait(serial);
      std::memcpy(target + at, download_->host(), part.bytes);
    }
  }

  [[nodiscard]] std::unique_ptr<Event> read_back(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) throw Error(*failure_);
      std::shared_ptr<Staging> memory = bytes > 0 && bytes <= kMaxBytes ? readback_memory() : nullptr;
      if (memory != nullptr) {
        const uint64_t serial = record_to_host(Span::of(source, offset, bytes), *memory);
        // Later work belongs to another submission, which this one does not wait for.
        this->submit();
        return std::make_unique<Readback>(this->shared_from_this(), serial, std::move(memory), target, bytes);
      }
    }
    download(source, offset, target, bytes);
    return past_event();
  }

 protected:
  using typename BlockQueue<Block>::Span;
  using BlockQueue<Block>::mutex_;
  using BlockQueue<Block>::failure_;
  enum class Direction : uint8_t { from_host, to_host };

  // These are called with mutex_ held. nullptr where the host has no more memory.
  [[nodiscard]] virtual std::shared_ptr<Staging> make_staging(size_t bytes, Direction direction) = 0;
  virtual void record_from_host(const Staging& source, size_t offset, const Span& target) = 0;
  // Into its first bytes; gives the number of the submission.
  [[nodiscard]] virtual uint64_t record_to_host(const Span& source, const Staging& target) = 0;
  // The device's name in errors.
  [[nodiscard]] virtual std::string place() const = 0;

  void record_upload(const std::byte* source, const Span& target) override {
    if (target.block->host() == nullptr || target.block->last_use > this->completed()) return stage(source, target);
    std::memcpy(target.block->host() + target.offset, source, target.bytes);
  }
  void stage(const std::byte* source, const Span& target) {
    for (size_t at = 0; at < target.bytes; at += kPieceBytes) {
      const Span part = target.part(at, std::min(kPieceBytes, target.bytes - at));
      Piece& piece = piece_with(part.bytes);
      const size_t offset = std::exchange(piece.used, piece.used + (part.bytes + kAlignment - 1) / kAlignment * kAlignment);
      std::memcpy(piece.memory->host() + offset, source + at, part.bytes);
      record_from_host(*piece.memory, offset, part);
      piece.last_use = this->recorded();
      staged_bytes_ += part.bytes;
      if (staged_bytes_ >= kStagedBytesPerSubmission) this->submit();
    }
  }

  size_t staged_bytes_ = 0;  // for the next submission; a submission sets it to 0

 private:
  static constexpr size_t kPieceBytes = size_t{4} << 20, kAlignment = 16;
  static constexpr size_t kStagedBytesPerSubmission = size_t{32} << 20;

  struct Piece {
    std::shared_ptr<Staging> memory;
    size_t used = 0;
    uint64_t last_use = 0;  // the last submission that reads it
  };

  // Bytes in memory of their own, which are the caller's once the submission is done.
  class Readback final : public SubmissionEvent {
   public:
    Readback(std::shared_ptr<SubmissionQueue> queue, uint64_t serial, std::shared_ptr<Staging> memory, std::byte* target, size_t bytes)
        : SubmissionEvent(std::move(queue), serial), memory_(std::move(memory)), target_(target), bytes_(bytes) {}
    // The device may still write to it.
    ~Readback() override { queue().finish(serial()); }

    void wait() override {
      SubmissionEvent::wait();
      std::memcpy(target_, memory_->host(), bytes_);
    }

   private:
    std::shared_ptr<Staging> memory_;
    std::byte* target_;
    size_t bytes_;
  };

  // Errors: out_of_memory for none, unless that is because the device is lost.
  [[nodiscard]] std::shared_ptr<Staging> needed(std::shared_ptr<Staging> memory, std::string_view purpose) {
    if (memory != nullptr) return memory;
    static_cast<void>(this->completed());
    if (failure_) throw Error(*failure_);
    fail(ErrorCode::out_of_memory, "{}: no {} bytes of host memory for {}", place(), kPieceBytes, purpose);
  }

  // The last piece, which has room for so many bytes: the first again once nothing reads it.
  [[nodiscard]] Piece& piece_with(size_t bytes) {
    if (!pieces_.empty() && pieces_.back().used + bytes <= kPieceBytes) return pieces_.back();
    if (!pieces_.empty() && pieces_.front().last_use <= this->completed()) {
      pieces_.push_back({std::move(pieces_.front().memory)});
      pieces_.pop_front();
    } else {
      pieces_.push_back({needed(make_staging(kPieceBytes, Direction::from_host), "an upload")});
    }
    return pieces_.back();
  }

  // Memory for a readback that nobody waits for any more; nullptr where there is none.
  [[nodiscard]] std::shared_ptr<Staging> readback_memory() {
    for (const std::shared_ptr<Staging>& memory : readbacks_) {
      if (memory.use_count() == 1) return memory;
    }
    std::shared_ptr<Staging> made = make_staging(kMaxBytes, Direction::to_host);
    if (made != nullptr) readbacks_.push_back(made);
    return made;
  }

  std::deque<Piece> pieces_;
  std::vector<std::shared_ptr<Staging>> readbacks_;
  std::mutex download_mutex_;
  std::shared_ptr<Staging> download_;  // made by the first download that needs it
};

}  // namespace wick
