// The report of a generation: one line of text, or JSON.
#pragma once

#include <string>

#include "wick/cli/load_model.h"
#include "wick/engine/generator.h"

namespace wick {

struct GenerationReport {
  GenerationResult result = {};
  bool random_seed = false;     // drawn, not given by the user
  double first_text_after = 0;  // seconds since the program started; 0: unknown
};

// "prompt 5 tokens, 812.3 tokens/s; text 40 tokens, 640.1 tokens/s; stopped by MAX_TOKENS; seed 7". Omits the rate of fewer than two
// tokens, and the seed of greedy sampling.
[[nodiscard]] std::string summary_line(const GenerationReport& report, const GenerationParams& params);
// The same with seconds, the time to the first text, and peak memory.
[[nodiscard]] std::string detailed_line(const GenerationReport& report, const GenerationParams& params);

// One line: model, device, text, tokens, logprobs, finish_reason, stop_reason, usage, timings, seed.
[[nodiscard]] std::string result_json(const LoadedModel& loaded, const GenerationReport& report, const GenerationParams& params);

}  // namespace wick
