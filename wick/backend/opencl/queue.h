// The in-order queue of one device.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/backend/opencl/api.h"
#include "wick/base/error.h"
#include "wick/device/last_work.h"
#include "wick/device/queue.h"
#include "wick/device/readback_queue.h"

namespace wick::opencl {

class OpenClBuffer final : public Buffer {
 public:
  OpenClBuffer(Owned<cl_mem> handle, size_t bytes) : handle_(std::move(handle)), bytes_(bytes) {}
  // Memory of somebody else's.
  OpenClBuffer(cl_mem handle, size_t bytes, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), handle_(handle, {[](cl_mem) { return CL_SUCCESS; }}), bytes_(bytes) {}

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }
  [[nodiscard]] cl_mem handle() const noexcept { return handle_.get(); }

 private:
  std::shared_ptr<const void> owner_;
  Owned<cl_mem> handle_;
  size_t bytes_;
};

// A device that is lost stays lost: every call from then on throws the same error.
class OpenClQueue final : public Queue, public ReadbackQueue {
 public:
  // `place` names the device in errors.
  OpenClQueue(const Api& api, cl_context context, cl_device_id device, std::string place);
  ~OpenClQueue() override;

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  void flush() override;
  void synchronize() override;
  [[nodiscard]] std::unique_ptr<Event> record() override;
  [[nodiscard]] std::unique_ptr<Event> read_back(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  [[nodiscard]] bool is_lost() noexcept;
  [[nodiscard]] cl_command_queue handle() const noexcept { return queue_.get(); }

 private:
  friend class OpenClEvent;
  friend class OpenClReadback;
  // These are called with mutex_ held.
  void throw_if_lost() const;
  // A call that waited: a failure that is not about memory or the call's arguments is one of what was queued before it, and nothing on the
  // device can be relied on.
  void check_wait(cl_int status, const char* call);
  // A call that did not wait: whether more than the call failed, a wait tells.
  void check_queued(cl_int status, const char* call, std::string_view place);
  [[noreturn]] void lose(cl_int status, const char* call);
  void set_arguments(const Launch& launch, std::vector<Owned<cl_mem>>& views) const;
  // Whether a small upload was queued from a copy of its bytes.
  [[nodiscard]] bool upload_later(const std::byte* source, cl_mem target, size_t offset, size_t bytes);
  void forget_done_uploads();

  const Api& api_;
  std::string place_;
  std::mutex mutex_;
  Owned<cl_command_queue> queue_;
  // Bytes that the device has yet to read, in the order of their uploads.
  struct Upload {
    Owned<cl_event> done;
    std::vector<std::byte> bytes;
  };
  std::deque<Upload> uploads_;
  LastWork last_work_;            // that was queued
  std::optional<Error> failure_;  // once the device is lost
};

}  // namespace wick::opencl
