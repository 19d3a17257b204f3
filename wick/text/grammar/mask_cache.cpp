#include "wick/text/grammar/mask_cache.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "wick/base/error.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {
namespace {

// Overhead of a map's node in addition to its value.
constexpr size_t kEntryNodeBytes = 48;
// Of a mask's words one in so many, or fewer, are few.
constexpr size_t kFewShare = 16;

}  // namespace

MaskCache::MaskCache(const Automaton& automaton, const TokenTable& tokens, size_t whole_from)
    : automaton_(automaton), tokens_(tokens), walk_(automaton, tokens), whole_from_(whole_from) {}

void MaskCache::add_masks(std::span<const Configuration> configurations, const FrameArena& arena, std::span<uint64_t> mask) {
  if (configurations.size() >= whole_from_) return add_whole(configurations, arena, mask);
  try {
    add_each(configurations, arena, mask);
    costly_ = walk_.spent() > kMuchWork ? costly_ + 1 : 0;
    if (costly_ < kOften) return;
  } catch (const Error&) {
    // Too much one by one. The bits that are set are right.
    whole_from_ = configurations.size();
    clear();
    return add_whole(configurations, arena, mask);
  }
  costly_ = 0;
  whole_from_ = configurations.size();
  clear();
}

void MaskCache::add_each(std::span<const Configuration> configurations, const FrameArena& arena, std::span<uint64_t> mask) {
  walk_.allow(kMaxWork);
  ++calls_;
  for (const Configuration& configuration : configurations) {
    if (bytes() > kMaxBytes || walk_.arena().bytes() > kMaxBytes / 4) clear();
    Entry& entry = *entries_[entry_of(configuration, arena)];
    if (std::exchange(entry.added_in, calls_) == calls_) continue;
    add_mask(entry, mask);
  }
}

void MaskCache::add_whole(std::span<const Configuration> configurations, const FrameArena& arena, std::span<uint64_t> mask) {
  if (whole_ == nullptr) whole_ = std::make_unique<TrieWalk>(automaton_, tokens_);
  whole_->restart(arena);
  whole_->allow(kMaxWork);
  try {
    const uint32_t state = whole_->state_of({.items = {configurations.begin(), configurations.end()}, .bottom = false});
    const std::optional<TrieWalk::Shortcut> shortcut = whole_->find_shortcut(state, /*at_bottom=*/true);
    if (shortcut) tokens_.add_tokens_of(shortcut->first, shortcut->rest, shortcut->most, mask);
    whole_->walk(0, state, shortcut ? &*shortcut : nullptr, mask, nullptr);
  } catch (...) {
    whole_->restart({});
    throw;
  }
  whole_->restart({});
}

uint32_t MaskCache::entry_of(const Configuration& configuration, const FrameArena& arena) {
  uint32_t frame = configuration.frame;
  const uint32_t local = local_frames(frame, configuration.node, arena);
  uint32_t entry = first_entry({configuration.node, local}, frame == FrameArena::kBottom);
  while (frame != FrameArena::kBottom && !entries_[entry]->returns.empty()) {
    Frame top = arena.at(frame);
    top.count = matching_count(top);
    frame = top.parent;
    top.parent = local_frames(frame, automaton_.call(top.call).target, arena);
    entry = next_entry(entry, top);
  }
  return entry;
}

uint32_t MaskCache::local_frames(uint32_t& frame, uint32_t node, const FrameArena& arena) {
  std::vector<Frame> above;
  while (frame != FrameArena::kBottom) {
    const AutomatonCall& call = automaton_.call(arena.at(frame).call);
    if (!call.light && automaton_.node(node).names == 0) break;
    above.push_back(arena.at(frame));
    node = call.target;
    frame = above.back().parent;
  }
  uint32_t local = FrameArena::kBottom;
  for (; !above.empty(); above.pop_back()) {
    local =
        walk_.arena().push({.call = above.back().call, .parent = local, .count = matching_count(above.back()), .seen = above.back().seen});
  }
  return local;
}

