#include "wick/device/streams/stream_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "wick/device/device_lost.h"

namespace wick {
namespace {

// Smaller downloads pass through pinned memory: the driver's own way costs several times more for them.
constexpr size_t kDownloadBytes = size_t{1} << 20;
constexpr unsigned kNonBlocking = 1;

StreamBuffer& block_of(const Buffer& buffer) { return static_cast<StreamBuffer&>(*buffer.place().block); }

}  // namespace

StreamBuffer::~StreamBuffer() {
  if (context_.api != nullptr && context_.enter()) context_.api->memory_free.address(address_);
}

StreamAddress stream_address(const Buffer& buffer, size_t offset) { return block_of(buffer).address() + buffer.place().offset + offset; }

StreamProgram::~StreamProgram() {
  if (module_ != nullptr) queue_->unload(module_);
}

DeviceKind StreamProgram::kind() const noexcept { return queue_->context().api->kind; }

StagingRing::~StagingRing() {
  if (!context_.enter()) return;
  const StreamApi& api = *context_.api;
  for (const Piece& piece : pieces_) {
    if (piece.event != nullptr) api.event_destroy.address(piece.event);
    if (piece.host != nullptr) api.host_free.address(piece.host);
  }
}

bool StagingRing::prepare(Piece& piece) const {
  const StreamApi& api = *context_.api;
  if (piece.event == nullptr && api.event_create.address(&piece.event, 0) != 0) return false;
  void* host = piece.host;
  if (host == nullptr && api.host_allocate.address(&host, kPieceBytes, 0) != 0) return false;
  piece.host = static_cast<std::byte*>(host);
  return true;
}

std::byte* StagingRing::take(size_t bytes, StreamHandle stream) {
  const StreamApi& api = *context_.api;
  if (pieces_[current_].used + bytes > kPieceBytes) {
    if (api.event_record.address(pieces_[current_].event, stream) != 0) return nullptr;
    current_ = (current_ + 1) % pieces_.size();
    Piece& next = pieces_[current_];
    if (next.used > 0 && api.event_wait.address(next.event) != 0) return nullptr;
    next.used = 0;
  }
  Piece& piece = pieces_[current_];
  if (!prepare(piece)) return nullptr;
  constexpr size_t kAlignment = 64;
  return piece.host + std::exchange(piece.used, std::min(kPieceBytes, piece.used + (bytes + kAlignment - 1) / kAlignment * kAlignment));
}

class StreamEvent final : public Event {
 public:
  StreamEvent(std::shared_ptr<StreamQueue> queue, StreamHandle handle) : queue_(std::move(queue)), handle_(handle) {}
  ~StreamEvent() override {
    if (queue_->context_.enter()) queue_->context_.api->event_destroy.address(handle_);
  }

  [[nodiscard]] bool is_done() override { return api().event_query.address(handle_) != kStatusNotReady; }  // or an error
  void wait() override {
    const int status = api().event_wait.address(handle_);
    const std::lock_guard lock(queue_->mutex_);
    queue_->throw_if_lost();
    queue_->check_wait(status, queue_->context_.api->event_wait.name);
  }
  [[nodiscard]] std::optional<double> seconds_since(const Event& earlier) const override {
    float milliseconds = 0;
    const int status = api().event_elapsed.address(&milliseconds, static_cast<const StreamEvent&>(earlier).handle_, handle_);
    return status == 0 ? std::optional(static_cast<double>(milliseconds) * 1e-3) : std::nullopt;
  }

 private:
  // With the context that the next call needs.
  [[nodiscard]] const StreamApi& api() const noexcept {
    queue_->context_.make_current();
    return *queue_->context_.api;
  }

  std::shared_ptr<StreamQueue> queue_;
  StreamHandle handle_;
};

// A copy into pinned memory, from which the caller's is filled when it is done.
class StreamReadback final : public Event {
 public:
  StreamReadback(std::shared_ptr<StreamQueue> queue, std::unique_ptr<Event> done, size_t piece, std::byte* target, size_t bytes)
      : queue_(std::move(queue)), done_(std::move(done)), piece_(piece), target_(target), bytes_(bytes) {}
  ~StreamReadback() override {
    try {
      // The device may still write to it.
      if (!waited_) done_->wait();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): nothing runs on a device that is lost
    }
    const std::lock_guard lock(queue_->mutex_);
    queue_->is_read_back_[piece_] = false;
  }

  [[nodiscard]] bool is_done() override { return done_->is_done(); }
  void wait() override {
    done_->wait();
    waited_ = true;
    std::memcpy(target_, queue_->readback_ + piece_ * ReadbackQueue::kMaxBytes, bytes_);
  }

