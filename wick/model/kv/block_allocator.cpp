#include "wick/model/kv/block_allocator.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/hash.h"

namespace wick {

ContentHash ContentHash::followed_by(std::span<const int32_t> tokens) const {
  std::vector<char> bytes(sizeof(ContentHash) + tokens.size_bytes());
  std::memcpy(bytes.data(), this, sizeof(ContentHash));
  std::memcpy(bytes.data() + sizeof(ContentHash), tokens.data(), tokens.size_bytes());
  const std::string_view text(bytes.data(), bytes.size());
  const HashKey& key = process_hash_key();
  const HashKey other{split_mix(key.first), split_mix(key.second), split_mix(key.odd) | 1};
  return {keyed_hash(text, key), keyed_hash(text, other)};
}

BlockAllocator::BlockAllocator(int64_t blocks, bool keeps) : keeps_(keeps), states_(static_cast<size_t>(blocks)), free_(blocks) {
  if (blocks > 0) runs_.emplace(0, static_cast<int32_t>(blocks));
}

int32_t BlockAllocator::take(int32_t after) {
  WICK_ASSERT(available() > 0);
  const int32_t block = choose(after);
  if (is_kept(block)) evict(block);
  cut_from_run(block);
  state(block).references = 1;
  return block;
}

int32_t BlockAllocator::choose(int32_t after) {
  const int32_t next = after + 1;
  const bool has_next = after >= 0 && next < blocks();
  if (has_next && state(next).references == 0 && !state(next).content) return next;
  if (!runs_.empty()) {
    const auto longest = std::max_element(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return longest->first == 0 ? 0 : longest->first + longest->second / 2;
  }
  return has_next && is_kept(next) ? next : by_age_.begin()->second;
}

void BlockAllocator::cut_from_run(int32_t block) {
  const auto run = std::prev(runs_.upper_bound(block));
  const auto [first, count] = *run;
  if (block == first) {
    runs_.erase(run);
  } else {
    run->second = block - first;
  }
  if (block + 1 < first + count) runs_.emplace(block + 1, first + count - block - 1);
  --free_;
}

void BlockAllocator::add_to_runs(int32_t block) {
  int32_t first = block;
  int32_t count = 1;
  const auto after = runs_.find(block + 1);
  if (after != runs_.end()) {
    count += after->second;
    runs_.erase(after);
  }
  const auto above = runs_.lower_bound(block);
  if (above != runs_.begin()) {
    const auto before = std::prev(above);
    if (before->first + before->second == block) {
      first = before->first;
      count += before->second;
      runs_.erase(before);
    }
  }
  runs_.emplace(first, count);
  ++free_;
}

void BlockAllocator::share(int32_t block) {
  State& shared = state(block);
  if (shared.references == 0) {
    WICK_ASSERT(shared.content.has_value());
    by_age_.erase(shared.age);
  }
  ++shared.references;
}

void BlockAllocator::release(int32_t block) {
  State& released = state(block);
  WICK_ASSERT(released.references > 0);
  if (--released.references > 0) return;
  if (keeps_ && released.content) {
    released.age = clock_++;
    by_age_.emplace(released.age, block);
    return;
  }
  unname(block);
  add_to_runs(block);
}

void BlockAllocator::name(int32_t block, const ContentHash& content) {
  if (keeps_ && !state(block).content && names_.emplace(content, block).second) state(block).content = content;
}

void BlockAllocator::name(int32_t block, const ContentHash& before, std::span<const int32_t> tokens) {
  const ContentHash content = before.followed_by(tokens);
  if (state(block).content || names_.contains(content)) return;
  name(block, content);
  if (state(block).content) state(block).text = texts_.emplace(Text{before, {tokens.begin(), tokens.end()}}, block).first;
}

void BlockAllocator::unname(int32_t block) {
  State& named = state(block);
  if (!named.content) return;
  names_.erase(*named.content);
  named.content.reset();
  if (named.text) texts_.erase(*named.text);
  named.text.reset();
}

void BlockAllocator::forget(int32_t block) {
  if (is_kept(block)) {
    evict(block);
  } else {
    unname(block);
  }
}

int64_t BlockAllocator::named_tokens(int32_t block) const {
  const State& named = state(block);
  return named.text ? std::ssize((*named.text)->first.tokens) : 0;
}

std::optional<BlockAllocator::Beginning> BlockAllocator::find_longest(const ContentHash& before, std::span<const int32_t> tokens) const {
  const auto above = texts_.lower_bound({before, {tokens.begin(), tokens.end()}});
  Beginning best;
  const auto consider = [&](const Texts::value_type& entry) {
    const std::vector<int32_t>& theirs = entry.first.tokens;
    if (entry.first.before != before) return;
    const int64_t common = std::mismatch(tokens.begin(), tokens.end(), theirs.begin(), theirs.end()).first - tokens.begin();
    if (common > best.count) best = {entry.second, common};
  };
  if (above != texts_.end()) consider(*above);
  if (above != texts_.begin()) consider(*std::prev(above));
  return best.count > 0 ? std::optional(best) : std::nullopt;
}

std::optional<int32_t> BlockAllocator::find(const ContentHash& content) const {
  const auto found = names_.find(content);
  return found == names_.end() ? std::nullopt : std::optional(found->second);
}

void BlockAllocator::evict(int32_t block) {
  by_age_.erase(state(block).age);
  unname(block);
  add_to_runs(block);
}

void BlockAllocator::clear() {
  while (!by_age_.empty()) evict(by_age_.begin()->second);
}

}  // namespace wick
