#include "wick/base/thread_pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"
#include "wick/base/platform/spin.h"
#include "wick/base/process.h"

namespace wick {
namespace {

// About 100 µs of spinning covers the gaps between the ops of a decode step; a longer silence gives the core back.
constexpr int kSpinsBeforePark = 4000;
// A joiner that spun this long lets others run: the machine may have fewer free cores than the pool has threads.
constexpr int kSpinsBeforeYield = 20000;
// In a pool of more threads than cores nobody spins, since whoever is waited for may need the core; and as many are woken at most: those
// run the others' shares too, for waking hundreds of threads costs more than an op.
constexpr int kMaxWoken = 16;

bool has_cores_for(int threads) noexcept {
  static const int cores = usable_cores();
  return threads <= cores;
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  if (threads < 1) fail(ErrorCode::invalid_argument, "thread pool: {} threads asked for; at least 1 is needed", threads);
  claims_ = std::vector<Claim>(static_cast<size_t>(threads));
  parts_ = std::vector<Part>(static_cast<size_t>(threads));
  workers_.reserve(static_cast<size_t>(threads - 1));
  try {
    for (int index = 1; index < threads; ++index) workers_.emplace_back([this, index] { worker_loop(index); });
  } catch (const std::system_error& error) {
    const size_t started = workers_.size() + 1;
    stopping_.store(true);
    generation_.fetch_add(1);
    { const std::lock_guard lock(park_mutex_); }
    park_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    fail_with({{"use fewer {}", Setting::threads}}, ErrorCode::out_of_memory, "the system starts no more threads after {} of {} ({})",
              started, threads, error.code().message());
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(park_mutex_);
    stopping_.store(true);
    generation_.fetch_add(1);
  }
  park_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_erased(ErasedTask task, const void* context, int64_t count) {
  const std::lock_guard turn(callers_);
  const int shares = size();
  if (shares == 1) {
    task(context, 0, 1);
    return;
  }
  for (int share = 0; share < shares && count > 0; ++share) {
    const Range part{static_cast<uint32_t>(count * share / shares), static_cast<uint32_t>(count * (share + 1) / shares)};
    parts_[static_cast<size_t>(share)].left.store(part, std::memory_order_relaxed);
  }
  task_ = task;
  context_ = context;
  pending_.store(shares, std::memory_order_relaxed);
  const uint64_t generation =
      generation_.fetch_add(1) + 1;  // sequentially consistent: ordered against a worker's announcement that it parks
  if (parked_.load() > 0) {
    {
      const std::lock_guard lock(park_mutex_);
    }
    if (shares <= kMaxWoken || has_cores_for(shares)) {
      park_.notify_all();
    } else {
      for (int woken = 0; woken < kMaxWoken; ++woken) park_.notify_one();
    }
  }
  for (int share = 0; share < shares; ++share) run_share(share, generation);
  const bool may_spin = has_cores_for(shares);
  for (int spins = 0, left = pending_.load(std::memory_order_acquire); left != 0;
       left = pending_.load(std::memory_order_acquire), ++spins) {
    if (!may_spin) {
      pending_.wait(left, std::memory_order_acquire);
    } else if (spins < kSpinsBeforeYield) {
      platform::spin_pause();
    } else {
      std::this_thread::yield();
    }
  }
  if (failed_.load(std::memory_order_relaxed)) {
    failed_.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void ThreadPool::run_share(int share, uint64_t generation) noexcept {
  // A thread that comes late, maybe generations late, finds its share taken and touches neither task nor context.
  std::atomic<uint64_t>& claim = claims_[static_cast<size_t>(share)].generation;
  uint64_t last = claim.load(std::memory_order_relaxed);
  if (last >= generation || !claim.compare_exchange_strong(last, generation)) return;
  try {
    task_(context_, share, size());
  } catch (...) {
    // pending_ orders this write before run_erased() reads it.
    if (!failed_.exchange(true)) failure_ = std::current_exception();
  }
  if (pending_.fetch_sub(1, std::memory_order_release) == 1 && !has_cores_for(size())) pending_.notify_one();
}

ThreadPool::Range ThreadPool::take(int share) noexcept {
  std::atomic<Range>& left = parts_[static_cast<size_t>(share)].left;
  do {
    Range part = left.load(std::memory_order_relaxed);
    while (part.begin < part.end) {
      // Shorter and shorter, so that there is something to steal until the end.
      const Range range{part.begin, part.begin + std::max(1U, (part.end - part.begin) / 2)};
      if (left.compare_exchange_weak(part, {range.end, part.end}, std::memory_order_relaxed)) return range;
    }
  } while (steal(share));
  return {0, 0};
}

bool ThreadPool::steal(int share) noexcept {
  for (int step = 1; step < size(); ++step) {
    std::atomic<Range>& left = parts_[static_cast<size_t>((share + step) % size())].left;
    Range part = left.load(std::memory_order_relaxed);
    while (part.begin < part.end) {
      const uint32_t middle = part.begin + (part.end - part.begin) / 2;
      if (!left.compare_exchange_weak(part, {part.begin, middle}, std::memory_order_relaxed)) continue;
      parts_[static_cast<size_t>(share)].left.store({middle, part.end}, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

void ThreadPool::worker_loop(int index) {
  uint64_t seen = 0;
  bool may_spin = false;  // how many threads there are is known once the first call has come
  while (true) {
    int spins = may_spin ? 0 : kSpinsBeforePark;
    while (generation_.load(std::memory_order_acquire) == seen && spins < kSpinsBeforePark) {
      platform::spin_pause();
      ++spins;
    }
    if (generation_.load(std::memory_order_acquire) == seen) {
      std::unique_lock lock(park_mutex_);
      parked_.fetch_add(1);
      park_.wait(lock, [&] { return generation_.load() != seen; });
      parked_.fetch_sub(1);
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load()) return;
    may_spin = has_cores_for(size());
    run_share(index, seen);
    for (int share = 0; !may_spin && size() > kMaxWoken && share < size(); ++share) run_share(share, seen);
  }
}

}  // namespace wick
