// A TrieWalk finds the tokens that a set of configurations allows in one pass over the vocabulary's trie. It keeps the sets that it has met
// and the steps between them: those after many tokens are the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "wick/text/grammar/parse_stack.h"
#include "wick/text/grammar/token_trie.h"

namespace wick {

class TrieWalk {
 public:
  // Where a state treats most characters alike, the tokens of these alone need no walk: those whose first character is of `first` and whose
  // others are of `rest` are allowed, if they have at most `most` characters, and refused otherwise.
  struct Shortcut {
    static constexpr size_t kAnyNumber = SIZE_MAX;
    CharacterClasses first;
    CharacterClasses rest;
    size_t most = kAnyNumber;
  };

  TrieWalk(const Automaton& automaton, const TokenTable& tokens);
  TrieWalk(const TrieWalk&) = delete;
  TrieWalk& operator=(const TrieWalk&) = delete;

  // Stacks of the configurations.
  [[nodiscard]] FrameArena& arena() noexcept { return arena_; }
  // Forgets all sets, and takes these stacks in place of its own.
  void restart(FrameArena arena);
  // Limits the work from now on; the work done since.
  void allow(uint64_t units);
  [[nodiscard]] uint64_t spent() const noexcept { return allowed_ - work_.left(); }
  // Counts work. Errors: fail_ambiguous's, of the set with that number.
  void spend(uint64_t units, uint32_t state = kDead);
  // Approximate size.
  [[nodiscard]] size_t bytes() const noexcept { return state_bytes() + arena_.bytes(); }

  // Sets have numbers until the next walk, which may forget them. Errors of all that follow: spend's.
  [[nodiscard]] uint32_t state_of(Configurations set);
  // From the end of what `frame` called.
  [[nodiscard]] Configurations leave(const Frame& frame) { return stepper_.leave(frame); }
  // None, if the state treats no large part of the vocabulary alike. `at_bottom`: what returns to the bottom is at the end of the text.
  [[nodiscard]] std::optional<Shortcut> find_shortcut(uint32_t state, bool at_bottom);
  // Adds the tokens of the subtree of a node, which `state` is the state at, without what `shortcut` answers for; nullptr: all of it.
  // `returns` gets the nodes of the trie after which the bottom is returned to; nullptr: nobody asks.
  void walk(uint32_t root, uint32_t state, const Shortcut* shortcut, std::span<uint64_t> mask, std::vector<uint32_t>* returns);

 private:
  static constexpr uint32_t kDead = 0;
  static constexpr uint32_t kUnknown = UINT32_MAX;
  static constexpr uint32_t kDifferent = UINT32_MAX - 1;
  static constexpr size_t kMaxStateBytes = size_t{24} << 20;
  static constexpr size_t kMaxArenaBytes = size_t{24} << 20;

  struct StateHash {
    size_t operator()(const Configurations& set) const noexcept;
  };
  // The state after any character of a class; kDifferent where that depends on the character, or the bottom may be returned to.
  using ClassSteps = std::array<uint32_t, CharacterClasses::kCount>;

  [[nodiscard]] uint32_t step(uint32_t state, uint8_t byte) {
    const size_t slot = size_t{state} * automaton_.class_count() + automaton_.byte_class(byte);
    if (steps_[slot] == kUnknown) find_step(state, byte);
    return steps_[slot];
  }
  // For all bytes of the stretch around `byte` that the state's nodes treat alike.
  void find_step(uint32_t state, uint8_t byte);
  [[nodiscard]] std::optional<Shortcut> find_any_shortcut(uint32_t state, bool at_bottom);
  // Whether the tokens that it answers for, at most so many, take longer to walk than to join from masks.
  [[nodiscard]] bool saves_time(const Shortcut& shortcut) const;
  [[nodiscard]] ClassSteps class_steps(uint32_t state, bool at_bottom);
  [[nodiscard]] uint32_t step_beyond_ascii(uint32_t state);
  // How many more characters surely lead from `next` on as the one from `state` to it: these differ in the counts of light repetitions
  // alone, which are that far from their limits. 0: they differ in more.
  [[nodiscard]] size_t sure_repetitions(uint32_t state, uint32_t next) const;
  [[nodiscard]] size_t sure_repetitions_of(uint32_t frame, uint32_t next_frame) const;
  // Forgets all states but those of path_ from `first` to before `last`, which get other numbers.
  void drop_states(size_t first, size_t last);
  [[nodiscard]] size_t state_bytes() const noexcept { return set_bytes_ + steps_.capacity() * sizeof(uint32_t); }

  const Automaton& automaton_;
  const TokenTable& tokens_;
  FrameArena arena_;
  Stepper stepper_;
  // All characters beyond ASCII: of each sequence of bytes and each of its places, one byte of each class.
  std::vector<std::vector<std::string>> beyond_ascii_;
  std::unordered_map<Configurations, uint32_t, StateHash> state_numbers_;
  std::vector<const Configurations*> states_;
  std::vector<uint32_t> steps_;  // [state, byte class]
  std::vector<uint32_t> path_;   // states by depth of the walk
  size_t set_bytes_ = 0;         // of states_
  WorkLimit work_{0};
  uint64_t allowed_ = 0;
};

}  // namespace wick
