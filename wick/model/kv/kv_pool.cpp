#include "wick/model/kv/kv_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"
#include "wick/base/process.h"
#include "wick/model/kv/kv_step.h"
#include "wick/model/memory_fit.h"

namespace wick {
namespace {

// Handles of different pools differ.
uint32_t next_pool_id() {
  static std::atomic<uint32_t> last{0};
  return ++last;
}

int64_t row_bytes(DType dtype, int64_t columns) { return columns == 0 ? 0 : storage_bytes(dtype, columns); }

int64_t position_bytes(const KvLayer& layer) {
  return layer.kv_heads * (row_bytes(layer.dtype, layer.key_dim) + row_bytes(layer.dtype, layer.value_dim));
}

// A group as the budget sees it.
struct Share {
  Retention retention;
  std::vector<int64_t> layers;
  int64_t block_bytes = 0;
  int64_t blocks_of_sequence = 0;
};

std::vector<Share> shares_of(const KvLayout& layout, const KvPoolOptions& options) {
  std::vector<Share> shares;
  for (size_t index = 0; index < layout.layers.size(); ++index) {
    const KvLayer& layer = layout.layers[index];
    auto share = std::find_if(shares.begin(), shares.end(), [&](const Share& one) { return one.retention == layer.retention; });
    if (share == shares.end()) {
      const int64_t positions = layer.retention.most(options.context, options.step);
      // A window begins anywhere in its first block.
      const int64_t blocks = (positions + options.block_size - 1) / options.block_size + (positions < options.context ? 1 : 0);
      share = shares.insert(shares.end(), Share{layer.retention, {}, 0, blocks});
    }
    share->layers.push_back(static_cast<int64_t>(index));
    share->block_bytes += options.block_size * position_bytes(layer);
  }
  return shares;
}

int64_t kv_bytes_of_sequence(std::span<const Share> shares) {
  int64_t bytes = 0;
  for (const Share& share : shares) bytes += share.blocks_of_sequence * share.block_bytes;
  return bytes;
}

int64_t slab_bytes(const KvLayout& layout) {
  int64_t numbers = 0;
  for (const int64_t count : layout.states) numbers += count;
  return numbers * static_cast<int64_t>(sizeof(float));
}

// A sequence's own and the one that a step writes; and the zeros, which all share.
int64_t slabs_for(int64_t sequences) { return 1 + 2 * sequences; }

void check_sizes(const KvLayout& layout, const KvPoolOptions& options) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const auto in_range = [](int64_t value) { return value >= 1 && value <= kMax; };
  if (!in_range(options.context) || !in_range(options.block_size) || !in_range(options.step) || options.bytes < 0 ||
      options.sequences < 0 || options.sequences > kMax || options.snapshots < 0 || options.snapshots > kMax) {
    fail(ErrorCode::invalid_argument,
         "KvPool: a context of {}, blocks of {}, steps of {} tokens, {} bytes, {} sequences and {} snapshots: out of range",
         options.context, options.block_size, options.step, options.bytes, options.sequences, options.snapshots);
  }
  if (!options.devices.empty() && options.devices.size() != layout.layers.size() + layout.states.size()) {
    fail(ErrorCode::invalid_argument,
         "KvPool: devices of {} layers were given, and {} attend and {} keep states; give one for each, or none", options.devices.size(),
         layout.layers.size(), layout.states.size());
  }
  for (const KvLayer& layer : layout.layers) {
    const bool bounded = layer.retention.kind != Retention::Kind::full;
    if (!in_range(layer.kv_heads) || !in_range(layer.key_dim) || layer.value_dim < 0 || layer.value_dim > kMax ||
        (bounded && !in_range(layer.retention.size))) {
      fail(ErrorCode::invalid_argument, "KvPool: a layer of {} heads, keys of {}, values of {} and a window of {}: out of range",
           layer.kv_heads, layer.key_dim, layer.value_dim, layer.retention.size);
    }
    KvPool::check_dtype(layer);
  }
  for (const int64_t numbers : layout.states) {
    if (!in_range(numbers)) fail(ErrorCode::invalid_argument, "KvPool: a state of {} numbers: out of range", numbers);
  }
}

// Blocks of one sequence among many lie far apart, a piece for each head and layer: a short text would have the system clear a huge page
// for each piece.
void keep_pages_small(const Tensor& cache) {
  Buffer& buffer = cache.storage()->buffer();
  if (cache.device().caps().host_memory && buffer.bytes() > 0) use_small_pages(buffer.host_data(), buffer.bytes());
}

}  // namespace

