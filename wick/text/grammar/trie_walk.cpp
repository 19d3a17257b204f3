#include "wick/text/grammar/trie_walk.h"

#include <algorithm>
#include <bitset>
#include <utility>

namespace wick {
namespace {

// Overhead of a map's node in addition to its value.
constexpr size_t kStateNodeBytes = 48;
// So many are walked sooner than masks are joined.
constexpr uint32_t kFewTokens = 2000;

std::vector<std::vector<std::string>> characters_beyond_ascii(const Automaton& automaton) {
  std::vector<std::vector<std::string>> sequences;
  const auto add = [&](const Utf8Sequence& encoded) {
    std::vector<std::string>& places = sequences.emplace_back(encoded.length);
    for (size_t index = 0; index < places.size(); ++index) {
      std::bitset<256> seen;
      for (unsigned byte = encoded.bytes[index].first; byte <= encoded.bytes[index].second; ++byte) {
        const uint8_t of = automaton.byte_class(static_cast<uint8_t>(byte));
        if (!seen.test(of)) places[index] += static_cast<char>(byte);
        seen.set(of);
      }
    }
  };
  const CodePointSet beyond{{0x80, kLastCodePoint}};
  for (const auto& [first, last] : beyond.ranges()) {
    for (const Utf8Sequence& encoded : utf8_sequences(first, last)) add(encoded);
  }
  return sequences;
}

// The state that characters of most tokens lead to, but for `dead` and `different`; `dead`: there is none.
template <class Count>
uint32_t most_common(const std::array<uint32_t, CharacterClasses::kCount>& steps, uint32_t dead, uint32_t different, Count&& count) {
  std::vector<std::pair<uint32_t, uint64_t>> counts;  // of tokens, by state
  for (unsigned index = 0; index < steps.size(); ++index) {
    if (steps[index] == dead || steps[index] == different) continue;
    const auto same = std::find_if(counts.begin(), counts.end(), [&](const auto& entry) { return entry.first == steps[index]; });
    if (same == counts.end()) {
      counts.emplace_back(steps[index], count(index));
    } else {
      same->second += count(index);
    }
  }
  const auto best = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == counts.end() ? dead : best->first;
}

CharacterClasses classes_to(const std::array<uint32_t, CharacterClasses::kCount>& steps, uint32_t target) {
  CharacterClasses classes;
  for (unsigned index = 0; index < steps.size(); ++index) {
    if (steps[index] == target) classes.set(index);
  }
  return classes;
}

}  // namespace

size_t TrieWalk::StateHash::operator()(const Configurations& set) const noexcept {
  uint64_t hash = set.bottom ? 1 : 0;
  for (const Configuration& item : set.items) {
    hash = (hash ^ (uint64_t{item.node} << 32 | item.frame)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return static_cast<size_t>(hash);
}

TrieWalk::TrieWalk(const Automaton& automaton, const TokenTable& tokens)
    : automaton_(automaton),
      tokens_(tokens),
      stepper_(automaton, arena_),
      beyond_ascii_(characters_beyond_ascii(automaton)),
      path_(tokens.longest() + 2, kDead) {
  stepper_.set_limit(&work_);
  static_cast<void>(state_of({}));  // kDead
}

void TrieWalk::restart(FrameArena arena) {
  drop_states(0, 0);
  arena_ = std::move(arena);
}

void TrieWalk::allow(uint64_t units) {
  work_ = WorkLimit(units);
  allowed_ = units;
}

void TrieWalk::spend(uint64_t units, uint32_t state) {
  const bool is_done = work_.spend(units);
  if (is_done && arena_.bytes() <= kMaxArenaBytes) return;
  fail_ambiguous(
      automaton_, arena_, states_[state]->items,
      is_done ? "finding the tokens that may come next takes too much memory" : "finding the tokens that may come next takes too long");
}

uint32_t TrieWalk::state_of(Configurations set) {
  const auto [entry, added] = state_numbers_.try_emplace(std::move(set), static_cast<uint32_t>(states_.size()));
  if (added) {
    set_bytes_ += sizeof(Configurations) + sizeof(void*) + kStateNodeBytes + entry->first.items.capacity() * sizeof(Configuration);
    states_.push_back(&entry->first);
    steps_.resize(steps_.size() + automaton_.class_count(), entry->first.items.empty() ? kDead : kUnknown);
  }
  return entry->second;
}

void TrieWalk::find_step(uint32_t state, uint8_t byte) {
  const Configurations& from = *states_[state];
  spend(from.items.size(), state);
  uint8_t first = 0;
  uint8_t last = 0xFF;
  for (const Configuration& item : from.items) {
    for (const ByteEdge& edge : automaton_.bytes(automaton_.node(item.node))) {
      if (edge.last < byte) {
        first = std::max(first, static_cast<uint8_t>(edge.last + 1U));
      } else if (edge.first > byte) {
        last = std::min(last, static_cast<uint8_t>(edge.first - 1U));
      } else {
        first = std::max(first, edge.first);
        last = std::min(last, edge.last);
      }
    }
  }
  const uint32_t next = state_of(stepper_.step(from, byte));
  for (unsigned alike = first; alike <= last; ++alike) {
    steps_[size_t{state} * automaton_.class_count() + automaton_.byte_class(static_cast<uint8_t>(alike))] = next;
  }
}

uint32_t TrieWalk::step_beyond_ascii(uint32_t state) {
  uint32_t common = kUnknown;
  std::vector<uint32_t> from;
  std::vector<uint32_t> to;
  for (const std::vector<std::string>& places : beyond_ascii_) {
    from = {state};
    for (size_t index = 0; index < places.size(); ++index) {
      to.clear();
      for (const uint32_t current : from) {
        for (const char byte : places[index]) {
          const uint32_t next = step(current, static_cast<uint8_t>(byte));
          if (std::find(to.begin(), to.end(), next) == to.end()) to.push_back(next);
        }
      }
      // In the middle of a character a return to the base would have to be noted.
      if (index + 1 < places.size() && std::any_of(to.begin(), to.end(), [&](uint32_t next) { return states_[next]->bottom; }))
        return kDifferent;
      from.swap(to);
    }
    if (common == kUnknown) common = from.front();
    if (from.size() != 1 || from.front() != common) return kDifferent;
  }
  return common;
}

TrieWalk::ClassSteps TrieWalk::class_steps(uint32_t state, bool at_bottom) {
  ClassSteps steps;
  steps.fill(kUnknown);
  for (unsigned byte = 0; byte < 0x80; ++byte) {
    uint32_t& known = steps[CharacterClasses::of(static_cast<uint8_t>(byte))];
    const uint32_t next = step(state, static_cast<uint8_t>(byte));
    known = known == kUnknown || known == next ? next : kDifferent;
  }
  steps[CharacterClasses::kBeyond] = step_beyond_ascii(state);
  for (uint32_t& next : steps) {
    if (next == kUnknown || (next != kDifferent && !at_bottom && states_[next]->bottom)) next = kDifferent;
  }
  return steps;
}

std::optional<TrieWalk::Shortcut> TrieWalk::find_shortcut(uint32_t state, bool at_bottom) {
  const std::optional<Shortcut> shortcut = find_any_shortcut(state, at_bottom);
  return shortcut && saves_time(*shortcut) ? shortcut : std::nullopt;
}

bool TrieWalk::saves_time(const Shortcut& shortcut) const {
  constexpr uint64_t kManyCharacters = 1000;  // stand for those beyond ASCII
  uint64_t first = 0, rest = 0, holding = 0;
  for (unsigned index = 0; index < CharacterClasses::kCount; ++index) {
    if (index >= CharacterClasses::kLong && index < CharacterClasses::kLong + CharacterClasses::kLengths.size()) continue;
    const uint64_t characters = index == CharacterClasses::kBeyond ? kManyCharacters : 1;
    if (shortcut.first.test(index)) first += characters;
    if (!shortcut.rest.test(index)) continue;
    rest += characters;
    holding += tokens_.count_holding(index);
  }
  uint64_t texts = first, all = 0;  // of so many characters, and up to so many
  for (size_t length = 1; length <= shortcut.most && all < kFewTokens && texts > 0; ++length, texts = texts * rest) {
    all += texts;
    if (rest <= 1 && length > tokens_.longest()) break;
  }
  return std::min(all, first + holding) >= kFewTokens;
}

std::optional<TrieWalk::Shortcut> TrieWalk::find_any_shortcut(uint32_t state, bool at_bottom) {
  constexpr auto& lengths = CharacterClasses::kLengths;
  const ClassSteps first = class_steps(state, at_bottom);
  uint32_t at = most_common(first, kDead, kDifferent, [&](unsigned index) { return tokens_.count_beginning(index); });
  if (at == kDead) return std::nullopt;
  Shortcut shortcut{.first = classes_to(first, at), .rest = {}, .most = lengths[0]};
  uint32_t tokens = 0;
  for (unsigned index = 0; index < CharacterClasses::kCount; ++index)
    tokens += shortcut.first.test(index) ? tokens_.count_beginning(index) : 0;
  if (tokens < kFewTokens) return std::nullopt;
  // That the shortcut answers for texts of up to so many characters, or of any number.
  const auto answer = [&](size_t characters) {
    for (unsigned index = 0; index < lengths.size(); ++index) {
      if (characters >= lengths[index]) shortcut.most = lengths[index];
      if (index + 1 < lengths.size() ? characters >= lengths[index + 1] : characters > tokens_.longest())
        shortcut.rest.set(CharacterClasses::kLong + index);
    }
    if (characters > tokens_.longest()) shortcut.most = Shortcut::kAnyNumber;
    return shortcut;
  };
  for (size_t characters = 1; characters < lengths[0]; ++characters) {
    const ClassSteps steps = class_steps(at, at_bottom);
    const uint32_t next = most_common(steps, kDead, kDifferent, [&](unsigned index) { return tokens_.count_holding(index); });
    if (characters == 1) {
      if (next == kDead) return std::nullopt;
      shortcut.rest = classes_to(steps, next);
    } else if (shortcut.rest.is_within(classes_to(steps, kDead))) {
      static_cast<void>(answer(Shortcut::kAnyNumber));  // longer ones are refused
      shortcut.most = characters;
      return shortcut;
    } else if (!shortcut.rest.is_within(classes_to(steps, next))) {
      return std::nullopt;
    }
    if (next == at) return answer(Shortcut::kAnyNumber);
    if (const size_t more = sure_repetitions(at, next); characters + more >= lengths[0]) return answer(characters + more);
    at = next;
  }
  return answer(lengths[0]);
}

size_t TrieWalk::sure_repetitions(uint32_t state, uint32_t next) const {
  const Configurations& from = *states_[state];
  const Configurations& to = *states_[next];
  if (from.items.size() != to.items.size() || from.bottom != to.bottom) return 0;
  size_t most = SIZE_MAX;
  for (size_t index = 0; index < from.items.size(); ++index) {
    if (from.items[index].node != to.items[index].node) return 0;
    most = std::min(most, sure_repetitions_of(from.items[index].frame, to.items[index].frame));
  }
  return most;
}

size_t TrieWalk::sure_repetitions_of(uint32_t frame, uint32_t next_frame) const {
  if (frame == next_frame) return SIZE_MAX;
  const Frame& from = arena_.at(frame);
  const Frame& to = arena_.at(next_frame);
  if (frame == FrameArena::kBottom || next_frame == FrameArena::kBottom || from.call != to.call || from.seen != to.seen) return 0;
  const size_t below = sure_repetitions_of(from.parent, to.parent);
  if (from.count == to.count) return below;
  const AutomatonCall& call = automaton_.call(from.call);
  if (call.kind != AutomatonCall::Kind::repeat || to.count != from.count + 1) return 0;
  if (to.count < call.smallest) return std::min<size_t>(below, call.smallest - to.count - 1U);
  if (from.count < call.smallest) return 0;
  return call.largest == kUnlimited ? below : std::min<size_t>(below, call.largest - to.count);
}

void TrieWalk::walk(uint32_t root, uint32_t state, const Shortcut* shortcut, std::span<uint64_t> mask, std::vector<uint32_t>* returns) {
  const TokenTrie& trie = tokens_.trie();
  const uint32_t end = trie.at(root).end;
  path_[trie.at(root).depth] = state;
  unsigned common = 0;  // so much of the path is of the shortcut's characters
  for (uint32_t index = root + 1; index < end;) {
    const TokenTrie::Node& node = trie.at(index);
    common = std::min(common, node.depth - 1U);
    if (shortcut != nullptr && common == node.depth - 1U) {
      const unsigned own = CharacterClasses::of(node.byte);
      const bool is_common = (node.depth == 1 ? shortcut->first : shortcut->rest).test(own);
      if (is_common && trie.classes(index).is_within(shortcut->rest)) {
        index = node.end;
        continue;
      }
      if (is_common) common = node.depth;
    }
    if (state_bytes() > kMaxStateBytes) drop_states(trie.at(root).depth, node.depth);
    const uint32_t next = step(path_[node.depth - 1U], node.byte);
    spend(1, next);
    if (next == kDead) {
      index = node.end;
      continue;
    }
    path_[node.depth] = next;
    for (const TokenId token : trie.tokens(index)) mask[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
    if (returns != nullptr && states_[next]->bottom && node.end > index + 1) returns->push_back(index);
    ++index;
  }
}

void TrieWalk::drop_states(size_t first, size_t last) {
  std::vector<Configurations> kept;
  for (size_t depth = first; depth < last; ++depth) kept.push_back(*states_[path_[depth]]);
  state_numbers_.clear();
  states_.clear();
  steps_ = {};
  set_bytes_ = 0;
  static_cast<void>(state_of({}));
  for (size_t depth = first; depth < last; ++depth) path_[depth] = state_of(std::move(kept[depth - first]));
}

}  // namespace wick
