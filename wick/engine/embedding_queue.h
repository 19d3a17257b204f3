// An EmbeddingQueue holds requests for vectors and scores of texts, and computes as many at once as make a batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "wick/engine/engine_metrics.h"
#include "wick/engine/engine_options.h"
#include "wick/engine/sequence.h"
#include "wick/model/kv/kv_pool.h"
#include "wick/model/language_model.h"

namespace wick {

class EmbeddingQueue {
 public:
  using Requests = std::vector<std::shared_ptr<ActiveRequest>>;

  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] const Requests& waiting() const noexcept { return waiting_; }
  void add(std::shared_ptr<ActiveRequest> request) { waiting_.push_back(std::move(request)); }
  void put_back(const Requests& requests) { waiting_.insert(waiting_.begin(), requests.begin(), requests.end()); }
  void clear() noexcept { waiting_.clear(); }
  // Lets go of those that have ended.
  template <class HasEnded>
  void remove_if(HasEnded has_ended) {
    std::erase_if(waiting_, has_ended);
  }

  // Takes a few short prompts, or one of any length, those of higher priority first.
  [[nodiscard]] Requests take(const KvPool& pool);
  // Computes them in one batch and pushes each result to its request's stream. Returns the seconds that the model took. Errors: the
  // model's; no result has been pushed then.
  double compute(std::span<const std::shared_ptr<ActiveRequest>> requests, const LanguageModel& model, KvPool& pool,
                 const EngineOptions& options, const EngineInfo& info, EngineMetrics& metrics);

 private:
  Requests waiting_;
  std::vector<float> host_;  // of a device that is not the host
};

}  // namespace wick
