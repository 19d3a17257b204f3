#include "wick/backend/oneapi/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "wick/backend/oneapi/program.h"
#include "wick/base/fail.h"
#include "wick/device/device_lost.h"

namespace wick::oneapi {
namespace {

constexpr size_t kPieceBytes = size_t{8} << 20;
constexpr size_t kBlockAlignment = 4096, kPieceAlignment = 64;
constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();

using Span = BlockSpan<Block>;

std::byte* address_of(const Span& span) { return span.block->address() + span.offset; }

}  // namespace

Block::~Block() {
  queue_->finish();
  if (owner_ == nullptr) queue_->api().memory_free.address(queue_->context(), address_);
}

class ZeEvent final : public Event {
 public:
  ZeEvent(std::shared_ptr<ZeQueue> queue, EventHandle handle) : queue_(std::move(queue)), handle_(handle) {}
  ~ZeEvent() override { queue_->events_->give_back(handle_); }

  [[nodiscard]] bool is_done() override {
    return queue_->api_->event_query.address(handle_) != kNotReady;  // or an error, which a wait tells
  }
  void wait() override { queue_->wait(handle_); }
  [[nodiscard]] std::optional<double> seconds_since(const Event& earlier) const override {
    const std::optional<uint64_t> begin = queue_->events_->ticks(static_cast<const ZeEvent&>(earlier).handle_);
    const std::optional<uint64_t> end = queue_->events_->ticks(handle_);
    return begin && end ? std::optional(queue_->events_->seconds_between(*begin, *end)) : std::nullopt;
  }

 private:
  std::shared_ptr<ZeQueue> queue_;
  EventHandle handle_;
};

ZeQueue::ZeQueue(std::shared_ptr<const Api> api, FoundDevice device, std::string place)
    : api_(std::move(api)), device_(std::move(device)), place_(std::move(place)) {
  const ContextDescription context;
  checked(place_, api_->context_create, device_.driver, &context, &context_);
  const QueueDescription queue{.group = device_.queue_group};
  if (const int status = api_->list_create_immediate.address(context_, device_.handle, &queue, &list_); status != kSuccess) {
    api_->context_destroy.address(context_);
    check(status, api_->list_create_immediate.name, place_);
  }
  events_.emplace(*api_, context_, device_, place_);
}

ZeQueue::~ZeQueue() {
  finish();
  for (const Piece& piece : pieces_) {
    if (piece.host != nullptr) api_->memory_free.address(context_, piece.host);
  }
  if (download_ != nullptr) api_->memory_free.address(context_, download_);
  events_.reset();
  api_->list_destroy.address(list_);
  api_->context_destroy.address(context_);
}

void ZeQueue::throw_failure() const {
  if (failure_) throw Error(*failure_);
}

bool ZeQueue::is_lost() noexcept {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void ZeQueue::lose(int status, const char* call) {
  failure_ = device_lost(place_, fmt::format("{}: {}", call, status_name(status)), last_work_.text());
  throw Error(*failure_);
}

void ZeQueue::check_call(int status, const char* call, std::string_view kernel) {
  if (status == kSuccess) return;
  if (!is_memory(status) && !is_invalid_call(status)) lose(status, call);
  check(status, call, kernel.empty() ? place_ : fmt::format("{}, kernel {}", place_, kernel));
}

void ZeQueue::check_build(int status, const char* call) {
  const std::lock_guard lock(mutex_);
  throw_failure();
  check_call(status, call);
}

void ZeQueue::barrier() { check_call(api_->append_barrier.address(list_, nullptr, 0, nullptr), api_->append_barrier.name); }

// Commands of a list may overlap, whatever their order.
void ZeQueue::step(std::initializer_list<Hazards::Range> ranges) {
  if (hazards_.barrier_before({ranges.begin(), ranges.size()})) barrier();
  busy_ = true;
}

EventHandle ZeQueue::mark() {
  EventHandle event = events_->take();
  const int status = api_->append_barrier.address(list_, event, 0, nullptr);
  if (status != kSuccess) events_->give_back(event);
  check_call(status, api_->append_barrier.name);
  hazards_.forget();
  return event;
}

std::byte* ZeQueue::make_host_piece(const char* purpose) {
  const HostMemoryDescription description;
  void* host = nullptr;
  const int status = api_->host_allocate.address(context_, &description, kPieceBytes, kPieceAlignment, &host);
  if (is_memory(status)) fail(ErrorCode::out_of_memory, "{}: no {} bytes of host memory for {}", place_, kPieceBytes, purpose);
  check_call(status, api_->host_allocate.name);
  return static_cast<std::byte*>(host);
}

std::byte* ZeQueue::stage(size_t bytes) {
  Piece* piece = &pieces_[piece_];
  if (piece->host != nullptr && piece->used + bytes > kPieceBytes) {
    piece->read = mark();
    piece_ = (piece_ + 1) % pieces_.size();
    piece = &pieces_[piece_];
    if (piece->read != nullptr) {
      check_call(api_->event_wait.address(piece->read, kForever), api_->event_wait.name);
      events_->give_back(std::exchange(piece->read, nullptr));
    }
    piece->used = 0;
  }
  if (piece->host == nullptr) piece->host = make_host_piece("an upload");
  std::byte* const place = piece->host + piece->used;
  piece->used += (bytes + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment;
  return place;
}

void ZeQueue::upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) {
  const Span to = Span::of(target, offset, bytes);
  const std::lock_guard lock(mutex_);
  throw_failure();
  for (size_t at = 0; at < bytes; at += kPieceBytes) {
    const Span part = to.part(at, std::min(kPieceBytes, bytes - at));
    std::byte* const staged = stage(part.bytes);
    std::memcpy(staged, source + at, part.bytes);
    step({part.write()});
    check_call(api_->append_copy.address(list_, address_of(part), staged, part.bytes, nullptr, 0, nullptr), api_->append_copy.name);
  }
}

void ZeQueue::download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  if (bytes == 0) return synchronize();
  const Span from = Span::of(source, offset, bytes);
  const std::lock_guard download_lock(download_mutex_);
  for (size_t at = 0; at < bytes; at += kPieceBytes) {
    const Span part = from.part(at, std::min(kPieceBytes, bytes - at));
    EventHandle done = nullptr;
    {
      const std::lock_guard lock(mutex_);
      throw_failure();
      if (download_ == nullptr) download_ = make_host_piece("a download");
      step({part.read()});
      check_call(api_->append_copy.address(list_, download_, address_of(part), part.bytes, nullptr, 0, nullptr), api_->append_copy.name,
                 place_);
      done = mark();
    }
    wait(done);
    events_->give_back(done);
    std::memcpy(target + at, download_, part.bytes);
  }
}

void ZeQueue::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  if (bytes == 0) return;
  const Span from = Span::of(source, source_offset, bytes), to = Span::of(target, target_offset, bytes);
  const std::lock_guard lock(mutex_);
  throw_failure();
  step({from.read(), to.write()});
  check_call(api_->append_copy.address(list_, address_of(to), address_of(from), bytes, nullptr, 0, nullptr), api_->append_copy.name);
}

