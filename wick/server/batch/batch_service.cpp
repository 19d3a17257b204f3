#include "wick/server/batch/batch_service.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "wick/base/error.h"
#include "wick/base/fail.h"
#include "wick/server/api_error.h"
#include "wick/server/batch/batch_input.h"
#include "wick/server/batch/batch_run.h"
#include "wick/server/worker.h"

namespace wick::server {
namespace {

constexpr std::chrono::seconds kBatchTick{1};  // between two looks at what is too late
constexpr std::chrono::seconds kRetry{5};      // after an error of the disk
constexpr int32_t kBatchPriority = -1;         // requests of clients that wait come first
constexpr const char* kOutputPurpose = "batch_output";

std::string status_of(const Json& batch) { return batch["status"].get<std::string>(); }

bool has_ended(const Json& batch) {
  const std::string status = status_of(batch);
  return status == "completed" || status == "failed" || status == "expired" || status == "cancelled";
}

bool is_too_late(const Json& object) {
  const auto found = object.find("expires_at");
  return found != object.end() && found->is_number_integer() && found->get<int64_t>() <= Worker::unix_time();
}

Json problem_json(const BatchProblem& problem) {
  return {{"code", problem.code},
          {"line", problem.line > 0 ? Json(problem.line) : Json(nullptr)},
          {"message", problem.message},
          {"param", nullptr}};
}

Json counts_json(const BatchResults& results, size_t total) {
  return {{"total", total}, {"completed", results.succeeded()}, {"failed", results.failed()}};
}

// "file-output-…" for "batch_…": known before the file is there, so that a restart finds it.
std::string file_id_for(const std::string& batch_id, std::string_view kind) {
  return fmt::format("file-{}-{}", kind, std::string_view(batch_id).substr(batch_id.find('_') + 1));
}

std::string input_of(const Json& batch) { return batch["input_file_id"].get<std::string>(); }

std::string url_of(const Json& batch) { return batch["endpoint"].get<std::string>(); }

}  // namespace

void BatchService::start() {
  thread_ = std::thread([this] { run(); });
}

void BatchService::stop() {
  {
    const std::scoped_lock lock(sleep_mutex_);
    stops_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BatchService::log(std::string_view level, const Json& batch) const {
  options_.log(level, {{"id", batch["id"]}, {"status", batch["status"]}, {"requests", batch["request_counts"]}});
}

void BatchService::wake() {
  {
    const std::scoped_lock lock(sleep_mutex_);
    has_news_ = true;
  }
  wake_.notify_all();
}

Json BatchService::create(Json batch) {
  store_.put_batch(batch);
  wake();
  return batch;
}

Json BatchService::change(const std::string& id, const std::function<void(Json&)>& edit) {
  const std::scoped_lock lock(mutex_);
  Json batch = store_.find(id).value();
  edit(batch);
  store_.put_batch(batch);
  return batch;
}

Json BatchService::cancel(const std::string& id) {
  Json batch = change(id, [](Json& batch) {
    if (has_ended(batch)) {
      throw ApiError(400, "INVALID_REQUEST", fmt::format("the batch cannot be cancelled: it is {}", status_of(batch)));
    }
    if (status_of(batch) == "cancelling" || status_of(batch) == "finalizing") return;
    batch["status"] = "cancelling";
    batch["cancelling_at"] = Worker::unix_time();
  });
  wake();
  return batch;
}

bool BatchService::reads(const std::string& file_id) const {
  for (const Json& batch : store_.list("batch")) {
    if (input_of(batch) == file_id && !has_ended(batch)) return true;
  }
  return false;
}

std::string BatchService::oldest_in(std::string_view status) const {
  std::string id;
  for (const Json& batch : store_.list("batch")) {
    if (batch["status"] == status) id = batch["id"].get<std::string>();
  }
  return id;
}

void BatchService::run() {
  while (!stops_) {
    std::chrono::seconds pause = kBatchTick;
    try {
      settle_all({});
      std::string id;
      // One that ended in the middle of its last steps comes first.
      for (const char* status : {"finalizing", "in_progress"}) {
        if (id.empty()) id = oldest_in(status);
      }
      if (!id.empty() && answer(id)) continue;
    } catch (const std::exception& error) {
      options_.log("warning", {{"message", error.what()}});
      pause = kRetry;
    }
    std::unique_lock lock(sleep_mutex_);
    wake_.wait_for(lock, pause, [this] { return stops_ || has_news_; });
    has_news_ = false;
  }
}

void BatchService::settle_all(const std::string& running) {
  for (const Json& batch : store_.list("batch")) {
    const std::string status = status_of(batch);
    if (batch["id"] == running || has_ended(batch)) continue;
    if (status == "cancelling") {
      batch["in_progress_at"].is_null() ? end_unread(batch, "cancelled") : end_waiting(batch);
    } else if (status == "validating") {
      is_too_late(batch) ? end_unread(batch, "expired") : validate(batch);
    }
  }
  for (const Json& file : store_.list("file")) {
    const std::string id = file["id"].get<std::string>();
    if (is_too_late(file) && !reads(id)) store_.remove_file(id);
  }
}

void BatchService::end_unread(const Json& batch, const char* status) {
  log("info", change(batch["id"].get<std::string>(), [&](Json& now) {
        now["status"] = status;
        now[fmt::format("{}_at", status)] = Worker::unix_time();
      }));
}

void BatchService::fail_batch(const Json& batch, const Json& errors) {
  log("warning", change(batch["id"].get<std::string>(), [&](Json& now) {
        now["status"] = "failed";
        now["failed_at"] = Worker::unix_time();
        now["errors"] = {{"object", "list"}, {"data", errors}};
      }));
}

void BatchService::validate(const Json& batch) {
  Json errors = Json::array();
  size_t total = 0;
  try {
    const BatchInput input(store_.path_of(input_of(batch)), url_of(batch));
    for (const BatchProblem& problem : input.problems()) errors.push_back(problem_json(problem));
    total = input.size();
  } catch (const Error& error) {
    const bool is_empty = error.code() == ErrorCode::corrupt_file;
    errors.push_back(
        problem_json({0, is_empty ? "empty_file" : "file_not_found", is_empty ? "there is no request in it" : "the file is gone"}));
  }
  if (!errors.empty()) return fail_batch(batch, errors);
  log("info", change(batch["id"].get<std::string>(), [&](Json& now) {
        if (status_of(now) != "validating") return;
        now["status"] = "in_progress";
        now["in_progress_at"] = Worker::unix_time();
        now["request_counts"]["total"] = total;
      }));
}

bool BatchService::goes_on(const std::string& id, const BatchResults& results) {
  if (stops_) return false;
  const Json batch = store_.find(id).value();
  const Json counts = counts_json(results, batch["request_counts"]["total"].get<size_t>());
  if (counts != batch["request_counts"]) store_.set_counts(id, counts);
  bool has_news = false;
  {
    const std::scoped_lock lock(sleep_mutex_);
    has_news = std::exchange(has_news_, false);
  }
  if (has_news) settle_all(id);
  return status_of(batch) == "in_progress" && !is_too_late(batch);
}

std::optional<BatchInput> BatchService::read_input(const Json& batch) {
  try {
    return BatchInput(store_.path_of(input_of(batch)), url_of(batch));
  } catch (const Error& error) {
    fail_batch(batch, Json::array({problem_json({0, "file_not_found", "the file is gone"})}));
    return std::nullopt;
  }
}

BatchResults BatchService::results_of(const std::string& id, const BatchInput& input) const {
  return {input, store_.path_of(file_id_for(id, "output")), store_.path_of(file_id_for(id, "errors"))};
}

void BatchService::end_waiting(const Json& batch) {
  const std::optional<BatchInput> input = read_input(batch);
  if (!input) return;
  const std::string id = batch["id"].get<std::string>();
  BatchResults results = results_of(id, *input);
  finish(id, results);
}

bool BatchService::answer(const std::string& id) {
  const std::optional<BatchInput> input = read_input(store_.find(id).value());
  if (!input) return true;
  BatchResults results = results_of(id, *input);
  const BatchRunOptions options{.at_once = options_.at_once(), .client = "batch", .is_shared = true, .priority = kBatchPriority};
  static_cast<void>(run_batch(router_, *input, results, options, [&] { return goes_on(id, results); }));
  if (stops_) return false;
  finish(id, results);
  return true;
}

void BatchService::finish(const std::string& id, BatchResults& results) {
  std::string end = "completed";
  Json batch = change(id, [&](Json& now) {
    if (results.is_complete()) {
      now["status"] = "finalizing";
    } else if (status_of(now) != "cancelling") {
      end = "expired";
    }
    if (status_of(now) == "finalizing" && now["finalizing_at"].is_null()) now["finalizing_at"] = Worker::unix_time();
  });
  if (status_of(batch) == "cancelling") end = "cancelled";
  const int64_t failed = results.failed();
  if (end == "expired") results.fail_rest("batch_expired", "the completion window ended before this request was answered");
  if (end == "cancelled") results.fail_rest("batch_cancelled", "the batch was cancelled before this request was answered");
  // Requests that were never answered count as failed where the batch is too late, and not where it was cancelled.
  const size_t total = batch["request_counts"]["total"].get<size_t>();
  Json counts = counts_json(results, total);
  if (end == "cancelled") counts["failed"] = failed;
  const bool has_errors = results.failed() > 0;
  const bool has_answers = results.succeeded() > 0;
  results.commit();
  std::optional<int64_t> expires_at;
  if (const auto after = batch.find("output_expires_after"); after != batch.end() && after->is_object()) {
    expires_at = Worker::unix_time() + (*after)["seconds"].get<int64_t>();
  }
  const std::string output_id = file_id_for(id, "output");
  const std::string errors_id = file_id_for(id, "errors");
  if (has_answers) store_.adopt_file(output_id, id + "_output.jsonl", kOutputPurpose, expires_at);
  if (has_errors) store_.adopt_file(errors_id, id + "_error.jsonl", kOutputPurpose, expires_at);
  log("info", change(id, [&](Json& now) {
        now["status"] = end;
        now[end + "_at"] = Worker::unix_time();
        now["request_counts"] = counts;
        if (has_answers) now["output_file_id"] = output_id;
        if (has_errors) now["error_file_id"] = errors_id;
      }));
}

}  // namespace wick::server
