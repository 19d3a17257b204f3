#include "wick/backend/opencl/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "wick/backend/opencl/program.h"
#include "wick/backend/opencl/status.h"
#include "wick/base/error.h"
#include "wick/device/device_lost.h"

namespace wick::opencl {
namespace {

// A block of the driver's and the first byte in it.
struct Address {
  const OpenClBuffer& block;
  size_t offset;

  [[nodiscard]] cl_mem handle() const noexcept { return block.handle(); }
};

Address address(const Buffer& buffer, size_t offset) {
  const auto [block, first] = buffer.place();
  return {static_cast<const OpenClBuffer&>(*block), first + offset};
}

// Kernels read whole words and vectors, so a view ends where such a vector does.
constexpr size_t kViewGranule = 256;
// Larger uploads wait until the device has them, and so do those behind so many.
constexpr size_t kMaxBytesLater = size_t{64} << 10;
constexpr size_t kMaxUploads = 64;

}  // namespace

class OpenClEvent final : public Event {
 public:
  OpenClEvent(OpenClQueue& queue, Owned<cl_event> handle) : queue_(queue), handle_(std::move(handle)) {}

  [[nodiscard]] bool is_done() override {
    cl_int status = CL_QUEUED;
    check(queue_.api_.get_event_info(handle_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr), "clGetEventInfo",
          queue_.place_);
    return status <= CL_COMPLETE;  // or an error
  }
  void wait() override {
    const cl_event event = handle_.get();
    const cl_int status = queue_.api_.wait_for_events(1, &event);
    const std::lock_guard lock(queue_.mutex_);
    queue_.throw_if_lost();
    queue_.check_wait(status, "clWaitForEvents");
  }
  [[nodiscard]] std::optional<double> seconds_since(const Event& earlier) const override {
    const std::optional<cl_ulong> begin = static_cast<const OpenClEvent&>(earlier).nanoseconds();
    const std::optional<cl_ulong> end = nanoseconds();
    if (!begin || !end || *end < *begin) return std::nullopt;
    return static_cast<double>(*end - *begin) * 1e-9;
  }

 private:
  [[nodiscard]] std::optional<cl_ulong> nanoseconds() const {
    cl_ulong time = 0;
    const cl_int status = queue_.api_.get_event_profiling_info(handle_.get(), CL_PROFILING_COMMAND_END, sizeof(time), &time, nullptr);
    return status == CL_SUCCESS ? std::optional(time) : std::nullopt;
  }

  OpenClQueue& queue_;
  Owned<cl_event> handle_;
};

class OpenClReadback final : public Event {
 public:
  OpenClReadback(OpenClQueue& queue, Owned<cl_event> handle) : queue_(queue), handle_(std::move(handle)), event_(handle_.get()) {}
  ~OpenClReadback() override { queue_.api_.wait_for_events(1, &event_); }

  [[nodiscard]] bool is_done() override {
    cl_int status = CL_QUEUED;
    check(queue_.api_.get_event_info(event_, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr), "clGetEventInfo",
          queue_.place_);
    return status <= CL_COMPLETE;
  }
  void wait() override {
    const cl_int status = queue_.api_.wait_for_events(1, &event_);
    const std::lock_guard lock(queue_.mutex_);
    queue_.throw_if_lost();
    queue_.check_wait(status, "clWaitForEvents");
  }

