#include "wick/backend/metal/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "wick/backend/metal/byte_kernels.h"
#include "wick/base/fail.h"
#include "wick/device/device_lost.h"
#include "wick/ir/dialect/dialect.h"
#include "wick/ir/passes.h"

namespace wick::metal {
namespace {

// A GPU that has nothing to do gets its first work early; then there are few command buffers.
constexpr size_t kLaunchesWhileIdle = 32, kLaunchesPerSubmission = 256;
constexpr size_t kStagedBytesPerSubmission = size_t{64} << 20;
// The host is so many submissions ahead of the device at most.
constexpr size_t kRunningSubmissions = 4;
constexpr size_t kElementsPerLaunch = size_t{1} << 24;  // of copies and fills

class QueueEvent final : public Event {
 public:
  QueueEvent(std::shared_ptr<Queue> queue, uint64_t serial, Owned<id<MTLCommandBuffer>> commands)
      : queue_(std::move(queue)), serial_(serial), commands_(std::move(commands)) {}
  [[nodiscard]] bool is_done() override { return queue_->is_done(serial_); }
  void wait() override { queue_->wait(serial_); }
  [[nodiscard]] std::optional<double> seconds_since(const Event& earlier) const override {
    const auto& other = static_cast<const QueueEvent&>(earlier);
    const double begin = [other.commands_.get() GPUEndTime], end = [commands_.get() GPUEndTime];
    if (!commands_ || !other.commands_ || begin <= 0 || end < begin) return std::nullopt;
    return end - begin;
  }

 private:
  std::shared_ptr<Queue> queue_;
  uint64_t serial_;
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

// Bytes of a block that a command touches.
struct Queue::Span {
  Block* block;
  size_t offset;  // in the block
  size_t bytes;

  [[nodiscard]] bool is_of_words() const noexcept { return offset % 4 == 0 && bytes % 4 == 0; }
  // A view that a kernel may have, and the place of the first of these elements in it.
  [[nodiscard]] BufferArgument view(size_t alignment) const noexcept {
    const size_t before = offset % alignment;
    return {block, offset - before, before + bytes};
  }
  [[nodiscard]] uint32_t first_element(size_t alignment, size_t element_bytes) const noexcept {
    return static_cast<uint32_t>(offset % alignment / element_bytes);
  }
};

Queue::~Queue() {
  @autoreleasepool {
    if (encoder_) [encoder_.get() endEncoding];
    for (const Running& submission : running_) [submission.commands.get() waitUntilCompleted];
  }
}

Queue::Span Queue::span(const Buffer& buffer, size_t offset, size_t bytes) {
  const auto [place, first] = const_cast<Buffer&>(buffer).place();  // NOLINT: a command may write to what its caller only names
  return {static_cast<Block*>(place), first + offset, bytes};
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
    const Span at = span(*argument.buffer, argument.offset, 0);
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

const Program& Queue::byte_program(std::shared_ptr<const Program>& program, ir::Kernel (*kernel)(ir::Element), ir::Element element) {
  if (program != nullptr) return *program;
  DeviceCaps caps = device_->caps();
  caps.storage_8bit = true;  // which a variant may have left out
  ir::Kernel prepared = ir::prepare(kernel(element), caps);
  Compilation made = compile_pipeline(*device_, prepared, ir::print(prepared, ir::msl_dialect()));
  if (!made.pipeline) {
    fail(ErrorCode::unsupported, "kernel {}: the MSL compiler of {} refused it: {}", prepared.name, device_->place(), made.refusal);
  }
  program = std::make_shared<const Program>(std::move(prepared), std::move(made.pipeline));
  return *program;
}

void Queue::write_copy(const Span& source, const Span& target) {
  const bool words = source.is_of_words() && target.is_of_words();
  const size_t element = words ? 4 : 1, alignment = device_->caps().buffer_offset_alignment;
  const Program& program =
      words ? byte_program(copy_words_, copy_kernel, ir::Element::u32) : byte_program(copy_bytes_, copy_kernel, ir::Element::u8);
  for (size_t at = 0; at < target.bytes; at += kElementsPerLaunch * element) {
    const size_t bytes = std::min(kElementsPerLaunch * element, target.bytes - at);
    const Span from{source.block, source.offset + at, bytes}, to{target.block, target.offset + at, bytes};
    const std::array buffers{from.view(alignment), to.view(alignment)};
    const auto count = static_cast<uint32_t>(bytes / element);
    const std::array parameters{from.first_element(alignment, element), to.first_element(alignment, element), count};
    write_launch({&program, {(count + kByteKernelLanes - 1) / kByteKernelLanes, 1, 1}, buffers, parameters});
  }
}

void Queue::write_fill(const Span& target, std::byte value) {
  const bool words = target.is_of_words();
  const size_t element = words ? 4 : 1, alignment = device_->caps().buffer_offset_alignment;
  const Program& program =
      words ? byte_program(fill_words_, fill_kernel, ir::Element::u32) : byte_program(fill_bytes_, fill_kernel, ir::Element::u8);
  const uint32_t bits = static_cast<uint32_t>(value) * (words ? 0x01010101U : 1U);
  for (size_t at = 0; at < target.bytes; at += kElementsPerLaunch * element) {
    const Span to{target.block, target.offset + at, std::min(kElementsPerLaunch * element, target.bytes - at)};
    const std::array buffers{to.view(alignment)};
    const auto count = static_cast<uint32_t>(to.bytes / element);
    const std::array parameters{to.first_element(alignment, element), count, bits};
    write_launch({&program, {(count + kByteKernelLanes - 1) / kByteKernelLanes, 1, 1}, buffers, parameters});
  }
}

void Queue::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  if (bytes == 0) return;
  @autoreleasepool {
    const std::lock_guard lock(mutex_);
    if (!failure_) write_copy(span(source, source_offset, bytes), span(target, target_offset, bytes));
  }
}

void Queue::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  if (bytes == 0) return;
  @autoreleasepool {
    const std::lock_guard lock(mutex_);
    if (!failure_) write_fill(span(target, offset, bytes), value);
  }
}

void Queue::upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  @autoreleasepool {
    std::unique_ptr<Block> staging;  // goes when the lock is free; the command buffer keeps its memory
    const std::lock_guard lock(mutex_);
    const Span to = span(target, offset, bytes);
    if (to.block->last_use > done_) retire();
    if (failure_) return;
    if (to.block->last_use <= done_) {
      std::memcpy(to.block->contents() + to.offset, source, bytes);
      return;
    }
    staging = allocate_block(shared_from_this(), bytes);
    if (staging == nullptr) fail(ErrorCode::out_of_memory, "{}: no {} bytes for an upload", device_->place(), bytes);
    std::memcpy(staging->contents(), source, bytes);
    write_copy({staging.get(), 0, bytes}, to);
    staged_bytes_ += bytes;
    if (staged_bytes_ >= kStagedBytesPerSubmission) submit();
  }
}

void Queue::download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  if (bytes == 0) return synchronize();
  const Span from = span(source, offset, bytes);
  uint64_t serial = 0;
  {
    const std::lock_guard lock(mutex_);
    serial = from.block->last_use;
  }
  wait(serial);
  std::memcpy(target, from.block->contents() + from.offset, bytes);
}

