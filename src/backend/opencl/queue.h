// The in-order queue of one device.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "backend/opencl/api.h"
#include "device/queue.h"

namespace wick::opencl {

class OpenClBuffer final : public Buffer {
 public:
  OpenClBuffer(Owned<cl_mem> handle, size_t bytes) : handle_(std::move(handle)), bytes_(bytes) {}

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }
  [[nodiscard]] cl_mem handle() const noexcept { return handle_.get(); }

 private:
  Owned<cl_mem> handle_;
  size_t bytes_;
};

class OpenClQueue final : public Queue {
 public:
  // `place` names the device in errors.
  OpenClQueue(const Api& api, cl_context context, cl_device_id device, std::string place);

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  void flush() override;
  void synchronize() override;
  [[nodiscard]] std::unique_ptr<Event> record() override;

 private:
  friend class OpenClEvent;
  // A call that waited: errors of what was queued before it come to light there. Names the kernels that may be at fault.
  void check_wait(cl_int status, const char* call);
  void set_arguments(const Launch& launch, std::vector<Owned<cl_mem>>& views) const;

  const Api& api_;
  std::string place_;
  std::mutex mutex_;
  Owned<cl_command_queue> queue_;
  size_t launches_ = 0;  // since the last wait
  std::string last_kernel_;
};

}  // namespace wick::opencl