 private:
  OpenClQueue& queue_;
  Owned<cl_event> handle_;
  cl_event event_;
};

OpenClQueue::OpenClQueue(const Api& api, cl_context context, cl_device_id device, std::string place) : api_(api), place_(std::move(place)) {
  cl_int status = CL_SUCCESS;
  queue_ = {api_.create_command_queue(context, device, CL_QUEUE_PROFILING_ENABLE, &status), {api_.release_command_queue}};
  check(status, "clCreateCommandQueue", place_);
}

OpenClQueue::~OpenClQueue() {
  // Queued work would go on behind it: rusticl compiles a kernel as it is launched, with a library that the end of the process destroys.
  api_.finish(queue_.get());
}

void OpenClQueue::throw_if_lost() const {
  if (failure_) throw Error(*failure_);
}

void OpenClQueue::lose(cl_int status, const char* call) {
  failure_ = device_lost(place_, fmt::format("{}: {}", call, status_name(status)), last_work_.text());
  throw Error(*failure_);
}

void OpenClQueue::check_wait(cl_int status, const char* call) {
  if (status != CL_SUCCESS && !is_memory(status) && !is_invalid_call(status)) lose(status, call);
  check_queued(status, call, place_);
}

void OpenClQueue::check_queued(cl_int status, const char* call, std::string_view place) {
  if (status == CL_SUCCESS) return;
  if (!is_memory(status) && api_.finish(queue_.get()) != CL_SUCCESS) lose(status, call);
  check(status, call, place);
}

void OpenClQueue::upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  const Address to = address(target, offset);
  const std::lock_guard lock(mutex_);
  throw_if_lost();
  if (upload_later(source, to.handle(), to.offset, bytes)) return;
  check_wait(api_.enqueue_write_buffer(queue_.get(), to.handle(), CL_TRUE, to.offset, bytes, source, 0, nullptr, nullptr),
             "clEnqueueWriteBuffer");
}

void OpenClQueue::forget_done_uploads() {
  while (!uploads_.empty()) {
    cl_int status = CL_QUEUED;
    const cl_int asked =
        api_.get_event_info(uploads_.front().done.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr);
    if (asked != CL_SUCCESS || status > CL_COMPLETE) return;
    uploads_.pop_front();
  }
}

// A host that waited for each step's numbers to arrive would never be ahead of the device.
bool OpenClQueue::upload_later(const std::byte* source, cl_mem target, size_t offset, size_t bytes) {
  forget_done_uploads();
  if (bytes > kMaxBytesLater || uploads_.size() >= kMaxUploads) return false;
  std::vector<std::byte> own(source, source + bytes);
  cl_event event = nullptr;
  check_queued(api_.enqueue_write_buffer(queue_.get(), target, CL_FALSE, offset, bytes, own.data(), 0, nullptr, &event),
               "clEnqueueWriteBuffer", place_);
  uploads_.push_back({Owned<cl_event>(event, {api_.release_event}), std::move(own)});
  return true;
}

void OpenClQueue::download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  if (bytes == 0) return;
  const Address from = address(source, offset);
  const std::lock_guard lock(mutex_);
  throw_if_lost();
  check_wait(api_.enqueue_read_buffer(queue_.get(), from.handle(), CL_TRUE, from.offset, bytes, target, 0, nullptr, nullptr),
             "clEnqueueReadBuffer");
}

void OpenClQueue::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  if (bytes == 0) return;
  const Address from = address(source, source_offset), to = address(target, target_offset);
  const std::lock_guard lock(mutex_);
  throw_if_lost();
  check_queued(api_.enqueue_copy_buffer(queue_.get(), from.handle(), to.handle(), from.offset, to.offset, bytes, 0, nullptr, nullptr),
               "clEnqueueCopyBuffer", place_);
}

void OpenClQueue::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  if (bytes == 0) return;
  const Address to = address(target, offset);
  const std::lock_guard lock(mutex_);
  throw_if_lost();
  check_queued(api_.enqueue_fill_buffer(queue_.get(), to.handle(), &value, sizeof(value), to.offset, bytes, 0, nullptr, nullptr),
               "clEnqueueFillBuffer", place_);
}

