// WordPiece: each word is cut into the longest tokens from left to right (Wu et al. 2016, as BERT does it).
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/byte_trie.h"
#include "wick/text/tokenizer/text_matcher.h"
#include "wick/text/tokenizer/token_model.h"

namespace wick {

struct WordPieceOptions {
  std::string first_prefix = {};                             // before a word's first token: "" in Hugging Face's files, "▁" in GGUF
  std::string continuing_prefix = "##";                      // before its other tokens: "" in GGUF
  size_t longest_word = std::numeric_limits<size_t>::max();  // in characters; a longer word is unknown
  TokenId unknown = kNoToken;
};

class WordPieceModel final : public TokenModel {
 public:
  WordPieceModel(const Vocabulary& vocabulary, WordPieceOptions options);

  // `piece` is one word. A word that cannot be cut is one unknown token.
  void encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  // The longest piece that `text` begins with, of those below `node`; of length 0 if there is none. Adds the bytes that it read to `reads`.
  [[nodiscard]] TextMatcher::Match walk(ByteTrie::Node node, std::string_view text, size_t& reads) const noexcept;

  WordPieceOptions options_;
  ByteTrie pieces_;
  // Where the search begins, after each prefix.
  ByteTrie::Node first_ = ByteTrie::kRoot;
  ByteTrie::Node continuing_ = ByteTrie::kRoot;
  // Pieces with continuing_prefix, without it. Empty if all of them are short.
  TextMatcher long_pieces_;
};

}  // namespace wick
