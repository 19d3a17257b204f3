// SentencePiece's byte-pair encoding: of all neighbours that together are a piece, those with the highest score merge first.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/tokenizer/text_matcher.h"
#include "wick/text/tokenizer/token_model.h"

namespace wick {

struct PieceMergeOptions {
  bool byte_fallback = true;        // a character without a piece becomes its byte tokens
  bool fuse_unknown = false;        // a run of unknown characters is one unknown token
  bool match_user_defined = false;  // user-defined pieces in the text are tokens and never merge
  bool lead_byte_lengths = false;   // a character is as long as its first byte says, even where the bytes are invalid (GGUF files)
  TokenId unknown = kNoToken;
};

class PieceMergeModel final : public TokenModel {
 public:
  // `vocabulary` must outlive the model.
  PieceMergeModel(const Vocabulary& vocabulary, PieceMergeOptions options);

  void encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  // Texts of pieces that are marked unused, and what they were merged from.
  using UnusedSplits = std::map<std::string, std::pair<std::string, std::string>>;

  void split(std::string_view piece, std::vector<Symbol>& symbols) const;
  [[nodiscard]] uint32_t character_length(std::string_view piece, size_t offset) const noexcept;
  void emit(std::string_view text, TokenId id, const UnusedSplits& splits, int depth, std::vector<TokenId>& ids) const;

  const Vocabulary& vocabulary_;
  PieceMergeOptions options_;
  TextMatcher user_defined_;
  ByteFallback fallback_;
};

}  // namespace wick
