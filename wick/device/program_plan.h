// A ProgramPlan makes the programs of work that is only looked at: each by the next free one of several threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "wick/device/kernel_driver.h"
#include "wick/device/queue.h"

namespace wick {

class ProgramPlan {
 public:
  explicit ProgramPlan(int threads);
  // Waits for all that were begun.
  ~ProgramPlan();
  ProgramPlan(const ProgramPlan&) = delete;
  ProgramPlan& operator=(const ProgramPlan&) = delete;

  // Begins to make a program; an error is that of whoever asks for it.
  [[nodiscard]] FutureProgram begin(std::function<std::shared_ptr<const Program>()> make);
  // How many were begun.
  [[nodiscard]] size_t size() const noexcept { return begun_; }

 private:
  using Task = std::packaged_task<std::shared_ptr<const Program>()>;
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool is_complete_ = false;  // nothing more is begun
  size_t begun_ = 0;
  std::vector<std::thread> threads_;
};

// Takes work without launching any: bytes go where they are to go, as what is made of them stays, and those that are read are zeros.
class PlanningQueue final : public Queue {
 public:
  explicit PlanningQueue(Queue& inner) : inner_(inner) {}

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override {
    inner_.upload(source, target, offset, bytes);
  }
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override {
    inner_.copy(source, source_offset, target, target_offset, bytes);
  }
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override { inner_.fill(target, offset, bytes, value); }
  void launch(const Launch& launch) override;
  void synchronize() override { inner_.synchronize(); }
  [[nodiscard]] std::unique_ptr<Event> record() override { return inner_.record(); }

 private:
  Queue& inner_;
};

}  // namespace wick
