// The queue of one device: an immediate command list, to which work is appended with barriers where it depends on earlier work.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/backend/oneapi/event.h"
#include "wick/base/error.h"
#include "wick/device/last_work.h"
#include "wick/device/queue.h"
#include "wick/device/submissions/block_span.h"
#include "wick/device/submissions/hazards.h"

namespace wick::oneapi {

class ZeQueue;

// A block of the device's USM memory; of somebody else's, if that has an owner.
class Block final : public Buffer {
 public:
  Block(std::shared_ptr<ZeQueue> queue, std::byte* address, size_t bytes, std::shared_ptr<const void> owner = nullptr)
      : queue_(std::move(queue)), owner_(std::move(owner)), address_(address), bytes_(bytes) {}
  ~Block() override;

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }
  [[nodiscard]] std::byte* address() const noexcept { return address_; }

 private:
  std::shared_ptr<ZeQueue> queue_;
  std::shared_ptr<const void> owner_;
  std::byte* address_;
  size_t bytes_;
};

// A device that is lost stays lost: every call from then on throws the same error.
class ZeQueue final : public Queue, public std::enable_shared_from_this<ZeQueue> {
 public:
  // `place` names the device in errors.
  ZeQueue(std::shared_ptr<const Api> api, FoundDevice device, std::string place);
  ~ZeQueue() override;

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  void synchronize() override;
  [[nodiscard]] std::unique_ptr<Event> record() override;

  [[nodiscard]] const Api& api() const noexcept { return *api_; }
  [[nodiscard]] const FoundDevice& device() const noexcept { return device_; }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  [[nodiscard]] ContextHandle context() const noexcept { return context_; }
  [[nodiscard]] ListHandle list() const noexcept { return list_; }
  [[nodiscard]] bool is_lost() noexcept;
  // Checks a call that queues nothing, such as memory allocation and program creation.
  void check_build(int status, const char* call);
  // nullptr where the device has no more.
  [[nodiscard]] std::unique_ptr<Block> allocate(size_t bytes);
  // For whoever must not throw: returns when nothing runs.
  void finish() noexcept;

 private:
  friend class ZeEvent;
  // Host memory that the device reads and writes: what uploads pass through, piece after piece, and one for downloads.
  struct Piece {
    std::byte* host = nullptr;
    EventHandle read = nullptr;  // behind what reads it
    size_t used = 0;
  };
  // These are called with mutex_ held.
  void throw_failure() const;
  // A failure that is not about memory or the call itself is one of the device, and nothing on it can be relied on.
  void check_call(int status, const char* call, std::string_view kernel = {});
  [[noreturn]] void lose(int status, const char* call);
  void step(std::initializer_list<Hazards::Range> ranges);
  void barrier();
  // An event behind all that is queued.
  [[nodiscard]] EventHandle mark();
  [[nodiscard]] std::byte* make_host_piece(const char* purpose);
  // So many bytes of a piece, at most a piece's own, that the device reads no more.
  [[nodiscard]] std::byte* stage(size_t bytes);

  void wait(EventHandle event);

  std::shared_ptr<const Api> api_;
  FoundDevice device_;
  std::string place_;
  ContextHandle context_ = nullptr;
  ListHandle list_ = nullptr;
  std::optional<EventPool> events_;

  std::mutex mutex_;
  Hazards hazards_;
  std::vector<Hazards::Range> ranges_;  // of the launch at hand
  std::array<Piece, 4> pieces_;
  size_t piece_ = 0;
  bool busy_ = false;  // something was queued since the last wait
  LastWork last_work_;
  std::optional<Error> failure_;  // once the device is lost

  std::mutex download_mutex_;
  std::byte* download_ = nullptr;  // made by the first download
};

}  // namespace wick::oneapi
