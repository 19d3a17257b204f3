// Hazards tells which steps of a queue must wait for earlier ones: those that read what was written, or write what was touched, since the
// last barrier.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace wick {

class Hazards {
 public:
  // Bytes [begin, end) of a block of memory.
  struct Range {
    const void* block = nullptr;
    size_t begin = 0, end = 0;
    bool writes = false;
  };

  // Whether a barrier belongs before a step that touches these ranges; the step is remembered, and with a barrier nothing before it. There
  // may be more barriers than needed, so that few ranges are looked at for each step.
  [[nodiscard]] bool barrier_before(std::span<const Range> step);
  // All that came before has been waited for.
  void forget() { touched_.clear(); }

 private:
  std::vector<Range> touched_;
};

}  // namespace wick
