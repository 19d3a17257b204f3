#include "wick/engine/sequence_memory.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "wick/base/atomic_file.h"
#include "wick/base/error.h"
#include "wick/base/mapped_file.h"

namespace wick {
namespace {

// States of prefixes: those of a few turns even where one sequence runs at once.
constexpr int64_t kMinSnapshots = 8;

KvPoolOptions pool_options(const LanguageModel& model, const EngineInfo& info, const EngineOptions& options, int64_t rows) {
  const KvLayout& layout = model.cache_layout();
  KvPoolOptions pool{.bytes = options.kv_bytes,
                     .context = info.context,
                     .step = rows,
                     .keep_prefixes = options.prefix_cache,
                     .devices = model.cache_devices()};
  if (!layout.states.empty()) {
    pool.sequences = info.sequences;
    if (options.prefix_cache) pool.snapshots = std::max(kMinSnapshots, info.sequences / 2);
  }
  if (pool.bytes == 0) {
    const int64_t positions = std::max(info.context, info.sequences * std::min(info.context, SequenceMemory::kDefaultPositions));
    const int64_t contexts = (positions + info.context - 1) / info.context;
    pool.bytes = KvPool::bytes_for(layout, pool, contexts);
  }
  return pool;
}

}  // namespace

void SequenceMemory::take(const LanguageModel& model, const EngineInfo& info, const EngineOptions& options, int64_t rows, bool is_same) {
  const KvLayout& layout = model.cache_layout();
  auto pool = std::make_unique<KvPool>(model.device(), layout, pool_options(model, info, options, rows));
  if (fingerprint_ != pool->fingerprint()) {
    store_.flush();
    store_ = PrefixStore({.memory_bytes = options.prefix_cache ? options.cache_ram_bytes : 0,
                          .folder = options.prefix_cache ? options.cache_folder : std::filesystem::path{},
                          .folder_bytes = options.cache_folder_bytes,
                          .fingerprint = pool->fingerprint()});
    fingerprint_ = pool->fingerprint();
  } else if (!is_same) {
    store_.clear();  // a later training may have the same name and sizes
  }
  pool_ = std::move(pool);
  full_group_.reset();
  for (size_t layer = 0; layer < layout.layers.size(); ++layer) {
    if (layout.layers[layer].retention.kind == Retention::Kind::full) full_group_ = pool_->group_of(static_cast<int64_t>(layer));
  }
}

int64_t SequenceMemory::blocks_of(int64_t positions) const noexcept { return (positions + pool_->block_size() - 1) / pool_->block_size(); }

int64_t SequenceMemory::available_blocks() const {
  if (!full_group_) return std::numeric_limits<int64_t>::max() / 2;
  const KvPool::Usage usage = pool_->usage(*full_group_);
  return usage.blocks - usage.used;
}

std::optional<int64_t> SequenceMemory::positions() const {
  if (!full_group_) return std::nullopt;
  return pool_->usage(*full_group_).blocks * pool_->block_size();
}

KvPool::Usage SequenceMemory::fullest() const {
  KvPool::Usage found;
  double fullest = -1;
  for (int64_t group = 0; pool_ != nullptr && group < pool_->groups(); ++group) {
    const KvPool::Usage usage = pool_->usage(group);
    const double share = static_cast<double>(usage.used) / static_cast<double>(std::max<int64_t>(1, usage.blocks));
    if (share <= fullest) continue;
    fullest = share;
    found = usage;
  }
  return found;
}

int64_t SequenceMemory::start(Sequence& sequence) {
  int64_t restored = 0;
  sequence.handle = find_prefix(sequence, restored);
  sequence.computed = pool_->length(sequence.handle);
  sequence.taken_back = 0;
  sequence.expected_prefix = sequence.computed;
  return restored;
}

void SequenceMemory::release(Sequence& sequence, bool keep) {
  if (sequence.handle.empty()) return;
  const ActiveRequest& request = sequence.request();
  if (keep && request.request.cache_prompt && sequence.computed > 0) {
    const auto tokens = pool_->tokens(sequence.handle);
    if (store_.wants(request.cache_identity, tokens)) store_.put(request.cache_identity, tokens, pool_->save(sequence.handle));
  }
  pool_->free(std::exchange(sequence.handle, {}));
  sequence.computed = 0;
}

SequenceHandle SequenceMemory::find_prefix(const Sequence& sequence, int64_t& restored) {
  const ActiveRequest& request = sequence.request();
  if (request.wants_prompt_logprobs() || !keeps_prefixes()) return pool_->create(request.cache_identity);
  // The last token is computed for its logits.
  const auto tokens = sequence.tokens().first(static_cast<size_t>(sequence.length() - 1));
  const SequenceHandle handle = pool_->create_from_prefix(tokens, request.cache_identity);
  const int64_t length = pool_->length(handle);
  if (!store_.enabled() || store_.longest(request.cache_identity, tokens) < length + pool_->block_size()) return handle;
  const std::optional<std::vector<std::byte>> bytes = store_.load(request.cache_identity, tokens);
  if (!bytes) return handle;
  try {
    const SequenceHandle found = pool_->restore(*bytes, request.cache_identity);
    if (pool_->truncate(found, common_length(pool_->tokens(found), tokens)) <= length) {
      pool_->free(found);
      return handle;
    }
    restored = pool_->length(found) - length;
    pool_->free(handle);
    return found;
  } catch (const Error&) {
    // There is no room for it, or the file is damaged: its tokens are computed.
    return handle;
  }
}

void SequenceMemory::forget_prefixes() {
  if (pool_ != nullptr) pool_->forget_prefixes();
  store_.clear();
}

int64_t SequenceMemory::save(std::span<const TokenId> tokens, const std::filesystem::path& path) {
  const SequenceHandle handle = pool_->create_from_prefix(tokens);
  std::vector<std::byte> bytes;
  int64_t length = 0;
  try {
    length = pool_->length(handle);
    bytes = pool_->save(handle);
  } catch (...) {
    pool_->free(handle);
    throw;
  }
  pool_->free(handle);
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
  return length;
}

int64_t SequenceMemory::restore(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const SequenceHandle handle = pool_->restore(file->bytes());
  const int64_t length = pool_->length(handle);
  // Its blocks stay until their memory is needed.
  pool_->free(handle);
  return length;
}

}  // namespace wick
