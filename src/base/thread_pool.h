// A ThreadPool runs one function on all its threads at once (fork-join). Workers spin for a short while between calls, then park.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace wick {

class ThreadPool {
 public:
  // `threads` counts the caller: a pool of 1 starts no thread. At least 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(workers_.size()) + 1; }

  // Calls task(share, shares) once for each of size() shares and returns when all have returned. Share 0 is the caller's, each other
  // one its thread's; but the caller takes those whose thread has not come by the time it is done with its own, so that a busy machine
  // costs speed only. The task must not wait for another share and must not call run() again. If it throws (no memory for scratch
  // space), the first exception is thrown here once all shares are done. Calls from several threads take turns.
  template <class Task>
  void run(const Task& task) {
    run_erased([](const void* context, int index, int count) { (*static_cast<const Task*>(context))(index, count); }, &task);
  }

  // Splits [0, count) into one contiguous range per thread, each a multiple of `grain` long but for the last, and calls
  // body(begin, end) on them; on the caller's thread alone when there is only one range.
  template <class Body>
  void parallel_for(int64_t count, int64_t grain, const Body& body) {
    const int64_t grains = (count + grain - 1) / grain;
    if (grains <= 1 || size() == 1) {
      if (count > 0) body(int64_t{0}, count);
      return;
    }
    run([&](int index, int threads) {
      const int64_t begin = grains * index / threads * grain;
      const int64_t end = grains * (index + 1) / threads * grain;
      if (begin < count && begin < end) body(begin, end < count ? end : count);
    });
  }

  // Splits [0, count) into ranges and calls body(share, begin, end) on each, in order for a share, so that all threads are done at about
  // the same time although one is slower: a range is an equal part of what is left (guided self-scheduling, Polychronopoulos and Kuck
  // 1987), long enough at first to be read as one stream, short at last. Which share gets which range differs from call to call.
  template <class Body>
  void share_out(int64_t count, const Body& body) {
    std::atomic<int64_t> next{0};
    run([&](int share, int shares) {
      int64_t begin = next.load(std::memory_order_relaxed);
      while (begin < count) {
        const int64_t part = (count - begin) / (2 * shares);
        const int64_t end = shares == 1 ? count : begin + (part > 1 ? part : 1);
        if (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
        body(share, begin, end);
        begin = next.load(std::memory_order_relaxed);
      }
    });
  }

 private:
  using ErasedTask = void (*)(const void* context, int index, int count);
  void run_erased(ErasedTask task, const void* context);
  void worker_loop(int index);
  // Runs the share in this generation, unless somebody else has taken it.
  void run_share(int share, uint64_t generation) noexcept;

  struct alignas(64) Claim {
    std::atomic<uint64_t> generation{0};  // the last in which this share was taken
  };

  std::vector<std::thread> workers_;
  std::vector<Claim> claims_;
  std::mutex callers_;  // one fork-join at a time

  // The generation counts fork-joins; a worker that sees it move takes part in the next one.
  alignas(64) std::atomic<uint64_t> generation_{0};
  alignas(64) std::atomic<int> pending_{0};
  std::atomic<int> parked_{0};
  std::atomic<bool> stopping_{false};
  ErasedTask task_ = nullptr;
  const void* context_ = nullptr;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // written by the first thread that sets failed_
  std::mutex park_mutex_;
  std::condition_variable park_;
};

}  // namespace wick
