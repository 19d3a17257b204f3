// A MaskCache computes which tokens may follow a configuration of an Automaton, and keeps what does not depend on the rest of the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wick/text/grammar/parse_stack.h"
#include "wick/text/grammar/token_trie.h"
#include "wick/text/grammar/trie_walk.h"

namespace wick {

// A token is read from a node and the part of the stack that belongs to it (light repetitions, and the members that a group's names are
// read for), above a base that is not looked at. Where it returns to the base in the middle of the trie, the node of the trie is noted; how
// the tokens below go on depends on the base's top frame, so that the mask for a node and the frames it returns to is one step more in a
// tree of masks. Most tokens return few times.
//
// An ambiguous format has a large tree, and its texts have many configurations: their mask is then computed from all of them at once, with
// their whole stacks, and nothing is kept.
class MaskCache {
 public:
  // `whole_from`: as many configurations are taken at once from the beginning.
  MaskCache(const Automaton& automaton, const TokenTable& tokens, size_t whole_from = SIZE_MAX);

  // Sets the bits of the tokens that may follow one of the configurations; `arena` is theirs. One thread at a time.
  // Errors: fail_ambiguous's, where that takes too much work or memory; the cache is as good as before.
  void add_masks(std::span<const Configuration> configurations, const FrameArena& arena, std::span<uint64_t> mask);

  // Approximate size of the cache. At most some 100 MiB, for a moment, and less than kMaxBytes at the beginning of a mask.
  [[nodiscard]] size_t bytes() const noexcept { return walk_.bytes() + entry_bytes_; }
  void clear();

 private:
  static constexpr size_t kMaxBytes = size_t{48} << 20;
  // Limit of one call, each way. Sensible formats need less than a tenth.
  static constexpr uint64_t kMaxWork = 12'000'000;
  // So many calls one after another that take so much are of a format whose tree of masks is too large.
  static constexpr uint64_t kMuchWork = 500'000;
  static constexpr int kOften = 6;

  struct Entry {
    std::vector<uint64_t> mask;  // empty, if few of its words are not 0:
    std::vector<std::pair<uint32_t, uint64_t>> few_words = {};
    std::vector<uint32_t> returns;  // nodes of the trie, behind which the base is returned to
    std::unordered_map<Frame, uint32_t, FrameHash> next;
    uint64_t added_in = 0;  // the last of the calls of add_masks whose mask it is in
  };

  void add_each(std::span<const Configuration> configurations, const FrameArena& arena, std::span<uint64_t> mask);
  void add_whole(std::span<const Configuration> configurations, const FrameArena& arena, std::span<uint64_t> mask);
  // The entry whose mask is the configuration's.
  [[nodiscard]] uint32_t entry_of(const Configuration& configuration, const FrameArena& arena);
  // The frames on top of the stack that are looked at, in this cache's arena, with counts that far limits do not change; `frame` becomes
  // the first one below them. The first one is returned to, or stood on, at `node`.
  uint32_t local_frames(uint32_t& frame, uint32_t node, const FrameArena& arena);
  [[nodiscard]] uint32_t matching_count(const Frame& frame) const;
  [[nodiscard]] uint32_t first_entry(const Configuration& local, bool at_bottom);
  [[nodiscard]] uint32_t next_entry(uint32_t entry, const Frame& frame);
  uint32_t add_entry(Entry entry);
  static void add_mask(const Entry& entry, std::span<uint64_t> mask);

  const Automaton& automaton_;
  const TokenTable& tokens_;
  TrieWalk walk_;
  std::unordered_map<uint64_t, uint32_t> first_entries_;
  std::vector<std::unique_ptr<Entry>> entries_;
  size_t entry_bytes_ = 0;
  uint64_t calls_ = 0;               // of add_masks
  int costly_ = 0;                   // the last of these, with kMuchWork
  size_t whole_from_;                // as many configurations are taken at once
  std::unique_ptr<TrieWalk> whole_;  // none until then
};

}  // namespace wick
