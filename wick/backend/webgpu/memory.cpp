#include "wick/backend/webgpu/memory.h"

#include <algorithm>
#include <utility>

#include "wick/backend/webgpu/queue.h"
#include "wick/base/fail.h"

namespace wick::webgpu {
namespace {

// Kernels and copies take whole words and vectors: a block ends where such a vector does.
constexpr size_t kGranule = 256;

}  // namespace

Block::~Block() {
  if (is_bound && queue_ != nullptr) queue_->forget(*this);
}

Owned<BufferHandle> make_buffer(Device& device, size_t bytes, Flags usage) {
  if (bytes > device.limits().max_buffer_size) {
    fail(ErrorCode::unsupported, "{}: a buffer of {} bytes, and the device takes {} at most in one", device.place(), bytes,
         device.limits().max_buffer_size);
  }
  const BufferDescriptor descriptor{.usage = usage, .size = bytes};
  Owned<BufferHandle> handle(nullptr, {device.api().buffer_release});
  const Fault fault = device.caught({ErrorFilter::validation, ErrorFilter::out_of_memory},
                                    [&] { handle.reset(device.api().device_create_buffer(device.handle(), &descriptor)); });
  if (fault.type == ErrorType::none) return handle;
  handle.reset();
  if (fault.type != ErrorType::out_of_memory) fail(ErrorCode::no_device, "{}: wgpuDeviceCreateBuffer: {}", device.place(), fault.message);
  return handle;
}

std::unique_ptr<Block> allocate_block(const std::shared_ptr<Queue>& queue, size_t bytes) {
  const size_t whole = std::max(kGranule, (bytes + kGranule - 1) / kGranule * kGranule);
  Owned<BufferHandle> handle = make_buffer(queue->device(), whole, kStorage | kCopySource | kCopyTarget);
  return handle == nullptr ? nullptr : std::make_unique<Block>(queue, std::move(handle), whole);
}

}  // namespace wick::webgpu
