#include "wick/backend/webgpu/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/device_lost.h"

namespace wick::webgpu {
namespace {

constexpr size_t kLaunchesPerSubmission = 128;
constexpr size_t kWrittenBytesPerSubmission = size_t{32} << 20;
// The host is so many submissions ahead of the device at most.
constexpr size_t kRunningSubmissions = 4;
constexpr size_t kMostGroups = 8192;
constexpr size_t kDownloadBytes = size_t{4} << 20;

void raise_to(std::atomic<uint64_t>& number, uint64_t value) {
  uint64_t seen = number.load();
  while (seen < value && !number.compare_exchange_weak(seen, value)) {}
}

}  // namespace

Queue::Queue(std::shared_ptr<Device> device)
    : device_(std::move(device)),
      parameters_(make_buffer(*device_, kLaunchesPerSubmission * device_->parameter_stride(), kUniform | kCopyTarget)),
      recording_(*device_),
      byte_kernels_(
          device_->caps(), [this](const ir::Kernel& kernel) { return compile_own(device_, kernel); },
          [this](const Launch& launch) { record_launch(launch); }),
      download_(nullptr, {device_->api().buffer_release}) {}

Queue::~Queue() { static_cast<void>(device_->api().device_poll(device_->handle(), 1, nullptr)); }

size_t Queue::GroupKeyHash::operator()(const GroupKey& key) const noexcept {
  size_t hash = key.size();
  for (const uint64_t part : key) hash = (hash ^ part) * 0x9e3779b97f4a7c15U ^ hash >> 29;
  return hash;
}

void Queue::forget(const Block& block) {
  const std::lock_guard lock(mutex_);
  const auto handle = reinterpret_cast<uint64_t>(block.handle());
  std::erase_if(groups_, [&](const auto& entry) {
    for (size_t i = 1; i < entry.first.size(); i += 3) {
      if (entry.first[i] == handle) return true;
    }
    return false;
  });
}

void Queue::note_failures() {
  if (failure_) return;
  const std::string loss = device_->loss(), refused = device_->uncaught();
  if (!loss.empty() || !refused.empty()) failure_ = device_lost(device_->place(), loss.empty() ? refused : loss, last_work_.text());
}

// What uploads wrote is handed over before the commands, the parameters of launches among it. wgpu-native ends the process where it is
// given work for a device that it knows to be lost: it is asked first.
void Queue::submit() {
  if (!has_recorded()) return;
  const Api& api = device_->api();
  static_cast<void>(api.device_poll(device_->handle(), 0, nullptr));
  note_failures();
  if (failure_) return;
  const std::span<const std::byte> parameters = recording_.parameters();
  if (!parameters.empty()) {
    api.queue_write_buffer(device_->queue(), parameters_.get(), 0, parameters.data(), parameters.size());
  }
  Running submission{recorded(), 0};
  if (recording_.is_empty()) {
    submission.index = api.queue_submit(device_->queue(), 0, nullptr);
  } else {
    const Owned<CommandBuffer> commands = recording_.finish();
    const CommandBuffer handle = commands.get();
    submission.index = api.queue_submit(device_->queue(), 1, &handle);
  }
  const auto tell = [](uint32_t status, Text /*message*/, void* data, void* more) {
    if (status == kSuccess) raise_to(*static_cast<std::atomic<uint64_t>*>(data), reinterpret_cast<uint64_t>(more));
  };
  api.queue_on_submitted_work_done(device_->queue(),
                                   {.function = tell, .data = done_.get(), .more = reinterpret_cast<void*>(submission.serial)});
  written_bytes_ = 0;
  submitted_ = submission.serial;
  note_failures();
  running_.push_back(submission);
  if (running_.size() > kRunningSubmissions && !failure_) {
    static_cast<void>(api.device_poll(device_->handle(), 1, &running_.front().index));
    raise_to(*done_, running_.front().serial);
  }
  while (!running_.empty() && (failure_ || running_.front().serial <= *done_)) running_.pop_front();
}

uint64_t Queue::completed() {
  note_failures();
  if (!failure_) static_cast<void>(device_->api().device_poll(device_->handle(), 0, nullptr));
  note_failures();
  return *done_;
}

void Queue::wait_for_driver(uint64_t serial) {
  std::optional<uint64_t> index;
  {
    const std::lock_guard lock(mutex_);
    for (const Running& submission : running_) {
      if (submission.serial == serial && !failure_) index = submission.index;
    }
  }
  if (!index) return;
  static_cast<void>(device_->api().device_poll(device_->handle(), 1, &*index));
  raise_to(*done_, serial);
}

void Queue::submit_if_full() {
  if (recording_.launches() >= kLaunchesPerSubmission || written_bytes_ >= kWrittenBytesPerSubmission) submit();
}

BindGroup Queue::bind_group(const Launch& launch, BindGroupLayout layout) {
  key_.clear();
  key_.push_back(reinterpret_cast<uint64_t>(layout));
  for (const BufferArgument& argument : launch.buffers) {
    const size_t bytes = std::max<size_t>(argument.size(), 16);
    const Span bound = Span::of(*argument.buffer, argument.offset, bytes);
    key_.insert(key_.end(), {reinterpret_cast<uint64_t>(bound.block->handle()), bound.offset, bytes});
    bound.block->is_bound = true;
  }
  if (const auto found = groups_.find(key_); found != groups_.end()) return found->second.get();
  if (groups_.size() >= kMostGroups) groups_.clear();
  std::vector<BindGroupEntry> entries(launch.buffers.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].binding = static_cast<uint32_t>(i);
    entries[i].buffer = reinterpret_cast<BufferHandle>(key_[1 + 3 * i]);
    entries[i].offset = key_[2 + 3 * i];
    entries[i].size = key_[3 + 3 * i];
  }
  if (!launch.parameters.empty()) {
    BindGroupEntry& parameters = entries.emplace_back();
    parameters.binding = static_cast<uint32_t>(entries.size() - 1);
    parameters.buffer = parameters_.get();
    parameters.size = device_->caps().max_parameter_bytes;
  }
  const std::string& name = launch.program->kernel().name;
  const BindGroupDescriptor descriptor{
      .label = std::string_view(name), .layout = layout, .count = entries.size(), .entries = entries.data()};
  Owned<BindGroup> group(device_->api().create_bind_group(device_->handle(), &descriptor), {device_->api().bind_group_release});
  return groups_.emplace(key_, std::move(group)).first->second.get();
}

