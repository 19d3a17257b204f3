#include "wick/backend/cpu/weights/prepared_tiles.h"

#include <system_error>
#include <utility>

#include "wick/backend/cpu/linear/linear_job.h"
#include "wick/base/error.h"
#include "wick/base/process.h"
#include "wick/device/reclaimable_pages.h"

namespace wick::cpu {
namespace {

using Seconds = std::chrono::duration<double>;

// After so long without an op the device counts as idle: the end of a step, and not attention of a long prompt.
constexpr auto kIdleAfter = std::chrono::milliseconds(30);
// A program that has just loaded a model has more to load before its first step.
constexpr auto kIdleAfterLoad = std::chrono::seconds(1);
// A pause between two slices while idle, in which others get at the preparer.
constexpr auto kPause = std::chrono::microseconds(50);
// Of wall time between ops that counts as a step's.
constexpr double kLongestGap = 0.03;
// Seconds of preparing that may be saved up.
constexpr double kMaxCredit = 0.02;
// A weight whose plain bytes stay in memory is prepared where that many times its size is free.
constexpr uint64_t kRoomForCopy = 4;
// The most that a page of memory has: MappedFile::forget and release_pages leave pages alone that a range only touches, so
// ranges overlap by one.
constexpr int64_t kPageBytes = 65536;

int64_t ticks_now() noexcept { return WeightPreparer::Clock::now().time_since_epoch().count(); }

// The memory that a weight which no file has may leave.
WeightMemory* reclaimable_memory(const Operand& weight, const WeightUse& use) {
  return use.release.target<ReclaimablePages>() != nullptr ? dynamic_cast<WeightMemory*>(weight.buffer) : nullptr;
}

bool multiplies(OpId op) {
  return op == OpId::linear || op == OpId::gated_linear || op == OpId::linear_experts || op == OpId::gated_linear_experts;
}

}  // namespace

PreparedTiles::PreparedTiles(WeightPreparer& preparer, const Operand& weight, WeightUse use)
    : preparer_(preparer),
      use_(std::move(use)),
      dtype_(weight.dtype),
      first_element_(weight.layout->offset()),
      columns_(weight.layout->shape().last()),
      tiles_(weight.layout->elements() / columns_ / kInterleavedRows),
      memory_(reclaimable_memory(weight, use_)),
      plain_data_(memory_ != nullptr ? memory_->data() : std::as_const(*weight.buffer).host_data()),
      rows_(plain_data_ + storage_bytes(weight.dtype, first_element_)) {}

PreparedTiles::~PreparedTiles() { preparer_.remove(*this); }

bool PreparedTiles::is_releasable() const noexcept {
  return memory_ != nullptr || (use_.release != nullptr && use_.release.target<ReclaimablePages>() == nullptr);
}

// A file's pages come back by themselves, and ops may have pointers to them.
void PreparedTiles::release_plain_bytes() {
  const int64_t ready = ready_.load(std::memory_order_relaxed), tile = tile_bytes();
  if (ready == released_) return;
  const auto begin = static_cast<size_t>(std::max<int64_t>(0, released_ * tile - kPageBytes));
  if (memory_ != nullptr) {
    memory_->give_back({buffer_, dtype_, columns_, ready}, static_cast<size_t>(rows_ - plain_data_), begin);
  } else {
    use_.release(begin, static_cast<size_t>(ready * tile) - begin);
  }
  released_ = ready;
}

const std::byte* plain_data(const Operand& weight) noexcept {
  if (weight.prepared == nullptr) return std::as_const(*weight.buffer).host_data();
  return static_cast<const PreparedTiles&>(*weight.prepared).plain_data();
}

bool was_read(const Operand& weight) noexcept {
  return weight.prepared != nullptr && static_cast<const PreparedTiles&>(*weight.prepared).note_read();
}

ReadyTiles ready_tiles(const Operand& weight) noexcept {
  if (weight.prepared == nullptr) return {};
  const auto& prepared = static_cast<const PreparedTiles&>(*weight.prepared);
  const int64_t ready = prepared.ready();
  const int64_t offset = weight.layout->offset() - prepared.first_element();
  const int64_t tile_elements = kInterleavedRows * prepared.columns();
  // Most begin where what was prepared does; a division takes as long as all else here.
  const int64_t first = offset == 0 ? 0 : offset / tile_elements;
  const bool on_tiles = weight.layout->shape().last() == prepared.columns() && offset >= 0 && first * tile_elements == offset;
  if (!on_tiles || ready <= first) return {};
  return {prepared.data() + first * prepared.tile_bytes(), ready - first};
}

WeightPreparer::~WeightPreparer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const PreparedWeight> WeightPreparer::add(const Operand& weight, const WeightUse& use) {
  const Shape& shape = weight.layout->shape();
  const bool is_matrix = shape.rank() == 2 || (shape.rank() == 3 && shape[1] % kInterleavedRows == 0);
  if (!multiplies(use.op) || !is_matrix || !weight.layout->is_contiguous() || !has_tile_kernels(kernels_, weight.dtype)) return nullptr;
  if (shape.last() % tile_block_columns(weight.dtype) != 0 || weight.layout->elements() < kInterleavedRows * shape.last()) return nullptr;
  auto prepared = std::make_shared<PreparedTiles>(*this, weight, use);
  const std::lock_guard lock(mutex_);
  queue_.push_back(prepared.get());
  pending_.store(true, std::memory_order_relaxed);
  last_op_.store((Clock::now() + kIdleAfterLoad).time_since_epoch().count(), std::memory_order_relaxed);
  start_thread();
  return prepared;
}

void WeightPreparer::start_thread() {
  if (thread_.joinable() || thread_failed_) return wake_.notify_all();
  try {
    thread_ = std::thread([this] { run_while_idle(); });
  } catch (const std::system_error&) {
    thread_failed_ = true;  // no memory for its stack: weights are prepared between ops only
  }
}

void WeightPreparer::remove(PreparedTiles& weight) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(queue_, &weight);
  std::erase(partly_released_, &weight);
  pending_.store(!queue_.empty() || !partly_released_.empty(), std::memory_order_relaxed);
}

