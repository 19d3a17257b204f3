// A sequence of a KvPool as bytes:
//   "WICKSEQ1", fingerprint of the layout u64, length u64, tokens i32 [length],
//   for each layer the rows of its kept positions, in order: keys, then values, head by head,
//   for each recurrent layer its f32 numbers, FNV-1a of all before it u64.
// A group's kept positions are those that the next one attends to.
#include <algorithm>
#include <array>
#include <cstring>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"
#include "wick/base/hash.h"
#include "wick/model/kv/kv_pool.h"

namespace wick {
namespace {

constexpr std::array<char, 8> kMagic = {'W', 'I', 'C', 'K', 'S', 'E', 'Q', '1'};
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

int64_t KvPool::saved_bytes(int64_t length) const {
  int64_t total = static_cast<int64_t>(kHeaderBytes + sizeof(uint64_t)) + length * static_cast<int64_t>(sizeof(int32_t));
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    const int64_t kept = length - kept_from(layer, length);
    total += kept * keys_[layer].shape()[0] * (row_bytes(keys_[layer]) + row_bytes(values_[layer]));
  }
  for (const int64_t numbers : layout_.states) total += numbers * static_cast<int64_t>(sizeof(float));
  return total;
}

int64_t KvPool::kept_from(size_t layer, int64_t length) const {
  return std::min(groups_[static_cast<size_t>(group_of_[layer])].retention.first_needed(length), length);
}

template <class Move>
void KvPool::visit_rows(const Sequence& sequence, const Move& move) const {
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    const std::vector<int32_t>& table = sequence.tables[static_cast<size_t>(group_of_[layer])];
    for (const Tensor* cache : {&keys_[layer], &values_[layer]}) {
      const int64_t row = row_bytes(*cache);
      for (int64_t head = 0; head < cache->shape()[0] && row > 0; ++head) {
        for (int64_t at = kept_from(layer, sequence.length()); at < sequence.length();) {
          const int64_t in_block = at % options_.block_size;
          const int64_t count = std::min(options_.block_size - in_block, sequence.length() - at);
          const int64_t slot = table[static_cast<size_t>(at / options_.block_size)] * options_.block_size + in_block;
          move(*cache, static_cast<size_t>((head * cache->shape()[1] + slot) * row), static_cast<size_t>(count * row));
          at += count;
        }
      }
    }
  }
  for (size_t layer = 0; layer < states_.size(); ++layer) {
    const auto bytes = static_cast<size_t>(layout_.states[layer]) * sizeof(float);
    move(states_[layer], static_cast<size_t>(sequence.slab) * bytes, bytes);
  }
}

std::vector<std::byte> KvPool::save(SequenceHandle handle) const {
  refuse_during_step("save");
  const Sequence& sequence = at("save", handle);
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(saved_bytes(sequence.length())));
  append(bytes, kMagic.data(), kMagic.size());
  const std::array<uint64_t, 2> words = {fingerprint(), static_cast<uint64_t>(sequence.length())};
  append(bytes, words.data(), sizeof(words));
  append(bytes, sequence.tokens.data(), sequence.tokens.size() * sizeof(int32_t));
  visit_rows(sequence, [&](const Tensor& cache, size_t offset, size_t count) {
    bytes.resize(bytes.size() + count);
    cache.device().runtime().queue().download(cache.storage()->buffer(), offset, bytes.data() + bytes.size() - count, count);
  });
  const uint64_t sum = fnv1a(kFnvBasis, bytes);
  append(bytes, &sum, sizeof(sum));
  return bytes;
}

SequenceHandle KvPool::restore(std::span<const std::byte> bytes, uint64_t identity) {
  refuse_during_step("restore");
  const auto corrupt = [](const char* why) { fail(ErrorCode::corrupt_file, "saved sequence: {}", why); };
  if (bytes.size() < kHeaderBytes + sizeof(uint64_t)) corrupt("it is too short for a header");
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) corrupt("it does not begin with WICKSEQ1");
  if (load_word(bytes, kMagic.size()) != fingerprint()) {
    fail(ErrorCode::invalid_argument, "saved sequence: it is of another model than {}, or of another type of KV cache", layout_.model);
  }
  const uint64_t length = load_word(bytes, kMagic.size() + sizeof(uint64_t));
  if (length > static_cast<uint64_t>(options_.context)) {
    fail(ErrorCode::context_full, "saved sequence: it has {} positions and the context holds {}", length, options_.context);
  }
  if (static_cast<int64_t>(bytes.size()) != saved_bytes(static_cast<int64_t>(length))) corrupt("its size does not fit its length");
  const auto body = bytes.first(bytes.size() - sizeof(uint64_t));
  if (load_word(bytes, body.size()) != fnv1a(kFnvBasis, body)) corrupt("its checksum is wrong");
  return restore_checked(body.subspan(kHeaderBytes), static_cast<int64_t>(length), identity);
}

SequenceHandle KvPool::restore_checked(std::span<const std::byte> body, int64_t length, uint64_t identity) {
  for (const Group& group : groups_) {
    const int64_t first = std::min(group.retention.first_needed(length), length) / options_.block_size;
    if (const int64_t wanted = blocks_for(length) - first; wanted > group.blocks.available()) {
      fail_with({{"free a sequence"}}, ErrorCode::out_of_memory,
                "saved sequence: {} blocks of {} positions are wanted, and {} of {} are there", wanted, options_.block_size,
                group.blocks.available(), group.blocks.blocks());
    }
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
    sequence.restored_from[index] = std::min(group.retention.first_needed(length), length);
    const int64_t first = sequence.restored_from[index] / options_.block_size;
    table.assign(static_cast<size_t>(std::min(first, blocks_for(length))), kNoBlock);
    while (std::ssize(table) < blocks_for(length)) table.push_back(group.blocks.take(table.empty() ? kNoBlock : table.back()));
  }
  if (has_state) sequence.slab = slabs_.take(kNoBlock);
  size_t at = sequence.tokens.size() * sizeof(int32_t);
  visit_rows(sequence, [&](const Tensor& cache, size_t offset, size_t count) {
    // An empty sequence's state is the zeros that all share.
    if (cache.rank() == 3 || has_state) cache.device().runtime().queue().upload(body.data() + at, cache.storage()->buffer(), offset, count);
    cache.storage()->bump_version();
    at += count;
  });
  name_blocks(sequence, 0);
  return handle;
}

}  // namespace wick
