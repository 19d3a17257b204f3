#include "wick/backend/vulkan/queue.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "wick/backend/vulkan/program.h"
#include "wick/base/fail.h"
#include "wick/device/device_lost.h"

namespace wick::vulkan {
namespace {

constexpr int kLaunchesPerSubmission = 128;
constexpr size_t kStagedBytesPerSubmission = size_t{32} << 20;
// The host is so many submissions ahead of the device at most.
constexpr size_t kRunningSubmissions = 4;

constexpr VkPipelineStageFlags kWorkStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kAccess = kWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

// With a timestamp, if there was a slot for one.
class QueueEvent final : public SubmissionEvent {
 public:
  QueueEvent(std::shared_ptr<SubmissionQueue> queue, uint64_t serial, std::optional<uint32_t> timestamp)
      : SubmissionEvent(std::move(queue), serial), timestamp_(timestamp) {}
  ~QueueEvent() override {
    if (timestamp_) timestamps().give_back(*timestamp_);
  }

  [[nodiscard]] std::optional<double> seconds_since(const Event& earlier) const override {
    const auto& from = static_cast<const QueueEvent&>(earlier);  // of the same queue, as Event asks
    if (!timestamp_ || !from.timestamp_) return std::nullopt;
    const std::optional<double> end = timestamps().seconds(*timestamp_), begin = timestamps().seconds(*from.timestamp_);
    return end && begin ? std::optional(*end - *begin) : std::nullopt;
  }

 private:
  [[nodiscard]] Timestamps& timestamps() const { return static_cast<Queue&>(queue()).timestamps(); }

  std::optional<uint32_t> timestamp_;
};

// Bytes in memory of their own, which are the caller's once the submission is done.
class QueueReadback final : public SubmissionEvent {
 public:
  QueueReadback(std::shared_ptr<SubmissionQueue> queue, uint64_t serial, std::shared_ptr<Allocation> memory, std::byte* target,
                size_t bytes)
      : SubmissionEvent(std::move(queue), serial), memory_(std::move(memory)), target_(target), bytes_(bytes) {}
  // The device may still write to it.
  ~QueueReadback() override { queue().finish(serial()); }

  void wait() override {
    SubmissionEvent::wait();
    std::memcpy(target_, memory_->host(), bytes_);
  }

 private:
  std::shared_ptr<Allocation> memory_;
  std::byte* target_;
  size_t bytes_;
};

VkDeviceSize place_of(const BlockSpan<Block>& span) { return span.block->offset() + span.offset; }

}  // namespace

Queue::Queue(std::shared_ptr<Device> device) : device_(std::move(device)), timestamps_(*device_) {
  auto type = typed<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto info = typed<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  info.pNext = &type;
  check(vkCreateSemaphore(device_->handle(), &info, nullptr, &timeline_), "vkCreateSemaphore");
}

Queue::~Queue() {
  // Whoever owns a block or a program has waited; what is recorded still touches nothing that is there.
  vkDeviceWaitIdle(device_->handle());
  vkDestroySemaphore(device_->handle(), timeline_, nullptr);
}

Submission& Queue::recording() {
  if (recording_ != nullptr) return *recording_;
  if (running_.size() >= kRunningSubmissions && !failure_) {
    const VkResult result = wait_for_number(running_.front()->serial());
    if (result != VK_SUCCESS) lose(result, "vkWaitSemaphores");
  }
  recycle();
  std::unique_ptr<Submission> next;
  if (idle_.empty()) {
    next = std::make_unique<Submission>(*device_);
  } else {
    next = std::move(idle_.back());
    idle_.pop_back();
  }
  next->begin(submitted_ + 1);
  recording_ = std::move(next);
  return *recording_;
}

void Queue::lose(VkResult result, const char* call) {
  if (failure_) return;
  // What was recorded is gone, as with a device that is lost; but the machine refused memory, and the device is well.
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
    failure_ = Error(ErrorCode::out_of_memory, fmt::format("vulkan: {}: {}: {}; use a smaller model or context, and open the device again",
                                                           device_->physical().caps.name, call, to_string(result)));
    return;
  }
  failure_ = device_lost(fmt::format("vulkan: {}", device_->physical().caps.name), fmt::format("{}: {}", call, to_string(result)),
                         last_work_.text());
}

void Queue::fail_allocation(std::string_view purpose) {
  static_cast<void>(completed());
  if (failure_) throw Error(*failure_);
  fail(ErrorCode::out_of_memory, "{}: no {} bytes of host memory for {}", device_->physical().caps.name, Submission::kPieceBytes, purpose);
}

