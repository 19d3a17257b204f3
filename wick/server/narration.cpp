#include "wick/server/narration.h"

#include <fmt/format.h>

namespace wick::server {
namespace {

std::string tokens(int64_t count) { return fmt::format("{} token{}", count, count == 1 ? "" : "s"); }

std::string_view ending(StopReason reason) {
  switch (reason) {
    case StopReason::end_of_sequence: return "the model ended its text";
    case StopReason::max_tokens: return "the limit of tokens was reached";
    case StopReason::stop_sequence: return "a stop sequence came";
    case StopReason::context_full: return "the context is full";
    case StopReason::deadline: return "its time was over";
    case StopReason::cancelled: return "it was cancelled";
  }
  return "";
}

}  // namespace

Narration narrate_start(std::string_view model, std::string_view device) {
  return {.action = "inference_start",
          .human = fmt::format("Starting inference with {} on {}", model, device),
          .cute = fmt::format("{} dips its quill and looks at the first token! ✍️", model),
          .story = fmt::format("\"A new page,\" said the scribe on {}, and {} began to read.", device, model)};
}

Narration narrate_end(const FinishEvent& event) {
  const std::string written = tokens(event.usage.completion_tokens);
  const std::string read = tokens(event.usage.prompt_tokens);
  const auto milliseconds = static_cast<int64_t>((event.timings.queued + event.timings.prefill + event.timings.decode) * 1000);
  if (event.reason == StopReason::cancelled) {
    return {.action = "inference_cancelled",
            .human = fmt::format("Cancelled after {} in {} ms", written, milliseconds),
            .cute = fmt::format("The quill is laid down after {}; maybe another time! 🪶", written),
            .story = fmt::format("\"Enough,\" said the reader, and the page kept its {}.", written)};
  }
  return {.action = "inference_complete",
          .human = fmt::format("Read {} and wrote {} in {} ms; {}", read, written, milliseconds, ending(event.reason)),
          .cute = fmt::format("{} read, {} written, all in {} ms! 🎉", read, written, milliseconds),
          .story = fmt::format("\"Done,\" said the scribe, \"{} of it, and {}.\"", written, ending(event.reason))};
}

Narration narrate_error(const ApiError& error) {
  return {.action = "error",
          .human = fmt::format("Failed: {}", error.code()),
          .cute = "Oh no, the quill has broken! 😟",
          .story = fmt::format("\"I cannot go on,\" said the scribe, and showed the reader a note: {}.", error.code())};
}

Json narration_json(const Narration& narration, const std::string& job, const std::string& correlation_id) {
  return {{"type", "narration"},
          {"actor", "inference-engine"},
          {"action", narration.action},
          {"target", job},
          {"human", narration.human},
          {"cute", narration.cute},
          {"story", narration.story},
          {"job_id", job},
          {"correlation_id", correlation_id}};
}

}  // namespace wick::server