void Queue::flush() {
  @autoreleasepool {
    const std::lock_guard lock(mutex_);
    if (!failure_) submit();
  }
}

void Queue::synchronize() {
  uint64_t last = 0;
  {
    const std::lock_guard lock(mutex_);
    last = encoder_ ? recorded() : submitted_;
  }
  wait(last);
}

void Queue::finish(uint64_t serial) {
  @autoreleasepool {
    Owned<id<MTLCommandBuffer>> commands;
    {
      const std::lock_guard lock(mutex_);
      if (serial > submitted_ && !failure_) submit();
      for (const Running& submission : running_) {
        if (submission.serial == serial) commands = submission.commands;
      }
    }
    // Others go on queueing meanwhile.
    if (commands) [commands.get() waitUntilCompleted];
    const std::lock_guard lock(mutex_);
    retire();
  }
}

void Queue::wait(uint64_t serial) {
  finish(serial);
  const std::lock_guard lock(mutex_);
  if (failure_) throw Error(*failure_);
}

bool Queue::is_done(uint64_t serial) {
  @autoreleasepool {
    const std::lock_guard lock(mutex_);
    if (serial > submitted_ && !failure_) submit();
    retire();
    return failure_ || done_ >= serial;
  }
}

bool Queue::is_lost() noexcept {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void Queue::finish(const Block& block) {
  uint64_t serial = 0;
  {
    const std::lock_guard lock(mutex_);
    serial = block.last_use;
  }
  finish(serial);
}

std::unique_ptr<Event> Queue::record() {
  @autoreleasepool {
    const std::lock_guard lock(mutex_);
    // A command buffer of its own ends there, so that the event has a time.
    if (!failure_) submit();
    return std::make_unique<QueueEvent>(shared_from_this(), submitted_, last_);
  }
}

}  // namespace wick::metal
