#include "wick/cli/measure/http_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "wick/base/error.h"
#include "wick/base/json.h"
#include "wick/server/json.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double seconds_from(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Puts events together from pieces, and notes when those with text came.
class EventReader {
 public:
  explicit EventReader(Clock::time_point arrived) : arrived_(arrived) {}

  void push(std::string_view piece) {
    text_ += piece;
    for (size_t end = text_.find("\n\n"); end != std::string::npos; end = text_.find("\n\n")) {
      take(std::string_view(text_).substr(0, end));
      text_.erase(0, end + 2);
    }
  }

  std::optional<double> first = {};
  std::vector<double> gaps = {};
  int64_t events = 0;  // with text
  int64_t prompt_tokens = 0, generated_tokens = 0;
  bool done = false;
  std::string error = {};
  [[nodiscard]] const std::string& rest() const noexcept { return text_; }

 private:
  void take(std::string_view event) {
    constexpr std::string_view kData = "data: ";
    if (!event.starts_with(kData)) return;
    event.remove_prefix(kData.size());
    if (event == "[DONE]") {
      done = true;
      return;
    }
    const Json json = parse_ordered_json(event);
    if (!json.is_object()) return;
    if (json.contains("error")) error = json["error"].value("message", "an error in the stream");
    if (json.contains("usage") && json["usage"].is_object()) {
      prompt_tokens = json["usage"].value("prompt_tokens", int64_t{0});
      generated_tokens = json["usage"].value("completion_tokens", int64_t{0});
    }
    if (has_text(json)) note_text();
  }
  static bool has_text(const Json& json) {
    if (!json.contains("choices") || !json["choices"].is_array() || json["choices"].empty()) return false;
    const Json& choice = json["choices"][0];
    const Json& delta = choice.contains("delta") ? choice["delta"] : choice;
    for (const char* name : {"text", "content", "reasoning_content"}) {
      if (delta.contains(name) && delta[name].is_string() && !delta[name].get_ref<const std::string&>().empty()) return true;
    }
    return delta.contains("tool_calls");
  }
  void note_text() {
    const double now = seconds_from(arrived_);
    ++events;
    if (first) gaps.push_back(now - last_);
    if (!first) first = now;
    last_ = now;
  }

  Clock::time_point arrived_;
  double last_ = 0;
  std::string text_;
};

class HttpLoadRun {
 public:
  explicit HttpLoadRun(const HttpLoad& load) : load_(load) {
    if (load_.url.is_secure || !load_.authorities.empty()) tls_ = server::make_tls_client(load_.authorities);
  }

  HttpLoadResult run() {
    plan_arrivals();
    start_ = Clock::now();
    const std::clock_t processor = std::clock();
    std::vector<std::thread> threads;
    const int64_t count = std::min(load_.concurrency, load_.requests);
    threads.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    result_.seconds = seconds_from(start_);
    result_.cores = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC / result_.seconds;
    result_.first_token = percentiles_of(std::move(firsts_));
    result_.inter_token = percentiles_of(std::move(gaps_));
    result_.end_to_end = percentiles_of(std::move(ends_));
    return std::move(result_);
  }

 private:
  void plan_arrivals() {
    std::mt19937_64 random(load_.seed);
    double at = 0;
    for (int64_t i = 0; i < load_.requests && load_.rate > 0; ++i) {
      arrivals_.push_back(at);
      at += -std::log1p(-static_cast<double>(random() >> 11) * 0x1p-53) / static_cast<double>(load_.rate);
    }
  }

