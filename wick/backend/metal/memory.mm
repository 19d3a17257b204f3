#include "wick/backend/metal/memory.h"

#include <utility>

#include "wick/backend/metal/queue.h"
#include "wick/device/submissions/block_size.h"

namespace wick::metal {
namespace {

// Written by the processor and read by the GPU, or the other way round; never both at once: the queue sees to it.
constexpr MTLResourceOptions kShared = MTLResourceStorageModeShared;

}  // namespace

Block::Block(std::shared_ptr<Queue> queue, Owned<id<MTLBuffer>> handle, size_t first, size_t bytes, std::shared_ptr<const void> owner)
    : queue_(std::move(queue)), handle_(std::move(handle)), first_(first), bytes_(bytes), owner_(std::move(owner)) {
  if (queue_ != nullptr) queue_->device().residency().add(handle_.get());
}

Block::~Block() {
  if (queue_ == nullptr) return;
  queue_->device().residency().remove(handle_.get());
  // Metal keeps its object, but the memory would go with its owner.
  if (owner_ != nullptr) queue_->finish_block(*this);
}

std::unique_ptr<Block> allocate_block(const std::shared_ptr<Queue>& queue, size_t bytes) {
  const Device& device = queue->device();
  const size_t whole = whole_block(bytes);
  check_block(device.place(), bytes, [device.handle() maxBufferLength]);
  Owned<id<MTLBuffer>> handle([device.handle() newBufferWithLength:whole options:kShared]);
  return handle ? std::make_unique<Block>(queue, std::move(handle), 0, whole) : nullptr;
}

std::unique_ptr<Block> import_block(const std::shared_ptr<Queue>& queue, std::byte* data, size_t bytes, std::shared_ptr<const void> owner) {
  const Device& device = queue->device();
  // Pages are mapped as wholes, so what lies before and behind the bytes in theirs can be read too.
  const size_t page = NSPageSize(), first = reinterpret_cast<uintptr_t>(data) % page;
  const size_t whole = (first + bytes + page - 1) / page * page;
  const bool is_aligned = first % device.caps().buffer_offset_alignment == 0;
  if (owner == nullptr || bytes == 0 || !is_aligned || whole > [device.handle() maxBufferLength]) return nullptr;
  Owned<id<MTLBuffer>> handle([device.handle() newBufferWithBytesNoCopy:data - first length:whole options:kShared deallocator:nil]);
  return handle ? std::make_unique<Block>(queue, std::move(handle), first, bytes, std::move(owner)) : nullptr;
}

}  // namespace wick::metal
