// What tests see of a fake driver: what it is made to be, and what it was called with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace fake_gpu {

// From the call number `after` on (0: the next), a function returns this status instead of doing anything.
struct Fault {
  int status = 0;
  int after = 0;
  bool sticky = false;  // from then on every function returns it, as after a kernel that failed
};

// The fake's state, which the whole process shares. Work is done when somebody waits for it, in its order, so that what relies on work that
// nobody waited for is seen.
struct State {
  int devices = 1;
  int version = 0;           // 0: one that is new enough
  std::string architecture;  // "90" of compute capability 9.0, "gfx942:sramecc+:xnack-"; empty: that of the vendor's newest
  std::size_t memory = std::size_t{1} << 30;
  std::map<int, int> attributes;                     // that it tells of each device instead of its own
  std::map<std::string, Fault, std::less<>> faults;  // by function; "kernel": what runs fails when it runs

  std::vector<std::string> calls;  // the names, in their order
  std::size_t allocated = 0, pinned = 0;
  int contexts = 0, streams = 0, events = 0, modules = 0, graphs = 0;  // that are alive
  int lost = 0;                                                        // the status that every function returns

  [[nodiscard]] int count(std::string_view call) const {
    int number = 0;
    for (const std::string& name : calls) number += name == call ? 1 : 0;
    return number;
  }
  // Not memory nor what is alive.
  void reset() {
    devices = 1;
    version = 0;
    architecture.clear();
    memory = std::size_t{1} << 30;
    attributes.clear();
    faults.clear();
    calls.clear();
    lost = 0;
  }
};

}  // namespace fake_gpu
