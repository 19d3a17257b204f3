// A TokenModel turns one piece of prepared text into token ids: the last step of encoding, and the one that families differ in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wick/text/regex/regex.h"
#include "wick/text/tokenizer/symbol_merge.h"
#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

// Memory that one encode() call reuses from piece to piece.
struct EncodeScratch {
  RegexScratch regex;
  MergeScratch merge;
  std::vector<Symbol> symbols;
  std::string letters;
};

class TokenModel {
 public:
  TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;
  virtual ~TokenModel() = default;

  // Appends the ids of `piece`. The ids depend on nothing but the piece.
  virtual void encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const = 0;
};

// The tokens of single bytes ("<0x0A>"), for characters without a token.
class ByteFallback {
 public:
  ByteFallback() = default;
  // Takes those tokens that are there.
  explicit ByteFallback(const Vocabulary& vocabulary);

  [[nodiscard]] TokenId operator[](char byte) const noexcept { return ids_[static_cast<unsigned char>(byte)]; }
  [[nodiscard]] bool covers(std::string_view bytes) const noexcept;

 private:
  std::vector<TokenId> ids_ = std::vector<TokenId>(256, kNoToken);
};

// Whether a token of the vocabulary has U+2581 ("▁") after another character. If none has, words that begin with it can be
// encoded on their own.
[[nodiscard]] bool has_inner_space_marker(const Vocabulary& vocabulary);

inline constexpr std::string_view kSpaceMarker = "\xE2\x96\x81";

}  // namespace wick
