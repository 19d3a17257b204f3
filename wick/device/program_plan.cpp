#include "wick/device/program_plan.h"

#include <algorithm>
#include <utility>

namespace wick {

ProgramPlan::ProgramPlan(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ProgramPlan::~ProgramPlan() {
  {
    const std::lock_guard lock(mutex_);
    is_complete_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

FutureProgram ProgramPlan::begin(std::function<std::shared_ptr<const Program>()> make) {
  Task task(std::move(make));
  FutureProgram made = task.get_future().share();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    ++begun_;
  }
  changed_.notify_one();
  return made;
}

void ProgramPlan::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_complete_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

void PlanningQueue::download(const Buffer& /*source*/, size_t /*offset*/, std::byte* target, size_t bytes) {
  std::fill_n(target, bytes, std::byte{0});
}

void PlanningQueue::launch(const Launch& /*launch*/) {}

}  // namespace wick