void Queue::record_launch(const Launch& launch) {
  const auto& program = static_cast<const Program&>(*launch.program);
  uint64_t read_only = program.read_only();
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    Block* const block = Span::of(*launch.buffers[i].buffer, 0, 0).block;
    block->last_use = recorded();
    if ((read_only >> i & 1) == 0) continue;
    for (size_t other = 0; other < launch.buffers.size(); ++other) {
      const bool is_written = (program.read_only() >> other & 1) == 0;
      if (is_written && Span::of(*launch.buffers[other].buffer, 0, 0).block == block) read_only &= ~(uint64_t{1} << i);
    }
  }
  const Pipeline& pipeline = program.pipeline(read_only);
  recording_.dispatch({.pipeline = pipeline.handle.get(),
                       .group = bind_group(launch, pipeline.layouts.group),
                       .parameters = launch.parameters,
                       .grid = launch.grid});
  last_work_.note(program.kernel().name);
  submit_if_full();
}

void Queue::launch(const Launch& launch) {
  const std::lock_guard lock(mutex_);
  if (!failure_) record_launch(launch);
}

// WebGPU writes before the commands that are not handed over yet: none of them may touch the target.
void Queue::write_words(const std::byte* source, const Span& target) {
  if (target.bytes > 0 && target.block->last_use == recorded()) submit();
  for (size_t at = 0; at < target.bytes; at += kWrittenBytesPerSubmission) {
    const size_t bytes = std::min(kWrittenBytesPerSubmission, target.bytes - at);
    device_->api().queue_write_buffer(device_->queue(), target.block->handle(), target.offset + at, source + at, bytes);
    written_bytes_ += bytes;
    submit_if_full();
  }
}

