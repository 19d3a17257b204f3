// A Generator continues a text with a language model, one request after another.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "wick/engine/generation.h"
#include "wick/model/language_model.h"
#include "wick/text/tokenizer.h"

namespace wick {

// The logprob of `token` and the `top` most likely tokens of a row of logits.
[[nodiscard]] GeneratedLogprob logprob_of(std::span<const float> logits, TokenId token, int64_t top);

// Errors: invalid_argument naming the byte, if the prompt is no UTF-8.
void check_prompt(std::string_view prompt, std::string_view name = "prompt");

// Errors: invalid_argument if the tokenizer has more tokens than the model's embedding has rows: their ids would read beyond the logits.
void check_vocabulary(const ModelInfo& model, const Tokenizer& tokenizer);

class Generator {
 public:
  // `context`: the most positions of prompt and continuation together. Each request takes the memory that it can need, no more.
  // The model must outlive the generator, which rearranges its weights while it decodes, in half as much time as decoding takes.
  // Errors: invalid_argument if the context is longer than the model's, if there is no tokenizer, or if it has more tokens
  // than the model.
  Generator(LanguageModel& model, std::shared_ptr<const Tokenizer> tokenizer, int64_t context);

  // Continues the prompt; nothing is left of earlier requests. An empty prompt continues from BOS.
  // Errors: context_full if the prompt does not fit; out_of_memory; invalid_argument for bad parameters, a prompt that is no
  // UTF-8, and an empty one if the vocabulary has no BOS; and the model's.
  GenerationResult generate(std::string_view prompt, const GenerationParams& params, const TextCallback& on_text);

  [[nodiscard]] int64_t context() const noexcept { return context_; }

  // The prompt's tokens, with BOS first where the model wants one. Errors: invalid_argument as in generate.
  [[nodiscard]] std::vector<TokenId> encode_prompt(std::string_view prompt, bool parse_special) const;

 private:
  // Empties the cache, or takes a larger one, so that these tokens and `max_tokens` more fit as far as the context allows.
  void prepare_cache(int64_t prompt_tokens, int64_t max_tokens);

  LanguageModel& model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  int64_t context_;
  std::unique_ptr<CachedSequence> cache_;
  bool rearranged_ = false;
};

}  // namespace wick
