#include "wick/backend/webgpu/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "wick/base/fail.h"

namespace wick::webgpu {
namespace {

constexpr size_t kLaunchesPerSubmission = 128;
constexpr size_t kWrittenBytesPerSubmission = size_t{32} << 20;
// The host is so many submissions ahead of the device at most.
constexpr size_t kRunningSubmissions = 4;
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

void Queue::note_failures() {
  if (failure_) return;
  const std::string loss = device_->loss(), refused = device_->uncaught();
  if (!loss.empty() || !refused.empty()) lose(device_->place(), loss.empty() ? refused : loss);
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

Owned<BindGroup> Queue::make_group(const Launch& launch, BindGroupLayout layout, std::span<const Span> spans) const {
  std::vector<BindGroupEntry> entries;
  const auto add = [&](BufferHandle buffer, uint64_t offset, uint64_t bytes) {
    entries.push_back({.binding = static_cast<uint32_t>(entries.size()), .buffer = buffer, .offset = offset, .size = bytes});
  };
  for (const Span& span : spans) {
    add(span.block->handle(), span.offset, span.bytes);
    span.block->is_bound = true;
  }
  if (!launch.parameters.empty()) add(parameters_.get(), 0, device_->caps().max_parameter_bytes);
  const BindGroupDescriptor descriptor{
      .label = std::string_view(launch.program->kernel().name), .layout = layout, .count = entries.size(), .entries = entries.data()};
  return {device_->api().create_bind_group(device_->handle(), &descriptor), {device_->api().bind_group_release}};
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
  const auto make = [&](std::span<const Span> spans) { return make_group(launch, pipeline.layouts.group, spans); };
  recording_.dispatch({.pipeline = pipeline.handle.get(),
                       .group = groups_.get(pipeline.layouts.group, launch.buffers, make).get(),
                       .parameters = launch.parameters,
                       .grid = launch.grid});
  last_work_.note(program.kernel().name);
  submit_if_full();
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

void Queue::record_upload(const std::byte* source, const Span& target) {
  const size_t head = target.head(), tail = (target.bytes - head) % 4;
  write_words(source + head, target.part(head, target.bytes - head - tail));
  // The bytes beside the whole words, of which WebGPU writes no parts.
  for (size_t i = 0; i < head; ++i) byte_kernels_.fill(*target.block, target.offset + i, 1, source[i]);
  for (size_t i = target.bytes - tail; i < target.bytes; ++i) byte_kernels_.fill(*target.block, target.offset + i, 1, source[i]);
}

// WebGPU copies words, from one buffer to another.
void Queue::record_copy(const Span& source, const Span& target) {
  if (source.block == target.block || !source.is_of_words() || !target.is_of_words()) {
    return byte_kernels_.copy(*source.block, source.offset, *target.block, target.offset, source.bytes);
  }
  device_->api().encoder_copy_buffer(recording_.encoder(), source.block->handle(), source.offset, target.block->handle(), target.offset,
                                     source.bytes);
  source.block->last_use = target.block->last_use = recorded();
}

void Queue::record_fill(const Span& target, std::byte value) {
  if (value != std::byte{0} || !target.is_of_words()) return byte_kernels_.fill(*target.block, target.offset, target.bytes, value);
  device_->api().encoder_clear_buffer(recording_.encoder(), target.block->handle(), target.offset, target.bytes);
  target.block->last_use = recorded();
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
      if (failure_) throw Error(*failure_);
      api.encoder_copy_buffer(recording_.encoder(), from.block->handle(), at, download_.get(), 0, piece);
      serial = from.block->last_use = recorded();
      submit();
    }
    uint32_t status = 0;
    const auto take = [](uint32_t told, Text /*message*/, void* data, void* /*more*/) { *static_cast<uint32_t*>(data) = told; };
    api.buffer_map_async(download_.get(), kMapModeRead, 0, piece, {.function = take, .data = &status});
    wait(serial);
    // A device that was lost while this waited maps nothing.
    const void* const mapped = status == kSuccess ? api.buffer_get_const_mapped_range(download_.get(), 0, piece) : nullptr;
    if (mapped == nullptr) {
      const std::lock_guard lock(mutex_);
      lose(device_->place(), fmt::format("wgpuBufferMapAsync: status {}", status));
      throw Error(*failure_);
    }
    const size_t first = std::max(at, from.offset), last = std::min(at + piece, from.offset + bytes);
    std::memcpy(target + (first - from.offset), static_cast<const std::byte*>(mapped) + (first - at), last - first);
    api.buffer_unmap(download_.get());
  }
}

}  // namespace wick::webgpu
