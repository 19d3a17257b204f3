// SentencePiece's unigram language model: the segmentation whose pieces' scores sum highest (Kudo 2018), found by Viterbi's search.
#pragma once

#include <string_view>
#include <vector>

#include "wick/text/tokenizer/byte_automaton.h"
#include "wick/text/tokenizer/token_model.h"

namespace wick {

struct UnigramOptions {
  bool byte_fallback = false;
  bool match_user_defined = true;  // user-defined pieces are found in the text, before all others; false: by their score
  bool single_precision = false;   // scores are added in float, as in SentencePiece, so that ties fall as there
  TokenId unknown = kNoToken;
};

// Limit for nested pieces: "a", "aa", "aaa" … each ends with those before it, and each may end where a character does: work grows with
// their number. Pieces of trained models are of at most 16 characters.
inline constexpr int32_t kMaxNestedPieces = 128;

class UnigramModel final : public TokenModel {
 public:
  // `vocabulary` must outlive the model. `name` is the file's. Errors: unsupported, if more than kMaxNestedPieces end with one another.
  UnigramModel(const Vocabulary& vocabulary, UnigramOptions options, std::string_view name);

  void encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  struct Step {
    double score = 0;
    int32_t begin = -1;  // -1: not reached
    TokenId id = kNoToken;
  };

  // A piece that ends where a state of the automaton does.
  struct Ending {
    double score = 0;  // not of a user-defined piece: its kind may change until the tokenizer is complete, and the score with it
    uint32_t length = 0;
    TokenId id = kNoToken;
    int32_t shorter = -1;  // the longest of those that it ends with; -1: none
    bool user_defined = false;
  };

  void connect(std::string_view name);
  void reach(size_t end, size_t last_character, int32_t longest, std::vector<Step>& steps) const;
  void offer(Step& step, double score, size_t begin, TokenId id) const noexcept;
  [[nodiscard]] double score_of(TokenId id, size_t length) const noexcept;

  const Vocabulary& vocabulary_;
  UnigramOptions options_;
  ByteAutomaton pieces_;
  std::vector<Ending> endings_;   // shorter ones first
  std::vector<int32_t> longest_;  // for each state of pieces_, the longest of endings_; -1: none
  ByteFallback fallback_;
  double unknown_score_ = 0;
  double highest_score_ = 0;
};

}  // namespace wick
