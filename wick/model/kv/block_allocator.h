// A BlockAllocator knows which blocks of a cache are in use, by how many sequences, and which hold what may be wanted again.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace wick {

// Stands for one run of tokens from the start of a sequence: 128 bits of a keyed hash, so that no prompt can be made to collide. Other in
// the next process.
struct ContentHash {
  uint64_t first = 0, second = 0;
  friend auto operator<=>(const ContentHash&, const ContentHash&) = default;
  // Hash of this run followed by more tokens.
  [[nodiscard]] ContentHash followed_by(std::span<const int32_t> tokens) const;
};

class BlockAllocator {
 public:
  // `keeps`: a block that has a name stays, once nobody uses it, until its memory is needed.
  BlockAllocator(int64_t blocks, bool keeps);

  [[nodiscard]] int64_t blocks() const noexcept { return static_cast<int64_t>(states_.size()); }
  // Blocks that nobody uses; of these, those that are kept for their contents.
  [[nodiscard]] int64_t available() const noexcept { return free_ + kept(); }
  [[nodiscard]] int64_t kept() const noexcept { return static_cast<int64_t>(by_age_.size()); }
  [[nodiscard]] int64_t references(int32_t block) const { return state(block).references; }

  // A block for its first user. The block behind `after` (-1: none) where it is free, or else where nothing is; otherwise the longest free
  // run is halved, so that what grows on either side has room; else what was kept longest is given up. There must be one available.
  [[nodiscard]] int32_t take(int32_t after);
  // One user more, also of a kept block; one user less. Of blocks that are released, the first ones are given up first.
  void share(int32_t block);
  void release(int32_t block);

  // Sets a block's content hash; does nothing if another block has the same one.
  void name(int32_t block, const ContentHash& content);
  // The same of a block that holds `tokens` behind the text `before`, so that find_longest() knows it.
  void name(int32_t block, const ContentHash& before, std::span<const int32_t> tokens);
  // The block is about to change.
  void unname(int32_t block);
  // The contents are not wanted again: a kept block is free then.
  void forget(int32_t block);
  // How many tokens a block was named with; 0 for one without a name.
  [[nodiscard]] int64_t named_tokens(int32_t block) const;
  // The block of these contents, used or kept; share() it.
  [[nodiscard]] std::optional<int32_t> find(const ContentHash& content) const;
  // The block that has the most of `tokens`, from the first one on, behind the text `before`, and how many; share() it.
  struct Beginning {
    int32_t block = 0;
    int64_t count = 0;
  };
  [[nodiscard]] std::optional<Beginning> find_longest(const ContentHash& before, std::span<const int32_t> tokens) const;
  // Gives up all that is kept.
  void clear();

 private:
  // Tokens, and what is before them. In this order the one that begins most like another is its neighbour.
  struct Text {
    ContentHash before;
    std::vector<int32_t> tokens;
    friend auto operator<=>(const Text&, const Text&) = default;
  };
  using Texts = std::map<Text, int32_t>;
  struct State {
    int64_t references = 0;
    uint64_t age = 0;  // when it was last released, for kept ones
    std::optional<ContentHash> content;
    std::optional<Texts::iterator> text;
  };
  struct Hash {
    size_t operator()(const ContentHash& content) const noexcept { return static_cast<size_t>(content.first); }
  };

  [[nodiscard]] State& state(int32_t block) { return states_[static_cast<size_t>(block)]; }
  [[nodiscard]] const State& state(int32_t block) const { return states_[static_cast<size_t>(block)]; }
  [[nodiscard]] bool is_kept(int32_t block) const { return state(block).references == 0 && state(block).content.has_value(); }
  [[nodiscard]] int32_t choose(int32_t after);
  void cut_from_run(int32_t block);
  void add_to_runs(int32_t block);
  // Nobody uses it, and it has no name any more.
  void evict(int32_t block);

  bool keeps_;
  std::vector<State> states_;
  std::map<int32_t, int32_t> runs_;  // of free blocks: first and count
  int64_t free_ = 0;
  std::map<uint64_t, int32_t> by_age_;  // kept blocks
  uint64_t clock_ = 0;
  std::unordered_map<ContentHash, int32_t, Hash> names_;
  Texts texts_;  // of the blocks that were named with tokens
};

}  // namespace wick
