// SequenceMemory is what the model has computed of sequences: the paged KV cache, and under it the prefixes that are kept in host memory
// and files. One thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "wick/engine/engine_options.h"
#include "wick/engine/prefix_store.h"
#include "wick/engine/sequence.h"
#include "wick/model/kv/kv_pool.h"
#include "wick/model/language_model.h"

namespace wick {

class SequenceMemory {
 public:
  // Positions of the KV cache for each sequence, where no budget is given.
  static constexpr int64_t kDefaultPositions = 1024;

  // Makes the pool of a model, for steps of at most `rows` rows, in place of the one before; none of its sequences may be left. `is_same`:
  // the model is the one before, so that its prefixes in host memory and files are still good. Errors: out_of_memory; nothing has changed
  // then.
  void take(const LanguageModel& model, const EngineInfo& info, const EngineOptions& options, int64_t rows, bool is_same);
  // Frees the pool. What host memory and files keep stays.
  void unload() noexcept { pool_.reset(); }
  [[nodiscard]] KvPool& pool() noexcept { return *pool_; }
  [[nodiscard]] const KvPool& pool() const noexcept { return *pool_; }

  // --- The budget: blocks of the cache group that keeps all positions; without such a group there are always enough ---
  [[nodiscard]] int64_t blocks_of(int64_t positions) const noexcept;
  [[nodiscard]] int64_t available_blocks() const;
  // Positions that the pool has room for, of all sequences together; none where no group keeps all of them.
  [[nodiscard]] std::optional<int64_t> positions() const;
  // The cache group that is fullest; zeros without a pool.
  [[nodiscard]] KvPool::Usage fullest() const;
  [[nodiscard]] int64_t host_bytes() const noexcept { return store_.memory_bytes(); }

  // --- Sequences ---
  // Gives a sequence its handle, with the prefix of its text that is kept. Returns the positions that came from host memory or a file.
  // Errors: KvPool::create's.
  int64_t start(Sequence& sequence);
  // Takes the handle back. `keep`: host memory may keep what was computed.
  void release(Sequence& sequence, bool keep);
  // Whether prompts that begin as earlier ones share their blocks.
  [[nodiscard]] bool keeps_prefixes() const noexcept { return pool_->options().keep_prefixes; }
  void forget_prefixes();
  // Writes what host memory keeps to the folder.
  void flush() { store_.flush(); }

  // --- Files: the positions that are kept of a text. Both return how many there are. ---
  int64_t save(std::span<const TokenId> tokens, const std::filesystem::path& path);
  int64_t restore(const std::filesystem::path& path);

 private:
  [[nodiscard]] SequenceHandle find_prefix(const Sequence& sequence, int64_t& restored);

  std::unique_ptr<KvPool> pool_;       // none where no model is loaded
  std::optional<int64_t> full_group_;  // the cache group that keeps all positions, if there is one
  std::optional<uint64_t> fingerprint_;
  PrefixStore store_{{}};
};

}  // namespace wick
