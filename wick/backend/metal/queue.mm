#include "wick/backend/metal/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/device_lost.h"
#include "wick/ir/dialect/dialect.h"
#include "wick/ir/passes.h"

namespace wick::metal {
namespace {

// A GPU that has nothing to do gets its first work early; then there are few command buffers.
constexpr size_t kLaunchesWhileIdle = 32, kLaunchesPerSubmission = 256;
constexpr size_t kStagedBytesPerSubmission = size_t{64} << 20;
constexpr size_t kStagingBytes = size_t{64} << 10;
// The host is so many submissions ahead of the device at most.
constexpr size_t kRunningSubmissions = 4;

// Has the times of the command buffer that ends there.
class QueueEvent final : public SubmissionEvent {
 public:
  QueueEvent(std::shared_ptr<SubmissionQueue> queue, uint64_t serial, Owned<id<MTLCommandBuffer>> commands)
      : SubmissionEvent(std::move(queue), serial), commands_(std::move(commands)) {}
  [[nodiscard]] std::optional<double> seconds_since(const Event& earlier) const override {
    const auto& other = static_cast<const QueueEvent&>(earlier);
    const double begin = [other.commands_.get() GPUEndTime], end = [commands_.get() GPUEndTime];
    if (!commands_ || !other.commands_ || begin <= 0 || end < begin) return std::nullopt;
    return end - begin;
  }

 private:
  Owned<id<MTLCommandBuffer>> commands_;
};

std::string_view name_of(NSInteger code) {
  switch (static_cast<MTLCommandBufferError>(code)) {
    case MTLCommandBufferErrorNone: return "no error";
    case MTLCommandBufferErrorInternal: return "internal error";
    case MTLCommandBufferErrorTimeout: return "timeout";
    case MTLCommandBufferErrorPageFault: return "page fault";
    case MTLCommandBufferErrorAccessRevoked: return "access revoked";
    case MTLCommandBufferErrorNotPermitted: return "not permitted";
    case MTLCommandBufferErrorOutOfMemory: return "out of memory";
    case MTLCommandBufferErrorInvalidResource: return "invalid resource";
    case MTLCommandBufferErrorMemoryless: return "memoryless resource";
    case MTLCommandBufferErrorDeviceRemoved: return "device removed";
    case MTLCommandBufferErrorStackOverflow: return "stack overflow";
  }
  return "unknown error";
}

}  // namespace

Queue::Queue(std::shared_ptr<Device> device)
    : device_(std::move(device)),
      byte_kernels_(
          device_->caps(), [this](const ir::Kernel& kernel) { return compile(kernel); },
          [this](const Launch& launch) { write_launch(launch); }) {}

Queue::~Queue() {
  @autoreleasepool {
    if (encoder_) [encoder_.get() endEncoding];
    for (const Running& submission : running_) [submission.commands.get() waitUntilCompleted];
    for (const std::unique_ptr<Block>& block : staging_) device_->residency().remove(block->handle());
  }
}

void Queue::open() {
  if (encoder_) return;
  commands_ = Owned<id<MTLCommandBuffer>>::retained([device_->queue() commandBuffer]);
  encoder_ = Owned<id<MTLComputeCommandEncoder>>::retained([commands_.get() computeCommandEncoder]);
  bound_pipeline_ = nil;
  bound_.fill({});
}

void Queue::submit() {
  if (!encoder_) return;
  @autoreleasepool {
    [encoder_.get() endEncoding];
    device_->residency().commit();
    [commands_.get() commit];
    running_.push_back({++submitted_, commands_});
    last_ = std::move(commands_);
    commands_.reset();
    encoder_.reset();
    launches_ = staged_bytes_ = 0;
    if (running_.size() > kRunningSubmissions) [running_.front().commands.get() waitUntilCompleted];
    retire();
  }
}

void Queue::note_failure(id<MTLCommandBuffer> commands) {
  NSError* const error = [commands error];
  const std::string cause = fmt::format("{}: {}", name_of([error code]), text_of([error localizedDescription]));
  if ([error code] == MTLCommandBufferErrorOutOfMemory) {
    failure_ =
        Error(ErrorCode::out_of_memory, fmt::format("{}: out of memory for the work that was queued ({}); the last kernel queued was {}",
                                                    device_->place(), cause, last_work_.text()));
  } else {
    failure_ = device_lost(device_->place(), cause, last_work_.text());
  }
}

void Queue::retire() {
  while (!running_.empty()) {
    const Running& first = running_.front();
    const MTLCommandBufferStatus status = [first.commands.get() status];
    if (status != MTLCommandBufferStatusCompleted && status != MTLCommandBufferStatusError) return;
    if (status == MTLCommandBufferStatusError && !failure_) note_failure(first.commands.get());
    done_ = first.serial;
    running_.pop_front();
  }
}

void Queue::bind(NSUInteger index, id<MTLBuffer> buffer, size_t offset) {
  Binding& binding = bound_[index];
  if (binding.buffer != buffer) {
    [encoder_.get() setBuffer:buffer offset:offset atIndex:index];
  } else if (binding.offset != offset) {
    [encoder_.get() setBufferOffset:offset atIndex:index];
  }
  binding = {buffer, offset};
}

void Queue::write_launch(const Launch& launch) {
  const auto& program = static_cast<const Program&>(*launch.program);
  const ir::Kernel& kernel = program.kernel();
  open();
  if (bound_pipeline_ != program.pipeline()) [encoder_.get() setComputePipelineState:program.pipeline()];
  bound_pipeline_ = program.pipeline();
  NSUInteger index = 0;
  for (const BufferArgument& argument : launch.buffers) {
    const Span at = Span::of(*argument.buffer, argument.offset, 0);
    bind(index++, at.block->handle(), at.block->first() + at.offset);
    at.block->last_use = recorded();
  }
  // Our own kernels take them as one structure.
  const size_t each = kernel.entry.empty() ? launch.parameters.size() : 1;
  for (size_t i = 0; i < launch.parameters.size(); i += each) {
    [encoder_.get() setBytes:&launch.parameters[i] length:each * sizeof(uint32_t) atIndex:index];
    bound_[index++] = {};
  }
  [encoder_.get() dispatchThreadgroups:MTLSizeMake(launch.grid.x, launch.grid.y, launch.grid.z)
                 threadsPerThreadgroup:MTLSizeMake(kernel.group_size, 1, 1)];
  last_work_.note(kernel.name);
  if (++launches_ >= (running_.empty() ? kLaunchesWhileIdle : kLaunchesPerSubmission)) submit();
}

void Queue::launch(const Launch& launch) {
  @autoreleasepool {
    const std::lock_guard lock(mutex_);
    if (!failure_) write_launch(launch);
  }
}

std::shared_ptr<const wick::Program> Queue::compile(const ir::Kernel& kernel) {
  ir::Kernel prepared = ir::prepare(kernel, device_->caps());
  CompiledText<Pipeline> made = compile_pipeline(*device_, prepared, ir::print(prepared, ir::msl_dialect()));
  if (!made.pipeline) {
    fail(ErrorCode::unsupported, "kernel {}: the MSL compiler of {} refused it: {}", prepared.name, device_->place(), made.refusal);
  }
  return std::make_shared<const Program>(std::move(prepared), std::move(*made.pipeline));
}

void Queue::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  if (bytes == 0) return;
  @autoreleasepool {
    const std::lock_guard lock(mutex_);
    const Span from = Span::of(source, source_offset, bytes), to = Span::of(target, target_offset, bytes);
    if (!failure_) byte_kernels_.copy(*from.block, from.offset, *to.block, to.offset, bytes);
  }
}

