// A MaskCache computes which tokens may follow a configuration of an Automaton, and keeps what does not depend on the rest of the stack.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
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

  // Sets the bits of the tokens that may follow; `arena` is the configuration's. One thread at a time.
  void add_mask(const Configuration& configuration, const FrameArena& arena, std::span<uint64_t> mask);

 private:
  struct StateHash {
    size_t operator()(const Configurations& set) const noexcept;
  };
  struct Entry {
    std::vector<uint64_t> mask;
    std::vector<uint32_t> returns;  // nodes of the tries, behind which the base is returned to
    std::unordered_map<Frame, uint32_t, FrameHash> next;
  };

  static constexpr uint32_t kDead = 0;
  static constexpr uint32_t kUnknown = UINT32_MAX;
  static constexpr uint32_t kDifferent = UINT32_MAX - 1;
  static constexpr uint32_t kOtherTrie = uint32_t{1} << 31;

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
    if (steps_[slot] == kUnknown) find_steps(state);
    return steps_[slot];
  }
  // Of all bytes: one step for each stretch of bytes that the state's nodes treat alike.
  void find_steps(uint32_t state);
  // The state after any plain character; kDead if none is allowed, kDifferent if it depends on the character.
  [[nodiscard]] uint32_t plain_step(uint32_t state);
  [[nodiscard]] uint32_t find_plain_step(uint32_t state);
  // True if the plain tokens have been dealt with.
  [[nodiscard]] bool add_plain_tokens(uint32_t state, bool at_bottom, Entry& entry);
  void walk(const TokenTrie& trie, uint32_t root, uint32_t state, uint32_t trie_bit, Entry& entry);
  void drop_if_large();

  const Automaton& automaton_;
  const TokenTable& tokens_;
  FrameArena arena_;
  Stepper stepper_;
  std::vector<Utf8Sequence> plain_sequences_;
  std::unordered_map<Configurations, uint32_t, StateHash> state_numbers_;
  std::vector<const Configurations*> states_;
  std::vector<uint32_t> steps_;  // [state, byte class]
  std::vector<uint32_t> plain_steps_;
  std::vector<uint32_t> path_;  // states by depth of the walk
  std::unordered_map<uint64_t, uint32_t> first_entries_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace wick
