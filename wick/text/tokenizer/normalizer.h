// A Normalizer rewrites text before it is cut into pieces; a tokenizer applies a list of them in order.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/regex/regex.h"
#include "wick/text/tokenizer/character_map.h"
#include "wick/text/tokenizer/text_matcher.h"
#include "wick/text/unicode/unicode.h"

namespace wick {

class Normalizer {
 public:
  Normalizer() = default;
  Normalizer(const Normalizer&) = delete;
  Normalizer& operator=(const Normalizer&) = delete;
  virtual ~Normalizer() = default;

  // `text` is valid UTF-8 unless accepts_invalid() says that it need not be.
  [[nodiscard]] virtual std::string apply(std::string_view text, RegexScratch& scratch) const = 0;
  [[nodiscard]] virtual bool accepts_invalid() const noexcept { return false; }
};

using Normalizers = std::vector<std::unique_ptr<Normalizer>>;

class UnicodeFormNormalizer final : public Normalizer {
 public:
  explicit UnicodeFormNormalizer(NormalForm form) : form_(form) {}
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;

 private:
  NormalForm form_;
};

class LowercaseNormalizer final : public Normalizer {
 public:
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;
};

// Drops combining marks; use it after a decomposing form.
class StripAccentsNormalizer final : public Normalizer {
 public:
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;
};

class StripNormalizer final : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;

 private:
  bool left_;
  bool right_;
};

class ReplaceNormalizer final : public Normalizer {
 public:
  ReplaceNormalizer(Regex pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;

 private:
  Regex pattern_;
  std::string content_;
};

// Writes a text before every text that is not empty.
class PrependNormalizer final : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;

 private:
  std::string prefix_;
};

// BERT's normalization: removes control characters, unifies spaces, separates ideographs, strips accents, lower-cases.
struct BertNormalizerOptions {
  bool clean_text = true;
  bool split_ideographs = true;
  bool strip_accents = true;
  bool lowercase = true;
};

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(BertNormalizerOptions options) : options_(options) {}
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;

 private:
  BertNormalizerOptions options_;
};

// Spells the text's bytes in the byte alphabet.
class ByteLettersNormalizer final : public Normalizer {
 public:
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;
};

// SentencePiece's nmt rules: control characters out, the spaces of all scripts to U+0020.
class NmtNormalizer final : public Normalizer {
 public:
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;
};

// A character map applied as Hugging Face's "Precompiled" does it: to short grapheme clusters as a whole, else to each character.
class PrecompiledNormalizer final : public Normalizer {
 public:
  explicit PrecompiledNormalizer(CharacterMap map) : map_(std::move(map)) {}
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;

 private:
  CharacterMap map_;
};

// SentencePiece's own normalizer: character map, white space, and the markers for spaces.
struct SentencePieceNormalizerOptions {
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;           // spaces become "▁"
  bool treat_whitespace_as_suffix = false;  // the dummy space is at the end
  bool keep_invalid = false;                // invalid bytes stay as they are (GGUF's "llama"); else each becomes U+FFFD
};

class SentencePieceNormalizer final : public Normalizer {
 public:
  SentencePieceNormalizer(SentencePieceNormalizerOptions options, CharacterMap map, TextMatcher kept)
      : options_(options), map_(std::move(map)), kept_(std::move(kept)) {}
  [[nodiscard]] std::string apply(std::string_view text, RegexScratch& scratch) const override;
  [[nodiscard]] bool accepts_invalid() const noexcept override { return true; }

 private:
  struct Prefix {
    std::string_view text;
    size_t consumed = 0;
  };
  [[nodiscard]] Prefix normalize_prefix(std::string_view text) const noexcept;  // that begins with no kept text

  SentencePieceNormalizerOptions options_;
  CharacterMap map_;
  TextMatcher kept_;  // user-defined pieces pass unchanged
};

}  // namespace wick
