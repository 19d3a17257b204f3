#include "wick/engine/text_vectors.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "wick/base/fail.h"

namespace wick {

std::vector<std::vector<float>> text_vectors(const LanguageModel& model, std::span<const TextPair> texts,
                                             const std::optional<Pooling>& pooling, const std::function<void(size_t)>& done) {
  const ModelInfo& info = model.info();
  for (size_t index = 0; index < texts.size(); ++index) {
    const auto count = std::ssize(texts[index].tokens);
    if (count <= info.context_length) continue;
    fail(ErrorCode::context_full, "text {} has {} tokens and the context of {} holds {}; shorten it, or let it be cut (--truncate)", index,
         count, info.name, info.context_length);
  }
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t left, size_t right) { return texts[left].tokens.size() > texts[right].tokens.size(); });
  const bool of_tokens = pooling.value_or(info.pooling) == Pooling::rank && info.classifier && info.classifier->of_tokens;
  const int64_t most = rows_at_once(model.device());
  std::vector<std::vector<float>> results(texts.size());
  for (size_t first = 0; first < order.size();) {
    Batch batch;
    size_t end = first;
    while (end < order.size() && (end == first || batch.rows() + std::ssize(texts[order[end]].tokens) <= most)) {
      const TextPair& text = texts[order[end++]];
      batch.add({}, 0, text.tokens, Batch::Results::none);
      batch.sequences.back().second = text.second;
    }
    const std::unique_ptr<KvPool> pool =
        model.new_pool(std::ssize(texts[order[first]].tokens), static_cast<int64_t>(end - first));  // the longest comes first
    const Tensor pooled = model.forward(batch, *pool, {.result = ModelResult::pooled, .pooling = pooling, .stop = {}});
    const std::vector<float> values = pooled.to_vector<float>();
    auto next = values.begin();
    for (; first < end; ++first) {
      const int64_t rows = of_tokens ? std::ssize(texts[order[first]].tokens) : 1;
      results[order[first]].assign(next, next + rows * pooled.dim(1));
      next += rows * pooled.dim(1);
    }
    if (done) done(first);
  }
  return results;
}

}  // namespace wick
