// A TokenDecoder says what text each token adds, so that text can be put together token by token.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/tokenizer/decode_steps.h"
#include "wick/text/tokenizer/vocabulary.h"
#include "wick/text/unicode/unicode.h"

namespace wick {

// How the space that encoding adds at the beginning is removed.
enum class LeadingSpace {
  kept,
  drop_one,         // one space, if the first token with text begins with one
  drop_until_text,  // one space from each token until there is text (SentencePiece with remove_extra_whitespaces)
};

// The text of a token, before any DecodeStep.
struct DecodeRules {
  bool letters_to_bytes = false;  // texts are spelled in the byte alphabet; a text that is not is taken as it is
  std::string space_marker = {};  // becomes a space: "▁"
  LeadingSpace leading_space = LeadingSpace::kept;
  bool clean_up = false;              // no space before punctuation and English contractions
  std::string unknown_text = {};      // what the unknown token adds
  bool literal_user_defined = false;  // user-defined tokens add their text as it is
  InvalidBytes invalid = InvalidBytes::one_per_subpart;
};

// How far a text has come.
struct DecodeState {
  bool first_token = true;  // no token has been added
  bool any_text = false;    // some byte has been added
  std::vector<DecodeStepState> steps = {};
  size_t bytes = 0;  // of the tokens, before the steps
};

class TokenDecoder {
 public:
  TokenDecoder() = default;
  // `vocabulary` must outlive the decoder.
  TokenDecoder(const Vocabulary& vocabulary, DecodeRules rules, DecodeSteps steps = {})
      : vocabulary_(&vocabulary), rules_(std::move(rules)), steps_(std::move(steps)) {}

  // The state before the first token; `continues_text`: other text comes before it.
  [[nodiscard]] DecodeState begin(bool continues_text) const;

  // The bytes that `id` adds to a text that has come as far as `state`; control tokens add nothing, or their text. `id` must be valid.
  // Errors: unsupported, if the steps make far more of the tokens than there was.
  [[nodiscard]] std::string next(TokenId id, bool skip_special, DecodeState& state) const;
  // Text held back until the end. Errors: as next().
  [[nodiscard]] std::string finish(DecodeState& state) const;
  // The bytes that `id` adds in the middle of a text.
  [[nodiscard]] std::string bytes(TokenId id) const;
  [[nodiscard]] const DecodeRules& rules() const noexcept { return rules_; }

 private:
  [[nodiscard]] std::string plain_bytes(TokenId id) const;
  [[nodiscard]] std::string run_steps(DecodeStep::Texts texts, DecodeState& state, bool last) const;
  void drop_leading_space(std::string& text, const DecodeState& state) const;

  const Vocabulary* vocabulary_ = nullptr;
  DecodeRules rules_;
  DecodeSteps steps_;
};

}  // namespace wick
