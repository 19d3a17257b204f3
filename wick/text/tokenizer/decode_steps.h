// A DecodeStep rewrites the texts of tokens on their way to one text, as the decoders of a tokenizer.json do; it takes them one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/regex/regex.h"
#include "wick/text/tokenizer/character_map.h"

namespace wick {

// State of a step between tokens.
struct DecodeStepState {
  static constexpr size_t kInside = SIZE_MAX / 2;  // of `tokens`: the text did not begin here

  size_t tokens = 0;        // that have come; of a fused text: characters that were looked at
  std::string held;         // text that the next token may change
  bool bytes_pass = false;  // byte tokens pass on as bytes at once, whatever they become together
};

class DecodeStep {
 public:
  using Texts = std::vector<std::string>;

  DecodeStep() = default;
  DecodeStep(const DecodeStep&) = delete;
  DecodeStep& operator=(const DecodeStep&) = delete;
  virtual ~DecodeStep() = default;

  // Appends to `out` what `token` adds.
  virtual void push(std::string_view token, DecodeStepState& state, Texts& out) const = 0;
  // Appends what was held back.
  virtual void finish(DecodeStepState& state, Texts& out) const;
};

using DecodeSteps = std::vector<std::unique_ptr<DecodeStep>>;

// Texts in the byte alphabet become their bytes; others pass as they are.
class ByteLettersStep final : public DecodeStep {
 public:
  void push(std::string_view token, DecodeStepState& state, Texts& out) const override;
};

// A run of "<0x…>" becomes the text of its bytes or, if they are not valid UTF-8, one U+FFFD for each.
class ByteFallbackStep final : public DecodeStep {
 public:
  void push(std::string_view token, DecodeStepState& state, Texts& out) const override;
  void finish(DecodeStepState& state, Texts& out) const override;
};

// Replaces each match. Of a fused text, matches may reach over tokens: what may become one is held back.
class ReplaceStep final : public DecodeStep {
 public:
  ReplaceStep(std::string literal, std::string content, bool fused)
      : literal_(std::move(literal)), content_(std::move(content)), fused_(fused) {}
  ReplaceStep(Regex pattern, std::string content, bool fused)
      : pattern_(std::make_unique<Regex>(std::move(pattern))), content_(std::move(content)), fused_(fused) {}
  void push(std::string_view token, DecodeStepState& state, Texts& out) const override;
  void finish(DecodeStepState& state, Texts& out) const override;

 private:
  [[nodiscard]] std::string replace(std::string_view text) const;

  std::string literal_;
  std::unique_ptr<Regex> pattern_;  // instead of the literal
  std::string content_;
  bool fused_;
};

// Takes up to `start` times `content`, one character, from the beginning of each token (or of the fused text), `stop` from the end.
class StripStep final : public DecodeStep {
 public:
  StripStep(std::string content, size_t start, size_t stop, bool fused)
      : content_(std::move(content)), start_(start), stop_(stop), fused_(fused) {}
  void push(std::string_view token, DecodeStepState& state, Texts& out) const override;
  void finish(DecodeStepState& state, Texts& out) const override;

 private:
  std::string content_;
  size_t start_;
  size_t stop_;
  bool fused_;
};

// Joins all tokens to one, for a step that rewrites a text as a whole: nothing passes before the last token has come.
class FuseStep final : public DecodeStep {
 public:
  void push(std::string_view token, DecodeStepState& state, Texts& out) const override;
  void finish(DecodeStepState& state, Texts& out) const override;
};

// A space between tokens, but not before one that begins with `prefix`, which is dropped. No prefix: before all but the first.
class WordPieceStep final : public DecodeStep {
 public:
  WordPieceStep(std::optional<std::string> prefix, bool clean_up) : prefix_(std::move(prefix)), clean_up_(clean_up) {}
  void push(std::string_view token, DecodeStepState& state, Texts& out) const override;

 private:
  std::optional<std::string> prefix_;
  bool clean_up_;
};

// `marker` becomes a space; in the first token nothing, if encoding puts one there.
class MetaspaceStep final : public DecodeStep {
 public:
  MetaspaceStep(std::string marker, bool drops_first, bool fused) : marker_(std::move(marker)), drops_first_(drops_first), fused_(fused) {}
  void push(std::string_view token, DecodeStepState& state, Texts& out) const override;

 private:
  std::string marker_;
  bool drops_first_;
  bool fused_;
};

// `suffix` becomes a space; in the last token nothing.
class WordSuffixStep final : public DecodeStep {
 public:
  explicit WordSuffixStep(std::string suffix) : suffix_(std::move(suffix)) {}
  void push(std::string_view token, DecodeStepState& state, Texts& out) const override;
  void finish(DecodeStepState& state, Texts& out) const override;

 private:
  std::string suffix_;
};

// Connectionist temporal classification: equal neighbours are one token, `pad` is dropped, `delimiter` becomes a space.
class CtcStep final : public DecodeStep {
 public:
  CtcStep(std::string pad, std::string delimiter, bool clean_up)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), clean_up_(clean_up) {}
  void push(std::string_view token, DecodeStepState& state, Texts& out) const override;
  void finish(DecodeStepState& state, Texts& out) const override;

 private:
  std::string pad_;
  std::string delimiter_;
  bool clean_up_;
};

// SentencePiece's denormalizer: a character map over the whole text.
class CharacterMapStep final : public DecodeStep {
 public:
  explicit CharacterMapStep(CharacterMap map) : map_(std::move(map)) {}
  void push(std::string_view token, DecodeStepState& state, Texts& out) const override;
  void finish(DecodeStepState& state, Texts& out) const override;

 private:
  [[nodiscard]] std::string rewrite(std::string_view text, bool last, size_t& done) const;

  CharacterMap map_;
};

// Every `from` in `text` replaced, from left to right.
[[nodiscard]] std::string replace_all(std::string_view text, std::string_view from, std::string_view to);
// transformers' clean_up_tokenization_spaces: removes spaces before punctuation and English contractions.
[[nodiscard]] std::string clean_up_spaces(std::string_view text);

}  // namespace wick
