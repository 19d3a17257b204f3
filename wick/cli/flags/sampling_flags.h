// The flags of sampling, under Wick's names and llama.cpp's.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/cli/console.h"
#include "wick/cli/flags/flags.h"
#include "wick/engine/sampling.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

using SamplingChange = std::function<void(SamplingParams&)>;

// Values of the sampling flags: changes to a model's own parameters, and words that its vocabulary turns into tokens.
struct SamplingFlags {
  std::vector<SamplingChange> changes = {};
  std::vector<std::string> dry_breakers = {};  // none: a line break, ':', '"' and '*', as llama.cpp has it
};

// Texts that no repetition reaches beyond, for DRY.
[[nodiscard]] std::vector<std::string> dry_breaker_texts(const SamplingFlags& given);

// The change that a text makes to a parameter. Errors: invalid_argument, naming flag, value and range.
[[nodiscard]] SamplingChange parse_sampling_parameter(const SamplingParameter& row, std::string_view flag, std::string_view text);

void add_sampling(Flags& flags, SamplingFlags& given);

// Parameters from the model's files (read_model_sampling), with a note, overridden by flags. Errors: read_model_sampling's;
// invalid_argument naming the flag, for tokens that are not in the vocabulary.
[[nodiscard]] SamplingParams resolve_sampling(const SamplingFlags& given, const Checkpoint& file, const Tokenizer& tokenizer,
                                              const Console& console);

}  // namespace wick
