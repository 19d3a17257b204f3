#include "wick/server/metrics_text.h"

#include <map>

#include "wick/server/metrics_writer.h"

namespace wick::server {
namespace {

void write_now(MetricsWriter& writer, const EngineMetrics& metrics, int64_t slots) {
  writer.gauge("num_requests_running", "Choices that are computed.", static_cast<double>(metrics.running));
  writer.gauge("num_requests_waiting", "Requests in the queue.", static_cast<double>(metrics.waiting));
  writer.gauge("num_tokens_in_flight", "Tokens of the prompts and answers of these.", static_cast<double>(metrics.tokens_in_flight));
  writer.gauge("num_slots", "Choices that can be computed at once.", static_cast<double>(slots));
  const double blocks = static_cast<double>(metrics.kv_blocks);
  writer.gauge("kv_cache_usage_perc", "Share of the KV cache in use, from 0 to 1.",
               blocks > 0 ? static_cast<double>(metrics.kv_blocks_used) / blocks : 0);
  writer.gauge("cache_ram_bytes", "Host memory that holds cached sequences.", static_cast<double>(metrics.cache_ram_bytes));
}

void write_counts(MetricsWriter& writer, const EngineMetrics& metrics) {
  const auto count = [&](std::string_view name, std::string_view help, uint64_t value) {
    writer.counter(name, help, static_cast<double>(value));
  };
  count("prefix_cache_queries_total", "Prompt tokens that were looked up in the prefix cache.", metrics.prefix_queried_tokens);
  count("prefix_cache_hits_total", "Prompt tokens that were found there.", metrics.prefix_hit_tokens);
  count("prompt_tokens_total", "Prompt tokens of the requests whose prompts were computed.", metrics.prompt_tokens);
  count("generation_tokens_total", "Tokens generated.", metrics.generated_tokens);
  count("num_preemptions_total", "Times that a choice's memory was needed for others.", metrics.preemptions);
  count("requests_refused_total", "Requests refused since the queue was full.", metrics.refused);
  count("requests_failed_total", "Requests that ended with an error.", metrics.failed);
  count("engine_steps_total", "Steps of the engine.", metrics.steps);
  count("spec_decode_num_draft_tokens_total", "Tokens proposed by speculation.", metrics.draft_tokens);
  count("spec_decode_num_accepted_tokens_total", "Proposed tokens that were right.", metrics.accepted_draft_tokens);
  count("spec_decode_num_recomputed_tokens_total", "Tokens computed again after wrong proposals.", metrics.recomputed_tokens);
  writer.counter("engine_host_seconds_total", "Time of steps outside of the model and the sampler.", metrics.host_seconds());
  writer.counter("engine_model_seconds_total", "Time of steps in the model.", metrics.model_seconds);
  writer.family("request_success_total", "Choices that ended, by reason.", "counter");
  std::map<std::string_view, uint64_t> finished;
  for (size_t i = 0; i < metrics.finished.size(); ++i) finished[finish_reason(static_cast<StopReason>(i))] += metrics.finished[i];
  for (const auto& [reason, number] : finished) {
    writer.sample("request_success_total", {{"finished_reason", reason}}, static_cast<double>(number));
  }
}

}  // namespace

std::string metrics_text(const Worker& worker) {
  const std::shared_ptr<Service> service = worker.service_if_ready();
  MetricsWriter writer(worker.options().metrics_prefix,
                       {{"model_name", service == nullptr ? worker.options().model_ref : service->model_id}});
  writer.gauge("ready", "1 if requests are taken.", service != nullptr && service->engine->accepts() ? 1 : 0);
  if (service == nullptr) return writer.take();
  const EngineMetrics metrics = service->engine->metrics();
  write_now(writer, metrics, service->engine->info().sequences);
  write_counts(writer, metrics);
  writer.histogram("time_to_first_token_seconds", "From a request's arrival to its first token.", metrics.time_to_first_token);
  writer.histogram("inter_token_latency_seconds", "Between two tokens of a choice.", metrics.inter_token);
  writer.histogram("time_per_output_token_seconds", "Between two tokens of a choice.", metrics.inter_token);
  writer.histogram("e2e_request_latency_seconds", "From a request's arrival to its end.", metrics.end_to_end);
  writer.histogram("request_queue_time_seconds", "Time in the queue.", metrics.queued);
  writer.histogram("request_prefill_time_seconds", "Time until the prompt was computed.", metrics.prefill);
  writer.histogram("request_decode_time_seconds", "From the first token to the last.", metrics.decode);
  if (worker.options().device_metrics) {
    const Json device = worker.options().device_metrics();
    for (const auto& [name, value] : device.items()) {
      if (value.is_number()) writer.gauge("device_" + name, "Told by the device's driver.", value.get<double>());
    }
  }
  return writer.take();
}

}  // namespace wick::server
