#include "wick/backend/vulkan/queue.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "wick/backend/vulkan/program.h"

namespace wick::vulkan {
namespace {

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

VkDeviceSize place_of(const BlockSpan<Block>& span) { return span.block->offset() + span.offset; }

}  // namespace

Queue::Queue(std::shared_ptr<Device> device) : device_(std::move(device)), timestamps_(*device_) {
  const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
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
    note_failure(wait_for_number(running_.front()->serial()), "vkWaitSemaphores");
  }
  const uint64_t done = completed();
  for (; !running_.empty() && running_.front()->serial() <= done; running_.pop_front()) idle_.push_back(std::move(running_.front()));
  if (idle_.empty()) idle_.push_back(std::make_unique<Submission>(*device_));
  idle_.back()->begin(recorded());
  recording_ = std::move(idle_.back());
  idle_.pop_back();
  return *recording_;
}

void Queue::note_failure(VkResult result, const char* call) {
  if (failure_ || result == VK_SUCCESS) return;
  // What was recorded is gone, as with a device that is lost; but the machine refused memory, and the device is well.
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
    failure_ = Error(ErrorCode::out_of_memory, fmt::format("{}: {}: {}; use a smaller model or context, and open the device again", place(),
                                                           call, to_string(result)));
    return;
  }
  lose(place(), fmt::format("{}: {}", call, to_string(result)));
}

uint64_t Queue::completed() {
  uint64_t serial = 0;
  note_failure(vkGetSemaphoreCounterValue(device_->handle(), timeline_, &serial), "vkGetSemaphoreCounterValue");
  return failure_ ? std::numeric_limits<uint64_t>::max() : serial;
}

VkResult Queue::wait_for_number(uint64_t serial) const {
  const VkSemaphoreWaitInfo info{
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &timeline_, .pValues = &serial};
  return vkWaitSemaphores(device_->handle(), &info, std::numeric_limits<uint64_t>::max());
}

void Queue::wait_for_driver(uint64_t serial) {
  const VkResult result = wait_for_number(serial);
  const std::lock_guard lock(mutex_);
  note_failure(result, "vkWaitSemaphores");
}

// Results are made visible to the host and to whatever comes after.
void Queue::submit() {
  if (recording_ == nullptr) return;
  barrier(kWorkStages | VK_PIPELINE_STAGE_HOST_BIT, kAccess | VK_ACCESS_HOST_READ_BIT);
  hazards_.forget();
  const uint64_t serial = recording_->serial();
  const VkCommandBuffer commands = recording_->commands();
  const VkTimelineSemaphoreSubmitInfo timeline{
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &serial};
  const VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .pNext = &timeline,
                          .commandBufferCount = 1,
                          .pCommandBuffers = &commands,
                          .signalSemaphoreCount = 1,
                          .pSignalSemaphores = &timeline_};
  VkResult result = vkEndCommandBuffer(commands);
  if (result == VK_SUCCESS) result = vkQueueSubmit(device_->queue(), 1, &info, VK_NULL_HANDLE);
  note_failure(result, "vkQueueSubmit");
  submitted_ = serial;
  staged_bytes_ = 0;
  running_.push_back(std::move(recording_));
}