void Queue::upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  const Span to = Span::of(target, offset, bytes);
  const size_t head = to.head(), tail = (bytes - head) % 4;
  write_words(source + head, to.part(head, bytes - head - tail));
  // The bytes beside the whole words, of which WebGPU writes no parts.
  for (size_t i = 0; i < head; ++i) byte_kernels_.fill(*to.block, to.offset + i, 1, source[i]);
  for (size_t i = bytes - tail; i < bytes; ++i) byte_kernels_.fill(*to.block, to.offset + i, 1, source[i]);
}

// WebGPU copies words, from one buffer to another.
void Queue::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  const Span from = Span::of(source, source_offset, bytes), to = Span::of(target, target_offset, bytes);
  if (from.block == to.block || !from.is_of_words() || !to.is_of_words()) {
    return byte_kernels_.copy(*from.block, from.offset, *to.block, to.offset, bytes);
  }
  device_->api().encoder_copy_buffer(recording_.encoder(), from.block->handle(), from.offset, to.block->handle(), to.offset, bytes);
  from.block->last_use = to.block->last_use = recorded();
}

void Queue::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  const Span to = Span::of(target, offset, bytes);
  if (value != std::byte{0} || !to.is_of_words()) return byte_kernels_.fill(*to.block, to.offset, bytes, value);
  device_->api().encoder_clear_buffer(recording_.encoder(), to.block->handle(), to.offset, bytes);
  to.block->last_use = recorded();
}

uint64_t Queue::record_download(const Span& words) {
  if (failure_) throw Error(*failure_);
  device_->api().encoder_copy_buffer(recording_.encoder(), words.block->handle(), words.offset, download_.get(), 0, words.bytes);
  const uint64_t serial = words.block->last_use = recorded();
  submit();
  return serial;
}

void Queue::download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  if (bytes == 0) return synchronize();
  const Api& api = device_->api();
  const std::lock_guard download_lock(download_mutex_);
  throw_if_lost();
  if (download_ == nullptr) download_ = make_buffer(*device_, kDownloadBytes, kMapRead | kCopyTarget);
  if (download_ == nullptr) fail(ErrorCode::out_of_memory, "{}: no {} bytes for a download", device_->place(), kDownloadBytes);
  const Span from = Span::of(source, offset, bytes);
  // Whole words, which the block has.
  const size_t begin = from.offset / 4 * 4, end = (from.offset + bytes + 3) / 4 * 4;
  for (size_t at = begin; at < end; at += kDownloadBytes) {
    const size_t piece = std::min(kDownloadBytes, end - at);
    uint64_t serial = 0;
    {
      const std::lock_guard lock(mutex_);
      serial = record_download({from.block, at, piece});
    }
    uint32_t status = 0;
    const auto take = [](uint32_t told, Text /*message*/, void* data, void* /*more*/) { *static_cast<uint32_t*>(data) = told; };
    api.buffer_map_async(download_.get(), kMapModeRead, 0, piece, {.function = take, .data = &status});
    wait(serial);
    // A device that was lost while this waited maps nothing.
    const void* const mapped = status == kSuccess ? api.buffer_get_const_mapped_range(download_.get(), 0, piece) : nullptr;
    if (mapped == nullptr) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = device_lost(device_->place(), fmt::format("wgpuBufferMapAsync: status {}", status), last_work_.text());
      throw Error(*failure_);
    }
    const size_t first = std::max(at, from.offset), last = std::min(at + piece, from.offset + bytes);
    std::memcpy(target + (first - from.offset), static_cast<const std::byte*>(mapped) + (first - at), last - first);
    api.buffer_unmap(download_.get());
  }
}

}  // namespace wick::webgpu
