// EngineMetrics is what an Engine has counted and measured so far, at one moment.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "wick/engine/generation.h"

namespace wick {

// Seconds by size: how many values were at most bounds()[i], one by one and not summed up, and behind them those that were more.
class LatencyHistogram {
 public:
  [[nodiscard]] static std::span<const double> bounds() noexcept;
  void add(double seconds) noexcept;
  [[nodiscard]] std::span<const uint64_t> counts() const noexcept { return counts_; }
  [[nodiscard]] uint64_t count() const noexcept { return count_; }
  [[nodiscard]] double sum() const noexcept { return sum_; }

 private:
  static constexpr size_t kBounds = 20;
  std::array<uint64_t, kBounds + 1> counts_ = {};
  uint64_t count_ = 0;
  double sum_ = 0;
};

struct EngineMetrics {
  // --- Now ---
  int64_t running = 0;                                            // choices that have memory
  int64_t waiting = 0;                                            // requests that have none yet, or none any more
  int64_t tokens_in_flight = 0;                                   // of both: their prompts, and what was generated
  int64_t kv_blocks = 0, kv_blocks_used = 0, kv_blocks_kept = 0;  // of the cache group that is fullest; kept: prefixes of what has ended
  int64_t cache_ram_bytes = 0;                                    // held in host memory
  bool loaded = true;                                             // whether the model is in memory (EngineOptions::unload_after)

  // --- Since the engine was made ---
  uint64_t steps = 0;
  uint64_t ahead_steps = 0;               // of these, queued before the host knew the tokens of the one before (EngineOptions::ahead)
  uint64_t reloads = 0;                   // of a model that had been let go of
  uint64_t requests = 0;                  // accepted by submit()
  uint64_t refused = 0;                   // since the queue was full or the engine draining
  std::array<uint64_t, 6> finished = {};  // choices by StopReason
  uint64_t failed = 0;                    // requests that ended with an ErrorEvent
  uint64_t prompt_tokens = 0;             // of requests whose prompt has been computed
  uint64_t generated_tokens = 0;
  uint64_t prefix_queried_tokens = 0;   // of prompts that were looked up in the prefix cache
  uint64_t prefix_hit_tokens = 0;       // of these, found
  uint64_t prefix_restored_tokens = 0;  // of these, in host memory or a file
  uint64_t preemptions = 0;
  uint64_t draft_tokens = 0, accepted_draft_tokens = 0;
  uint64_t recomputed_tokens = 0;  // since a state cannot take back a refused proposal alone

  // --- Time ---
  double step_seconds = 0;      // in step(), where there was work
  double model_seconds = 0;     // of that in the model, results waited for
  double sampling_seconds = 0;  // of that choosing tokens from logits
  // Time of a step outside the model: scheduling, building the batch, texts and events.
  [[nodiscard]] double host_seconds() const noexcept { return step_seconds - model_seconds - sampling_seconds; }

  LatencyHistogram time_to_first_token;
  LatencyHistogram inter_token;  // between events of a choice, after its first
  LatencyHistogram end_to_end;   // from submit() to the end
  LatencyHistogram queued, prefill, decode;
  double seconds_since_step = 0;  // since the last step ended; tells a watchdog whether a step hangs, with `running`
};

}  // namespace wick