void ZeQueue::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  if (bytes == 0) return;
  const Span to = Span::of(target, offset, bytes);
  const std::lock_guard lock(mutex_);
  throw_failure();
  step({to.write()});
  check_call(api_->append_fill.address(list_, address_of(to), &value, 1, bytes, nullptr, 0, nullptr), api_->append_fill.name);
}

void ZeQueue::launch(const Launch& launch) {
  const auto& program = static_cast<const ZeProgram&>(*launch.program);
  const ir::Kernel& kernel = program.kernel();
  const std::lock_guard lock(mutex_);
  throw_failure();
  ranges_.clear();
  uint32_t index = 0;
  const auto set = [&](size_t bytes, const void* value) {
    const int status = api_->kernel_set_argument.address(program.handle(), index++, bytes, value);
    check_call(status, api_->kernel_set_argument.name, kernel.name);
  };
  for (const BufferArgument& argument : launch.buffers) {
    const Span bytes = Span::of(*argument.buffer, argument.offset, argument.size());
    ranges_.push_back(kernel.buffers[ranges_.size()].access == ir::Access::read ? bytes.read() : bytes.write());
    std::byte* const address = address_of(bytes);
    set(sizeof(address), static_cast<const void*>(&address));
  }
  // Our own kernels take the numbers as one structure.
  const size_t each = kernel.entry.empty() ? launch.parameters.size() : 1;
  for (size_t i = 0; i < launch.parameters.size(); i += each) set(each * sizeof(uint32_t), &launch.parameters[i]);
  if (hazards_.barrier_before(ranges_)) barrier();
  const GroupCount groups{launch.grid.x, launch.grid.y, launch.grid.z};
  const int status = api_->append_launch.address(list_, program.handle(), &groups, nullptr, 0, nullptr);
  last_work_.note(kernel.name);
  busy_ = true;
  check_call(status, api_->append_launch.name, kernel.name);
}

void ZeQueue::wait(EventHandle event) {
  // Others go on queueing meanwhile.
  const int status = api_->event_wait.address(event, kForever);
  const std::lock_guard lock(mutex_);
  throw_failure();
  check_call(status, api_->event_wait.name);
}

void ZeQueue::synchronize() {
  const std::lock_guard lock(mutex_);
  throw_failure();
  if (!busy_) return;
  EventHandle done = mark();
  const int status = api_->event_wait.address(done, kForever);
  check_call(status, api_->event_wait.name);
  events_->give_back(done);
  busy_ = false;
}

void ZeQueue::finish() noexcept {
  try {
    synchronize();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): nothing runs on a device that is lost
  }
}

std::unique_ptr<Event> ZeQueue::record() {
  const std::lock_guard lock(mutex_);
  throw_failure();
  busy_ = true;
  return std::make_unique<ZeEvent>(shared_from_this(), mark());
}

std::unique_ptr<Block> ZeQueue::allocate(size_t bytes) {
  const DeviceMemoryDescription description;
  void* address = nullptr;
  const int status = api_->device_allocate.address(context_, &description, bytes, kBlockAlignment, device_.handle, &address);
  if (is_memory(status)) return nullptr;
  check_build(status, api_->device_allocate.name);
  return std::make_unique<Block>(shared_from_this(), static_cast<std::byte*>(address), bytes);
}

}  // namespace wick::oneapi
