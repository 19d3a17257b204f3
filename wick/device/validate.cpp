#include "wick/device/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr std::byte kCanary{0xc5};
constexpr std::byte kUnwritten{0xff};

// With what follows it: kernels see whole vectors of four words, and at least one.
size_t seen_bytes(size_t bytes) { return std::max<size_t>((bytes + 15) / 16 * 16, 16); }

std::string argument_name(const ir::Kernel& kernel, size_t index) {
  return fmt::format("kernel {}: buffer {}", kernel.name, kernel.buffers[index].name);
}

}  // namespace

// A buffer between its canaries.
class GuardedBuffer final : public Buffer {
 public:
  GuardedBuffer(std::shared_ptr<ValidatingQueue> queue, std::shared_ptr<Buffer> whole, size_t bytes, size_t guard)
      : queue_(std::move(queue)), whole_(std::move(whole)), bytes_(bytes), guard_(guard) {}
  ~GuardedBuffer() override { queue_->release(*this); }

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }
  [[nodiscard]] Place place() noexcept override {
    const Place place = whole_->place();
    return {place.block, place.offset + guard_};
  }
  [[nodiscard]] const std::shared_ptr<Buffer>& whole() const noexcept { return whole_; }

  std::string last_writer = "no kernel";

 private:
  std::shared_ptr<ValidatingQueue> queue_;
  std::shared_ptr<Buffer> whole_;
  size_t bytes_, guard_;
};

ValidatingQueue::ValidatingQueue(std::shared_ptr<KernelDriver> driver)
    : driver_(std::move(driver)), guard_(std::max<size_t>(256, driver_->caps().buffer_offset_alignment)) {}

size_t ValidatingQueue::guarded_bytes(size_t bytes) const noexcept { return guard_ + seen_bytes(bytes) + guard_; }

std::unique_ptr<Buffer> ValidatingQueue::guard(std::unique_ptr<Buffer> whole, size_t bytes) {
  set_canaries(*whole, bytes);
  driver_->queue().fill(*whole, guard_, seen_bytes(bytes), kUnwritten);
  return handle(std::move(whole), bytes);
}

std::unique_ptr<Buffer> ValidatingQueue::handle(std::shared_ptr<Buffer> whole, size_t bytes) {
  auto buffer = std::make_unique<GuardedBuffer>(shared_from_this(), std::move(whole), bytes, guard_);
  const std::lock_guard lock(mutex_);
  alive_.insert(buffer.get());
  return buffer;
}

std::shared_ptr<Buffer> ValidatingQueue::share(Buffer& buffer) {
  check_alive(&buffer, "share");
  return handle(static_cast<GuardedBuffer&>(buffer).whole(), buffer.bytes());
}

void ValidatingQueue::set_canaries(Buffer& whole, size_t bytes) {
  driver_->queue().fill(whole, 0, guard_, kCanary);
  driver_->queue().fill(whole, guard_ + seen_bytes(bytes), guard_, kCanary);
}

void ValidatingQueue::check_canaries(Buffer& whole, size_t bytes, const std::string& where) {
  std::vector<std::byte> front(guard_), back(guard_);
  driver_->queue().download(whole, 0, front.data(), guard_);
  driver_->queue().download(whole, guard_ + seen_bytes(bytes), back.data(), guard_);
  const auto changed = [](std::byte value) { return value != kCanary; };
  const auto before = std::find_if(front.rbegin(), front.rend(), changed);
  const auto behind = std::find_if(back.begin(), back.end(), changed);
  if (before == front.rend() && behind == back.end()) return;
  set_canaries(whole, bytes);
  if (behind != back.end()) {
    const size_t distance = seen_bytes(bytes) - bytes + static_cast<size_t>(behind - back.begin());
    fail(ErrorCode::invalid_argument, "{}: byte {} behind the end of its {} bytes was overwritten", where, distance, bytes);
  }
  fail(ErrorCode::invalid_argument, "{}: byte {} before the first of its {} bytes was overwritten", where, before - front.rbegin() + 1,
       bytes);
}