void KvPool::check_dtype(const KvLayer& layer) {
  if (!is_cache_dtype(layer.dtype)) {
    fail(ErrorCode::unsupported, "key/value cache of {}: it can be f32, f16, bf16 or q8_0", to_string(layer.dtype));
  }
  if (!is_quantized(layer.dtype)) return;
  if (layer.value_dim == 0) {
    fail_with({{"take {}", Setting::kv_dtype, "f16"}}, ErrorCode::unsupported,
              "key/value cache of {}: the values of the model's latent attention are parts of its keys, which are not stored so",
              to_string(layer.dtype));
  }
  const int64_t block = info(layer.dtype).block_elements;
  for (const int64_t head_dim : {layer.key_dim, layer.value_dim}) {
    if (head_dim % block == 0) continue;
    fail_with({{"take {}", Setting::kv_dtype, "f16"}}, ErrorCode::unsupported,
              "key/value cache of {}: the model's head_dim {} is not a multiple of the block of {}", to_string(layer.dtype), head_dim,
              block);
  }
}

int64_t KvPool::bytes_for(const KvLayout& layout, const KvPoolOptions& options, int64_t sequences) {
  check_sizes(layout, options);
  const int64_t slabs = slabs_for(std::max(sequences, options.sequences)) + options.snapshots;
  return sequences * kv_bytes_of_sequence(shares_of(layout, options)) + slabs * slab_bytes(layout);
}

KvPool::KvPool(Device device, KvLayout layout, KvPoolOptions options)
    : device_(std::move(device)), layout_(std::move(layout)), options_(std::move(options)), id_(next_pool_id()), slabs_(0, false) {
  check_sizes(layout_, options_);
  const std::vector<Share> shares = shares_of(layout_, options_);
  const int64_t per_sequence = kv_bytes_of_sequence(shares);
  const int64_t per_slab = slab_bytes(layout_);
  const auto fit = (options_.bytes - per_slab) / std::max<int64_t>(1, per_sequence + 2 * per_slab);
  const int64_t sequences = options_.sequences > 0 ? options_.sequences : std::max<int64_t>(1, fit);
  const int64_t spare = (options_.bytes - per_sequence) / std::max<int64_t>(1, per_slab) - slabs_for(sequences);
  const int64_t slabs = per_slab == 0 ? 0 : slabs_for(sequences) + std::clamp<int64_t>(spare, 0, options_.snapshots);
  const int64_t rest = options_.bytes - slabs * per_slab;
  group_of_.resize(layout_.layers.size());
  for (const Share& share : shares) {
    const double whole = static_cast<double>(rest) / static_cast<double>(per_sequence);
    const auto blocks = static_cast<int64_t>(whole * static_cast<double>(share.blocks_of_sequence));
    if (rest < 0 || blocks < 1 || blocks > std::numeric_limits<int32_t>::max() / options_.block_size) {
      fail(ErrorCode::invalid_argument, "KvPool: {} bytes are {} blocks of {} positions for {} layers; give room for 1 to 2^31 positions",
           options_.bytes, blocks, options_.block_size, share.layers.size());
    }
    for (const int64_t layer : share.layers) group_of_[static_cast<size_t>(layer)] = static_cast<int64_t>(groups_.size());
    groups_.push_back({share.retention, share.layers, BlockAllocator(blocks, options_.keep_prefixes)});
  }
  if (rest < 0) fail(ErrorCode::invalid_argument, "KvPool: {} bytes do not hold {} states of {}", options_.bytes, slabs, per_slab);
  slabs_ = BlockAllocator(slabs, options_.keep_prefixes);
  // Of several devices, that whose memory is not the host's.
  const auto accelerator =
      std::find_if(options_.devices.begin(), options_.devices.end(), [](const Device& other) { return other.runtime().runs_kernels(); });
  const Device& smallest = accelerator == options_.devices.end() ? device_ : *accelerator;
  const std::optional<size_t> free = free_memory(smallest);
  try {
    make_tensors();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory || !smallest.runtime().runs_kernels()) throw;
    fail_cache_too_large(layout_, options_, smallest, free);
  }
}

