// Jobs keep what a job's stream sends until somebody reads it: POST /v1/jobs begins one, GET /v1/jobs/{id}/stream reads it.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "wick/server/answer.h"
#include "wick/server/http_exchange.h"

namespace wick::server {

// One job: the events so far, and who reads them. Any number of threads may use it.
class Job {
 public:
  explicit Job(std::string id) : id_(std::move(id)) {}

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  void write(std::string text);
  // No more comes.
  void end();
  // Streams from the beginning, then what comes. One reader after another; a job that its reader leaves is cancelled.
  void stream_to(const Exchange& exchange);
  void set_answer(const std::shared_ptr<Answer>& answer);
  // Whether it was still under way.
  bool cancel();
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] std::chrono::steady_clock::time_point ended_at() const;

 private:
  std::string id_;
  mutable std::mutex mutex_;
  std::string text_;  // everything that was written
  bool ended_ = false, cancelled_ = false;
  std::chrono::steady_clock::time_point ended_at_ = {};
  Exchange reader_;
  std::weak_ptr<Answer> answer_;
};

// Jobs that have ended stay for a while, so that a reader that comes late finds them, and no more than so many.
class Jobs {
 public:
  [[nodiscard]] std::shared_ptr<Job> create();
  [[nodiscard]] std::shared_ptr<Job> find(const std::string& id);
  [[nodiscard]] size_t size() const;

 private:
  void forget_old();

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Job>> jobs_;
  std::deque<std::string> order_;
};

}  // namespace wick::server
