#include "wick/engine/embedding_queue.h"

#include <algorithm>
#include <utility>

#include "wick/engine/host_rows.h"

namespace wick {
namespace {

// Rows of prompts to embed in one batch; a longer prompt is one by itself.
constexpr int64_t kEmbeddingRows = 512;

}  // namespace

EmbeddingQueue::Requests EmbeddingQueue::take(const KvPool& pool) {
  Requests chosen;
  int64_t rows = 0;
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const auto& left, const auto& right) { return left->request.priority > right->request.priority; });
  // Each takes a state of its own, where layers keep them.
  const KvPool::Usage states = pool.state_usage();
  const size_t most = states.blocks == 0 ? waiting_.size() : static_cast<size_t>(std::max<int64_t>(1, states.blocks - states.used));
  while (!waiting_.empty() && chosen.size() < most && (chosen.empty() || rows + std::ssize(waiting_.front()->prompt) <= kEmbeddingRows)) {
    rows += std::ssize(waiting_.front()->prompt);
    chosen.push_back(std::move(waiting_.front()));
    waiting_.erase(waiting_.begin());
  }
  return chosen;
}

double EmbeddingQueue::compute(std::span<const std::shared_ptr<ActiveRequest>> requests, const LanguageModel& model, KvPool& pool,
                               const EngineOptions& options, const EngineInfo& info, EngineMetrics& metrics) {
  const EngineClock::time_point begin = EngineClock::now();
  const bool has_each_token = options.embeds_each_token;
  Batch batch;
  for (const auto& request : requests) {
    request->started = begin;
    batch.add({}, 0, request->prompt, has_each_token ? Batch::Results::all : Batch::Results::none, request->adapters);
    batch.sequences.back().second = request->request.second;
  }
  const ModelResult result = has_each_token ? ModelResult::hidden : ModelResult::pooled;
  const Tensor pooled = model.forward(batch, pool, {.result = result, .pooling = options.pooling, .stop = {}});
  const std::span<const float> host = host_rows(pooled, host_);
  const EngineClock::time_point now = EngineClock::now();
  const bool of_tokens = has_each_token || (info.pooling == Pooling::rank && info.classifier && info.classifier->of_tokens);
  const size_t width = host.size() / (of_tokens ? batch.tokens.size() : requests.size());
  size_t first = 0;
  for (size_t index = 0; index < requests.size(); ++index) {
    ActiveRequest& request = *requests[index];
    const auto row = host.subspan(first, width * (of_tokens ? request.prompt.size() : 1));
    first += row.size();
    FinishEvent event{.reason = StopReason::end_of_sequence, .usage = request.usage, .embedding = {row.begin(), row.end()}};
    event.timings = {.queued = seconds_between(request.submitted, begin), .prefill = seconds_between(begin, now)};
    metrics.prompt_tokens += static_cast<uint64_t>(request.usage.prompt_tokens);
    ++metrics.finished[static_cast<size_t>(event.reason)];
    metrics.end_to_end.add(seconds_between(request.submitted, now));
    request.stream->push(PromptEvent{.usage = request.usage}, false);
    request.stream->push(std::move(event), true);
  }
  return seconds_between(begin, now);
}

}  // namespace wick
