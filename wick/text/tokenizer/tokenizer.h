// A Tokenizer turns text into the token ids of a model's vocabulary and back. Immutable once loaded; any number of threads may use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/vocabulary.h"

namespace [[gnu::visibility("default")]] wick {

class GgufFile;
struct TokenizerParts;

struct EncodeOptions {
  bool add_special = true;     // put the BOS, EOS, CLS, SEP … around the text that the file asks for
  bool parse_special = false;  // control tokens spelled out in the text are taken for those tokens
};

class Tokenizer {
 public:
  // From the metadata of a GGUF file ("tokenizer.ggml.…"). Copies what it needs.
  // Errors: not_found (no vocabulary), corrupt_file (lists of unequal length …), unsupported (a family or pre-tokenizer that this
  // build has not); each names the file and the field.
  [[nodiscard]] static std::shared_ptr<const Tokenizer> from_gguf(const GgufFile& file);
  // From a GGUF file (vocabulary alone will do), a Hugging Face tokenizer.json, a SentencePiece or a tiktoken .model, told apart by
  // what is in them; or from a folder that has a tokenizer.json or tokenizer.model.
  [[nodiscard]] static std::shared_ptr<const Tokenizer> load(const std::filesystem::path& path);
  // From bytes in memory, of any of the formats but GGUF; errors use `name` as the path.
  [[nodiscard]] static std::shared_ptr<const Tokenizer> parse(std::string_view bytes, const std::string& name);

  explicit Tokenizer(std::unique_ptr<TokenizerParts> parts);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // The ids of `text`. Bytes that are no UTF-8 are encoded as bytes where the vocabulary can (byte-level BPE, GGUF's SentencePiece
  // with byte fallback), else as U+FFFD.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}) const;
  // The text of `ids`, always valid UTF-8: bytes that form no character become U+FFFD. `skip_special` leaves control tokens out.
  // Errors: index_out_of_range, for an id that is not in the vocabulary; unsupported, if the file's decoders make far more of the tokens
  // than there was.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, bool skip_special = true) const;

  [[nodiscard]] int32_t vocab_size() const noexcept;
  // The vocabulary's own spelling ("Ġthe", "▁the"). Errors: index_out_of_range.
  [[nodiscard]] std::string_view token_text(TokenId id) const;
  // The bytes that the token adds in the middle of a text, maybe only part of a character; nothing for control tokens.
  [[nodiscard]] std::string token_bytes(TokenId id) const;
  // Finds a token by its spelling in the vocabulary.
  [[nodiscard]] std::optional<TokenId> find_token(std::string_view text) const noexcept;

  [[nodiscard]] std::optional<TokenId> bos() const noexcept;
  [[nodiscard]] std::optional<TokenId> eos() const noexcept;
  [[nodiscard]] std::optional<TokenId> unk() const noexcept;
  [[nodiscard]] std::optional<TokenId> pad() const noexcept;
  // Control and unknown tokens. False for ids that are not in the vocabulary.
  [[nodiscard]] bool is_special(TokenId id) const noexcept;
  // Control tokens: they add no text. False for ids that are not in the vocabulary.
  [[nodiscard]] bool is_control(TokenId id) const noexcept;
  // Control tokens and those that the file adds to a vocabulary as they are spelled ("user defined"). False for other ids.
  [[nodiscard]] bool is_added(TokenId id) const noexcept;
  // Whether encoding with add_special puts a BOS (or CLS) first.
  [[nodiscard]] bool adds_bos() const noexcept;
  // Tokens that end a generation: the file's EOS, end of turn and end of message, and control tokens known to mean that. Sorted.
  [[nodiscard]] const std::vector<TokenId>& end_of_generation() const noexcept;
  [[nodiscard]] bool ends_generation(TokenId id) const noexcept;

 private:
  friend class StreamingDetokenizer;

  void check_id(TokenId id) const;

  std::unique_ptr<TokenizerParts> parts_;
};

}  // namespace wick
