// A PreTokenizer cuts text into pieces that the model encodes on their own; a tokenizer applies a list of them in order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/regex/regex.h"

namespace wick {

// Text and the pieces of it that are left, in order; text between pieces is dropped.
struct PieceList {
  std::string text;
  std::vector<TextSpan> pieces;
  bool at_beginning = false;  // the first piece begins the whole input

  [[nodiscard]] std::string_view operator[](size_t index) const noexcept {
    return std::string_view(text).substr(pieces[index].begin, pieces[index].end - pieces[index].begin);
  }
};

class PreTokenizer {
 public:
  PreTokenizer() = default;
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;
  virtual ~PreTokenizer() = default;

  // Pieces hold valid UTF-8 or, for byte-level vocabularies, are no valid UTF-8 at all and are then left alone.
  virtual void apply(PieceList& list, RegexScratch& scratch) const = 0;
};

using PreTokenizers = std::vector<std::unique_ptr<PreTokenizer>>;

// How a match and the text around it are split, by the names of Hugging Face's Split.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// Cuts by a pattern.
class SplitPreTokenizer final : public PreTokenizer {
 public:
  // `invert`: the pattern matches what is kept, not the separators.
  SplitPreTokenizer(Regex pattern, SplitBehavior behavior, bool invert = false)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void apply(PieceList& list, RegexScratch& scratch) const override;

 private:
  Regex pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// Groups of three digits, counted from the end of each number. The patterns of models for this look ahead to the number's end at every
// group, which takes a time that grows with the square of its length.
enum class DigitGrouping {
  before_word_end,  // \d{1,3}(?=(?:\d{3})*\b)
  any_numbers,      // \p{N}{1,3}(?=(?:\p{N}{3})*+(?!\p{N}))
  cuts,             // (?=(\d{3})+(?!\d)): before each three digits, not around the number
};

class DigitGroupsPreTokenizer final : public PreTokenizer {
 public:
  explicit DigitGroupsPreTokenizer(DigitGrouping grouping) : grouping_(grouping) {}
  void apply(PieceList& list, RegexScratch& scratch) const override;

 private:
  DigitGrouping grouping_;
};

// Cuts by an isolating pattern. Errors: as Regex.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_split(std::string_view pattern, std::string_view place);

// Cuts at characters of a class.
class CharacterPreTokenizer final : public PreTokenizer {
 public:
  using Predicate = bool (*)(char32_t) noexcept;
  CharacterPreTokenizer(Predicate separates, SplitBehavior behavior) : separates_(separates), behavior_(behavior) {}
  void apply(PieceList& list, RegexScratch& scratch) const override;

 private:
  Predicate separates_;
  SplitBehavior behavior_;
};

// Cuts after every `length` characters, at least 1.
class FixedLengthPreTokenizer final : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(size_t length) : length_(length) {}
  void apply(PieceList& list, RegexScratch& scratch) const override;

 private:
  size_t length_;
};

// Puts a space before every piece that does not begin with one (ByteLevel's add_prefix_space).
class PrefixSpacePreTokenizer final : public PreTokenizer {
 public:
  void apply(PieceList& list, RegexScratch& scratch) const override;
};

// Spells pieces in the byte alphabet, for steps and vocabularies that expect it so.
class ByteLettersPreTokenizer final : public PreTokenizer {
 public:
  void apply(PieceList& list, RegexScratch& scratch) const override;
};

enum class PrependScheme { always, first, never };

// Spaces become "▁", one is put in front, and pieces begin with it.
class MetaspacePreTokenizer final : public PreTokenizer {
 public:
  MetaspacePreTokenizer(std::string marker, PrependScheme scheme, bool split)
      : marker_(std::move(marker)), scheme_(scheme), split_(split) {}
  void apply(PieceList& list, RegexScratch& scratch) const override;

 private:
  std::string marker_;
  PrependScheme scheme_;
  bool split_;
};

// Cuts before every "▁" that follows another character: for models whose pieces never reach across, so that long texts become words.
class MarkerPreTokenizer final : public PreTokenizer {
 public:
  void apply(PieceList& list, RegexScratch& scratch) const override;
};

}  // namespace wick