uint64_t Queue::completed() {
  uint64_t serial = 0;
  if (const VkResult result = vkGetSemaphoreCounterValue(device_->handle(), timeline_, &serial); result != VK_SUCCESS) {
    lose(result, "vkGetSemaphoreCounterValue");
  }
  return failure_ ? std::numeric_limits<uint64_t>::max() : serial;
}

void Queue::recycle() {
  const uint64_t done = completed();
  while (!running_.empty() && running_.front()->serial() <= done) {
    idle_.push_back(std::move(running_.front()));
    running_.pop_front();
  }
}

VkResult Queue::wait_for_number(uint64_t serial) const {
  auto info = typed<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &serial;
  return vkWaitSemaphores(device_->handle(), &info, std::numeric_limits<uint64_t>::max());
}

void Queue::wait_for_driver(uint64_t serial) {
  const VkResult result = wait_for_number(serial);
  if (result == VK_SUCCESS) return;
  const std::lock_guard lock(mutex_);
  lose(result, "vkWaitSemaphores");
}

// Results are made visible to the host and to whatever comes after.
void Queue::submit() {
  if (recording_ == nullptr) return;
  barrier(kWorkStages | VK_PIPELINE_STAGE_HOST_BIT, kAccess | VK_ACCESS_HOST_READ_BIT);
  hazards_.forget();
  const uint64_t serial = recording_->serial();
  const VkCommandBuffer commands = recording_->commands();
  auto timeline = typed<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &serial;
  auto info = typed<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.pNext = &timeline;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &timeline_;
  VkResult result = vkEndCommandBuffer(commands);
  if (result == VK_SUCCESS) result = vkQueueSubmit(device_->queue(), 1, &info, VK_NULL_HANDLE);
  if (result != VK_SUCCESS) lose(result, "vkQueueSubmit");
  submitted_ = serial;
  running_.push_back(std::move(recording_));
}

void Queue::submit_if_full() {
  if (recording_->launches >= kLaunchesPerSubmission || recording_->staged_bytes >= kStagedBytesPerSubmission) submit();
}

void Queue::barrier(VkPipelineStageFlags readers, VkAccessFlags access) {
  auto memory = typed<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  memory.srcAccessMask = kWrites;
  memory.dstAccessMask = access;
  vkCmdPipelineBarrier(recording_->commands(), kWorkStages, readers, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void Queue::step(std::initializer_list<Hazards::Range> ranges) {
  if (hazards_.barrier_before({ranges.begin(), ranges.size()})) barrier(kWorkStages, kAccess);
}

void Queue::launch(const Launch& launch) {
  const auto& program = static_cast<const Program&>(*launch.program);
  const std::vector<ir::BufferArgument>& arguments = program.kernel().buffers;
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  Submission& submission = recording();
  ranges_.clear();
  descriptors_.clear();
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const BufferArgument& given = launch.buffers[i];
    const Span bytes = Span::of(*given.buffer, given.offset, std::max<size_t>(given.size(), 16));
    ranges_.push_back(arguments[i].access == ir::Access::read ? bytes.read() : bytes.write());
    descriptors_.push_back({bytes.block->buffer(), place_of(bytes), bytes.bytes});
    bytes.block->last_use = submission.serial();
  }
  if (hazards_.barrier_before(ranges_)) barrier(kWorkStages, kAccess);

  const VkCommandBuffer commands = submission.commands();
  if (!descriptors_.empty()) {
    auto write = typed<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    write.dstSet = submission.descriptor_set(program.set_layout());
    write.descriptorCount = static_cast<uint32_t>(descriptors_.size());
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = descriptors_.data();
    vkUpdateDescriptorSets(device_->handle(), 1, &write, 0, nullptr);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, program.layout(), 0, 1, &write.dstSet, 0, nullptr);
  }
  if (submission.bound != program.pipeline()) vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, program.pipeline());
  submission.bound = program.pipeline();
  if (!launch.parameters.empty()) {
    vkCmdPushConstants(commands, program.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, static_cast<uint32_t>(launch.parameters.size_bytes()),
                       launch.parameters.data());
  }
  vkCmdDispatch(commands, launch.grid.x, launch.grid.y, launch.grid.z);
  program.last_use = submission.serial();
  last_work_.note(program.kernel().name);
  ++submission.launches;
  submit_if_full();
}

void Queue::stage(const std::byte* source, const Span& target) {
  for (size_t at = 0; at < target.bytes; at += Submission::kPieceBytes) {
    const size_t bytes = std::min(Submission::kPieceBytes, target.bytes - at);
    Submission& submission = recording();
    const std::optional<Submission::Piece> piece = submission.piece(bytes);
    if (!piece) fail_allocation("an upload");
    std::memcpy(piece->host, source + at, bytes);
    const Span part = target.part(at, bytes);
    step({part.write()});
    const VkBufferCopy region{piece->offset, place_of(part), bytes};
    vkCmdCopyBuffer(submission.commands(), piece->buffer, target.block->buffer(), 1, &region);
    target.block->last_use = submission.serial();
    submit_if_full();
  }
}

