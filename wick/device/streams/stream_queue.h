// A StreamQueue is the in-order queue of one device over a stream of its driver.
#pragma once

#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "wick/device/capture.h"
#include "wick/device/kernel_driver.h"
#include "wick/device/last_work.h"
#include "wick/device/peer_queue.h"
#include "wick/device/queue.h"
#include "wick/device/readback_queue.h"
#include "wick/device/streams/stream_context.h"

namespace wick {

// A block of the device's memory, which is the driver's again with it; or one that somebody else owns.
class StreamBuffer final : public Buffer {
 public:
  StreamBuffer(StreamContext context, StreamAddress address, size_t bytes)
      : kind_(context.api->kind), context_(std::move(context)), address_(address), bytes_(bytes) {}
  // `owner` keeps the memory until the buffer goes.
  StreamBuffer(DeviceKind kind, StreamAddress address, size_t bytes, std::shared_ptr<const void> owner)
      : kind_(kind), owner_(std::move(owner)), address_(address), bytes_(bytes) {}
  ~StreamBuffer() override;

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }
  [[nodiscard]] StreamAddress address() const noexcept { return address_; }
  [[nodiscard]] DeviceKind kind() const noexcept { return kind_; }

 private:
  DeviceKind kind_;
  StreamContext context_;  // without an api: not ours
  std::shared_ptr<const void> owner_;
  StreamAddress address_;
  size_t bytes_;
};

// Where a byte of a buffer is.
[[nodiscard]] StreamAddress stream_address(const Buffer& buffer, size_t offset);

class StreamQueue;

// A kernel of a module that the driver has loaded, or that another thread makes: whoever asks for its handles waits for them.
class StreamProgram final : public Program {
 public:
  StreamProgram(ir::Kernel kernel, std::shared_ptr<StreamQueue> queue, StreamHandle module, StreamHandle function)
      : Program(std::move(kernel)), queue_(std::move(queue)), module_(module), function_(function) {}
  // `made`: one of the same queue.
  StreamProgram(ir::Kernel kernel, std::shared_ptr<StreamQueue> queue, FutureProgram made)
      : Program(std::move(kernel)), queue_(std::move(queue)), made_(std::move(made)) {}
  ~StreamProgram() override;

  [[nodiscard]] DeviceKind kind() const noexcept;
  // Errors of both: those that kept it from being made.
  [[nodiscard]] StreamHandle module() const { return loaded().module_; }
  [[nodiscard]] StreamHandle function() const { return loaded().function_; }

 private:
  [[nodiscard]] const StreamProgram& loaded() const { return made_.valid() ? static_cast<const StreamProgram&>(*made_.get()) : *this; }

  std::shared_ptr<StreamQueue> queue_;
  StreamHandle module_ = nullptr, function_ = nullptr;
  FutureProgram made_;
};

// Pinned memory that uploads pass through, piece after piece, so that the host copies into one while the device reads another.
class StagingRing {
 public:
  static constexpr size_t kPieceBytes = size_t{8} << 20;

  explicit StagingRing(const StreamContext& context) : context_(context) {}
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  // So many bytes, at most kPieceBytes, that the device reads no more; nullptr where the machine has no pinned memory to give.
  [[nodiscard]] std::byte* take(size_t bytes, StreamHandle stream);

 private:
  struct Piece {
    std::byte* host = nullptr;
    StreamHandle event = nullptr;  // behind what reads it
    size_t used = 0;
  };
  [[nodiscard]] bool prepare(Piece& piece) const;

  const StreamContext& context_;
  std::array<Piece, 4> pieces_;
  size_t current_ = 0;
};

// A device that is lost stays lost: every call from then on throws the same error.
class StreamQueue final : public Queue,
                          public CaptureQueue,
                          public PeerQueue,
                          public ReadbackQueue,
                          public std::enable_shared_from_this<StreamQueue> {
 public:
  // On a stream of its own, or on one that somebody else owns. `early_launches`: as StreamDevice has it.
  explicit StreamQueue(StreamContext context, StreamHandle stream = nullptr, bool early_launches = false);
  ~StreamQueue() override;

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  void synchronize() override;
  [[nodiscard]] std::unique_ptr<Event> record() override;
  [[nodiscard]] std::unique_ptr<Event> read_back(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;

  [[nodiscard]] std::unique_ptr<CapturedWork> capture(const std::function<void()>& body) override;
  [[nodiscard]] bool copy_from_peer(Queue& other, const Buffer& source, size_t source_offset, Buffer& target, size_t target_offset,
                                    size_t bytes) override;

  [[nodiscard]] const StreamContext& context() const noexcept { return context_; }
  [[nodiscard]] StreamHandle stream() const noexcept { return stream_; }
  [[nodiscard]] bool is_lost() noexcept;
  // nullptr where the device has no more.
  [[nodiscard]] std::unique_ptr<StreamBuffer> allocate(size_t bytes);
  // nullptr where the driver refuses the binary.
  [[nodiscard]] std::shared_ptr<const StreamProgram> load(ir::Kernel kernel, const std::string& entry, const void* binary);
  // For whoever must not throw: waits, and gives the module back.
  void unload(StreamHandle module) noexcept;

 private:
  friend class StreamEvent;
  friend class StreamReadback;
  friend class StreamGraph;
  // These are called with mutex_ held.
  void begin_call();
  void throw_if_lost() const;
  // A call that waited: a failure that is not about memory or the call itself is one of what was queued before it, and nothing on the
  // device can be relied on.
  void check_wait(int status, const char* call);
  // A call that did not wait: whether more than the call failed, a wait tells.
  void check_queued(int status, const char* call, const std::string& place);
  [[noreturn]] void lose(int status, const char* call);
  [[nodiscard]] std::byte* download_piece();
  // The number of a piece of pinned memory that no readback uses; none where there is no more.
  [[nodiscard]] std::optional<size_t> take_readback_piece();
  // Makes later work of this queue wait for everything that the other has queued.
  void wait_for(StreamQueue& other);
  void reach(const StreamQueue& other);

  StreamContext context_;
  std::recursive_mutex mutex_;  // a capture holds it around the calls that it takes
  StreamHandle stream_ = nullptr;
  bool owns_stream_, early_launches_;
  StagingRing staging_;
  std::byte* download_ = nullptr;  // pinned; made by the first download that needs it
  static constexpr size_t kReadbacks = 4;
  std::byte* readback_ = nullptr;  // pinned: a piece for each; made by the first
  std::array<bool, kReadbacks> is_read_back_{};
  std::vector<StreamAddress> addresses_;  // of the launch at hand
  std::vector<void*> arguments_;
  LastWork last_work_;            // that was queued
  std::set<StreamHandle> peers_;  // contexts whose memory this device has been let reach
  std::exception_ptr failure_;    // once the device is lost
};

}  // namespace wick