void KvPool::make_tensors() {
  for (size_t index = 0; index < layout_.layers.size(); ++index) {
    const KvLayer& layer = layout_.layers[index];
    const int64_t slots = groups_[static_cast<size_t>(group_of_[index])].blocks.blocks() * options_.block_size;
    keys_.push_back(Tensor::empty({layer.kv_heads, slots, layer.key_dim}, layer.dtype, device_of(index), Lifetime::persistent));
    values_.push_back(Tensor::empty({layer.kv_heads, slots, layer.value_dim}, layer.dtype, device_of(index), Lifetime::persistent));
    if (slots < 2 * layer.retention.most(options_.context, options_.step)) continue;  // one sequence's, which fills it from the start
    keep_pages_small(keys_.back());
    keep_pages_small(values_.back());
  }
  for (size_t index = 0; index < layout_.states.size(); ++index) {
    const int64_t numbers = layout_.states[index];
    const Device& device = device_of(layout_.layers.size() + index);
    states_.push_back(Tensor::empty({slabs_.blocks(), numbers}, DType::f32, device, Lifetime::persistent));
    device.runtime().queue().fill(states_.back().storage()->buffer(), 0, static_cast<size_t>(numbers) * sizeof(float), std::byte{0});
  }
  if (!layout_.states.empty()) WICK_ASSERT(slabs_.take(-1) == kZeroSlab);
}

int64_t KvPool::bytes() const noexcept {
  int64_t total = 0;
  for (const std::vector<Tensor>* tensors : {&keys_, &values_, &states_}) {
    for (const Tensor& tensor : *tensors) total += tensor.elements() == 0 ? 0 : storage_bytes(tensor.dtype(), tensor.elements());
  }
  return total;
}

// --- Sequences ---

const KvPool::Sequence& KvPool::at(const char* function, SequenceHandle handle) const {
  if (handle.pool != id_) {
    fail(ErrorCode::invalid_argument, "{}: the handle is of {}; each pool has its own", function,
         handle.empty() ? "no pool" : "another pool");
  }
  const bool known = handle.index < sequences_.size();
  if (!known || !sequences_[handle.index].live || sequences_[handle.index].generation != handle.generation) {
    fail(ErrorCode::invalid_argument, "{}: sequence {} was freed", function, handle.index);
  }
  return sequences_[handle.index];
}

KvPool::Sequence& KvPool::at(const char* function, SequenceHandle handle) {
  refuse_during_step(function);
  return const_cast<Sequence&>(std::as_const(*this).at(function, handle));
}

void KvPool::refuse_during_step(const char* function) const {
  if (stepping_) fail(ErrorCode::invalid_argument, "{}: a step of the pool is under way; commit it first", function);
}

SequenceHandle KvPool::create_unchecked(uint64_t identity) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<uint32_t>(sequences_.size()));
    sequences_.emplace_back();
  }
  const uint32_t index = unused_.back();
  unused_.pop_back();
  Sequence& sequence = sequences_[index];
  sequence.live = true;
  // No token is negative, so that no text can stand for an identity.
  const std::array<int32_t, 3> words = {-1, static_cast<int32_t>(identity >> 32), static_cast<int32_t>(identity & 0xFFFFFFFFU)};
  sequence.root = identity == 0 ? ContentHash{} : ContentHash{}.followed_by(words);
  sequence.tables.resize(groups_.size());
  sequence.restored_from.assign(groups_.size(), 0);
  ++live_;
  return {id_, index, sequence.generation};
}

