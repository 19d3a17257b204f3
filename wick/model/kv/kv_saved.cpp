// A sequence of a KvPool as bytes:
//   "WICKSEQ3", fingerprint of the layout u64, length u64, for each cache group its first saved position u64, tokens i32 [length],
//   for each layer the rows of its saved positions, in order: keys, then values, head by head,
//   for each recurrent layer its f32 numbers, FNV-1a of all before it u64.
// Of a group are saved the positions that the next one attends to, the others in their first block, and what the pool still holds of those
// before, as many as a step has: a text that goes on from an earlier position needs them.
#include <algorithm>
#include <array>
#include <cstring>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"
#include "wick/base/hash.h"
#include "wick/model/kv/kv_pool.h"

namespace wick {
namespace {

constexpr std::array<char, 8> kMagic = {'W', 'I', 'C', 'K', 'S', 'E', 'Q', '3'};
constexpr size_t kHeaderBytes = kMagic.size() + 2 * sizeof(uint64_t);

void append(std::vector<std::byte>& bytes, const void* data, size_t count) {
  const auto* first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + count);
}

uint64_t load_word(std::span<const std::byte> bytes, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

int64_t row_bytes(const Tensor& cache) {
  const int64_t columns = cache.shape()[2];
  return columns == 0 ? 0 : storage_bytes(cache.dtype(), columns);
}

}  // namespace

uint64_t KvPool::fingerprint() const {
  uint64_t hash = fnv1a(kFnvBasis, std::as_bytes(std::span(layout_.model)));
  const auto add = [&](auto value) { hash = fnv1a(hash, static_cast<uint64_t>(value)); };
  for (const KvLayer& layer : layout_.layers) {
    add(layer.kv_heads);
    add(layer.key_dim);
    add(layer.value_dim);
    add(layer.dtype);
    add(layer.retention.kind);
    add(layer.retention.size);
  }
  add(layout_.layers.size());
  for (const int64_t numbers : layout_.states) add(numbers);
  return hash;
}

KvPool::Saved KvPool::what_to_save(const Sequence& sequence) const {
  Saved saved{.length = sequence.length(), .first = {}, .tables = sequence.tables};
  for (size_t index = 0; index < groups_.size(); ++index) {
    const Group& group = groups_[index];
    std::vector<int32_t>& table = saved.tables[index];
    const int64_t needed = std::min(group.retention.first_needed(saved.length), saved.length);
    int64_t block = needed / options_.block_size;
    const int64_t least = std::max<int64_t>(0, needed - options_.step) / options_.block_size;
    for (; block > least && block * options_.block_size > sequence.restored_from[index]; --block) {
      const auto before = static_cast<size_t>(block - 1);
      if (table[before] == kNoBlock && before < sequence.contents.size()) {
        table[before] = group.blocks.find(sequence.contents[before]).value_or(kNoBlock);
      }
      if (table[before] == kNoBlock) break;
    }
    saved.first.push_back(std::min(needed, std::max(block * options_.block_size, sequence.restored_from[index])));
  }
  return saved;
}

int64_t KvPool::saved_bytes(const Saved& saved) const {
  int64_t total = static_cast<int64_t>(kHeaderBytes + (saved.first.size() + 1) * sizeof(uint64_t));
  total += saved.length * static_cast<int64_t>(sizeof(int32_t));
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    const int64_t positions = saved.length - saved.first[static_cast<size_t>(group_of_[layer])];
    total += positions * keys_[layer].shape()[0] * (row_bytes(keys_[layer]) + row_bytes(values_[layer]));
  }
  for (const int64_t numbers : layout_.states) total += numbers * static_cast<int64_t>(sizeof(float));
  return total;
}

template <class Move>
void KvPool::visit_rows(const Saved& saved, int32_t slab, const Move& move) const {
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    const auto group = static_cast<size_t>(group_of_[layer]);
    for (const Tensor* cache : {&keys_[layer], &values_[layer]}) {
      const int64_t row = row_bytes(*cache);
      for (int64_t head = 0; head < cache->shape()[0] && row > 0; ++head) {
        for (int64_t at = saved.first[group]; at < saved.length;) {
          const int64_t in_block = at % options_.block_size;
          const int64_t count = std::min(options_.block_size - in_block, saved.length - at);
          const int32_t block = saved.tables[group][static_cast<size_t>(at / options_.block_size)];
          std::optional<size_t> offset;
          if (block != kNoBlock) offset = static_cast<size_t>((head * cache->shape()[1] + block * options_.block_size + in_block) * row);
          move(*cache, offset, static_cast<size_t>(count * row));
          at += count;
        }
      }
    }
  }
  for (size_t layer = 0; layer < states_.size(); ++layer) {
    const auto bytes = static_cast<size_t>(layout_.states[layer]) * sizeof(float);
    move(states_[layer], static_cast<size_t>(slab) * bytes, bytes);
  }
}

