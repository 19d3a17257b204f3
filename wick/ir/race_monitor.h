// A RaceMonitor remembers who touched each element of one array, and finds accesses that no barrier separates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wick::ir {

enum class AccessKind : uint8_t { read, write, atomic };

// The invocation that accesses an element, and the interval: barriers and groups begin a new one.
struct Accessor {
  uint32_t group = 0;
  uint32_t lane = 0;
  uint32_t interval = 1;  // never 0
};

// Two accesses of one element conflict if one of them writes, they are not both atomic, and they are by different groups, or by different
// lanes of one group between the same two barriers. Lanes of a subgroup are different lanes: nothing keeps them in step.
class RaceMonitor {
 public:
  explicit RaceMonitor(std::size_t elements) : histories_(elements) {}

  // Notes the access. Says with whom it conflicts, if it does: "a write by lane 3 of group 0".
  [[nodiscard]] std::optional<std::string> note(std::size_t element, AccessKind kind, const Accessor& who);
  // Whether anybody wrote to the element.
  [[nodiscard]] bool written(std::size_t element) const { return histories_[element].writer.interval != 0; }

 private:
  // The last accessor of one kind; `many` where others did the same in its interval.
  struct Past {
    uint32_t group = 0, lane = 0, interval = 0;
    bool many_lanes = false, many_groups = false;
    [[nodiscard]] bool conflicts(const Accessor& who) const noexcept;
    void add(const Accessor& who) noexcept;
  };
  struct History {
    Past reader, writer, updater;  // plain reads, plain writes, atomics
  };

  std::vector<History> histories_;
};

}  // namespace wick::ir
