#include "wick/server/jobs.h"

#include <utility>

#include "wick/server/event_stream.h"
#include "wick/server/request_id.h"

namespace wick::server {
namespace {

constexpr size_t kKeptJobs = 256;
constexpr std::chrono::minutes kKeptFor{2};

}  // namespace

void Job::write(std::string text) {
  const std::scoped_lock lock(mutex_);
  text_ += text;
  if (reader_ != nullptr) reader_->write(std::move(text));
}

void Job::end() {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  ended_at_ = std::chrono::steady_clock::now();
  if (reader_ != nullptr) std::exchange(reader_, nullptr)->end();
}

void Job::stream_to(const Exchange& exchange) {
  begin_events(*exchange);
  const std::scoped_lock lock(mutex_);
  if (!text_.empty()) exchange->write(text_);
  if (ended_) {
    exchange->end();
    return;
  }
  if (reader_ != nullptr) reader_->end();
  reader_ = exchange;
  exchange->on_gone([answer = answer_] {
    if (const std::shared_ptr<Answer> live = answer.lock()) live->cancel();
  });
}

void Job::set_answer(const std::shared_ptr<Answer>& answer) {
  const std::scoped_lock lock(mutex_);
  answer_ = answer;
  if (cancelled_) answer->cancel();
}

bool Job::cancel() {
  const std::scoped_lock lock(mutex_);
  if (ended_) return false;
  cancelled_ = true;
  if (const std::shared_ptr<Answer> live = answer_.lock()) live->cancel();
  return true;
}

bool Job::has_ended() const {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

std::chrono::steady_clock::time_point Job::ended_at() const {
  const std::scoped_lock lock(mutex_);
  return ended_at_;
}

std::shared_ptr<Job> Jobs::create() {
  const auto job = std::make_shared<Job>("job-" + random_uuid());
  const std::scoped_lock lock(mutex_);
  forget_old();
  jobs_.emplace(job->id(), job);
  order_.push_back(job->id());
  return job;
}

std::shared_ptr<Job> Jobs::find(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second;
}

size_t Jobs::size() const {
  const std::scoped_lock lock(mutex_);
  return jobs_.size();
}

void Jobs::forget_old() {
  const auto now = std::chrono::steady_clock::now();
  size_t looked_at = order_.size();
  while (looked_at-- > 0) {
    const auto found = jobs_.find(order_.front());
    const bool has_ended = found->second->has_ended();
    const bool is_old = has_ended && (jobs_.size() >= kKeptJobs || now - found->second->ended_at() > kKeptFor);
    if (is_old) {
      jobs_.erase(order_.front());
      order_.pop_front();
    } else if (!has_ended) {
      // One that is under way is looked at again when those behind it have been.
      order_.push_back(std::move(order_.front()));
      order_.pop_front();
    } else {
      return;
    }
  }
}

}  // namespace wick::server
