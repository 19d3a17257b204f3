// Sampling parameters in a model's files: "general.sampling.…" in a GGUF file, generation_config.json in a folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wick/engine/sampling.h"

namespace wick {

class Checkpoint;

struct ModelSampling {
  SamplingParams params = {};  // what the files do not say is as it is there
  std::string said = {};       // what they say, for a reader: "temperature 0.6, top_k 20"; empty where that is nothing
};

// Errors: corrupt_file for values of another kind or outside their ranges, invalid_argument for a step of sampling that is not known; each
// names the file and the key.
[[nodiscard]] ModelSampling read_model_sampling(const Checkpoint& checkpoint);

// "top_k;top_p;temperature", with commas too. Errors: invalid_argument that begins with `origin`, for names that are not known or come
// twice.
[[nodiscard]] std::vector<SamplingStep> parse_sampling_order(std::string_view text, std::string_view origin);
// "15043+1.5,29871-100", also "15043=-1". Errors: invalid_argument that begins with `origin`.
[[nodiscard]] std::vector<LogitBias> parse_logit_biases(std::string_view text, std::string_view origin);

}  // namespace wick