 private:
  std::shared_ptr<StreamQueue> queue_;
  std::unique_ptr<Event> done_;
  size_t piece_;
  std::byte* target_;
  size_t bytes_;
  bool waited_ = false;
};

StreamQueue::StreamQueue(StreamContext context, StreamHandle stream, bool early_launches)
    : context_(std::move(context)), stream_(stream), owns_stream_(stream == nullptr), early_launches_(early_launches), staging_(context_) {
  const StreamApi& api = *context_.api;
  check_status(api, context_.make_current(), api.context_enter.name, context_.place);
  if (owns_stream_) check_status(api, api.stream_create.address(&stream_, kNonBlocking), api.stream_create.name, context_.place);
}

StreamQueue::~StreamQueue() {
  if (!context_.enter()) return;
  const StreamApi& api = *context_.api;
  api.stream_wait.address(stream_);
  if (owns_stream_) api.stream_destroy.address(stream_);
  if (download_ != nullptr) api.host_free.address(download_);
  if (readback_ != nullptr) api.host_free.address(readback_);
}

void StreamQueue::throw_if_lost() const {
  if (failure_) std::rethrow_exception(failure_);
}

void StreamQueue::begin_call() {
  throw_if_lost();
  const StreamApi& api = *context_.api;
  const int status = context_.open->lost ? kStatusContextIsDestroyed : context_.make_current();
  if (!is_call_status(status)) lose(status, api.context_enter.name);
  check_status(api, status, api.context_enter.name, context_.place);
}

void StreamQueue::lose(int status, const char* call) {
  context_.open->lost = true;
  const std::string name = context_.api->status_name(*context_.api, status);
  const Error error = device_lost(context_.place, fmt::format("{}: {}", call, name), last_work_.text());
  try {
    context_.api->raise(error.code(), error.what(), {call, status, name});
  } catch (...) {
    failure_ = std::current_exception();
  }
  std::rethrow_exception(failure_);
}

void StreamQueue::check_wait(int status, const char* call) {
  if (!is_call_status(status)) lose(status, call);
  check_queued(status, call, context_.place);
}

void StreamQueue::check_queued(int status, const char* call, const std::string& place) {
  if (status == 0) return;
  if (!is_call_status(status)) lose(status, call);
  const int waited = context_.api->stream_wait.address(stream_);
  if (!is_call_status(waited)) lose(waited, call);
  check_status(*context_.api, status, call, place);
}

void StreamQueue::upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) {
  const StreamApi& api = *context_.api;
  const std::lock_guard lock(mutex_);
  begin_call();
  StreamAddress to = stream_address(target, offset);
  while (bytes > 0) {
    const size_t part = std::min(bytes, StagingRing::kPieceBytes);
    std::byte* const staged = staging_.take(part, stream_);
    if (staged != nullptr) std::memcpy(staged, source, part);
    // From memory that is not pinned, the driver copies before it returns.
    check_queued(api.copy_to_device.address(to, staged != nullptr ? staged : source, part, stream_), api.copy_to_device.name,
                 context_.place);
    source += part;
    to += part;
    bytes -= part;
  }
}

std::byte* StreamQueue::download_piece() {
  void* host = download_;
  if (host == nullptr && context_.api->host_allocate.address(&host, kDownloadBytes, 0) != 0) return nullptr;
  download_ = static_cast<std::byte*>(host);
  return download_;
}

void StreamQueue::download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  if (bytes == 0) return;
  const StreamApi& api = *context_.api;
  const std::lock_guard lock(mutex_);
  begin_call();
  std::byte* const staged = bytes <= kDownloadBytes ? download_piece() : nullptr;
  check_wait(api.copy_to_host.address(staged != nullptr ? staged : target, stream_address(source, offset), bytes, stream_),
             api.copy_to_host.name);
  check_wait(api.stream_wait.address(stream_), api.stream_wait.name);
  if (staged != nullptr) std::memcpy(target, staged, bytes);
}

std::optional<size_t> StreamQueue::take_readback_piece() {
  void* host = readback_;
  if (host == nullptr && context_.api->host_allocate.address(&host, kReadbacks * kMaxBytes, 0) != 0) return std::nullopt;
  readback_ = static_cast<std::byte*>(host);
  const auto free = std::find(is_read_back_.begin(), is_read_back_.end(), false);
  if (free == is_read_back_.end()) return std::nullopt;
  *free = true;
  return static_cast<size_t>(free - is_read_back_.begin());
}

