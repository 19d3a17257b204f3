// A TokenDecoder says what text each token adds, so that text can be put together token by token.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/unicode.h"
#include "wick/text/vocabulary.h"

namespace wick {

// What is taken from the beginning of the text: the space that encoding puts there.
enum class LeadingSpace {
  kept,
  drop_one,           // one space, if the first token with text begins with one
  drop_until_text,    // one space from each token until there is text (SentencePiece with remove_extra_whitespaces)
  drop_all_of_first,  // every space that the replacements make in the first token (Hugging Face's Metaspace)
};

struct DecodeRules {
  bool letters_to_bytes = false;  // texts are spelled in the byte alphabet; a text that is not is taken as it stands
  bool byte_fallback = false;     // "<0x0A>" is a byte
  std::vector<std::pair<std::string, std::string>> replacements = {};  // "▁" → " "
  LeadingSpace leading_space = LeadingSpace::kept;
  bool word_pieces = false;  // a token without `continuing_prefix` begins a word: a space goes before it
  std::string continuing_prefix = {};
  std::string word_suffix = {};       // a token that ends so ends a word: a space goes before the next
  bool clean_up = false;              // no space before punctuation and English contractions
  std::string unknown_text = {};      // what the unknown token adds
  bool literal_user_defined = false;  // user-defined tokens add their text as it stands
  InvalidBytes invalid = InvalidBytes::one_per_subpart;
};

// How far a text has come.
struct DecodeState {
  bool first_token = true;  // no token has been added
  bool any_text = false;    // some byte has been added
  bool word_ended = false;  // a space is due if another token comes
};

class TokenDecoder {
 public:
  TokenDecoder() = default;
  // `vocabulary` must outlive the decoder.
  TokenDecoder(const Vocabulary& vocabulary, DecodeRules rules) : vocabulary_(&vocabulary), rules_(std::move(rules)) {}

  // The bytes that `id` adds to a text that has come as far as `state`; control tokens add nothing, or their text. `id` must be valid.
  [[nodiscard]] std::string next(TokenId id, bool skip_special, DecodeState& state) const;
  // The bytes that `id` adds in the middle of a text.
  [[nodiscard]] std::string bytes(TokenId id) const;
  [[nodiscard]] const DecodeRules& rules() const noexcept { return rules_; }

 private:
  [[nodiscard]] std::string plain_bytes(TokenId id, bool drop_spaces) const;
  void drop_leading_space(std::string& text, const DecodeState& state) const;

  const Vocabulary* vocabulary_ = nullptr;
  DecodeRules rules_;
};

}  // namespace wick
