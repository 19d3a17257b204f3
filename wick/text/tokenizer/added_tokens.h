// AddedTokens finds tokens that are spelled out in a text, before the text between them is encoded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wick/text/regex/regex.h"
#include "wick/text/tokenizer/text_matcher.h"
#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

struct AddedToken {
  std::string text;
  TokenId id = kNoToken;
  bool special = false;      // parsed only on demand
  bool normalized = false;   // sought in the normalized text, in its own normalized spelling
  bool strip_left = false;   // takes the white space before it along
  bool strip_right = false;  // and after it
  bool single_word = false;  // only where no word character touches it
};

// A token, or (id == kNoToken) text between tokens.
struct TextSegment {
  TextSpan range;
  TokenId id = kNoToken;
};

class AddedTokens {
 public:
  void add(AddedToken token);
  // Once all are added.
  void build_index();

  // Cuts `text` at the leftmost longest tokens: those searched in raw or in normalized text, the special ones only with `parse_special`.
  // Text segments are never empty.
  [[nodiscard]] std::vector<TextSegment> split(std::string_view text, bool normalized, bool parse_special) const;
  // Whether split() could find anything.
  [[nodiscard]] bool any(bool normalized, bool parse_special) const noexcept { return !matcher(normalized, parse_special).empty(); }
  [[nodiscard]] const std::vector<AddedToken>& tokens() const noexcept { return tokens_; }

 private:
  static constexpr size_t index_of(bool normalized, bool parse_special) noexcept {
    return (normalized ? 2u : 0u) + (parse_special ? 1u : 0u);
  }
  [[nodiscard]] const TextMatcher& matcher(bool normalized, bool parse_special) const noexcept {
    return matchers_[index_of(normalized, parse_special)];
  }

  std::vector<AddedToken> tokens_;
  std::vector<TextMatcher> matchers_ = std::vector<TextMatcher>(4);  // values: indices of tokens_
};

}  // namespace wick
