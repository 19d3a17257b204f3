// A ProgressBar shows how far a long task is: on a terminal as a bar that moves, elsewhere as a line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "wick/cli/console.h"

namespace wick {

class ProgressBar {
 public:
  ProgressBar(const Console& console, std::string label);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  // Takes the bar away.
  ~ProgressBar();

  // Whether it is drawn over itself, so that a running remark needs no line of its own.
  [[nodiscard]] bool moves() const noexcept { return moves_; }
  // Takes the bar away until the next update.
  void clear();

  void update(uint64_t done, uint64_t total, const std::string& remark = {});

 private:
  const Console& console_;
  std::string label_;
  bool moves_;  // it is drawn over itself; else lines
  bool shown_ = false;
  double last_share_ = 0;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace wick