void Queue::upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  const Span to = Span::of(target, offset, bytes);
  if (to.block->host() != nullptr && to.block->last_use <= completed()) {
    std::memcpy(to.block->host() + to.offset, source, bytes);
  } else {
    stage(source, to);
  }
}

void Queue::record_copy(const Span& source, const Span& target) {
  Submission& submission = recording();
  step({source.read(), target.write()});
  const VkBufferCopy region{place_of(source), place_of(target), source.bytes};
  vkCmdCopyBuffer(submission.commands(), source.block->buffer(), target.block->buffer(), 1, &region);
  source.block->last_use = target.block->last_use = submission.serial();
}

void Queue::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  record_copy(Span::of(source, source_offset, bytes), Span::of(target, target_offset, bytes));
}

// Vulkan fills whole words: the bytes before the first and behind the last are uploaded.
void Queue::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  const Span to = Span::of(target, offset, bytes);
  const std::array<std::byte, 4> edge{value, value, value, value};
  const size_t head = to.head(), tail = (bytes - head) % 4;
  if (head > 0) stage(edge.data(), to.part(0, head));
  if (tail > 0) stage(edge.data(), to.part(bytes - tail, tail));
  const Span words = to.part(head, bytes - head - tail);
  if (words.bytes == 0) return;
  Submission& submission = recording();
  step({words.write()});
  vkCmdFillBuffer(submission.commands(), words.block->buffer(), place_of(words), words.bytes, static_cast<uint32_t>(value) * 0x01010101U);
  words.block->last_use = submission.serial();
}

uint64_t Queue::copy_to_host(const Span& source, const Allocation& target) {
  Submission& submission = recording();
  step({source.read()});
  const VkBufferCopy region{place_of(source), 0, source.bytes};
  vkCmdCopyBuffer(submission.commands(), source.block->buffer(), target.buffer(), 1, &region);
  return source.block->last_use = submission.serial();
}

void Queue::download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  const Span from = Span::of(source, offset, bytes);
  if (bytes == 0 || from.block->host() != nullptr) {
    synchronize();
    if (bytes > 0) std::memcpy(target, from.block->host() + from.offset, bytes);
    return;
  }
  const std::lock_guard download_lock(download_mutex_);
  if (download_ == nullptr) download_ = Allocation::make(*device_, Submission::kPieceBytes, Placement::download);
  if (download_ == nullptr) {
    const std::lock_guard lock(mutex_);
    fail_allocation("a download");
  }
  for (size_t at = 0; at < bytes; at += Submission::kPieceBytes) {
    const Span part = from.part(at, std::min(Submission::kPieceBytes, bytes - at));
    uint64_t serial = 0;
    {
      const std::lock_guard lock(mutex_);
      if (failure_) throw Error(*failure_);
      serial = copy_to_host(part, *download_);
    }
    wait(serial);
    std::memcpy(target + at, download_->host(), part.bytes);
  }
}

std::shared_ptr<Allocation> Queue::readback_memory() {
  for (const std::shared_ptr<Allocation>& memory : readbacks_) {
    if (memory.use_count() == 1) return memory;
  }
  std::shared_ptr<Allocation> made = Allocation::make(*device_, kMostBytes, Placement::download);
  if (made != nullptr) readbacks_.push_back(made);
  return made;
}

std::unique_ptr<Event> Queue::read_back(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) throw Error(*failure_);
    std::shared_ptr<Allocation> memory = bytes > 0 && bytes <= kMostBytes ? readback_memory() : nullptr;
    if (memory != nullptr) {
      const uint64_t serial = copy_to_host(Span::of(source, offset, bytes), *memory);
      // What comes next belongs to another submission, which this one does not wait for.
      submit();
      return std::make_unique<QueueReadback>(shared_from_this(), serial, std::move(memory), target, bytes);
    }
  }
  download(source, offset, target, bytes);
  return past_event();
}

std::unique_ptr<Event> Queue::record() {
  const std::lock_guard lock(mutex_);
  if (failure_) return std::make_unique<QueueEvent>(shared_from_this(), submitted_, std::nullopt);
  Submission& submission = recording();
  const std::optional<uint32_t> timestamp = timestamps_.record(submission.commands());
  return std::make_unique<QueueEvent>(shared_from_this(), submission.serial(), timestamp);
}

}  // namespace wick::vulkan