void KvPool::free_unchecked(uint32_t index) {
  Sequence& sequence = sequences_[index];
  for (size_t group = 0; group < groups_.size(); ++group) release_from(groups_[group], sequence.tables[group], 0);
  release_slab(sequence.slab);
  drop_rollback(sequence);
  sequence.was_rolled_back = false;
  sequence.tokens.clear();
  sequence.contents.clear();
  sequence.wanted_states.clear();
  sequence.decoding_state.reset();
  sequence.slab = kZeroSlab;
  sequence.live = false;
  ++sequence.generation;
  unused_.push_back(index);
  --live_;
}

void KvPool::release_from(Group& group, std::vector<int32_t>& table, size_t first) {
  while (table.size() > first) {
    if (table.back() != kNoBlock) group.blocks.release(table.back());
    table.pop_back();
  }
}

void KvPool::release_slab(int32_t slab) {
  if (slab != kZeroSlab) slabs_.release(slab);
}

void KvPool::drop_rollback(Sequence& sequence) {
  if (sequence.rollback) release_slab(sequence.rollback->slab);
  sequence.rollback.reset();
}

SequenceHandle KvPool::create(uint64_t identity) {
  refuse_during_step("create");
  return create_unchecked(identity);
}

SequenceHandle KvPool::fork(SequenceHandle handle) {
  (void)at("fork", handle);
  const SequenceHandle copy = create_unchecked();
  const Sequence& from = sequences_[handle.index];
  Sequence& to = sequences_[copy.index];
  to.root = from.root;
  to.tokens = from.tokens;
  to.contents = from.contents;
  to.tables = from.tables;
  to.restored_from = from.restored_from;
  to.slab = from.slab;
  for (size_t group = 0; group < groups_.size(); ++group) {
    for (const int32_t block : to.tables[group]) {
      if (block != kNoBlock) groups_[group].blocks.share(block);
    }
  }
  if (to.slab != kZeroSlab) slabs_.share(to.slab);
  return copy;
}

void KvPool::free(SequenceHandle handle) {
  name_last_blocks(at("free", handle));
  free_unchecked(handle.index);
}

int64_t KvPool::length(SequenceHandle handle) const { return at("length", handle).length(); }

std::span<const int32_t> KvPool::tokens(SequenceHandle handle) const { return at("tokens", handle).tokens; }

bool KvPool::shares_last_block(SequenceHandle handle) const {
  const Sequence& sequence = at("shares_last_block", handle);
  if (sequence.length() % options_.block_size == 0) return false;
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].blocks.references(sequence.tables[group].back()) > 1) return true;
  }
  return false;
}

void KvPool::set_tokens(SequenceHandle handle, int64_t first, std::span<const int32_t> tokens) {
  Sequence& sequence = at("set_tokens", handle);
  if (first < 0 || std::ssize(tokens) > sequence.length() - first) {
    fail(ErrorCode::invalid_argument, "set_tokens: positions {} to {} of a sequence of {}", first, first + std::ssize(tokens),
         sequence.length());
  }
  std::copy(tokens.begin(), tokens.end(), sequence.tokens.begin() + first);
  name_blocks(sequence, first);
  // Of a tentative step truncate() names it.
  if (!sequence.rollback) name_state(sequence, sequence.length() - first == 1);
}

// --- What is kept ---

void KvPool::extend_contents(Sequence& sequence) const {
  const auto size = static_cast<size_t>(options_.block_size);
  while ((sequence.contents.size() + 1) * size <= sequence.tokens.size()) {
    const auto block = std::span(sequence.tokens).subspan(sequence.contents.size() * size, size);
    // Not all of them are known yet.
    if (std::any_of(block.begin(), block.end(), [](int32_t token) { return token < 0; })) return;
    const ContentHash before = sequence.contents.empty() ? sequence.root : sequence.contents.back();
    sequence.contents.push_back(before.followed_by(block));
  }
}

void KvPool::name_blocks(Sequence& sequence, int64_t from) {
  if (!options_.keep_prefixes) return;
  extend_contents(sequence);
  for (size_t group = 0; group < groups_.size(); ++group) {
    const std::vector<int32_t>& table = sequence.tables[group];
    for (auto block = static_cast<size_t>(from / options_.block_size); block < sequence.contents.size(); ++block) {
      const int64_t begin = static_cast<int64_t>(block) * options_.block_size;
      if (table[block] == kNoBlock || begin < sequence.restored_from[group]) continue;
      const auto tokens = std::span(sequence.tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(options_.block_size));
      groups_[group].blocks.name(table[block], before(sequence, block), tokens);
    }
  }
}