void Queue::barrier(VkPipelineStageFlags readers, VkAccessFlags access) {
  const VkMemoryBarrier memory{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = kWrites, .dstAccessMask = access};
  vkCmdPipelineBarrier(recording_->commands(), kWorkStages, readers, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

VkCommandBuffer Queue::step(std::span<const Hazards::Range> ranges) {
  const VkCommandBuffer commands = recording().commands();
  if (hazards_.barrier_before(ranges)) barrier(kWorkStages, kAccess);
  return commands;
}

void Queue::record_launch(const Launch& launch) {
  const auto& program = static_cast<const Program&>(*launch.program);
  const std::vector<ir::BufferArgument>& arguments = program.kernel().buffers;
  if (!recording().takes(launch.buffers.size())) submit();
  ranges_.clear();
  descriptors_.clear();
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const BufferArgument& given = launch.buffers[i];
    const Span bytes = Span::of(*given.buffer, given.offset, std::max<size_t>(given.size(), 16));
    ranges_.push_back(arguments[i].access == ir::Access::read ? bytes.read() : bytes.write());
    descriptors_.push_back({bytes.block->buffer(), place_of(bytes), bytes.bytes});
    bytes.block->last_use = recorded();
  }
  const VkCommandBuffer commands = step(ranges_);
  const VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                   .dstSet = recording_->add_launch(program.set_layout(), descriptors_.size()),
                                   .descriptorCount = static_cast<uint32_t>(descriptors_.size()),
                                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                   .pBufferInfo = descriptors_.data()};
  if (write.dstSet != VK_NULL_HANDLE) {
    vkUpdateDescriptorSets(device_->handle(), 1, &write, 0, nullptr);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, program.layout(), 0, 1, &write.dstSet, 0, nullptr);
  }
  if (recording_->bound != program.pipeline()) vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, program.pipeline());
  recording_->bound = program.pipeline();
  if (!launch.parameters.empty()) {
    vkCmdPushConstants(commands, program.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, static_cast<uint32_t>(launch.parameters.size_bytes()),
                       launch.parameters.data());
  }
  vkCmdDispatch(commands, launch.grid.x, launch.grid.y, launch.grid.z);
  program.last_use = recorded();
  last_work_.note(program.kernel().name);
  if (!recording_->takes(0)) submit();
}

std::shared_ptr<Allocation> Queue::make_staging(size_t bytes, Direction direction) {
  return Allocation::make(*device_, bytes, direction == Direction::from_host ? Placement::upload : Placement::download);
}

void Queue::record_from_host(const Allocation& source, size_t offset, const Span& target) {
  const VkBufferCopy region{offset, place_of(target), target.bytes};
  vkCmdCopyBuffer(step(std::array{target.write()}), source.buffer(), target.block->buffer(), 1, &region);
  target.block->last_use = recorded();
}

uint64_t Queue::record_to_host(const Span& source, const Allocation& target) {
  const VkBufferCopy region{place_of(source), 0, source.bytes};
  vkCmdCopyBuffer(step(std::array{source.read()}), source.block->buffer(), target.buffer(), 1, &region);
  return source.block->last_use = recorded();
}

void Queue::record_copy(const Span& source, const Span& target) {
  const VkBufferCopy region{place_of(source), place_of(target), source.bytes};
  vkCmdCopyBuffer(step(std::array{source.read(), target.write()}), source.block->buffer(), target.block->buffer(), 1, &region);
  source.block->last_use = target.block->last_use = recorded();
}

// Vulkan fills whole words: the bytes before the first and behind the last are uploaded.
void Queue::record_fill(const Span& target, std::byte value) {
  const std::array<std::byte, 4> edge{value, value, value, value};
  const size_t head = target.head(), tail = (target.bytes - head) % 4;
  if (head > 0) stage(edge.data(), target.part(0, head));
  if (tail > 0) stage(edge.data(), target.part(target.bytes - tail, tail));
  const Span words = target.part(head, target.bytes - head - tail);
  if (words.bytes == 0) return;
  const uint32_t bits = static_cast<uint32_t>(value) * 0x01010101U;
  vkCmdFillBuffer(step(std::array{words.write()}), words.block->buffer(), place_of(words), words.bytes, bits);
  words.block->last_use = recorded();
}

std::unique_ptr<Event> Queue::record() {
  const std::lock_guard lock(mutex_);
  if (failure_) return std::make_unique<QueueEvent>(shared_from_this(), submitted_, std::nullopt);
  const std::optional<uint32_t> timestamp = timestamps_.record(recording().commands());
  return std::make_unique<QueueEvent>(shared_from_this(), recorded(), timestamp);
}

}  // namespace wick::vulkan
