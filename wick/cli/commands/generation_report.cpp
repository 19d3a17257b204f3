#include "wick/cli/commands/generation_report.h"

#include <fmt/format.h>

#include "wick/base/json.h"
#include "wick/base/process.h"
#include "wick/cli/text_format.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

std::string rate(int64_t tokens, double tokens_per_second) {
  return tokens > 0 && tokens_per_second > 0 ? fmt::format(", {:.1f} tokens/s", tokens_per_second) : "";
}

std::string drafted(const GenerationResult& result) {
  return result.draft_tokens > 0 ? fmt::format("; draft {} of {} tokens right", result.accepted_tokens, result.draft_tokens) : "";
}

std::string timed(double seconds) { return seconds > 0 ? fmt::format(" in {:.3f} s", seconds) : ""; }

std::string seed_remark(const GenerationReport& report, const GenerationParams& params) {
  if (params.sampling.temperature == 0) return "";
  return report.random_seed ? fmt::format("; --seed {} repeats it", report.result.seed) : fmt::format("; seed {}", report.result.seed);
}

Json describe(const Tokenizer& tokenizer, const TokenLogprob& entry) {
  return {{"id", entry.token}, {"token", tokenizer.decode({{entry.token}}, false)}, {"logprob", entry.logprob}};
}

Json describe_logprobs(const Tokenizer& tokenizer, const std::vector<GeneratedLogprob>& logprobs) {
  Json list = Json::array();
  for (const GeneratedLogprob& entry : logprobs) {
    Json row = describe(tokenizer, entry.chosen);
    row["top"] = Json::array();
    for (const TokenLogprob& top : entry.top) row["top"].push_back(describe(tokenizer, top));
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace

std::string summary_line(const GenerationReport& report, const GenerationParams& params) {
  const GenerationResult& result = report.result;
  const auto count = static_cast<int64_t>(result.tokens.size());
  return fmt::format("prompt {}{}; text {}{}{}; stopped by {}{}", format_counted(result.prompt_tokens, "token"),
                     rate(result.prompt_tokens, result.prefill_tokens_per_second()), format_counted(count, "token"),
                     rate(result.decode_steps, result.decode_tokens_per_second()), drafted(result), to_string(result.stop_reason),
                     seed_remark(report, params));
}

std::string detailed_line(const GenerationReport& report, const GenerationParams& params) {
  const GenerationResult& result = report.result;
  const auto count = static_cast<int64_t>(result.tokens.size());
  const uint64_t memory = peak_resident_bytes();
  return fmt::format("prefill {}{}{}; decode {}{}{}{}{}; stopped by {}{}{}", format_counted(result.prompt_tokens, "token"),
                     timed(result.prefill_seconds), rate(result.prompt_tokens, result.prefill_tokens_per_second()),
                     format_counted(count, "token"), result.decode_steps > 0 ? timed(result.decode_seconds) : "",
                     rate(result.decode_steps, result.decode_tokens_per_second()), drafted(result),
                     report.first_text_after > 0 ? fmt::format("; first text {:.0f} ms after start", report.first_text_after * 1000) : "",
                     to_string(result.stop_reason), memory > 0 ? "; peak memory " + format_bytes(memory) : "", seed_remark(report, params));
}

std::string result_json(const LoadedModel& loaded, const GenerationReport& report, const GenerationParams& params) {
  const GenerationResult& result = report.result;
  Json json = {{"model", loaded.model->info().name},
               {"device", loaded.model->device().location().to_string()},
               {"text", result.text},
               {"tokens", result.tokens},
               {"finish_reason", finish_reason(result.stop_reason)},
               {"stop_reason", to_string(result.stop_reason)}};
  json["stop_sequence"] = result.stop_sequence_matched ? Json(*result.stop_sequence_matched) : Json();
  json["seed"] = result.seed;
  json["temperature"] = decimal_of(params.sampling.temperature);
  json["usage"] = {{"prompt_tokens", result.prompt_tokens}, {"completion_tokens", result.tokens.size()}};
  if (result.draft_tokens > 0) {
    json["usage"]["draft_tokens"] = result.draft_tokens;
    json["usage"]["accepted_draft_tokens"] = result.accepted_tokens;
  }
  Json timings = {{"load_seconds", loaded.load_seconds},
                  {"prefill_seconds", result.prefill_seconds},
                  {"time_to_first_token_seconds", result.time_to_first_token},
                  {"decode_seconds", result.decode_seconds},
                  {"prefill_tokens_per_second", result.prefill_tokens_per_second()}};
  // One token is chosen from the prompt's logits: there is no rate of decoding then.
  timings["decode_tokens_per_second"] = result.decode_steps > 0 ? Json(result.decode_tokens_per_second()) : Json();
  json["timings"] = std::move(timings);
  json["logprobs"] = describe_logprobs(*loaded.tokenizer, result.logprobs);
  return json_text(json);
}

}  // namespace wick