  void work() {
    for (int64_t i = next_++; i < load_.requests; i = next_++) {
      Clock::time_point arrived = Clock::now();
      if (load_.rate > 0) {
        arrived = start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(arrivals_[static_cast<size_t>(i)]));
        std::this_thread::sleep_until(arrived);
      }
      send(i, arrived);
    }
  }

  [[nodiscard]] std::string body_of(int64_t index) const {
    Json body = {{"max_tokens", load_.max_tokens},
                 {"temperature", load_.temperature},
                 {"seed", load_.seed + static_cast<uint64_t>(index)},
                 {"stream", true},
                 {"stream_options", {{"include_usage", true}}}};
    if (!load_.model.empty()) body["model"] = load_.model;
    if (load_.ignore_eos) body["ignore_eos"] = true;
    const std::string& prompt = load_.prompts[static_cast<size_t>(index) % load_.prompts.size()];
    if (load_.is_chat) {
      body["messages"] = {{{"role", "user"}, {"content", prompt}}};
    } else {
      body["prompt"] = prompt;
    }
    return json_text(body);
  }

  void send(int64_t index, Clock::time_point arrived) {
    EventReader reader(arrived);
    std::string failure;
    try {
      const int status = server::post_json_streamed(load_.url, load_.is_chat ? "/v1/chat/completions" : "/v1/completions", body_of(index),
                                                    {.limit = load_.limit, .api_key = load_.api_key, .tls = tls_.get()},
                                                    [&](std::string_view piece) { reader.push(piece); });
      if (status != 200) failure = fmt::format("status {}{}", status, message_of(reader.rest()));
    } catch (const Error& error) {
      failure = error.what();
    }
    if (failure.empty() && !reader.error.empty()) failure = reader.error;
    if (failure.empty() && !reader.done) failure = "a stream that ended early";
    const double end = seconds_from(arrived);
    const std::scoped_lock lock(mutex_);
    if (!failure.empty()) {
      ++result_.failures[failure];
      return;
    }
    ++result_.succeeded;
    result_.prompt_tokens += reader.prompt_tokens;
    result_.generated_tokens += reader.generated_tokens > 0 ? reader.generated_tokens : reader.events;
    if (reader.first) firsts_.push_back(*reader.first);
    gaps_.insert(gaps_.end(), reader.gaps.begin(), reader.gaps.end());
    ends_.push_back(end);
  }

  // What the server says of a request that it refuses.
  static std::string message_of(const std::string& body) {
    const std::string message = server::error_message_in(parse_ordered_json(body));
    return message.empty() ? "" : ": " + message;
  }

  const HttpLoad& load_;
  std::shared_ptr<server::TlsClient> tls_;  // for https
  std::vector<double> arrivals_;
  Clock::time_point start_;
  std::atomic<int64_t> next_{0};
  std::mutex mutex_;
  HttpLoadResult result_;
  std::vector<double> firsts_, gaps_, ends_;
};

}  // namespace

HttpLoadResult run_http_load(const HttpLoad& load) { return HttpLoadRun(load).run(); }

Json to_json(const HttpLoad& load, const HttpLoadResult& result) {
  const auto per_second = [&](int64_t count) { return result.seconds > 0 ? static_cast<double>(count) / result.seconds : 0; };
  return {{"requests", load.requests},
          {"concurrency", load.concurrency},
          {"rate", load.rate},
          {"max_tokens", load.max_tokens},
          {"seconds", result.seconds},
          {"succeeded", result.succeeded},
          {"failed", load.requests - result.succeeded},
          {"failures", result.failures},
          {"total_prompt_tokens", result.prompt_tokens},
          {"total_generated_tokens", result.generated_tokens},
          {"requests_per_second", per_second(result.succeeded)},
          {"tokens_per_second", per_second(result.prompt_tokens + result.generated_tokens)},
          {"generated_tokens_per_second", per_second(result.generated_tokens)},
          {"time_to_first_token_seconds", to_json(result.first_token)},
          {"inter_token_seconds", to_json(result.inter_token)},
          {"end_to_end_seconds", to_json(result.end_to_end)},
          {"load_generator_cores", result.cores}};
}

std::string render_report(const HttpLoadResult& result) {
  const double seconds = std::max(result.seconds, 1e-9);
  std::string text = fmt::format("{} requests in {:.2f} s: {:.2f} a second, {:.1f} tokens/s read and generated, {:.1f} generated\n",
                                 result.succeeded, result.seconds, static_cast<double>(result.succeeded) / seconds,
                                 static_cast<double>(result.prompt_tokens + result.generated_tokens) / seconds,
                                 static_cast<double>(result.generated_tokens) / seconds);
  text += fmt::format("{:<14} {:>10} {:>10} {:>10} {:>10}\n", "milliseconds", "p50", "p90", "p99", "max");
  const auto row = [&](const char* name, const Percentiles& of) {
    text += fmt::format("{:<14} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f}\n", name, of.median * 1000, of.p90 * 1000, of.p99 * 1000,
                        of.maximum * 1000);
  };
  row("first token", result.first_token);
  row("next token", result.inter_token);
  row("whole answer", result.end_to_end);
  text += fmt::format("the load itself took {:.2f} of a core\n", result.cores);
  for (const auto& [what, count] : result.failures) text += fmt::format("{} failed: {}\n", count, what);
  return text;
}

}  // namespace wick