// A token cannot begin more repetitions than it has bytes: counts that are further than that from both limits are all alike.
uint32_t MaskCache::matching_count(const Frame& frame) const {
  const AutomatonCall& call = automaton_.call(frame.call);
  if (call.kind != AutomatonCall::Kind::repeat) return frame.count;
  const auto reach = static_cast<uint32_t>(tokens_.longest()) + 1;
  if (frame.count < call.smallest) return call.smallest - frame.count > reach ? call.smallest - reach : frame.count;
  if (call.largest == kUnlimited || call.largest - frame.count <= reach) return frame.count;
  return std::max(call.smallest, call.largest - reach);
}

uint32_t MaskCache::first_entry(const Configuration& local, bool at_bottom) {
  const uint64_t key = uint64_t{local.node} << 33 | uint64_t{local.frame} << 1 | (at_bottom ? 1 : 0);
  if (const auto known = first_entries_.find(key); known != first_entries_.end()) return known->second;
  Entry entry;
  entry.mask.assign(mask_words(tokens_.vocab_size()), 0);
  const uint32_t state = walk_.state_of({.items = {local}, .bottom = false});
  const std::optional<TrieWalk::Shortcut> shortcut = walk_.find_shortcut(state, at_bottom);
  if (shortcut) tokens_.add_tokens_of(shortcut->first, shortcut->rest, shortcut->most, entry.mask);
  walk_.walk(0, state, shortcut ? &*shortcut : nullptr, entry.mask, at_bottom ? nullptr : &entry.returns);
  return first_entries_[key] = add_entry(std::move(entry));
}

uint32_t MaskCache::next_entry(uint32_t entry, const Frame& frame) {
  walk_.spend(1);
  if (const auto known = entries_[entry]->next.find(frame); known != entries_[entry]->next.end()) return known->second;
  Entry next;
  next.mask.assign(mask_words(tokens_.vocab_size()), 0);
  add_mask(*entries_[entry], next.mask);
  const Configurations set = walk_.leave(frame);
  walk_.spend(next.mask.size() / 16);
  for (const uint32_t place : entries_[entry]->returns) {
    if (set.bottom) next.returns.push_back(place);
    // The number is looked up again: a walk may have dropped the states.
    walk_.walk(place, walk_.state_of(set), nullptr, next.mask, &next.returns);
  }
  std::sort(next.returns.begin(), next.returns.end());
  next.returns.erase(std::unique(next.returns.begin(), next.returns.end()), next.returns.end());
  entry_bytes_ += sizeof(Frame) + kEntryNodeBytes;
  return entries_[entry]->next[frame] = add_entry(std::move(next));
}

uint32_t MaskCache::add_entry(Entry entry) {
  const auto words = static_cast<size_t>(std::count_if(entry.mask.begin(), entry.mask.end(), [](uint64_t word) { return word != 0; }));
  if (words * kFewShare <= entry.mask.size()) {
    entry.few_words.reserve(words);
    for (uint32_t index = 0; index < entry.mask.size(); ++index) {
      if (entry.mask[index] != 0) entry.few_words.emplace_back(index, entry.mask[index]);
    }
    entry.mask = {};
  }
  entry.returns.shrink_to_fit();
  entry_bytes_ += sizeof(Entry) + kEntryNodeBytes + entry.mask.capacity() * sizeof(uint64_t) +
                  entry.few_words.capacity() * sizeof(entry.few_words[0]) + entry.returns.capacity() * sizeof(uint32_t);
  entries_.push_back(std::make_unique<Entry>(std::move(entry)));
  return static_cast<uint32_t>(entries_.size() - 1);
}

void MaskCache::add_mask(const Entry& entry, std::span<uint64_t> mask) {
  for (size_t word = 0; word < entry.mask.size(); ++word) mask[word] |= entry.mask[word];
  for (const auto& [word, bits] : entry.few_words) mask[word] |= bits;
}

void MaskCache::clear() {
  walk_.restart({});
  first_entries_.clear();
  entries_.clear();
  entry_bytes_ = 0;
}

}  // namespace wick
