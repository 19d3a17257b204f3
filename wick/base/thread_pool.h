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
    run_sharing(0, task);
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

  // Calls body(share, begin, end) on ranges that make up [0, count), so that all threads are done at about the same time although one
  // is slower. Each share has an equal part, the same in each call, and goes through it in order, so that memory is read as one stream; a
  // share that is done takes half of what is left to another, from the end of it (work stealing). `count` is below 2³².
  template <class Body>
  void share_out(int64_t count, const Body& body) {
    if (count == 0) return;
    if (size() == 1) return body(0, int64_t{0}, count);
    run_sharing(count, [&](int share, int) {
      for (Range range = take(share); range.begin < range.end; range = take(share)) body(share, int64_t{range.begin}, int64_t{range.end});
    });
  }

 private:
  using ErasedTask = void (*)(const void* context, int share, int shares);
  // `count`: what share_out() splits.
  template <class Task>
  void run_sharing(int64_t count, const Task& task) {
    run_erased([](const void* context, int share, int shares) { (*static_cast<const Task*>(context))(share, shares); }, &task, count);
  }
  void run_erased(ErasedTask task, const void* context, int64_t count);
  void worker_loop(int index);
  // Runs the share in this generation, unless somebody else has taken it.
  void run_share(int share, uint64_t generation) noexcept;

  struct Range {
    uint32_t begin;
    uint32_t end;
  };
  // The next range of share_out()'s work for a share, from its own part or another's; empty if nothing is left.
  Range take(int share) noexcept;
  bool steal(int share) noexcept;

  struct alignas(64) Claim {
    std::atomic<uint64_t> generation{0};  // the last in which this share was taken
  };
  struct alignas(64) Part {
    std::atomic<Range> left{};
  };

  std::vector<std::thread> workers_;
  std::vector<Claim> claims_;
  std::vector<Part> parts_;
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