// The buffer's bytes go back to the pool when this returns, so what is queued for them still finds its canaries.
void ValidatingQueue::release(GuardedBuffer& buffer) noexcept {
  std::string fault;
  try {
    check_canaries(*buffer.whole(), buffer.bytes(), fmt::format("a buffer that was freed, last written by {}", buffer.last_writer));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::device_lost) fault = error.what();  // a device that is lost says so itself
  } catch (const std::exception& error) {
    fault = error.what();
  }
  const std::lock_guard lock(mutex_);
  alive_.erase(&buffer);
  if (kept_.empty()) kept_ = std::move(fault);
}

void ValidatingQueue::throw_kept() {
  const std::lock_guard lock(mutex_);
  if (!kept_.empty()) fail(ErrorCode::invalid_argument, "{}", std::exchange(kept_, {}));
}

void ValidatingQueue::check_alive(const Buffer* buffer, const std::string& where) {
  const std::lock_guard lock(mutex_);
  if (!alive_.contains(buffer)) {
    fail(ErrorCode::invalid_argument, "{}: the buffer was freed, or is another device's than {}", where, driver_->caps().name);
  }
}

void ValidatingQueue::check_range(const Buffer& buffer, size_t offset, size_t bytes, const std::string& where) {
  throw_kept();
  check_alive(&buffer, where);
  if (offset <= buffer.bytes() && bytes <= buffer.bytes() - offset) return;
  fail(ErrorCode::invalid_argument, "{}: {} bytes from {} on leave a buffer of {}", where, bytes, offset, buffer.bytes());
}

void ValidatingQueue::check(const Launch& launch) {
  const ir::Kernel& kernel = launch.program->kernel();
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const BufferArgument& argument = launch.buffers[i];
    check_range(*argument.buffer, argument.offset, argument.bytes, argument_name(kernel, i));
    if (argument.offset % driver_->caps().buffer_offset_alignment == 0) continue;
    fail(ErrorCode::invalid_argument, "{}: begins at byte {}, which is not a multiple of {}", argument_name(kernel, i), argument.offset,
         driver_->caps().buffer_offset_alignment);
  }
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const BufferArgument &a = launch.buffers[i], &b = launch.buffers[j];
      const bool both_read = kernel.buffers[i].access == ir::Access::read && kernel.buffers[j].access == ir::Access::read;
      if (both_read || a.buffer->place().block != b.buffer->place().block || a.offset + a.size() <= b.offset ||
          b.offset + b.size() <= a.offset)
        continue;
      fail(ErrorCode::invalid_argument, "{} overlaps {}, and one of them is written", argument_name(kernel, i), kernel.buffers[j].name);
    }
  }
}

void ValidatingQueue::launch(const Launch& launch) {
  check(launch);
  driver_->queue().launch(launch);
  const ir::Kernel& kernel = launch.program->kernel();
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    if (kernel.buffers[i].access == ir::Access::read) continue;
    auto& buffer = static_cast<GuardedBuffer&>(*launch.buffers[i].buffer);
    buffer.last_writer = argument_name(kernel, i);
    check_canaries(*buffer.whole(), buffer.bytes(), buffer.last_writer);
  }
}

void ValidatingQueue::upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) {
  check_range(target, offset, bytes, "upload");
  driver_->queue().upload(source, target, offset, bytes);
}

void ValidatingQueue::download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  check_range(source, offset, bytes, "download");
  driver_->queue().download(source, offset, target, bytes);
}

void ValidatingQueue::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  check_range(source, source_offset, bytes, "copy, its source");
  check_range(target, target_offset, bytes, "copy, its target");
  if (source.place().block == target.place().block && source_offset < target_offset + bytes && target_offset < source_offset + bytes) {
    fail(ErrorCode::invalid_argument, "copy: {} bytes from {} on overlap those from {} on of the same buffer", bytes, source_offset,
         target_offset);
  }
  driver_->queue().copy(source, source_offset, target, target_offset, bytes);
}

void ValidatingQueue::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  check_range(target, offset, bytes, "fill");
  driver_->queue().fill(target, offset, bytes, value);
}

void ValidatingQueue::synchronize() {
  driver_->queue().synchronize();
  throw_kept();
}

}  // namespace wick