void Queue::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  if (bytes == 0) return;
  @autoreleasepool {
    const std::lock_guard lock(mutex_);
    const Span to = Span::of(target, offset, bytes);
    if (!failure_) byte_kernels_.fill(*to.block, to.offset, bytes, value);
  }
}

// One after another in a block; the oldest block is used again when what was copied from it is done.
Block* Queue::reserve_staging(size_t bytes, size_t& offset) {
  if (staging_.empty() || staging_used_ + bytes > kStagingBytes) {
    if (!staging_.empty() && staging_.front()->last_use <= done_) {
      staging_.push_back(std::move(staging_.front()));
      staging_.pop_front();
    } else {
      Owned<id<MTLBuffer>> handle([device_->handle() newBufferWithLength:kStagingBytes options:MTLResourceStorageModeShared]);
      if (!handle) return nullptr;
      device_->residency().add(handle.get());
      staging_.push_back(std::make_unique<Block>(nullptr, std::move(handle), 0, kStagingBytes));
    }
    staging_used_ = 0;
  }
  offset = staging_used_;
  staging_used_ += (bytes + 15) / 16 * 16;
  return staging_.back().get();
}

void Queue::upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  @autoreleasepool {
    std::unique_ptr<Block> own;  // of a large one; goes when the lock is free; the command buffer keeps its memory
    const std::lock_guard lock(mutex_);
    const Span to = Span::of(target, offset, bytes);
    if (to.block->last_use > done_) retire();
    if (failure_) return;
    if (to.block->last_use <= done_) {
      std::memcpy(to.block->contents() + to.offset, source, bytes);
      return;
    }
    size_t first = 0;
    if (bytes > kStagingBytes) own = allocate_block(std::static_pointer_cast<Queue>(shared_from_this()), bytes);
    Block* const staging = bytes > kStagingBytes ? own.get() : reserve_staging(bytes, first);
    if (staging == nullptr) fail(ErrorCode::out_of_memory, "{}: no {} bytes for an upload", device_->place(), bytes);
    std::memcpy(staging->contents() + first, source, bytes);
    byte_kernels_.copy(*staging, first, *to.block, to.offset, bytes);
    staged_bytes_ += bytes;
    if (staged_bytes_ >= kStagedBytesPerSubmission) submit();
  }
}

void Queue::download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  if (bytes == 0) return synchronize();
  const Span from = Span::of(source, offset, bytes);
  wait(last_use(*from.block));
  std::memcpy(target, from.block->contents() + from.offset, bytes);
}

uint64_t Queue::completed() {
  @autoreleasepool {
    retire();
  }
  return done_;
}

void Queue::wait_for_driver(uint64_t serial) {
  @autoreleasepool {
    Owned<id<MTLCommandBuffer>> commands;
    {
      const std::lock_guard lock(mutex_);
      for (const Running& submission : running_) {
        if (submission.serial == serial) commands = submission.commands;
      }
    }
    if (commands) [commands.get() waitUntilCompleted];
  }
}

uint64_t Queue::last_use(const Block& block) {
  const std::lock_guard lock(mutex_);
  return block.last_use;
}

void Queue::finish_block(const Block& block) noexcept { finish(last_use(block)); }

std::unique_ptr<Event> Queue::record() {
  @autoreleasepool {
    const std::lock_guard lock(mutex_);
    // A command buffer of its own ends there, so that the event has a time.
    if (!failure_) submit();
    return std::make_unique<QueueEvent>(shared_from_this(), submitted_, last_);
  }
}

}  // namespace wick::metal
