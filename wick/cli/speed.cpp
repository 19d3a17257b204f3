#include "wick/cli/speed.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "wick/base/fail.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/statistics.h"

namespace wick {
namespace {

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  Summary summary{.samples = values};
  RunningMean mean;
  for (const double value : values) mean.add(value);
  summary.mean = mean.mean();
  summary.deviation = mean.deviation();
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  summary.median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  summary.minimum = values.front();
  summary.maximum = values.back();
  return summary;
}

// Ids spread over the vocabulary. Speed does not depend on which, but a mixture of experts or a table's pages might.
std::vector<int32_t> spread_tokens(int64_t count, int64_t vocab_size) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int64_t index = 0; index < count; ++index)
    tokens[static_cast<size_t>(index)] = static_cast<int32_t>((index * 7919 + 13) % vocab_size);
  return tokens;
}

class Stopwatch {
 public:
  Stopwatch(const LanguageModel& model, const SpeedOptions& options) : model_(model), options_(options) {
    const int64_t longest = std::max(options.prompt_tokens, options.gen_tokens);
    const int64_t context = model.info().context_length;
    if (longest > context || options.depth > context - longest) {
      fail(ErrorCode::context_full,
           "{} tokens at depth {} are more than the context of {} holds, {}; lower --prompt-tokens, --max-tokens or --depth", longest,
           options.depth, model.info().name, context);
    }
    tokens_ = spread_tokens(std::max(longest, options.depth), model.info().vocab_size);
    cache_ = model.new_cache(options.depth + longest);
    if (options.depth > 0) (void)model.forward(first_tokens(options.depth), *cache_, LogitRows::last);
  }

  double time_first_token() {
    return timed([&] { (void)model_.forward(first_tokens(1), *cache_, LogitRows::last); });
  }

  // In seconds; 0 if there is nothing to do.
  double time_prefill() {
    if (options_.prompt_tokens == 0) return 0;
    return timed([&] { (void)model_.forward(first_tokens(options_.prompt_tokens), *cache_, LogitRows::last); });
  }

  double time_decode() {
    if (options_.gen_tokens == 0) return 0;
    return timed([&] {
      for (int64_t step = 0; step < options_.gen_tokens; ++step) {
        (void)model_.forward(std::span(tokens_).subspan(static_cast<size_t>(step), 1), *cache_, LogitRows::last);
      }
    });
  }

 private:
  [[nodiscard]] std::span<const int32_t> first_tokens(int64_t count) const { return std::span(tokens_).first(static_cast<size_t>(count)); }

  template <class Body>
  double timed(const Body& body) {
    cache_->truncate(options_.depth);
    const auto start = std::chrono::steady_clock::now();
    body();
    model_.device().synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  const LanguageModel& model_;
  const SpeedOptions& options_;
  std::vector<int32_t> tokens_;
  std::unique_ptr<KvCache> cache_;
};

}  // namespace

Speed measure_speed(const Console& console, LanguageModel& model, const SpeedOptions& options) {
  Stopwatch stopwatch(model, options);
  const double first_token_seconds = stopwatch.time_first_token();
  (void)model.rearrange(std::numeric_limits<double>::infinity());
  std::vector<double> prefill;
  std::vector<double> decode;
  ProgressBar bar(console, "bench");
  const auto total = static_cast<uint64_t>(options.reps + 1);
  for (int64_t rep = -1; rep < options.reps; ++rep) {  // the first one warms up
    const double prefill_seconds = stopwatch.time_prefill();
    const double decode_seconds = stopwatch.time_decode();
    bar.update(static_cast<uint64_t>(rep + 2), total);
    if (rep < 0) continue;
    if (prefill_seconds > 0) prefill.push_back(static_cast<double>(options.prompt_tokens) / prefill_seconds);
    if (decode_seconds > 0) decode.push_back(static_cast<double>(options.gen_tokens) / decode_seconds);
  }
  return {first_token_seconds, summarize(prefill), summarize(decode)};
}

}  // namespace wick
