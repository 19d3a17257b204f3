// A load of requests on a server that speaks OpenAI's API: when they arrive, and how fast each is answered.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wick/cli/measure/request_load.h"
#include "wick/server/http_client.h"

namespace wick {

struct HttpLoad {
  server::HttpUrl url = {};
  std::string api_key = {};
  std::string authorities = {};           // a file of certificates to trust in place of the system's, for https
  std::string model = {};                 // what requests name; empty: none
  bool is_chat = false;                   // chat completions; else completions
  std::vector<std::string> prompts = {};  // used round-robin
  int64_t requests = 64;
  int64_t concurrency = 8;  // the most in flight
  float rate = 0;           // requests a second that arrive by a Poisson process; 0: the next one when one has ended
  int64_t max_tokens = 128;
  float temperature = 0;
  bool ignore_eos = false;
  uint64_t seed = 1;                // of arrivals and of sampling
  std::chrono::seconds limit{600};  // of one request
};

struct HttpLoadResult {
  double seconds = 0;  // from the first arrival to the last end
  int64_t succeeded = 0;
  int64_t prompt_tokens = 0, generated_tokens = 0;
  std::map<std::string, int64_t> failures = {};  // by what went wrong: "status 429", "Connection refused"
  Percentiles first_token = {};                  // from a request's arrival, also while it waits for others to end
  Percentiles inter_token = {};                  // between two events with text
  Percentiles end_to_end = {};
  double cores = 0;  // that this process kept busy meanwhile
};

// Sends all requests, each on a thread of its own while it is in flight.
[[nodiscard]] HttpLoadResult run_http_load(const HttpLoad& load);

[[nodiscard]] nlohmann::ordered_json to_json(const HttpLoad& load, const HttpLoadResult& result);
[[nodiscard]] std::string render_report(const HttpLoadResult& result);

}  // namespace wick