void KvPool::name_state(Sequence& sequence, bool decodes) {
  if (!options_.keep_prefixes || sequence.slab == kZeroSlab || sequence.length() == 0) return;
  if (std::ssize(sequence.contents) * options_.block_size != sequence.length()) return;
  const ContentHash& content = sequence.contents.back();
  slabs_.name(sequence.slab, content);
  // A text that grows token by token passes the end of each block; the next turn goes on from the last one.
  if (sequence.decoding_state) {
    const std::optional<int32_t> last = slabs_.find(*sequence.decoding_state);
    if (last && slabs_.references(*last) == 0) slabs_.forget(*last);
  }
  const bool is_last = decodes && sequence.length() % (kStateBlocks * options_.block_size) != 0;
  sequence.decoding_state = is_last && slabs_.find(content) == sequence.slab ? std::optional(content) : std::nullopt;
}

int64_t KvPool::rows_to_state(SequenceHandle handle, int64_t rows, int64_t length) const {
  const Sequence& sequence = at("rows_to_state", handle);
  if (!options_.keep_prefixes || layout_.states.empty()) return rows;
  const int64_t begin = sequence.length(), each = kStateBlocks * options_.block_size;
  int64_t end = std::min(begin + rows, (begin / each + 1) * each);
  const auto stop_at = [&](int64_t border) {
    if (border > begin) end = std::min(end, border);
  };
  stop_at((length - 1) / options_.block_size * options_.block_size);
  for (const int64_t wanted : sequence.wanted_states) stop_at(wanted);
  return end - begin;
}

int64_t KvPool::proposals_to_state(SequenceHandle handle, int64_t rows) const {
  const Sequence& sequence = at("proposals_to_state", handle);
  if (!options_.keep_prefixes || layout_.states.empty()) return std::numeric_limits<int64_t>::max();
  const int64_t end = sequence.length() + rows;
  return blocks_for(end) * options_.block_size - end;
}

void KvPool::want_state(SequenceHandle handle, int64_t length) {
  std::vector<int64_t>& wanted = at("want_state", handle).wanted_states;
  if (std::find(wanted.begin(), wanted.end(), length) == wanted.end()) wanted.push_back(length);
}

void KvPool::name_last_blocks(const Sequence& sequence) {
  // A state is of all its tokens, and found where a block ends.
  if (!options_.keep_prefixes || !layout_.states.empty()) return;
  const size_t block = sequence.contents.size();
  const size_t begin = block * static_cast<size_t>(options_.block_size);
  // Those that the host knows.
  const auto first = sequence.tokens.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto end = std::find_if(first, sequence.tokens.end(), [](int32_t token) { return token < 0; });
  if (first == end || end - first >= options_.block_size) return;
  for (size_t group = 0; group < groups_.size(); ++group) {
    const int32_t last = sequence.tables[group][block];
    if (last == kNoBlock || static_cast<int64_t>(begin) < sequence.restored_from[group]) continue;
    groups_[group].blocks.name(last, before(sequence, block), {first, end});
  }
}

std::optional<int32_t> KvPool::find_block(const Group& group, const Sequence& sequence, int64_t block, int64_t length) const {
  const auto index = static_cast<size_t>(block);
  if (index < sequence.contents.size()) {
    if (const auto whole = group.blocks.find(sequence.contents[index])) return whole;
  }
  const int64_t begin = block * options_.block_size;
  const int64_t wanted = length - begin;
  if (wanted >= options_.block_size || index > sequence.contents.size() || !layout_.states.empty()) return std::nullopt;
  const auto tokens = std::span(sequence.tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(wanted));
  const auto found = group.blocks.find_longest(before(sequence, index), tokens);
  return found && found->count == wanted ? std::optional(found->block) : std::nullopt;
}

