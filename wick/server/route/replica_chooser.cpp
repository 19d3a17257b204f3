#include "wick/server/route/replica_chooser.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/hash.h"

namespace wick::server {
namespace {

constexpr HashKey kHomeKey{.first = 0x082EFA98EC4E6C89u, .second = 0x452821E638D01377u, .odd = 0xBE5466CF34E90C6Du};

uint64_t weight(std::string_view name, uint64_t key) { return split_mix(keyed_hash(name, kHomeKey) ^ split_mix(key)); }

// Of the candidates with these indices the home of a key.
size_t home_of(uint64_t key, std::span<const ReplicaCandidate> candidates, std::span<const size_t> indices) {
  return *std::ranges::max_element(indices, {}, [&](size_t index) { return weight(candidates[index].name, key); });
}

// What a prompt without a replica of its own goes by; nothing for a short one that any replica answers as fast.
std::optional<uint64_t> home_key(const RouteKey& key, std::span<const ReplicaCandidate> candidates) {
  if (!key.blocks.empty()) return key.blocks.front();
  if (std::ranges::any_of(candidates, &ReplicaCandidate::model_is_adapter)) return keyed_hash(key.model, kHomeKey);
  return std::nullopt;
}

}  // namespace

std::string_view to_string(ChoiceReason reason) noexcept {
  switch (reason) {
    case ChoiceReason::session: return "session";
    case ChoiceReason::prefix: return "prefix";
    case ChoiceReason::home: return "home";
    case ChoiceReason::load: return "load";
  }
  return "";
}

size_t SentBlocks::count_known(std::span<const uint64_t> blocks) const {
  // A chain: where one is forgotten, so may be those before it, but not those that count.
  const auto unknown = std::ranges::find_if(blocks, [&](uint64_t block) { return !places_.contains(block); });
  return static_cast<size_t>(unknown - blocks.begin());
}

void SentBlocks::add(std::span<const uint64_t> blocks) {
  // From the end, so that the beginning, which more prompts share, is forgotten last.
  for (size_t i = blocks.size(); i-- > 0;) {
    const auto found = places_.find(blocks[i]);
    if (found != places_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      continue;
    }
    order_.push_front(blocks[i]);
    places_.emplace(blocks[i], order_.begin());
    if (places_.size() <= capacity_) continue;
    places_.erase(order_.back());
    order_.pop_back();
  }
}

ReplicaChoice ReplicaChooser::choose(const RouteKey& key, std::span<const ReplicaCandidate> candidates) {
  WICK_ASSERT(!candidates.empty());
  std::vector<size_t> held(candidates.size());
  std::vector<size_t> all(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    all[i] = i;
    const auto sent = sent_.find(candidates[i].name);
    if (sent != sent_.end()) held[i] = sent->second.count_known(key.blocks);
  }
  if (!key.session.empty()) {
    const size_t home = home_of(keyed_hash(key.session, kHomeKey), candidates, all);
    return {.index = home, .blocks_held = held[home], .reason = ChoiceReason::session};
  }
  const int64_t lowest = std::ranges::min(candidates, {}, &ReplicaCandidate::load).load;
  const int64_t highest = lowest > std::numeric_limits<int64_t>::max() - bound_ ? std::numeric_limits<int64_t>::max() : lowest + bound_;
  std::erase_if(all, [&](size_t index) { return candidates[index].load > highest; });
  const size_t most = held[*std::ranges::max_element(all, {}, [&](size_t index) { return held[index]; })];
  const std::optional<uint64_t> home = home_key(key, candidates);
  if (most == 0 && home) {
    return {.index = home_of(*home, candidates, all), .blocks_held = 0, .reason = ChoiceReason::home};
  }
  std::erase_if(all, [&](size_t index) { return held[index] < most; });
  const int64_t least = candidates[*std::ranges::min_element(all, {}, [&](size_t index) { return candidates[index].load; })].load;
  std::erase_if(all, [&](size_t index) { return candidates[index].load > least; });
  const size_t index = all.size() == 1 ? all.front() : all[turn_++ % all.size()];
  return {.index = index, .blocks_held = most, .reason = most > 0 ? ChoiceReason::prefix : ChoiceReason::load};
}

void ReplicaChooser::remember(std::string_view name, const RouteKey& key) {
  if (key.blocks.empty()) return;
  auto found = sent_.find(name);
  if (found == sent_.end()) found = sent_.emplace(std::string(name), SentBlocks(capacity_)).first;
  found->second.add(key.blocks);
}

void ReplicaChooser::forget(std::string_view name) {
  const auto found = sent_.find(name);
  if (found != sent_.end()) sent_.erase(found);
}

}  // namespace wick::server