std::vector<std::byte> KvPool::save(SequenceHandle handle) const {
  refuse_during_step("save");
  const Sequence& sequence = at("save", handle);
  const Saved saved = what_to_save(sequence);
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(saved_bytes(saved)));
  append(bytes, kMagic.data(), kMagic.size());
  std::vector<uint64_t> words = {fingerprint(), static_cast<uint64_t>(saved.length)};
  words.insert(words.end(), saved.first.begin(), saved.first.end());
  append(bytes, words.data(), words.size() * sizeof(uint64_t));
  append(bytes, sequence.tokens.data(), sequence.tokens.size() * sizeof(int32_t));
  visit_rows(saved, sequence.slab, [&](const Tensor& cache, std::optional<size_t> offset, size_t count) {
    bytes.resize(bytes.size() + count);
    cache.device().runtime().queue().download(cache.storage()->buffer(), offset.value(), bytes.data() + bytes.size() - count, count);
  });
  const uint64_t sum = fnv1a(kFnvBasis, bytes);
  append(bytes, &sum, sizeof(sum));
  return bytes;
}

SequenceHandle KvPool::restore(std::span<const std::byte> bytes, uint64_t identity) {
  refuse_during_step("restore");
  const auto corrupt = [](const char* why) { fail(ErrorCode::corrupt_file, "saved sequence: {}", why); };
  const size_t header = kHeaderBytes + groups_.size() * sizeof(uint64_t);
  if (bytes.size() < header + sizeof(uint64_t)) corrupt("it is too short for a header");
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) corrupt("it does not begin with WICKSEQ3");
  if (load_word(bytes, kMagic.size()) != fingerprint()) {
    fail(ErrorCode::invalid_argument, "saved sequence: it is of another model than {}, or of another type of KV cache", layout_.model);
  }
  const uint64_t length = load_word(bytes, kMagic.size() + sizeof(uint64_t));
  if (length > static_cast<uint64_t>(options_.context)) {
    fail(ErrorCode::context_full, "saved sequence: it has {} positions and the context holds {}", length, options_.context);
  }
  Saved saved{.length = static_cast<int64_t>(length), .first = {}, .tables = {}};
  for (size_t index = 0; index < groups_.size(); ++index) {
    const uint64_t first = load_word(bytes, kHeaderBytes + index * sizeof(uint64_t));
    const int64_t needed = std::min(groups_[index].retention.first_needed(saved.length), saved.length);
    if (first > static_cast<uint64_t>(needed)) corrupt("it lacks positions that the next one attends to");
    saved.first.push_back(static_cast<int64_t>(first));
  }
  if (static_cast<int64_t>(bytes.size()) != saved_bytes(saved)) corrupt("its size does not fit its length");
  const auto body = bytes.first(bytes.size() - sizeof(uint64_t));
  if (load_word(bytes, body.size()) != fnv1a(kFnvBasis, body)) corrupt("its checksum is wrong");
  return restore_checked(body.subspan(header), std::move(saved), identity);
}

SequenceHandle KvPool::restore_checked(std::span<const std::byte> body, Saved saved, uint64_t identity) {
  const int64_t length = saved.length;
  const int64_t end = blocks_for(length);
  std::vector<int64_t> first_blocks;
  for (size_t index = 0; index < groups_.size(); ++index) {
    const Group& group = groups_[index];
    const int64_t needed = std::min(group.retention.first_needed(length), length) / options_.block_size;
    if (end - needed > group.blocks.available()) {
      fail_with({{"free a sequence"}}, ErrorCode::out_of_memory,
                "saved sequence: {} blocks of {} positions are wanted, and {} of {} are there", end - needed, options_.block_size,
                group.blocks.available(), group.blocks.blocks());
    }
    // Of those before, as many as there is room for.
    first_blocks.push_back(std::clamp(end - group.blocks.available(), saved.first[index] / options_.block_size, needed));
  }
  const bool has_state = !states_.empty() && length > 0;
  if (has_state && slabs_.available() == 0) {
    fail_with({{"free a sequence"}}, ErrorCode::out_of_memory, "saved sequence: no state is left");
  }
  const SequenceHandle handle = create_unchecked(identity);
  Sequence& sequence = sequences_[handle.index];
  sequence.tokens.resize(static_cast<size_t>(length));
  const std::span<std::byte> tokens = std::as_writable_bytes(std::span(sequence.tokens));
  std::ranges::copy(body.first(tokens.size()), tokens.begin());
  for (size_t index = 0; index < groups_.size(); ++index) {
    Group& group = groups_[index];
    std::vector<int32_t>& table = sequence.tables[index];
    const int64_t first = first_blocks[index];
    sequence.restored_from[index] = std::max(saved.first[index], first * options_.block_size);
    table.assign(static_cast<size_t>(std::min(first, end)), kNoBlock);
    while (std::ssize(table) < end) table.push_back(group.blocks.take(table.empty() ? kNoBlock : table.back()));
  }
  if (has_state) sequence.slab = slabs_.take(kNoBlock);
  saved.tables = sequence.tables;
  size_t at = sequence.tokens.size() * sizeof(int32_t);
  visit_rows(saved, sequence.slab, [&](const Tensor& cache, std::optional<size_t> offset, size_t count) {
    // An empty sequence's state is the zeros that all share.
    const bool stays = offset && (cache.rank() == 3 || has_state);
    if (stays) cache.device().runtime().queue().upload(body.data() + at, cache.storage()->buffer(), *offset, count);
    cache.storage()->bump_version();
    at += count;
  });
  name_blocks(sequence, 0);
  name_state(sequence, false);
  return handle;
}

}  // namespace wick
