// A ProgressBar shows on a terminal how far a long task is; elsewhere it is silent.
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

  void update(uint64_t done, uint64_t total, const std::string& remark = {});

 private:
  const Console& console_;
  std::string label_;
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace wick
