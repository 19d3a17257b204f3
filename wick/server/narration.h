// A Narration tells the people of a fleet what a job does: in plain words, as something cute, and as a line of a story. It has numbers and
// names of models, never what a prompt or an answer says.
#pragma once

#include <string>
#include <string_view>

#include "wick/engine/stream.h"
#include "wick/server/api_error.h"
#include "wick/server/json.h"

namespace wick::server {

struct Narration {
  std::string_view action;  // "inference_start"
  std::string human;
  std::string cute;
  std::string story;
};

[[nodiscard]] Narration narrate_start(std::string_view model, std::string_view device);
[[nodiscard]] Narration narrate_end(const FinishEvent& event);
[[nodiscard]] Narration narrate_error(const ApiError& error);

// The event of a job's stream: {"type": "narration", "actor", "action", "target", "human", "cute", "story", "job_id", "correlation_id"}.
[[nodiscard]] Json narration_json(const Narration& narration, const std::string& job, const std::string& correlation_id);

}  // namespace wick::server
