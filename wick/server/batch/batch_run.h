// Answering a batch: its requests go to the server's own handlers, many at once, and their responses to the batch's files.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "wick/server/batch/batch_input.h"
#include "wick/server/batch/batch_results.h"
#include "wick/server/router.h"

namespace wick::server {

struct BatchRunOptions {
  int64_t at_once = 1;      // requests under way, as long as the queue takes them
  std::string client = {};  // whose requests they are, where users take turns
  // Whether others use the model, too: then a full queue, or a model that loads, is waited for; else it is an error.
  bool is_shared = false;
  int32_t priority = 0;  // of requests that have none
};

// Answers all requests that have no result. `go_on` is called some times a second; where it returns false, no further one begins, those
// under way are cancelled and get no result. Whether all have one. Errors: BatchResults::add's; device_lost where the model cannot go on.
[[nodiscard]] bool run_batch(const Router& router, const BatchInput& input, BatchResults& results, const BatchRunOptions& options,
                             const std::function<bool()>& go_on);

}  // namespace wick::server
