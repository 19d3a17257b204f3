#include "wick/backend/webgpu/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "wick/backend/webgpu/byte_kernels.h"
#include "wick/base/fail.h"
#include "wick/device/device_lost.h"
#include "wick/ir/dialect/dialect.h"
#include "wick/ir/passes.h"

namespace wick::webgpu {
namespace {

constexpr size_t kLaunchesPerSubmission = 128;
constexpr size_t kWrittenBytesPerSubmission = size_t{32} << 20;
// The host is so many submissions ahead of the device at most.
constexpr size_t kRunningSubmissions = 4;
constexpr size_t kMostGroups = 8192;
constexpr size_t kDownloadBytes = size_t{4} << 20;
constexpr size_t kByteKernelBytes = size_t{32} << 20;  // by one launch of it
constexpr size_t kEdgeBytes = 256;

class QueueEvent final : public Event {
 public:
  QueueEvent(std::shared_ptr<Queue> queue, uint64_t serial) : queue_(std::move(queue)), serial_(serial) {}
  [[nodiscard]] bool is_done() override { return queue_->is_done(serial_); }
  void wait() override { queue_->wait(serial_); }

 private:
  std::shared_ptr<Queue> queue_;
  uint64_t serial_;
};

void raise_to(std::atomic<uint64_t>& number, uint64_t value) {
  uint64_t seen = number.load();
  while (seen < value && !number.compare_exchange_weak(seen, value)) {}
}

}  // namespace

// Bytes of a block that a command touches.
struct Queue::Span {
  Block* block;
  size_t offset;  // in the block
  size_t bytes;

  [[nodiscard]] Span part(size_t from, size_t size) const noexcept { return {block, offset + from, size}; }
  [[nodiscard]] bool is_of_words() const noexcept { return offset % 4 == 0 && bytes % 4 == 0; }
};

Queue::Queue(std::shared_ptr<Device> device)
    : device_(std::move(device)),
      parameters_(make_buffer(*device_, kLaunchesPerSubmission * device_->parameter_stride(), kUniform | kCopyTarget)),
      recording_(*device_),
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
  if (recording_.is_empty() && written_bytes_ == 0) return;
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

void Queue::submit_if_full() {
  if (recording_.launches() >= kLaunchesPerSubmission || written_bytes_ >= kWrittenBytesPerSubmission) submit();
}

Queue::Span Queue::span(const Buffer& buffer, size_t offset, size_t bytes) {
  const auto [place, first] = const_cast<Buffer&>(buffer).place();  // NOLINT: a command may write to what its caller only names
  return {static_cast<Block*>(place), first + offset, bytes};
}

BindGroup Queue::bind_group(const Launch& launch, BindGroupLayout layout) {
  key_.clear();
  key_.push_back(reinterpret_cast<uint64_t>(layout));
  for (const BufferArgument& argument : launch.buffers) {
    const size_t bytes = std::max<size_t>(argument.size(), 16);
    const Span bound = span(*argument.buffer, argument.offset, bytes);
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
  Owned<BindGroup> group(device_->api().device_create_bind_group(device_->handle(), &descriptor), {device_->api().bind_group_release});
  return groups_.emplace(key_, std::move(group)).first->second.get();
}

void Queue::record_launch(const Launch& launch) {
  const auto& program = static_cast<const Program&>(*launch.program);
  uint64_t read_only = program.read_only();
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    Block* const block = span(*launch.buffers[i].buffer, 0, 0).block;
    block->last_use = recorded();
    if ((read_only >> i & 1) == 0) continue;
    for (size_t other = 0; other < launch.buffers.size(); ++other) {
      const bool is_written = (program.read_only() >> other & 1) == 0;
      if (is_written && span(*launch.buffers[other].buffer, 0, 0).block == block) read_only &= ~(uint64_t{1} << i);
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
  if (target.block->last_use == recorded()) submit();
  for (size_t at = 0; at < target.bytes; at += kWrittenBytesPerSubmission) {
    const size_t bytes = std::min(kWrittenBytesPerSubmission, target.bytes - at);
    device_->api().queue_write_buffer(device_->queue(), target.block->handle(), target.offset + at, source + at, bytes);
    written_bytes_ += bytes;
    submit_if_full();
  }
}

// Fewer than four bytes, by way of a word of their own.
void Queue::write_edge(const std::byte* source, const Span& target) {
  if (target.bytes == 0) return;
  if (edge_ == nullptr) {
    Owned<BufferHandle> handle = make_buffer(*device_, kEdgeBytes, kStorage | kCopySource | kCopyTarget);
    edge_ = std::make_unique<Block>(nullptr, std::move(handle), kEdgeBytes);
  }
  std::array<std::byte, 4> word{};
  std::memcpy(word.data(), source, target.bytes);
  write_words(word.data(), {edge_.get(), 0, word.size()});
  copy_bytes({edge_.get(), 0, target.bytes}, target);
}

void Queue::upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  const Span to = span(target, offset, bytes);
  const size_t head = std::min((4 - to.offset % 4) % 4, bytes), tail = (bytes - head) % 4;
  write_edge(source, to.part(0, head));
  write_words(source + head, to.part(head, bytes - head - tail));
  write_edge(source + bytes - tail, to.part(bytes - tail, tail));
}

std::pair<BufferArgument, uint32_t> Queue::view(const Span& span) const {
  const size_t alignment = device_->caps().buffer_offset_alignment;
  const size_t first = span.offset / alignment * alignment;
  const BufferArgument argument{span.block, first, span.offset + span.bytes - first};
  return {argument, static_cast<uint32_t>(span.offset - first)};
}

const Program& Queue::byte_program(std::shared_ptr<const Program>& program, ir::Kernel (*kernel)()) {
  if (program == nullptr) {
    ir::Kernel prepared = ir::prepare(kernel(), device_->caps());
    Pipeline pipeline = compile_pipeline(*device_, prepared, ir::print(prepared, ir::wgsl_dialect()));
    program = std::make_shared<const Program>(device_, std::move(prepared), std::move(pipeline));
  }
  return *program;
}

void Queue::copy_bytes(const Span& source, const Span& target) {
  const Program& program = byte_program(copy_bytes_, copy_bytes_kernel);
  for (size_t at = 0; at < target.bytes; at += kByteKernelBytes) {
    const size_t bytes = std::min(kByteKernelBytes, target.bytes - at);
    const auto [from, source_first] = view(source.part(at, bytes));
    const auto [to, target_first] = view(target.part(at, bytes));
    const std::array buffers{from, to};
    const std::array parameters{source_first, target_first, static_cast<uint32_t>(bytes)};
    const auto groups = static_cast<uint32_t>(bytes / 4 / kByteKernelLanes + 2);
    const ir::Grid grid{std::min(groups, 1024U), (groups + 1023) / 1024, 1};
    record_launch({&program, grid, buffers, parameters});
  }
}

void Queue::fill_bytes(const Span& target, std::byte value) {
  const Program& program = byte_program(fill_bytes_, fill_bytes_kernel);
  for (size_t at = 0; at < target.bytes; at += kByteKernelBytes) {
    const size_t bytes = std::min(kByteKernelBytes, target.bytes - at);
    const auto [to, first] = view(target.part(at, bytes));
    const std::array buffers{to};
    const std::array parameters{first, static_cast<uint32_t>(bytes), static_cast<uint32_t>(value)};
    const auto groups = static_cast<uint32_t>(bytes / 4 / kByteKernelLanes + 2);
    const ir::Grid grid{std::min(groups, 1024U), (groups + 1023) / 1024, 1};
    record_launch({&program, grid, buffers, parameters});
  }
}

// WebGPU copies words, from one buffer to another.
void Queue::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  const Span from = span(source, source_offset, bytes), to = span(target, target_offset, bytes);
  if (from.block == to.block || !from.is_of_words() || !to.is_of_words()) return copy_bytes(from, to);
  device_->api().encoder_copy_buffer(recording_.encoder(), from.block->handle(), from.offset, to.block->handle(), to.offset, bytes);
  from.block->last_use = to.block->last_use = recorded();
}

void Queue::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  const Span to = span(target, offset, bytes);
  if (value != std::byte{0} || !to.is_of_words()) return fill_bytes(to, value);
  device_->api().encoder_clear_buffer(recording_.encoder(), to.block->handle(), to.offset, bytes);
  to.block->last_use = recorded();
}

