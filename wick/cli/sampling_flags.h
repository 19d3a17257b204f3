// The flags of sampling, under Wick's names and llama.cpp's.
#pragma once

#include <string>
#include <vector>

#include "wick/cli/flags.h"
#include "wick/engine/sampling.h"
#include "wick/text/tokenizer.h"

namespace wick {

// What flags of sampling say in words, and a vocabulary turns into tokens.
struct SamplingWords {
  std::vector<std::string> dry_breakers = {};  // none: a line break, ':', '"' and '*', as llama.cpp has it
};

// Texts that no repetition reaches beyond, for DRY.
[[nodiscard]] std::vector<std::string> dry_breaker_texts(const SamplingWords& words);

void add_sampling(Flags& flags, SamplingParams& sampling, SamplingWords& words);

// Errors: invalid_argument naming the flag, for tokens that are not in the vocabulary.
void resolve_words(SamplingParams& sampling, const SamplingWords& words, const Tokenizer& tokenizer);

}  // namespace wick
