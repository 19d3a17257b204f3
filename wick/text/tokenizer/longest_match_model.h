// A LongestMatchModel cuts text into the longest tokens from left to right, as RWKV's World tokenizer does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/byte_trie.h"
#include "wick/text/tokenizer/token_model.h"

namespace wick {

class LongestMatchModel final : public TokenModel {
 public:
  // Takes the normal tokens of the vocabulary, which is spelled in the byte alphabet. Errors: corrupt_file if a byte has no token, so that
  // some text could not be encoded; `place` is the file's name.
  LongestMatchModel(const Vocabulary& vocabulary, const std::string& place);

  void encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  ByteTrie trie_;
};

// The bytes of a token that is escaped as Python's repr of bytes does; none if an escape is cut off.
[[nodiscard]] std::optional<std::string> unescape_token(std::string_view escaped);
// The reverse.
[[nodiscard]] std::string escape_token(std::string_view bytes);

// Whether a file begins as a vocabulary of RWKV does: a number, a Python literal.
[[nodiscard]] bool is_rwkv_vocabulary(std::string_view bytes) noexcept;

}  // namespace wick