bool WeightPreparer::make_room() {
  while (!queue_.empty() && queue_.front()->buffer_ == nullptr) {
    PreparedTiles& weight = *queue_.front();
    const auto bytes = static_cast<size_t>(weight.tiles_ * weight.tile_bytes());
    if (!weight.is_releasable() && available_memory_bytes() < kRoomForCopy * bytes) {
      queue_.pop_front();
      continue;
    }
    try {
      weight.buffer_ = memory_.allocate(bytes, Lifetime::persistent);
    } catch (const Error&) {
      queue_.clear();  // the rest stays where it is
    }
  }
  return !queue_.empty();
}

bool WeightPreparer::prepare_slice() {
  if (!make_room()) {
    release_plain_bytes();
    return false;
  }
  const Clock::time_point begin = Clock::now();
  PreparedTiles& weight = *queue_.front();
  const int64_t tile_bytes = weight.tile_bytes();
  const int64_t first = weight.ready_.load(std::memory_order_relaxed);
  const int64_t count = std::min(weight.tiles_ - first, std::max<int64_t>(1, kSliceBytes / tile_bytes));
  std::byte* const target = weight.buffer_->host_data();
  threads_.run([&](int share, int shares) {
    for (int64_t tile = first + count * share / shares; tile < first + count * (share + 1) / shares; ++tile) {
      interleave_tile(weight.dtype_, weight.rows_ + tile * tile_bytes, weight.columns_, target + tile * tile_bytes, kernels_.gather_words);
    }
  });
  weight.ready_.store(first + count, std::memory_order_seq_cst);
  if (first == 0 && weight.is_releasable()) partly_released_.push_back(&weight);
  if (first + count == weight.tiles_) queue_.pop_front();
  release_plain_bytes();
  const double seconds = Seconds(Clock::now() - begin).count();
  seconds_per_byte_ += (seconds / static_cast<double>(count * tile_bytes) - seconds_per_byte_) / 4;
  return !queue_.empty();
}

// An op that is under way may have found fewer tiles ready and still read the plain bytes.
void WeightPreparer::release_plain_bytes() {
  if (running_.load(std::memory_order_seq_cst) == 0) {
    for (PreparedTiles* weight : partly_released_) weight->release_plain_bytes();
    std::erase_if(partly_released_, [](const PreparedTiles* weight) { return weight->released_ == weight->tiles_; });
    // What was given up for lack of memory is released as far as it is ready.
    if (queue_.empty()) partly_released_.clear();
  }
  pending_.store(!queue_.empty() || !partly_released_.empty(), std::memory_order_relaxed);
}

bool WeightPreparer::prepare_some() {
  const std::lock_guard lock(mutex_);
  return prepare_slice();
}

void WeightPreparer::finish() {
  const std::lock_guard lock(mutex_);
  while (prepare_slice()) {}
}

void WeightPreparer::end_op(bool few_rows) {
  last_op_.store(ticks_now(), std::memory_order_relaxed);
  if (running_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const Clock::time_point now = Clock::now();
  if (few_rows) {
    const double passed = std::min(kLongestGap, Seconds(now - charged_until_).count());
    credit_ = std::min(kMaxCredit, credit_ + passed / 2);
    if (credit_ >= std::min(kMaxCredit, seconds_per_byte_ * static_cast<double>(kSliceBytes))) {
      (void)prepare_slice();
      credit_ -= Seconds(Clock::now() - now).count();
    }
  }
  charged_until_ = Clock::now();
  last_op_.store(charged_until_.time_since_epoch().count(), std::memory_order_relaxed);
}

void WeightPreparer::run_while_idle() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!pending_.load(std::memory_order_relaxed)) {
      wake_.wait(lock);
      continue;
    }
    const Clock::time_point last{Clock::duration(last_op_.load(std::memory_order_relaxed))};
    const bool idle = running_.load(std::memory_order_seq_cst) == 0 && Clock::now() - last >= kIdleAfter;
    if (idle) (void)prepare_slice();
    wake_.wait_for(lock, idle ? Clock::duration(kPause) : Clock::duration(kIdleAfter));
  }
}

}  // namespace wick::cpu