int64_t KvPool::found_behind(const Sequence& sequence, int64_t length) const {
  if (!layout_.states.empty()) return 0;
  int64_t count = std::min(sequence.length() - length, options_.block_size);
  const auto tokens = std::span(sequence.tokens).subspan(static_cast<size_t>(length), static_cast<size_t>(count));
  for (const Group& group : groups_) {
    const auto found = group.blocks.find_longest(before(sequence, static_cast<size_t>(length / options_.block_size)), tokens);
    count = std::min(count, found ? found->count : 0);
  }
  return count;
}

bool KvPool::can_restore(const Sequence& sequence, int64_t length) const {
  return can_restore_blocks(sequence, length) && (layout_.states.empty() || find_slab(sequence, length));
}

bool KvPool::can_restore_blocks(const Sequence& sequence, int64_t length) const {
  if (length == 0) return true;
  for (size_t group = 0; group < groups_.size(); ++group) {
    const std::vector<int32_t>& table = sequence.tables[group];
    const int64_t first = std::min(groups_[group].retention.first_needed(length), length);
    if (first < sequence.restored_from[group]) return false;
    for (int64_t block = first / options_.block_size; block < blocks_for(length); ++block) {
      const auto index = static_cast<size_t>(block);
      if (index < table.size() && table[index] != kNoBlock) continue;
      if (!find_block(groups_[group], sequence, block, length)) return false;
    }
  }
  return true;
}

bool KvPool::holds_what_is_next(const Sequence& sequence) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    const std::vector<int32_t>& table = sequence.tables[group];
    const int64_t first = groups_[group].retention.first_needed(sequence.length()) / options_.block_size;
    if (first < std::ssize(table) && std::find(table.begin() + first, table.end(), kNoBlock) != table.end()) return false;
  }
  return true;
}

std::optional<int32_t> KvPool::find_slab(const Sequence& sequence, int64_t length) const {
  if (length == 0) return kZeroSlab;
  if (sequence.rollback && sequence.rollback->length == length) return sequence.rollback->slab;
  const auto index = static_cast<size_t>(length / options_.block_size);
  if (length % options_.block_size != 0 || index > sequence.contents.size()) return std::nullopt;
  return slabs_.find(sequence.contents[index - 1]);
}

void KvPool::restore_to(Sequence& sequence, int64_t length) {
  const auto end = static_cast<size_t>(blocks_for(length));
  for (size_t index = 0; index < groups_.size(); ++index) {
    Group& group = groups_[index];
    std::vector<int32_t>& table = sequence.tables[index];
    const auto first = static_cast<size_t>(std::min(group.retention.first_needed(length), length) / options_.block_size);
    if (table.size() < end) table.resize(end, kNoBlock);
    for (size_t block = first; block < end; ++block) {
      if (table[block] != kNoBlock) continue;
      table[block] = find_block(group, sequence, static_cast<int64_t>(block), length).value();
      group.blocks.share(table[block]);
    }
    release_from(group, table, end);
    if (length == 0) sequence.restored_from[index] = 0;
  }
  if (!layout_.states.empty()) {
    const int32_t slab = find_slab(sequence, length).value();
    if (slab != kZeroSlab) slabs_.share(slab);
    release_slab(std::exchange(sequence.slab, slab));
  }
  sequence.tokens.resize(static_cast<size_t>(length));
  sequence.contents.resize(std::min(sequence.contents.size(), static_cast<size_t>(length / options_.block_size)));
}

int64_t KvPool::truncate(SequenceHandle handle, int64_t length) {
  Sequence& sequence = at("truncate", handle);
  if (length < 0 || length > sequence.length()) {
    fail(ErrorCode::invalid_argument, "truncate({}): sequence {} has {} positions; give 0 to that many", length, handle.index,
         sequence.length());
  }
  if (length == sequence.length()) {
    const bool was_tentative = sequence.rollback.has_value();
    drop_rollback(sequence);
    if (was_tentative) name_state(sequence, true);
    return length;
  }
  // From there down to the ends of its blocks: what holds a block's end holds each place in it, but for a window's beginning.
  const int64_t before = sequence.rollback ? sequence.rollback->length : 0;
  int64_t restored = length;
  while (restored > 0 && !can_restore(sequence, restored)) {
    const int64_t border = (restored - 1) / options_.block_size * options_.block_size;
    restored = before < restored ? std::max(border, before) : border;
  }
  restore_to(sequence, restored);
  sequence.was_rolled_back = sequence.rollback.has_value();
  drop_rollback(sequence);
  // What a sequence takes back nobody wants again: its next tokens go where they were.
  if (restored % options_.block_size != 0) {
    for (size_t group = 0; group < groups_.size(); ++group) {
      const int32_t last = sequence.tables[group].back();
      if (groups_[group].blocks.references(last) == 1) groups_[group].blocks.unname(last);
    }
  }
  return restored;
}

