// MaskThreads compute which tokens a constraint allows next, on threads other than the engine's: a slow grammar delays no other request.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "wick/text/grammar/token_constraint.h"

namespace wick {

// The constraint of one sequence, and the mask of its next token. The sequence's thread uses both, except between MaskThreads::compute and
// the moment when MaskThreads::wait has returned true.
struct NextTokenMask {
  enum class State : uint8_t { unknown, queued, known };

  explicit NextTokenMask(std::unique_ptr<TokenConstraint> of) : constraint(std::move(of)), allowed(mask_words(constraint->vocab_size())) {}
  // The allowed tokens. Errors: those of TokenConstraint::fill_mask, also what ran out of memory.
  [[nodiscard]] std::span<const uint64_t> get() const;

  std::unique_ptr<TokenConstraint> constraint;
  std::vector<uint64_t> allowed;
  std::exception_ptr error = {};
  State state = State::unknown;  // with the lock of MaskThreads, while it is queued
  bool wanted = true;            // with that lock too
};

class MaskThreads {
 public:
  // Starts no thread before there is something to do.
  MaskThreads() = default;
  ~MaskThreads();
  MaskThreads(const MaskThreads&) = delete;
  MaskThreads& operator=(const MaskThreads&) = delete;

  // Computes the mask, unless it is known or queued.
  void compute(const std::shared_ptr<NextTokenMask>& mask);
  // Waits until it is known or the time has come; whether it is known.
  bool wait(const NextTokenMask& mask, std::chrono::steady_clock::time_point until);
  // Waits until another mask is known than when it was called last, or the time has come.
  void wait_for_any(std::chrono::steady_clock::time_point until);
  // Its sequence has ended: it need not be computed any more.
  void forget(NextTokenMask& mask);

 private:
  static constexpr size_t kMaxThreads = 4;

  void run();
  static void fill(NextTokenMask& mask) noexcept;

  std::mutex mutex_;  // of all that follows
  std::condition_variable work_, known_;
  std::deque<std::shared_ptr<NextTokenMask>> queue_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;  // threads
  uint64_t done_ = 0, seen_ = 0;
  bool stopping_ = false;
};

}  // namespace wick
