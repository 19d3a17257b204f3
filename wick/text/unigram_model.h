// SentencePiece's unigram language model: the segmentation whose pieces' scores sum highest (Kudo 2018), found by Viterbi's search.
#pragma once

#include <string_view>
#include <vector>

#include "wick/text/byte_trie.h"
#include "wick/text/token_model.h"

namespace wick {

struct UnigramOptions {
  bool byte_fallback = false;
  bool match_user_defined = true;  // user-defined pieces are found in the text, before all others; false: by their score
  bool single_precision = false;   // scores are added in float, as in SentencePiece, so that ties fall as there
  TokenId unknown = kNoToken;
};

class UnigramModel final : public TokenModel {
 public:
  // `vocabulary` must outlive the model.
  UnigramModel(const Vocabulary& vocabulary, UnigramOptions options);

  void encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  struct Step {
    double score = 0;
    int32_t begin = -1;  // -1: not reached
    TokenId id = kNoToken;
  };

  void extend(std::string_view piece, size_t begin, std::vector<Step>& steps) const;
  void offer(Step& step, double score, size_t begin, TokenId id) const noexcept;
  [[nodiscard]] double score_of(TokenId id, size_t length) const noexcept;

  const Vocabulary& vocabulary_;
  UnigramOptions options_;
  ByteTrie pieces_;
  ByteFallback fallback_;
  double unknown_score_ = 0;
  double highest_score_ = 0;
};

}  // namespace wick
