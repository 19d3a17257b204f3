// A BatchService answers the batches of a BatchStore, one after another, on a thread of its own, through the server's handlers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>

#include "wick/server/batch/batch_input.h"
#include "wick/server/batch/batch_results.h"
#include "wick/server/batch/batch_store.h"
#include "wick/server/router.h"

namespace wick::server {

struct BatchServiceOptions {
  std::function<int64_t()> at_once = {};  // requests under way
  // An event for the log: "batch", {"id": …}.
  std::function<void(std::string_view level, const Json& details)> log = {};
};

class BatchService {
 public:
  // `router` and `store` must outlive it.
  BatchService(BatchStore& store, const Router& router, BatchServiceOptions options)
      : store_(store), router_(router), options_(std::move(options)) {}
  BatchService(const BatchService&) = delete;
  BatchService& operator=(const BatchService&) = delete;
  ~BatchService() { stop(); }

  void start();
  // Ends the thread. A batch that is under way keeps its results and goes on when the next process starts.
  void stop();

  // Creates a batch and returns its object. Errors: io.
  Json create(Json batch);
  // Returns the object of the batch, which is cancelled or will soon be. Errors: ApiError where it has ended already.
  Json cancel(const std::string& id);
  // Whether a batch that has not ended reads the file.
  [[nodiscard]] bool reads(const std::string& file_id) const;

 private:
  void run();
  // Reads new batches, ends those that are cancelled or too late before they have begun, removes files whose time is over.
  void settle_all(const std::string& running);
  void validate(const Json& batch);
  // Opens the batch's input; a batch whose file is gone fails.
  [[nodiscard]] std::optional<BatchInput> read_input(const Json& batch);
  [[nodiscard]] BatchResults results_of(const std::string& id, const BatchInput& input) const;
  // Whether the batch is to go on.
  [[nodiscard]] bool answer(const std::string& id);
  [[nodiscard]] bool goes_on(const std::string& id, const BatchResults& results);
  void finish(const std::string& id, BatchResults& results);
  void end_unread(const Json& batch, const char* status);
  // Ends a cancelled batch that has begun, or waits for its turn.
  void end_waiting(const Json& batch);
  void fail_batch(const Json& batch, const Json& errors);
  [[nodiscard]] std::string oldest_in(std::string_view status) const;
  // Changes the state of a batch as it is now, whoever has changed it meanwhile.
  Json change(const std::string& id, const std::function<void(Json&)>& edit);
  void log(std::string_view level, const Json& batch) const;
  // Lets the thread look at the batches now.
  void wake();

  BatchStore& store_;
  const Router& router_;
  BatchServiceOptions options_;
  std::mutex mutex_;  // of changes of batches
  std::mutex sleep_mutex_;
  std::condition_variable wake_;
  bool has_news_ = false;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

}  // namespace wick::server
