// Configurations are where a text may stand in an Automaton: a node, and the stack of calls that it will return to.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
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
  [[nodiscard]] size_t bytes() const noexcept { return frames_.capacity() * sizeof(Frame) + slots_.capacity() * sizeof(uint32_t); }

 private:
  void grow();

  std::vector<Frame> frames_ = {Frame{}};
  std::vector<uint32_t> slots_;  // a hash table with linear probing: numbers of frames; 0: free
};

struct Configuration {
  uint32_t node = 0;
  uint32_t frame = 0;

  [[nodiscard]] auto operator<=>(const Configuration&) const = default;
};

// False in the names of a group's members that were all begun; an edge that leads there is none.
[[nodiscard]] inline bool is_open(const Automaton& automaton, const FrameArena& arena, const Configuration& place) {
  const uint64_t names = automaton.node(place.node).names;
  return names == 0 || (names & ~arena.at(place.frame).seen) != 0;
}

struct Configurations {
  std::vector<Configuration> items;  // sorted; only nodes that read something
  bool bottom = false;               // the stack's bottom can be returned to: the text may end here

  [[nodiscard]] bool dead() const noexcept { return items.empty() && !bottom; }
  [[nodiscard]] bool operator==(const Configurations&) const = default;
};

// Work left before the format counts as too ambiguous, in units: configurations reached and nodes of a token trie. A unit
// takes about 20 ns. Units and not a time, so that a request ends the same way on every machine.
class WorkLimit {
 public:
  explicit WorkLimit(uint64_t units) : left_(units) {}

  [[nodiscard]] bool spend(uint64_t units) noexcept {
    if (units > left_) return false;
    left_ -= units;
    return true;
  }
  [[nodiscard]] uint64_t left() const noexcept { return left_; }

 private:
  uint64_t left_;
};

// Fails with invalid_argument: `what` is too much to compute; the rule that most of the configurations belong to is named.
[[noreturn]] void fail_ambiguous(const Automaton& automaton, const FrameArena& arena, std::span<const Configuration> configurations,
                                 std::string_view what);

// Takes steps in one arena.
class Stepper {
 public:
  Stepper(const Automaton& automaton, FrameArena& arena) : automaton_(automaton), arena_(arena) {}

  // Configurations reachable without reading a byte: calls entered, and ends returned from.
  // Errors: unsupported, if that is more than any sensible grammar makes.
  void set_limit(WorkLimit* limit) noexcept { limit_ = limit; }

  [[nodiscard]] Configurations enter(Configuration first);
  // From the end of what `frame` called.
  [[nodiscard]] Configurations leave(const Frame& frame);
  [[nodiscard]] Configurations step(const Configurations& from, uint8_t byte);
  [[nodiscard]] Configurations step_token(const Configurations& from, int32_t token);

 private:
  void begin();
  void reach(Configuration next);
  // Whether it is new among those reached.
  [[nodiscard]] bool note(const Configuration& next);
  void expand(const Configuration& current);
  void call(uint32_t index, uint32_t frame);
  void return_from(uint32_t frame);
  void next_member(const Frame& frame);
  void begin_member(uint32_t start, Frame frame, uint64_t seen);
  [[nodiscard]] Configurations take();

  const Automaton& automaton_;
  FrameArena& arena_;
  std::vector<Configuration> reached_;  // in the order found
  std::vector<uint32_t> slots_;         // a hash table with linear probing, once they are many: places in reached_, from 1; 0: free
  WorkLimit* limit_ = nullptr;
  bool bottom_ = false;
};

}  // namespace wick
