#include "wick/text/tokenizer/word_level_model.h"

#include "wick/base/fail.h"

namespace wick {

void WordLevelModel::encode(std::string_view piece, EncodeScratch&, std::vector<TokenId>& ids) const {
  const TokenId found = vocabulary_.find_piece(piece);
  const TokenId id = found != kNoToken && vocabulary_.kind(found) != TokenKind::control ? found : unknown_;
  if (id == kNoToken) {
    fail(ErrorCode::invalid_argument, "{}: '{}' is no token, and the vocabulary has no unk_token for other words", place_, piece);
  }
  ids.push_back(id);
}

}  // namespace wick