std::unique_ptr<Event> StreamQueue::read_back(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  const StreamApi& api = *context_.api;
  const std::lock_guard lock(mutex_);
  begin_call();
  const std::optional<size_t> piece = bytes > 0 && bytes <= kMaxBytes ? take_readback_piece() : std::nullopt;
  if (!piece) {
    download(source, offset, target, bytes);
    return past_event();
  }
  try {
    check_queued(api.copy_to_host.address(readback_ + *piece * kMaxBytes, stream_address(source, offset), bytes, stream_),
                 api.copy_to_host.name, context_.place);
    return std::make_unique<StreamReadback>(shared_from_this(), record(), *piece, target, bytes);
  } catch (...) {
    is_read_back_[*piece] = false;
    throw;
  }
}

void StreamQueue::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  if (bytes == 0) return;
  const StreamApi& api = *context_.api;
  const std::lock_guard lock(mutex_);
  begin_call();
  check_queued(api.copy_on_device.address(stream_address(target, target_offset), stream_address(source, source_offset), bytes, stream_),
               api.copy_on_device.name, context_.place);
}

void StreamQueue::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  if (bytes == 0) return;
  const StreamApi& api = *context_.api;
  const std::lock_guard lock(mutex_);
  begin_call();
  check_queued(api.fill_bytes.address(stream_address(target, offset), static_cast<unsigned char>(value), bytes, stream_),
               api.fill_bytes.name, context_.place);
}

void StreamQueue::wait_for(StreamQueue& other) {
  constexpr unsigned kNoTimes = 2;
  const StreamApi& api = *context_.api;
  StreamHandle event = nullptr;
  other.begin_call();
  other.check_queued(api.event_create.address(&event, kNoTimes), api.event_create.name, other.context_.place);
  const int recorded = api.event_record.address(event, other.stream_);
  const int waits = recorded != 0 ? 0 : api.stream_wait_event.address(stream_, event, 0);
  api.event_destroy.address(event);  // the driver keeps it as long as somebody waits
  other.check_queued(recorded, api.event_record.name, other.context_.place);
  begin_call();
  check_queued(waits, api.stream_wait_event.name, context_.place);
}

// Where the devices have no way to each other's memory, the driver copies through the host's.
void StreamQueue::reach(const StreamQueue& other) {
  if (!peers_.insert(other.context_.open->handle).second) return;
  begin_call();
  context_.api->peer_enable.address(*context_.api, other.context_.open->handle);
}

bool StreamQueue::copy_from_peer(Queue& other, const Buffer& source, size_t source_offset, Buffer& target, size_t target_offset,
                                 size_t bytes) {
  auto* const from = dynamic_cast<StreamQueue*>(&other);
  const StreamApi& api = *context_.api;
  if (from == nullptr || from == this || from->context_.api != context_.api) return false;
  if (bytes == 0) return true;
  const std::scoped_lock lock(mutex_, from->mutex_);
  if (from->context_.open->handle != context_.open->handle) reach(*from);
  wait_for(*from);
  begin_call();
  check_queued(api.copy_from_peer.address(api, stream_address(target, target_offset), context_.open->handle,
                                          stream_address(source, source_offset), from->context_.open->handle, bytes, stream_),
               api.copy_from_peer.name, context_.place);
  last_work_.note("a copy from " + from->context_.place);
  from->wait_for(*this);
  return true;
}

void StreamQueue::launch(const Launch& launch) {
  const StreamApi& api = *context_.api;
  const ir::Kernel& kernel = launch.program->kernel();
  // Whoever makes it needs the queue.
  StreamHandle const function = static_cast<const StreamProgram&>(*launch.program).function();
  const std::lock_guard lock(mutex_);
  begin_call();
  addresses_.clear();
  for (const BufferArgument& argument : launch.buffers) addresses_.push_back(stream_address(*argument.buffer, argument.offset));
  arguments_.clear();
  for (StreamAddress& address : addresses_) arguments_.push_back(&address);
  // One behind the other: our own kernels take them as one structure, which is where the first is; others as an argument each.
  for (const uint32_t& parameter : launch.parameters) arguments_.push_back(const_cast<uint32_t*>(&parameter));  // NOLINT: it is only read
  // A kernel of another's text does not wait.
  const bool early = early_launches_ && kernel.entry.empty();
  const int status = early ? api.launch_early.address(api, {.function = function,
                                                            .groups_x = launch.grid.x,
                                                            .groups_y = launch.grid.y,
                                                            .groups_z = launch.grid.z,
                                                            .lanes = kernel.group_size,
                                                            .stream = stream_,
                                                            .arguments = arguments_.data()})
                           : api.launch.address(function, launch.grid.x, launch.grid.y, launch.grid.z, kernel.group_size, 1, 1, 0, stream_,
                                                arguments_.data(), nullptr);
  last_work_.note(kernel.name);
  if (status == 0) return;
  check_queued(status, early ? api.launch_early.name : api.launch.name, fmt::format("{}, kernel {}", context_.place, kernel.name));
}

