// A FormatCache keeps compiled formats and their masks within a budget of bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "wick/text/grammar/automaton.h"
#include "wick/text/grammar/mask_cache.h"
#include "wick/text/grammar/token_constraint.h"
#include "wick/text/grammar/token_trie.h"

namespace wick {

class FormatCache;

// A format compiled for a vocabulary; what it has cached is shared by all texts of that format.
class CompiledFormat {
 public:
  // It may outlive the cache, whose bytes it counts in.
  CompiledFormat(Automaton automaton, std::shared_ptr<const TokenTable> tokens, std::weak_ptr<FormatCache> cache,
                 std::shared_ptr<std::atomic<size_t>> total);
  ~CompiledFormat();
  CompiledFormat(const CompiledFormat&) = delete;
  CompiledFormat& operator=(const CompiledFormat&) = delete;

  [[nodiscard]] const Automaton& automaton() const noexcept { return automaton_; }
  [[nodiscard]] const TokenTable& tokens() const noexcept { return *tokens_; }
  // MaskCache::add_masks, then drops what the cache has no room for. Any thread.
  void add_masks(std::span<const Configuration> configurations, const FrameArena& arena, std::span<uint64_t> mask);

 private:
  friend class FormatCache;
  // Drops the masks, unless they are in use. Whether it has.
  bool try_to_drop_masks();
  // With the lock.
  void count();

  const Automaton automaton_;
  const std::shared_ptr<const TokenTable> tokens_;
  const std::weak_ptr<FormatCache> cache_;
  const std::shared_ptr<std::atomic<size_t>> total_;
  std::atomic<uint64_t> last_use_ = 0;
  std::mutex mutex_;  // of what follows
  MaskCache masks_;
  size_t counted_ = 0;
};

class FormatCache : public std::enable_shared_from_this<FormatCache> {
 public:
  explicit FormatCache(size_t most_bytes) : most_bytes_(most_bytes) {}

  // The format, compiled by `compile` where it is not there. Others are looked up meanwhile.
  [[nodiscard]] std::shared_ptr<CompiledFormat> get(const OutputFormat& format, const std::function<Automaton()>& compile,
                                                    const std::function<std::shared_ptr<const TokenTable>()>& tokens);
  [[nodiscard]] size_t bytes() const noexcept { return *total_; }
  // Makes room in the budget: drops masks of the others, then formats that no text uses.
  void note_use(CompiledFormat& format);

 private:
  // Formats that were used last are kept, but not more than these: each tool of a request is one.
  static constexpr size_t kMaxFormats = 2048;
  struct Entry {
    size_t hash = 0;
    OutputFormat format;
    std::shared_ptr<CompiledFormat> compiled;
  };

  // With the lock.
  [[nodiscard]] std::shared_ptr<CompiledFormat> find(size_t hash, const OutputFormat& format);
  void make_room(const CompiledFormat* keep);

  const size_t most_bytes_;
  const std::shared_ptr<std::atomic<size_t>> total_ = std::make_shared<std::atomic<size_t>>(0);
  std::atomic<uint64_t> uses_ = 0;
  std::mutex mutex_;  // of what follows
  std::shared_ptr<const TokenTable> tokens_;
  std::list<Entry> formats_;                          // the last compiled or asked for first
  std::vector<std::weak_ptr<CompiledFormat>> alive_;  // those of formats_, and others that texts still use
};

}  // namespace wick
