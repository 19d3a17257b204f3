// Configurations are where a text may stand in an Automaton: a node, and the stack of calls that it will return to.
#pragma once

#include <compare>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "wick/text/grammar/automaton.h"

namespace wick {

struct Frame {
  uint32_t call = 0;
  uint32_t parent = 0;
  uint32_t count = 0;  // repeat: iterations begun, at most what matters; group: members begun, `other` too
  uint64_t seen = 0;   // group: bit i: members[i] was begun; the highest bit: `other` was

  [[nodiscard]] auto operator<=>(const Frame&) const = default;
};

struct FrameHash {
  size_t operator()(const Frame& frame) const noexcept {
    uint64_t hash = (uint64_t{frame.call} << 32 | frame.parent) * 0x9E3779B97F4A7C15U;
    hash = (hash ^ (hash >> 29) ^ frame.seen ^ frame.count) * 0xBF58476D1CE4E5B9U;
    return static_cast<size_t>(hash ^ (hash >> 32));
  }
};
inline constexpr uint64_t kSeenOther = uint64_t{1} << 63;

// Stacks as lists that share their lower parts; equal stacks have equal numbers. Frame 0 is the bottom.
class FrameArena {
 public:
  static constexpr uint32_t kBottom = 0;

  [[nodiscard]] const Frame& at(uint32_t index) const { return frames_[index]; }
  uint32_t push(const Frame& frame);
  [[nodiscard]] size_t size() const noexcept { return frames_.size(); }

 private:
  std::vector<Frame> frames_ = {Frame{}};
  std::unordered_map<Frame, uint32_t, FrameHash> numbers_;
};

struct Configuration {
  uint32_t node = 0;
  uint32_t frame = 0;

  [[nodiscard]] auto operator<=>(const Configuration&) const = default;
};

struct Configurations {
  std::vector<Configuration> items;  // sorted; only nodes that read something
  bool bottom = false;               // the stack's bottom can be returned to: the text may end here

  [[nodiscard]] bool dead() const noexcept { return items.empty() && !bottom; }
  [[nodiscard]] bool operator==(const Configurations&) const = default;
};

// Takes steps in one arena.
class Stepper {
 public:
  Stepper(const Automaton& automaton, FrameArena& arena) : automaton_(automaton), arena_(arena) {}

  // What is reached without reading a byte: calls entered, and ends returned from.
  // Errors: unsupported, if that is more than any sensible grammar makes.
  [[nodiscard]] Configurations enter(Configuration first);
  // From the end of what `frame` called.
  [[nodiscard]] Configurations leave(const Frame& frame);
  [[nodiscard]] Configurations step(const Configurations& from, uint8_t byte);
  [[nodiscard]] Configurations step_token(const Configurations& from, int32_t token);

 private:
  void reach(Configuration next);
  void expand(const Configuration& current);
  void call(uint32_t index, uint32_t frame);
  void return_from(uint32_t frame);
  void next_member(uint32_t call_index, const Frame& frame);
  [[nodiscard]] Configurations take();

  const Automaton& automaton_;
  FrameArena& arena_;
  std::vector<Configuration> reached_;  // in the order found
  std::unordered_map<uint64_t, bool> known_;
  bool bottom_ = false;
};

}  // namespace wick
