#include "wick/cli/measure/request_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <optional>
#include <random>
#include <thread>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/measure/statistics.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double seconds_between(Clock::time_point start, Clock::time_point end) { return std::chrono::duration<double>(end - start).count(); }

class LoadRun {
 public:
  LoadRun(Engine& engine, const RequestLoad& load) : engine_(engine), load_(load), random_(load.seed) {
    if (load.prompt_tokens + load.max_tokens > engine.info().context) {
      fail(ErrorCode::context_full,
           "--requests: {} + {} tokens are more than the context of {} holds; lower --prompt-tokens or --max-tokens", load.prompt_tokens,
           load.max_tokens, engine.info().context);
    }
    shared_ = random_tokens(std::min(load.shared_tokens, load.prompt_tokens));
  }

  LoadResult run() {
    const EngineMetrics before = engine_.metrics();
    start_ = Clock::now();
    arrival_ = start_;
    double stepping = 0;
    while (ended_ < load_.requests) {
      arrive();
      if (flying_.empty()) {
        std::this_thread::sleep_until(arrival_);
        continue;
      }
      const Clock::time_point begin = Clock::now();
      (void)engine_.step();
      now_ = Clock::now();
      stepping += seconds_between(begin, now_);
      std::erase_if(flying_, [this](Flight& flight) { return take(flight); });
    }
    LoadResult result = total(before, engine_.metrics());
    result.generator_share = 1 - (stepping + slept_) / result.seconds;
    return result;
  }

 private:
  struct Flight {
    Stream stream;
    Clock::time_point arrived;
    std::optional<Clock::time_point> last;
    bool is_first = false;
  };

  std::vector<TokenId> random_tokens(int64_t count) {
    std::vector<TokenId> tokens(static_cast<size_t>(count));
    for (TokenId& token : tokens) token = static_cast<TokenId>(random_() % static_cast<uint64_t>(engine_.tokenizer().vocab_size()));
    return tokens;
  }

  void arrive() {
    while (started_ < load_.requests && std::ssize(flying_) < load_.concurrency) {
      const Clock::time_point now = Clock::now();
      if (load_.rate > 0 && now < arrival_) {
        if (flying_.empty()) slept_ += seconds_between(now, arrival_);
        return;
      }
      submit(load_.rate > 0 ? arrival_ : now);
      if (load_.rate <= 0) continue;
      const double wait = -std::log1p(-static_cast<double>(random_() >> 11) * 0x1p-53) / static_cast<double>(load_.rate);
      arrival_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait));
    }
  }

  void submit(Clock::time_point arrived) {
    Request request{.tokens = shared_};
    const int64_t period = load_.repeated_tokens > 0 ? load_.repeated_tokens : load_.prompt_tokens;
    const std::vector<TokenId> own = random_tokens(period);
    while (std::ssize(request.tokens) < load_.prompt_tokens) {
      request.tokens.push_back(own[(request.tokens.size() - shared_.size()) % own.size()]);
    }
    request.params.max_tokens = load_.max_tokens;
    request.params.ignore_eos = true;
    request.params.sampling.temperature = load_.temperature;
    request.params.sampling.seed = load_.seed + static_cast<uint64_t>(started_);
    if (!load_.adapters.empty()) {
      request.params.adapters.push_back({load_.adapters[static_cast<size_t>(started_) % load_.adapters.size()], {}});
    }
    flying_.push_back({engine_.submit(std::move(request)), arrived, std::nullopt, started_ == 0});
    ++started_;
  }

  // Whether it has ended.
  bool take(Flight& flight) {
    while (const std::optional<StreamEvent> event = flight.stream.poll()) {
      if (const auto* prompt = std::get_if<PromptEvent>(&*event)) {
        result_.prompt_tokens += prompt->usage.prompt_tokens;
        result_.cached_tokens += prompt->usage.cached_tokens;
      } else if (std::holds_alternative<TokenEvent>(*event)) {
        ++result_.generated_tokens;
        if (flight.last) {
          gaps_.push_back(seconds_between(*flight.last, now_));
        } else {
          firsts_.push_back(seconds_between(flight.arrived, now_));
          if (!flight.is_first) later_firsts_.push_back(firsts_.back());
        }
        flight.last = now_;
      } else if (std::holds_alternative<ErrorEvent>(*event)) {
        ++result_.failed;
      }
    }
    if (!flight.stream.ended()) return false;
    ++ended_;
    ends_.push_back(seconds_between(flight.arrived, now_));
    return true;
  }

  LoadResult total(const EngineMetrics& before, const EngineMetrics& after) {
    result_.load = load_;
    result_.seconds = seconds_between(start_, now_);
    result_.first_token = percentiles_of(firsts_);
    result_.first_token_later = percentiles_of(later_firsts_);
    result_.inter_token = percentiles_of(gaps_);
    result_.end_to_end = percentiles_of(ends_);
    result_.steps = after.steps - before.steps;
    result_.preemptions = after.preemptions - before.preemptions;
    result_.draft_tokens = after.draft_tokens - before.draft_tokens;
    result_.accepted_tokens = after.accepted_draft_tokens - before.accepted_draft_tokens;
    const double each = 1e6 / static_cast<double>(std::max<uint64_t>(1, result_.steps));
    result_.host_microseconds = (after.host_seconds() - before.host_seconds()) * each;
    result_.sampling_microseconds = (after.sampling_seconds - before.sampling_seconds) * each;
    return result_;
  }

  Engine& engine_;
  RequestLoad load_;
  std::mt19937_64 random_;
  std::vector<TokenId> shared_;
  Clock::time_point start_, arrival_, now_;
  std::vector<Flight> flying_;
  int64_t started_ = 0, ended_ = 0;
  double slept_ = 0;
  std::vector<double> firsts_, later_firsts_, gaps_, ends_;
  LoadResult result_;
};

