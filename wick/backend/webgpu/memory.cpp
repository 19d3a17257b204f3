#include "wick/backend/webgpu/memory.h"

#include <utility>

#include "wick/backend/webgpu/queue.h"
#include "wick/base/fail.h"
#include "wick/device/kernel_driver.h"
#include "wick/device/submissions/block_size.h"

namespace wick::webgpu {
Block::~Block() {
  if (is_bound && queue_ != nullptr) queue_->forget(*this);
}

Owned<BufferHandle> make_buffer(Device& device, size_t bytes, Flags usage) {
  check_block(device.place(), bytes, device.limits().max_buffer_size);
  const BufferDescriptor descriptor{.usage = usage, .size = bytes};
  Owned<BufferHandle> handle(nullptr, {device.api().buffer_release});
  const Fault fault = device.caught({ErrorFilter::validation, ErrorFilter::out_of_memory},
                                    [&] { handle.reset(device.api().create_buffer(device.handle(), &descriptor)); });
  if (fault.type == ErrorType::none) return handle;
  handle.reset();
  if (fault.type != ErrorType::out_of_memory)
    raise_error(device.place(), {"wgpuDeviceCreateBuffer", static_cast<int>(fault.type), joined_lines(fault.message)});
  return handle;
}

std::unique_ptr<Block> allocate_block(const std::shared_ptr<Queue>& queue, size_t bytes) {
  const size_t whole = whole_block(bytes);
  Owned<BufferHandle> handle = make_buffer(queue->device(), whole, kStorage | kCopySource | kCopyTarget);
  return handle == nullptr ? nullptr : std::make_unique<Block>(queue, std::move(handle), whole);
}

}  // namespace wick::webgpu
