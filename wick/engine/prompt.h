// Validation and tokenization of prompts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "wick/model/language_model.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

// Errors: invalid_argument naming the byte, if the prompt is no UTF-8.
void check_prompt(std::string_view prompt, std::string_view name = "prompt");

// Errors: invalid_argument if the tokenizer has more tokens than the model's embedding has rows: their ids would read beyond the logits.
void check_vocabulary(const ModelInfo& model, const Tokenizer& tokenizer);

// The prompt's tokens, with BOS first where the model wants one; an empty prompt is BOS. Errors: check_prompt's; invalid_argument for an
// empty one if the vocabulary has no BOS.
[[nodiscard]] std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, std::string_view model, std::string_view prompt,
                                                 bool parse_special);

// The tokens of a text whose vector is wanted: with all special tokens that the vocabulary's files put around a text (BOS, EOS, CLS, SEP).
// Errors: as above.
[[nodiscard]] std::vector<TokenId> encode_embedded(const Tokenizer& tokenizer, std::string_view model, std::string_view text,
                                                   bool parse_special = false);

// Two texts as one: tokens from number `second` on are of the second one.
struct TextPair {
  std::vector<TokenId> tokens;
  int64_t second = 0;
};

// The tokens of a query and a document, for a reranker: each with the special tokens around it that the vocabulary's files put around a
// text, but for the first of the document where they are BERT's ([CLS] query [SEP] document [SEP]); RoBERTa's separator is there twice.
// Errors: check_prompt's.
[[nodiscard]] TextPair encode_pair(const Tokenizer& tokenizer, std::string_view query, std::string_view document);

// Which end of a text is left out where it is longer than the model's context; none: such a text is an error.
enum class Truncation { none, end, start };
// At most so many of a text's tokens: the special ones around it stay. `kept`: that many of the first are not left out either, such as the
// query of a pair. Errors: context_full where these are more already.
[[nodiscard]] std::vector<TokenId> truncated(const Tokenizer& tokenizer, std::vector<TokenId> tokens, int64_t most, Truncation truncation,
                                             int64_t kept = 0);

// Throws context_full: a prompt of `tokens` where `context` fit; the model itself has `model_context`.
[[noreturn]] void fail_prompt_too_long(int64_t tokens, int64_t context, int64_t model_context);

}  // namespace wick
