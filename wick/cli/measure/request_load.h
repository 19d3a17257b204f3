// A load of requests on an Engine: how fast they are answered, one by one and all together.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "wick/engine/engine.h"

namespace wick {

struct RequestLoad {
  int64_t requests = 64;
  int64_t concurrency = 8;  // the most in flight
  float rate = 0;           // requests a second that arrive by a Poisson process; 0: the next one when one has ended
  int64_t prompt_tokens = 128;
  int64_t shared_tokens = 0;    // of these, the first ones are the same in all prompts
  int64_t repeated_tokens = 0;  // the prompt is so many tokens over and over; 0: none is repeated
  int64_t max_tokens = 128;
  float temperature = 0;
  uint64_t seed = 1;                       // of arrivals and prompts
  std::vector<std::string> adapters = {};  // of the engine: requests use them round-robin, one each
};

// Percentiles in seconds.
struct Percentiles {
  double median = 0, p90 = 0, p99 = 0, maximum = 0;
};

// Percentiles of values in any order; zeros if there are none.
[[nodiscard]] Percentiles percentiles_of(std::vector<double> values);

struct LoadResult {
  RequestLoad load;
  double seconds = 0;  // from the first arrival to the last end
  int64_t prompt_tokens = 0, generated_tokens = 0, cached_tokens = 0, failed = 0;
  Percentiles first_token;        // from a request's arrival
  Percentiles first_token_later;  // of all but the first request
  Percentiles inter_token;        // between a request's tokens
  Percentiles end_to_end;
  uint64_t steps = 0, preemptions = 0, draft_tokens = 0, accepted_tokens = 0;
  double host_microseconds = 0;      // of a step, outside of the model and of sampling
  double sampling_microseconds = 0;  // of a step
  double generator_share = 0;        // of the time: what the load itself took, beside the engine's steps

  [[nodiscard]] double tokens_per_second() const noexcept;  // read and generated
  [[nodiscard]] double generated_per_second() const noexcept;
};

// Runs the engine's steps on this thread. Errors: invalid_argument for a prompt that does not fit; the engine's.
[[nodiscard]] LoadResult run_load(Engine& engine, const RequestLoad& load);

[[nodiscard]] nlohmann::ordered_json to_json(const Percentiles& of);
[[nodiscard]] nlohmann::ordered_json to_json(const LoadResult& result);
[[nodiscard]] std::string render_table(const std::vector<LoadResult>& results);

}  // namespace wick
