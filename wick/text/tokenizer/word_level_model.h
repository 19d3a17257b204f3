// A WordLevelModel takes each piece as a whole: a token of the vocabulary, or the unknown token.
#pragma once

#include <string>
#include <utility>

#include "wick/text/tokenizer/token_model.h"

namespace wick {

class WordLevelModel final : public TokenModel {
 public:
  // `unknown`: kNoToken if there is none; `place` names the model in errors. `vocabulary` must outlive the model.
  WordLevelModel(const Vocabulary& vocabulary, TokenId unknown, std::string place)
      : vocabulary_(vocabulary), unknown_(unknown), place_(std::move(place)) {}

  // Errors: invalid_argument, for a piece that is no token where there is no unknown token.
  void encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  const Vocabulary& vocabulary_;
  TokenId unknown_;
  std::string place_;
};

}  // namespace wick
