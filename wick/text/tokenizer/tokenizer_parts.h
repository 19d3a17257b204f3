// The parts of a Tokenizer, and the readers of each file format that create them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/added_tokens.h"
#include "wick/text/tokenizer/normalizer.h"
#include "wick/text/tokenizer/pre_tokenizer.h"
#include "wick/text/tokenizer/token_decoder.h"
#include "wick/text/tokenizer/token_model.h"
#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

class GgufFile;
struct GgufVocabulary;
struct SpecialTokens;

struct TokenizerParts {
  std::string name;  // of the file, for errors
  Vocabulary vocabulary;
  AddedTokens added;
  Normalizers normalizers;
  PreTokenizers pre_tokenizers;
  std::unique_ptr<TokenModel> model;
  TokenDecoder decoder;
  bool accepts_invalid = false;  // pre-tokenizers and model take bytes that are no UTF-8
  bool invalid_whole = false;    // text that is not all UTF-8 goes to the model in one piece
  bool caches_words = false;     // pieces are words, which come again

  // Patterns that split words, if the file consists of ranks (tiktoken, tekken).
  std::vector<std::string> patterns;

  std::vector<TokenId> prefix;  // what add_special puts before the text
  std::vector<TokenId> suffix;  // and after it
  std::optional<TokenId> bos, eos, unk, pad;
  std::vector<TokenId> end_of_generation;

  // Normalizes text that is not yet valid UTF-8 too. Errors: unsupported, if normalizers make far more of it than there was.
  [[nodiscard]] std::string normalize(std::string_view text, RegexScratch& scratch) const;
  // The same, of the text of an added token. `written` counts the bytes that all normalizers have made of such texts. Errors: as
  // normalize(), and unsupported, if they are more than any tokenizer needs.
  [[nodiscard]] std::string normalize_added(std::string_view text, RegexScratch& scratch, size_t& written) const;
  // Whether something of the first character of `text` is left when it is normalized.
  [[nodiscard]] bool keeps_beginning(std::string_view text, RegexScratch& scratch) const;

 private:
  [[nodiscard]] std::string normalize(std::string_view text, RegexScratch& scratch, size_t& written) const;
};

[[nodiscard]] std::unique_ptr<TokenizerParts> read_gguf_tokenizer(const GgufFile& file);
[[nodiscard]] std::unique_ptr<TokenizerParts> read_tokenizer_json(std::string_view bytes, const std::string& name);
// The added tokens of `special` are the vocabulary's too.
[[nodiscard]] std::unique_ptr<TokenizerParts> read_sentencepiece_model(std::string_view bytes, const std::string& name,
                                                                       const SpecialTokens& special);
[[nodiscard]] std::unique_ptr<TokenizerParts> read_tiktoken_model(std::string_view bytes, const std::string& name,
                                                                  const SpecialTokens& special);

[[nodiscard]] std::unique_ptr<TokenizerParts> read_rwkv_vocabulary(std::string_view bytes, const std::string& name,
                                                                   const SpecialTokens& special);
// Model and decoder of a vocabulary of RWKV, spelled in the byte alphabet. Errors: corrupt_file if a byte has no token.
void complete_rwkv(TokenizerParts& parts);

// The same of the form that the bytes have, but for GGUF. Errors: corrupt_file for what is no tokenizer.
[[nodiscard]] std::unique_ptr<TokenizerParts> read_tokenizer(std::string_view bytes, const std::string& name, const SpecialTokens& special);
[[nodiscard]] GgufVocabulary sentencepiece_gguf_vocabulary(std::string_view bytes, const std::string& name, const SpecialTokens& special);

// Adds those of a folder's added tokens that the vocabulary has not, before its index is built; numbers between them are free.
// Errors: corrupt_file for an id beyond what so many tokens explain.
void add_folder_tokens(TokenizerParts& parts, const SpecialTokens& special);

// The last step of each reader: finds the tokens that end a generation. `control_by_text`: those known by their texts are control
// tokens, whatever the file says of them, as in llama.cpp. Errors: unsupported, if a token is longer than kLongestToken.
void complete_tokenizer(TokenizerParts& parts, bool control_by_text = false);

}  // namespace wick