void OpenClQueue::set_arguments(const Launch& launch, std::vector<Owned<cl_mem>>& views) const {
  const cl_kernel kernel = static_cast<const OpenClProgram&>(*launch.program).handle();
  cl_uint index = 0;
  for (const BufferArgument& argument : launch.buffers) {
    const Address at = address(*argument.buffer, argument.offset);
    cl_mem handle = at.handle();
    if (at.offset > 0) {
      const size_t whole = (argument.size() + kViewGranule - 1) / kViewGranule * kViewGranule;
      const cl_buffer_region region{at.offset, std::min(whole, at.block.bytes() - at.offset)};
      cl_int status = CL_SUCCESS;
      views.emplace_back(api_.create_sub_buffer(handle, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status),
                         ReleaseHandle<cl_mem, cl_int>{api_.release_mem_object});
      check(status, "clCreateSubBuffer", place_);
      handle = views.back().get();
    }
    check(api_.set_kernel_arg(kernel, index++, sizeof(cl_mem), static_cast<const void*>(&handle)), "clSetKernelArg", place_);
  }
  if (launch.parameters.empty()) return;
  // Our own kernels take them as one structure.
  const size_t each = launch.program->kernel().entry.empty() ? launch.parameters.size() : 1;
  for (size_t i = 0; i < launch.parameters.size(); i += each) {
    check(api_.set_kernel_arg(kernel, index++, each * sizeof(uint32_t), &launch.parameters[i]), "clSetKernelArg", place_);
  }
}

void OpenClQueue::launch(const Launch& launch) {
  const ir::Kernel& kernel = launch.program->kernel();
  const std::array<size_t, 3> lanes{kernel.group_size, 1, 1};
  const std::array<size_t, 3> all{lanes[0] * launch.grid.x, launch.grid.y, launch.grid.z};
  // The driver keeps those that a queued kernel uses.
  std::vector<Owned<cl_mem>> views;
  const std::lock_guard lock(mutex_);
  throw_if_lost();
  set_arguments(launch, views);
  const cl_kernel handle = static_cast<const OpenClProgram&>(*launch.program).handle();
  const cl_int status = api_.enqueue_nd_range_kernel(queue_.get(), handle, 3, nullptr, all.data(), lanes.data(), 0, nullptr, nullptr);
  last_work_.note(kernel.name);
  if (status != CL_SUCCESS) check_queued(status, "clEnqueueNDRangeKernel", fmt::format("{}, kernel {}", place_, kernel.name));
}

void OpenClQueue::flush() {
  const std::lock_guard lock(mutex_);
  throw_if_lost();
  check_queued(api_.flush(queue_.get()), "clFlush", place_);
}

bool OpenClQueue::is_lost() noexcept {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void OpenClQueue::synchronize() {
  const std::lock_guard lock(mutex_);
  throw_if_lost();
  check_wait(api_.finish(queue_.get()), "clFinish");
}

std::unique_ptr<Event> OpenClQueue::record() {
  const std::lock_guard lock(mutex_);
  throw_if_lost();
  cl_event event = nullptr;
  check_queued(api_.enqueue_marker(queue_.get(), 0, nullptr, &event), "clEnqueueMarkerWithWaitList", place_);
  auto recorded = std::make_unique<OpenClEvent>(*this, Owned<cl_event>(event, {api_.release_event}));
  check_queued(api_.flush(queue_.get()), "clFlush", place_);
  return recorded;
}

std::unique_ptr<Event> OpenClQueue::read_back(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  if (bytes == 0) return past_event();
  const Address from = address(source, offset);
  const std::lock_guard lock(mutex_);
  throw_if_lost();
  cl_event event = nullptr;
  check_queued(api_.enqueue_read_buffer(queue_.get(), from.handle(), CL_FALSE, from.offset, bytes, target, 0, nullptr, &event),
               "clEnqueueReadBuffer", place_);
  auto readback = std::make_unique<OpenClReadback>(*this, Owned<cl_event>(event, {api_.release_event}));
  check_queued(api_.flush(queue_.get()), "clFlush", place_);
  return readback;
}

}  // namespace wick::opencl