void Queue::download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  if (bytes == 0) return synchronize();
  const Api& api = device_->api();
  const std::lock_guard download_lock(download_mutex_);
  throw_if_lost();
  if (download_ == nullptr) download_ = make_buffer(*device_, kDownloadBytes, kMapRead | kCopyTarget);
  if (download_ == nullptr) fail(ErrorCode::out_of_memory, "{}: no {} bytes for a download", device_->place(), kDownloadBytes);
  const Span from = span(source, offset, bytes);
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
      if (!failure_) failure_ = device_lost(device_->place(), fmt::format("wgpuBufferMapAsync: status {}", status), last_work_.text());
      throw Error(*failure_);
    }
    const size_t first = std::max(at, from.offset), last = std::min(at + piece, from.offset + bytes);
    std::memcpy(target + (first - from.offset), static_cast<const std::byte*>(mapped) + (first - at), last - first);
    api.buffer_unmap(download_.get());
  }
}

void Queue::flush() {
  const std::lock_guard lock(mutex_);
  if (!failure_) submit();
}

void Queue::synchronize() {
  uint64_t last = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) submit();
    last = submitted_;
  }
  wait(last);
}

void Queue::wait(uint64_t serial) {
  std::optional<uint64_t> index;
  {
    const std::lock_guard lock(mutex_);
    if (serial > submitted_ && !failure_) submit();
    note_failures();
    if (failure_) throw Error(*failure_);
    for (const Running& submission : running_) {
      if (submission.serial == serial) index = submission.index;
    }
  }
  if (!index) return;
  // Others go on recording meanwhile.
  static_cast<void>(device_->api().device_poll(device_->handle(), 1, &*index));
  raise_to(*done_, serial);
  {
    const std::lock_guard lock(mutex_);
    note_failures();
  }
  throw_if_lost();
}

bool Queue::is_done(uint64_t serial) {
  const std::lock_guard lock(mutex_);
  if (serial > submitted_ && !failure_) submit();
  if (!failure_) static_cast<void>(device_->api().device_poll(device_->handle(), 0, nullptr));
  note_failures();
  return failure_ || *done_ >= serial;
}

void Queue::throw_if_lost() {
  const std::lock_guard lock(mutex_);
  if (failure_) throw Error(*failure_);
}

bool Queue::is_lost() noexcept {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

std::unique_ptr<Event> Queue::record() {
  const std::lock_guard lock(mutex_);
  const bool pending = !recording_.is_empty() || written_bytes_ > 0;
  return std::make_unique<QueueEvent>(shared_from_this(), pending && !failure_ ? recorded() : submitted_);
}

}  // namespace wick::webgpu
