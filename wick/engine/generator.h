// A Generator continues a text with a language model, one request after another: an Engine with one sequence, run on the caller's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "wick/engine/engine_options.h"
#include "wick/engine/generation.h"
#include "wick/engine/logprobs.h"
#include "wick/engine/prompt.h"
#include "wick/model/language_model.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

class Engine;

class Generator {
 public:
  // `context`: the most positions of prompt and continuation together. Each request takes the memory that it can need, no more.
  // `draft` proposes up to `draft_tokens` tokens at a time (DraftModel); none: nothing is proposed. Both models must outlive the generator.
  // Errors: invalid_argument if the context is longer than the model's, if there is no tokenizer, or if it has more tokens
  // than the model.
  Generator(LanguageModel& model, std::shared_ptr<const Tokenizer> tokenizer, int64_t context, LanguageModel* draft = nullptr,
            int64_t draft_tokens = SpeculationOptions{}.most);
  ~Generator();

  // Continues the prompt; nothing is left of earlier requests. An empty prompt continues from BOS.
  // Errors: context_full if the prompt does not fit; out_of_memory; invalid_argument for bad parameters, a prompt that is no
  // UTF-8, and an empty one if the vocabulary has no BOS; the model's, and those of DraftModel.
  GenerationResult generate(std::string_view prompt, const GenerationParams& params, const TextCallback& on_text);

  [[nodiscard]] int64_t context() const noexcept { return context_; }

  // The prompt's tokens, with BOS first where the model wants one. Errors: invalid_argument as in generate.
  [[nodiscard]] std::vector<TokenId> encode_prompt(std::string_view prompt, bool parse_special) const;

 private:
  // Makes an engine in which these tokens and `max_tokens` more fit as far as the context allows, unless the last one will do.
  void prepare_engine(int64_t prompt_tokens, int64_t max_tokens);

  LanguageModel& model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  int64_t context_;
  LanguageModel* draft_;
  int64_t draft_tokens_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace wick