void StreamQueue::synchronize() {
  const std::lock_guard lock(mutex_);
  begin_call();
  check_wait(context_.api->stream_wait.address(stream_), context_.api->stream_wait.name);
}

std::unique_ptr<Event> StreamQueue::record() {
  const StreamApi& api = *context_.api;
  const std::lock_guard lock(mutex_);
  begin_call();
  StreamHandle handle = nullptr;
  check_queued(api.event_create.address(&handle, 0), api.event_create.name, context_.place);
  auto event = std::make_unique<StreamEvent>(shared_from_this(), handle);
  check_queued(api.event_record.address(handle, stream_), api.event_record.name, context_.place);
  return event;
}

// Destroyed while it runs, the driver gives it back when that is done.
class StreamGraph final : public CapturedWork {
 public:
  StreamGraph(std::shared_ptr<StreamQueue> queue, StreamHandle executable) : queue_(std::move(queue)), executable_(executable) {}
  ~StreamGraph() override {
    if (queue_->context_.enter()) queue_->context_.api->graph_executable_destroy.address(executable_);
  }

  void launch() override {
    const StreamApi& api = *queue_->context_.api;
    const std::lock_guard lock(queue_->mutex_);
    queue_->begin_call();
    queue_->check_queued(api.graph_launch.address(executable_, queue_->stream_), api.graph_launch.name, queue_->context_.place);
    queue_->last_work_.note("a graph");
  }

 private:
  std::shared_ptr<StreamQueue> queue_;
  StreamHandle executable_;
};

std::unique_ptr<CapturedWork> StreamQueue::capture(const std::function<void()>& body) {
  constexpr int kRelaxed = 2;
  const StreamApi& api = *context_.api;
  if (api.capture_begin.address == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  begin_call();
  check_queued(api.capture_begin.address(stream_, kRelaxed), api.capture_begin.name, context_.place);
  StreamHandle graph = nullptr, executable = nullptr;
  try {
    body();
  } catch (...) {
    if (api.capture_end.address(stream_, &graph) == 0) api.graph_destroy.address(graph);
    throw;
  }
  check_queued(api.capture_end.address(stream_, &graph), api.capture_end.name, context_.place);
  const int status = api.graph_instantiate.address(&executable, graph, 0);
  api.graph_destroy.address(graph);
  check_queued(status, api.graph_instantiate.name, context_.place);
  return std::make_unique<StreamGraph>(shared_from_this(), executable);
}

bool StreamQueue::is_lost() noexcept {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

std::unique_ptr<StreamBuffer> StreamQueue::allocate(size_t bytes) {
  const StreamApi& api = *context_.api;
  const std::lock_guard lock(mutex_);
  begin_call();
  StreamAddress address = 0;
  const int status = api.memory_allocate.address(&address, bytes);
  if (status == kStatusOutOfMemory) return nullptr;
  check_queued(status, api.memory_allocate.name, context_.place);
  return std::make_unique<StreamBuffer>(context_, address, bytes);
}

std::shared_ptr<const StreamProgram> StreamQueue::load(ir::Kernel kernel, const std::string& entry, const void* binary) {
  const StreamApi& api = *context_.api;
  const std::lock_guard lock(mutex_);
  begin_call();
  StreamHandle module = nullptr, function = nullptr;
  const int status = api.module_load.address(&module, binary);
  if (status == kStatusOutOfMemory || !is_call_status(status)) check_queued(status, api.module_load.name, context_.place);
  if (status != 0) return nullptr;
  if (api.module_function.address(&function, module, entry.c_str()) != 0) {
    api.module_unload.address(module);
    return nullptr;
  }
  return std::make_shared<const StreamProgram>(std::move(kernel), shared_from_this(), module, function);
}

void StreamQueue::unload(StreamHandle module) noexcept {
  const std::lock_guard lock(mutex_);
  if (!context_.enter()) return;
  context_.api->stream_wait.address(stream_);
  context_.api->module_unload.address(module);
}

}  // namespace wick
