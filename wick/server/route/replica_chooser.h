// A ReplicaChooser decides which replica gets a request: a session's own, else the one whose cache holds most of the prompt, unless it is
// busier than the least loaded one by a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "wick/server/route/route_key.h"

namespace wick::server {

// A replica that can answer a request.
struct ReplicaCandidate {
  std::string_view name;
  int64_t load = 0;               // requests that it computes or has in its queue
  bool model_is_adapter = false;  // the request's model is one of its adapters
};

enum class ChoiceReason { session, prefix, home, load };
[[nodiscard]] std::string_view to_string(ChoiceReason reason) noexcept;

struct ReplicaChoice {
  size_t index = 0;        // of the candidates
  size_t blocks_held = 0;  // of the prompt, as far as the chooser knows
  ChoiceReason reason = ChoiceReason::load;
};

// The blocks of the prompts that a replica was sent lately.
class SentBlocks {
 public:
  explicit SentBlocks(size_t capacity) : capacity_(capacity) {}

  // How many of these blocks, from the first, are known.
  [[nodiscard]] size_t count_known(std::span<const uint64_t> blocks) const;
  void add(std::span<const uint64_t> blocks);

 private:
  size_t capacity_;
  std::list<uint64_t> order_;  // the latest first
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> places_;
};

// Rules, in this order:
//   1. A session has a home: the replica with the highest hash of its name and the session (rendezvous hashing, Thaler & Ravishankar 1998).
//      It goes there while that replica is a candidate, whatever its load, and moves only when its home comes or goes.
//   2. Only replicas whose load is at most the lowest load plus the bound are considered further.
//   3. The one that was sent most blocks of the prompt; of several the least loaded.
//   4. If none was sent any, the home of the first block, or, for a short prompt, of the adapter.
//   5. Else the least loaded one, round-robin.
// Homes depend on names alone, so that a router that is started anew, or a second one, sends prompts where their caches are.
// One thread at a time.
class ReplicaChooser {
 public:
  explicit ReplicaChooser(int64_t bound, size_t blocks_of_a_replica = size_t{1} << 17U) : bound_(bound), capacity_(blocks_of_a_replica) {}

  // `candidates` is not empty.
  [[nodiscard]] ReplicaChoice choose(const RouteKey& key, std::span<const ReplicaCandidate> candidates);
  // The replica gets this request: its cache will hold the prompt.
  void remember(std::string_view name, const RouteKey& key);
  // The replica has gone, and its cache with it.
  void forget(std::string_view name);

 private:
  int64_t bound_;
  size_t capacity_;
  std::map<std::string, SentBlocks, std::less<>> sent_;
  size_t turn_ = 0;
};

}  // namespace wick::server