double share(int64_t part, int64_t whole) { return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0; }

}  // namespace

Percentiles percentiles_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.9), quantile(values, 0.99), values.back()};
}

Json to_json(const Percentiles& of) { return {{"median", of.median}, {"p90", of.p90}, {"p99", of.p99}, {"max", of.maximum}}; }

double LoadResult::tokens_per_second() const noexcept {
  return seconds > 0 ? static_cast<double>(prompt_tokens + generated_tokens) / seconds : 0;
}

double LoadResult::generated_per_second() const noexcept { return seconds > 0 ? static_cast<double>(generated_tokens) / seconds : 0; }

LoadResult run_load(Engine& engine, const RequestLoad& load) { return LoadRun(engine, load).run(); }

Json to_json(const LoadResult& result) {
  const RequestLoad& load = result.load;
  return {{"requests", load.requests},
          {"concurrency", load.concurrency},
          {"rate", load.rate},
          {"prompt_tokens", load.prompt_tokens},
          {"shared_tokens", load.shared_tokens},
          {"max_tokens", load.max_tokens},
          {"adapters", load.adapters},
          {"seconds", result.seconds},
          {"failed", result.failed},
          {"total_prompt_tokens", result.prompt_tokens},
          {"total_generated_tokens", result.generated_tokens},
          {"tokens_per_second", result.tokens_per_second()},
          {"generated_tokens_per_second", result.generated_per_second()},
          {"time_to_first_token_seconds", to_json(result.first_token)},
          {"time_to_first_token_seconds_after_first", to_json(result.first_token_later)},
          {"inter_token_seconds", to_json(result.inter_token)},
          {"end_to_end_seconds", to_json(result.end_to_end)},
          {"prefix_hit_rate", share(result.cached_tokens, result.prompt_tokens)},
          {"steps", result.steps},
          {"host_microseconds_per_step", result.host_microseconds},
          {"sampling_microseconds_per_step", result.sampling_microseconds},
          {"load_generator_share", result.generator_share},
          {"preemptions", result.preemptions},
          {"draft_tokens", result.draft_tokens},
          {"accepted_draft_tokens", result.accepted_tokens}};
}

std::string render_table(const std::vector<LoadResult>& results) {
  std::string text =
      fmt::format("{:>8} {:>6} {:>9} {:>9}  {:<26} {:<26} {:>6} {:>7} {:>9} {:>9}\n", "in flight", "rate", "tokens/s", "generated",
                  "first token ms p50/p90/p99", "next token ms p50/p90/p99", "prefix", "draft", "host µs", "sample µs");
  const auto times = [](const Percentiles& of) {
    return fmt::format("{:.1f} / {:.1f} / {:.1f}", of.median * 1000, of.p90 * 1000, of.p99 * 1000);
  };
  for (const LoadResult& result : results) {
    text += fmt::format("{:>9} {:>6} {:>9.1f} {:>9.1f}  {:<26} {:<26} {:>5.0f}% {:>6.0f}% {:>8.1f} {:>9.1f}\n", result.load.concurrency,
                        result.load.rate > 0 ? fmt::format("{:.2f}/s", result.load.rate) : "-", result.tokens_per_second(),
                        result.generated_per_second(), times(result.first_token), times(result.inter_token),
                        100 * share(result.cached_tokens, result.prompt_tokens),
                        100 * share(static_cast<int64_t>(result.accepted_tokens), static_cast<int64_t>(result.draft_tokens)),
                        result.host_microseconds, result.sampling_microseconds);
  }
  return text;
}

}  // namespace wick