SequenceHandle KvPool::create_from_prefix(std::span<const int32_t> prompt, uint64_t identity) {
  refuse_during_step("create_from_prefix");
  const SequenceHandle handle = create_unchecked(identity);
  if (!options_.keep_prefixes) return handle;
  Sequence& sequence = sequences_[handle.index];
  sequence.tokens.assign(prompt.begin(), prompt.end());
  extend_contents(sequence);
  int64_t length = 0;
  for (auto border = static_cast<int64_t>(sequence.contents.size()) * options_.block_size; border >= 0; border -= options_.block_size) {
    length = border + found_behind(sequence, border);
    if (can_restore(sequence, length)) break;
    length = border;
    if (can_restore(sequence, length)) break;
    // Texts that begin alike part here, and the next one finds the state.
    if (sequence.wanted_states.empty() && can_restore_blocks(sequence, border)) sequence.wanted_states.push_back(border);
  }
  restore_to(sequence, length);
  prefix_asked_ += static_cast<int64_t>(prompt.size());
  prefix_found_ += length;
  return handle;
}

void KvPool::forget_prefixes() {
  for (Group& group : groups_) group.blocks.clear();
  slabs_.clear();
}

// --- Memory ---

namespace {

const Tensor& checked(const std::vector<Tensor>& tensors, int64_t layer) {
  if (layer >= 0 && layer < std::ssize(tensors)) return tensors[static_cast<size_t>(layer)];
  fail(ErrorCode::index_out_of_range, "KvPool: layer {} of {}; give 0 to {}", layer, tensors.size(), std::ssize(tensors) - 1);
}

KvPool::Usage usage_of(const BlockAllocator& blocks) {
  return {.blocks = blocks.blocks(), .used = blocks.blocks() - blocks.available(), .kept = blocks.kept()};
}

}  // namespace

const Tensor& KvPool::keys(int64_t layer) const { return checked(keys_, layer); }
const Tensor& KvPool::values(int64_t layer) const { return checked(values_, layer); }
const Tensor& KvPool::states(int64_t layer) const { return checked(states_, layer); }

int64_t KvPool::group_of(int64_t layer) const {
  (void)checked(keys_, layer);
  return group_of_[static_cast<size_t>(layer)];
}

KvPool::Usage KvPool::usage(int64_t group) const {
  if (group >= 0 && group < groups()) return usage_of(groups_[static_cast<size_t>(group)].blocks);
  fail(ErrorCode::index_out_of_range, "KvPool: cache group {} of {}", group, groups());
}

KvPool::Usage KvPool::state_usage() const { return usage_of(slabs_); }

void KvPool::copy_block(const Group& group, int32_t from, int32_t to) {
  for (const int64_t layer : group.layers) {
    Queue& queue = keys(layer).device().runtime().queue();
    for (const Tensor* cache : {&keys(layer), &values(layer)}) {
      const int64_t row = row_bytes(cache->dtype(), cache->shape()[2]);
      const int64_t slots = cache->shape()[1];
      Buffer& buffer = cache->storage()->buffer();
      for (int64_t head = 0; head < cache->shape()[0] && row > 0; ++head) {
        const auto place = [&](int32_t block) { return static_cast<size_t>((head * slots + block * options_.block_size) * row); };
        queue.copy(buffer, place(from), buffer, place(to), static_cast<size_t>(options_.block_size * row));
      }
      cache->storage()->bump_version();
    }
  }
}

KvStep KvPool::begin(const Batch& batch) {
  refuse_during_step("begin");
  batch.check();
  return {*this, batch};
}

}  // namespace wick
