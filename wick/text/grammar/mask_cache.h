// A MaskCache computes which tokens may follow a configuration of an Automaton, and keeps what does not depend on the rest of the stack.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "wick/text/grammar/parse_stack.h"
#include "wick/text/grammar/token_trie.h"

namespace wick {

// A token is read from a node and the part of the stack that belongs to it (light repetitions), above a base that is not looked at. Where
// it returns to the base in the middle of the trie, the node of the trie is noted; how the tokens below go on depends on the base's top
// frame, so that the mask for a node and the frames it returns to is one step more in a tree of masks. Most tokens return few times.
class MaskCache {
 public:
  MaskCache(const Automaton& automaton, const TokenTable& tokens);

  // Sets the bits of the tokens that may follow one of the configurations; `arena` is theirs. One thread at a time.
  // Errors: fail_ambiguous's, where that takes too much work or memory; the cache is as good as before.
  void add_masks(std::span<const Configuration> configurations, const FrameArena& arena, std::span<uint64_t> mask);

  // Approximate size of the cache. At most some 100 MiB, for a moment, and less than kMaxBytes at the beginning of a mask.
  [[nodiscard]] size_t bytes() const noexcept;
  void clear();

 private:
  static constexpr size_t kMaxBytes = size_t{48} << 20;
  // Limit of one call. Sensible formats need less than a tenth.
  static constexpr uint64_t kMaxWork = 12'000'000;

  struct StateHash {
    size_t operator()(const Configurations& set) const noexcept;
  };
  struct Entry {
    std::vector<uint64_t> mask;
    std::vector<uint32_t> returns;  // nodes of the trie, behind which the base is returned to
    std::unordered_map<Frame, uint32_t, FrameHash> next;
    uint64_t added_in = 0;  // the last of the calls of add_masks whose mask it is in
  };

  static constexpr uint32_t kDead = 0;
  static constexpr uint32_t kUnknown = UINT32_MAX;
  static constexpr uint32_t kDifferent = UINT32_MAX - 1;
  static constexpr size_t kAnyNumber = SIZE_MAX;

  // Where a state treats most characters alike, the tokens of these alone need no walk: those whose first character is of `first` and whose
  // others are of `rest` are allowed, if they have at most `most` characters, and refused otherwise.
  struct Shortcut {
    CharacterClasses first;
    CharacterClasses rest;
    size_t most = kAnyNumber;
  };
  // The state after any character of a class; kDifferent where that depends on the character, or the base may be returned to.
  using ClassSteps = std::array<uint32_t, CharacterClasses::kCount>;

  // The entry whose mask is the configuration's.
  [[nodiscard]] uint32_t entry_of(const Configuration& configuration, const FrameArena& arena);
  // The frames of light repetitions on top of the stack, in this cache's arena, with counts that far limits do not change; `frame` becomes
  // the first one below them.
  uint32_t local_frames(uint32_t& frame, const FrameArena& arena);
  [[nodiscard]] uint32_t matching_count(const Frame& frame) const;
  [[nodiscard]] uint32_t first_entry(const Configuration& local, bool at_bottom);
  [[nodiscard]] uint32_t next_entry(uint32_t entry, const Frame& frame);
  uint32_t add_entry(Entry entry);

  [[nodiscard]] uint32_t state_of(Configurations set);
  [[nodiscard]] uint32_t step(uint32_t state, uint8_t byte) {
    const size_t slot = size_t{state} * automaton_.class_count() + automaton_.byte_class(byte);
    if (steps_[slot] == kUnknown) find_step(state, byte);
    return steps_[slot];
  }
  // For all bytes of the stretch around `byte` that the state's nodes treat alike.
  void find_step(uint32_t state, uint8_t byte);
  // `at_bottom`: what returns to the base is at the end of the text.
  [[nodiscard]] ClassSteps class_steps(uint32_t state, bool at_bottom);
  [[nodiscard]] uint32_t step_beyond_ascii(uint32_t state);
  // None, if the state treats no large part of the vocabulary alike.
  [[nodiscard]] std::optional<Shortcut> find_shortcut(uint32_t state, bool at_bottom);
  // How many more characters surely lead from `next` on as the one from `state` to it: these differ in the counts of light repetitions
  // alone, which are that far from their limits. 0: they differ in more.
  [[nodiscard]] size_t sure_repetitions(uint32_t state, uint32_t next) const;
  [[nodiscard]] size_t sure_repetitions_of(uint32_t frame, uint32_t next_frame) const;
  // The subtree of a node, which `state` is the state at, without what `shortcut` answers for; nullptr: all of it.
  void walk(uint32_t root, uint32_t state, const Shortcut* shortcut, Entry& entry);
  // Counts work on a state. Errors: fail_ambiguous's.
  void spend(uint64_t units, uint32_t state);
  // Forgets all states but those of path_ from `first` to before `last`, which get other numbers.
  void drop_states(size_t first, size_t last);
  [[nodiscard]] size_t state_bytes() const noexcept;
  [[nodiscard]] std::span<const Configuration> items_of(uint32_t state) const { return states_[state]->items; }

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
  std::unordered_map<uint64_t, uint32_t> first_entries_;
  std::vector<std::unique_ptr<Entry>> entries_;
  WorkLimit work_{0};
  size_t set_bytes_ = 0;    // of states_
  size_t entry_bytes_ = 0;  // of entries_
  uint64_t calls_ = 0;      // of add_masks
};

}  // namespace wick
