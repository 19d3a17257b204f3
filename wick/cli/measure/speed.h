// Speed of a model: tokens a second of prefill and of decoding, of one sequence or of several at once, medians of repetitions.
#pragma once

#include <memory>
#include <vector>

#include "wick/cli/console.h"
#include "wick/model/language_model.h"

namespace wick {

struct SpeedOptions {
  int64_t prompt_tokens = 512;  // 0: no prefill
  int64_t gen_tokens = 128;     // 0: no decoding
  int64_t depth = 0;            // positions that each sequence has before
  int64_t reps = 3;             // after one that warms up
  int64_t sequences = 1;        // that decode at once, gen_tokens each
  bool all_logits = false;      // prefill gives those of every token, and is run gen_tokens times: short prompts take no time
};

// Statistics of the repetitions; zeros if nothing was measured.
struct Summary {
  std::vector<double> samples = {};  // in their order
  double mean = 0;
  double deviation = 0;  // standard deviation of the samples; 0 for one
  double median = 0;
  double minimum = 0;
  double maximum = 0;
};

struct Speed {
  double first_token_seconds = 0;  // one token through a model just loaded
  Summary prefill;
  Summary decode;
};

// The device prepares the model's weights behind the first token. Errors: context_full where the context of the model does not hold so many
// tokens.
[[nodiscard]] Speed measure_speed(const Console& console, LanguageModel& model, const SpeedOptions& options);

}  // namespace wick
