#include "wick/cli/measure/speed.h"

#include <algorithm>
#include <chrono>

#include "wick/base/fail.h"
#include "wick/cli/measure/statistics.h"
#include "wick/cli/progress_bar.h"

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
    const int64_t longest = std::max({options.prompt_tokens, options.gen_tokens, int64_t{1}});
    const int64_t context = model.info().context_length;
    if (longest > context || options.depth > context - longest) {
      fail(ErrorCode::context_full,
           "--depth {}: that many tokens and {} more do not fit the context of {}, {}; lower --depth, --prompt-tokens or --max-tokens",
           options.depth, longest, model.info().name, context);
    }
    tokens_ = spread_tokens(std::max(longest + options.sequences, options.depth), model.info().vocab_size);
    pool_ = model.new_pool(options.depth + longest, options.sequences);
    for (int64_t index = 0; index < options.sequences; ++index) {
      sequences_.push_back(std::make_unique<CachedSequence>(pool_));
      if (options.depth > 0) (void)model.forward(first_tokens(options.depth), *sequences_.back(), LogitRows::last);
    }
  }

  double time_first_token() {
    return timed([&] { (void)model_.forward(first_tokens(1), *sequences_.front(), LogitRows::last); });
  }

  [[nodiscard]] int64_t prefills() const { return options_.all_logits ? std::max<int64_t>(1, options_.gen_tokens) : 1; }

  // In seconds; 0 if there is nothing to do.
  double time_prefill() {
    if (options_.prompt_tokens == 0) return 0;
    const LogitRows rows = options_.all_logits ? LogitRows::all : LogitRows::last;
    return timed([&] {
      for (int64_t run = 0; run < prefills(); ++run) {
        if (run > 0) sequences_.front()->truncate(options_.depth);
        (void)model_.forward(first_tokens(options_.prompt_tokens), *sequences_.front(), rows);
      }
    });
  }

  double time_decode() {
    if (options_.gen_tokens == 0) return 0;
    return timed([&] {
      for (int64_t step = 0; step < options_.gen_tokens; ++step) {
        Batch batch;
        for (size_t index = 0; index < sequences_.size(); ++index) {
          const auto token = std::span(tokens_).subspan(static_cast<size_t>(step) + index, 1);
          batch.add(sequences_[index]->handle(), options_.depth + step, token, Batch::Results::last);
        }
        (void)model_.forward(batch, *pool_);
      }
    });
  }

 private:
  [[nodiscard]] std::span<const int32_t> first_tokens(int64_t count) const { return std::span(tokens_).first(static_cast<size_t>(count)); }

  template <class Body>
  double timed(const Body& body) {
    for (const auto& sequence : sequences_) sequence->truncate(options_.depth);
    const auto start = std::chrono::steady_clock::now();
    body();
    model_.device().synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  const LanguageModel& model_;
  const SpeedOptions& options_;
  std::vector<int32_t> tokens_;
  std::shared_ptr<KvPool> pool_;
  std::vector<std::unique_ptr<CachedSequence>> sequences_;
};

}  // namespace

Speed measure_speed(const Console& console, LanguageModel& model, const SpeedOptions& options) {
  Stopwatch stopwatch(model, options);
  const double first_token_seconds = stopwatch.time_first_token();
  model.device().runtime().finish_preparing();
  std::vector<double> prefill;
  std::vector<double> decode;
  ProgressBar bar(console, "bench");
  const auto total = static_cast<uint64_t>(options.reps + 1);
  for (int64_t rep = -1; rep < options.reps; ++rep) {  // the first one warms up
    const double prefill_seconds = stopwatch.time_prefill();
    const double decode_seconds = stopwatch.time_decode();
    bar.update(static_cast<uint64_t>(rep + 2), total);
    if (rep < 0) continue;
    if (prefill_seconds > 0) prefill.push_back(static_cast<double>(options.prompt_tokens * stopwatch.prefills()) / prefill_seconds);
    if (decode_seconds > 0) decode.push_back(static_cast<double>(options.gen_tokens * options.sequences) / decode_seconds);
  }
  return {first_token_seconds, summarize(prefill), summarize(decode)};
}

}  // namespace wick
