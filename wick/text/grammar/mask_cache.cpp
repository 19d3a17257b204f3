#include "wick/text/grammar/mask_cache.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include "wick/text/token_constraint.h"

namespace wick {
namespace {

constexpr size_t kMostBytes = size_t{96} << 20;

void set_bit(std::vector<uint64_t>& mask, TokenId token) { mask[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64); }

template <class Mask>
void add_bits(Mask& to, std::span<const uint64_t> from) {
  for (size_t word = 0; word < from.size(); ++word) to[word] |= from[word];
}

std::vector<Utf8Sequence> plain_characters() {
  const CodePointSet plain = CodePointSet{{0, 0x1F}, {0x7F, 0x7F}, {'"', '"'}, {'\\', '\\'}}.complement();
  std::vector<Utf8Sequence> result;
  for (const auto& [first, last] : plain.ranges()) {
    for (const Utf8Sequence& encoded : utf8_sequences(first, last)) result.push_back(encoded);
  }
  return result;
}

}  // namespace

size_t MaskCache::StateHash::operator()(const Configurations& set) const noexcept {
  uint64_t hash = set.bottom ? 1 : 0;
  for (const Configuration& item : set.items) {
    hash = (hash ^ (uint64_t{item.node} << 32 | item.frame)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return static_cast<size_t>(hash);
}

MaskCache::MaskCache(const Automaton& automaton, const TokenTable& tokens)
    : automaton_(automaton),
      tokens_(tokens),
      stepper_(automaton, arena_),
      plain_sequences_(plain_characters()),
      path_(tokens.longest() + 2, kDead) {
  static_cast<void>(state_of({}));  // kDead
}

void MaskCache::add_mask(const Configuration& configuration, const FrameArena& arena, std::span<uint64_t> mask) {
  drop_if_large();
  uint32_t frame = configuration.frame;
  const uint32_t local = local_frames(frame, arena);
  uint32_t entry = first_entry({configuration.node, local}, frame == FrameArena::kBottom);
  while (frame != FrameArena::kBottom && !entries_[entry]->returns.empty()) {
    Frame top = arena.at(frame);
    top.count = matching_count(top);
    frame = top.parent;
    top.parent = local_frames(frame, arena);
    entry = next_entry(entry, top);
  }
  add_bits(mask, entries_[entry]->mask);
}

uint32_t MaskCache::local_frames(uint32_t& frame, const FrameArena& arena) {
  std::vector<Frame> above;
  while (frame != FrameArena::kBottom && automaton_.call(arena.at(frame).call).light) {
    above.push_back(arena.at(frame));
    frame = above.back().parent;
  }
  uint32_t local = FrameArena::kBottom;
  for (; !above.empty(); above.pop_back()) {
    local = arena_.push({.call = above.back().call, .parent = local, .count = matching_count(above.back()), .seen = 0});
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
  const uint32_t state = state_of({.items = {local}, .bottom = false});
  if (!add_plain_tokens(state, at_bottom, entry)) walk(tokens_.plain(), 0, state, 0, entry);
  walk(tokens_.other(), 0, state, kOtherTrie, entry);
  if (at_bottom) entry.returns.clear();
  return first_entries_[key] = add_entry(std::move(entry));
}

uint32_t MaskCache::next_entry(uint32_t entry, const Frame& frame) {
  if (const auto known = entries_[entry]->next.find(frame); known != entries_[entry]->next.end()) return known->second;
  Entry next;
  next.mask = entries_[entry]->mask;
  const uint32_t state = state_of(stepper_.leave(frame));
  const bool through = states_[state]->bottom;
  for (const uint32_t place : entries_[entry]->returns) {
    if (through) next.returns.push_back(place);
    const bool other = (place & kOtherTrie) != 0;
    walk(other ? tokens_.other() : tokens_.plain(), place & ~kOtherTrie, state, place & kOtherTrie, next);
  }
  std::sort(next.returns.begin(), next.returns.end());
  next.returns.erase(std::unique(next.returns.begin(), next.returns.end()), next.returns.end());
  return entries_[entry]->next[frame] = add_entry(std::move(next));
}

uint32_t MaskCache::add_entry(Entry entry) {
  entries_.push_back(std::make_unique<Entry>(std::move(entry)));
  return static_cast<uint32_t>(entries_.size() - 1);
}

uint32_t MaskCache::state_of(Configurations set) {
  const auto [entry, added] = state_numbers_.try_emplace(std::move(set), static_cast<uint32_t>(states_.size()));
  if (added) {
    states_.push_back(&entry->first);
    steps_.resize(steps_.size() + automaton_.class_count(), entry->first.items.empty() ? kDead : kUnknown);
    plain_steps_.push_back(kUnknown);
  }
  return entry->second;
}

void MaskCache::find_steps(uint32_t state) {
  const Configurations& from = *states_[state];
  std::bitset<257> begins;
  begins.set(0);
  for (const Configuration& item : from.items) {
    for (const ByteEdge& edge : automaton_.bytes(automaton_.node(item.node))) {
      begins.set(edge.first);
      begins.set(edge.last + 1U);
    }
  }
  uint32_t next = kDead;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (begins.test(byte)) next = state_of(stepper_.step(from, static_cast<uint8_t>(byte)));
    steps_[size_t{state} * automaton_.class_count() + automaton_.byte_class(static_cast<uint8_t>(byte))] = next;
  }
}

uint32_t MaskCache::plain_step(uint32_t state) {
  if (plain_steps_[state] == kUnknown) {
    const uint32_t next = find_plain_step(state);
    plain_steps_[state] = next;
  }
  return plain_steps_[state];
}

uint32_t MaskCache::find_plain_step(uint32_t state) {
  uint32_t common = kUnknown;
  std::vector<uint32_t> from;
  std::vector<uint32_t> to;
  for (const Utf8Sequence& encoded : plain_sequences_) {
    from = {state};
    for (size_t index = 0; index < encoded.length; ++index) {
      to.clear();
      for (const uint32_t current : from) {
        int last_class = -1;
        for (unsigned byte = encoded.bytes[index].first; byte <= encoded.bytes[index].second; ++byte) {
          if (automaton_.byte_class(static_cast<uint8_t>(byte)) == last_class) continue;
          last_class = automaton_.byte_class(static_cast<uint8_t>(byte));
          const uint32_t next = step(current, static_cast<uint8_t>(byte));
          if (std::find(to.begin(), to.end(), next) == to.end()) to.push_back(next);
        }
      }
      // In the middle of a character a return to the base would have to be noted.
      if (index + 1 < encoded.length && std::any_of(to.begin(), to.end(), [&](uint32_t next) { return states_[next]->bottom; }))
        return kDifferent;
      from.swap(to);
    }
    if (common == kUnknown) common = from.front();
    if (from.size() != 1 || from.front() != common) return kDifferent;
  }
  return common;
}

bool MaskCache::add_plain_tokens(uint32_t state, bool at_bottom, Entry& entry) {
  size_t characters = 0;
  const size_t most = TokenTable::kMostPlainCharacters;
  while (characters < most) {
    const uint32_t next = plain_step(state);
    if (next == kDifferent || (states_[next]->bottom && !at_bottom)) return false;
    if (next == kDead) break;
    // A state that leads to itself allows any number.
    if (next == state) characters = most;
    ++characters;
    state = next;
  }
  add_bits(entry.mask, tokens_.plain_up_to(std::min(characters, most)));
  return true;
}

void MaskCache::walk(const TokenTrie& trie, uint32_t root, uint32_t state, uint32_t trie_bit, Entry& entry) {
  const uint32_t end = trie.at(root).end;
  path_[trie.at(root).depth] = state;
  for (uint32_t index = root + 1; index < end;) {
    const TokenTrie::Node& node = trie.at(index);
    const uint32_t next = step(path_[node.depth - 1U], node.byte);
    if (next == kDead) {
      index = node.end;
      continue;
    }
    path_[node.depth] = next;
    for (const TokenId token : trie.tokens(index)) set_bit(entry.mask, token);
    if (states_[next]->bottom && node.end > index + 1) entry.returns.push_back(index | trie_bit);
    ++index;
  }
}

void MaskCache::drop_if_large() {
  const size_t bytes = steps_.size() * sizeof(uint32_t) + entries_.size() * mask_words(tokens_.vocab_size()) * sizeof(uint64_t);
  if (bytes < kMostBytes) return;
  arena_ = FrameArena();
  state_numbers_.clear();
  states_.clear();
  steps_.clear();
  plain_steps_.clear();
  first_entries_.clear();
  entries_.clear();
  static_cast<void>(state_of({}));
}

}  // namespace wick
