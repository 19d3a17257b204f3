#include "wick/text/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/token_model.h"
#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

struct Section {
  TextSpan range;
  bool match = false;
};

void add_piece(std::vector<TextSpan>& pieces, TextSpan range) {
  if (range.begin < range.end) pieces.push_back(range);
}

// MergedWithPrevious, or read backwards MergedWithNext: the first match of a run joins its neighbor; others stay alone.
void merge_matches(std::vector<Section>& sections, bool with_next, std::vector<TextSpan>& pieces) {
  if (with_next) std::reverse(sections.begin(), sections.end());
  std::vector<TextSpan> merged;
  bool previous_match = false;
  for (const Section& section : sections) {
    if (section.match && !previous_match && !merged.empty()) {
      merged.back() = {std::min(merged.back().begin, section.range.begin), std::max(merged.back().end, section.range.end)};
    } else {
      merged.push_back(section.range);
    }
    previous_match = section.match;
  }
  if (with_next) std::reverse(merged.begin(), merged.end());
  for (const TextSpan& range : merged) add_piece(pieces, range);
}

void apply_behavior(std::vector<Section>& sections, SplitBehavior behavior, std::vector<TextSpan>& pieces) {
  switch (behavior) {
    case SplitBehavior::removed:
      for (const Section& section : sections) {
        if (!section.match) add_piece(pieces, section.range);
      }
      return;
    case SplitBehavior::isolated:
      for (const Section& section : sections) add_piece(pieces, section.range);
      return;
    case SplitBehavior::merged_with_previous: return merge_matches(sections, false, pieces);
    case SplitBehavior::merged_with_next: return merge_matches(sections, true, pieces);
    case SplitBehavior::contiguous: {
      std::optional<Section> run;
      for (const Section& section : sections) {
        if (run && run->match == section.match) {
          run->range.end = section.range.end;
          continue;
        }
        if (run) add_piece(pieces, run->range);
        run = section;
      }
      if (run) add_piece(pieces, run->range);
      return;
    }
  }
}

// Cuts each piece into the sections that find_sections(text, emit(begin, end, match)) names.
template <class FindSections>
void split_pieces(PieceList& list, SplitBehavior behavior, const FindSections& find_sections) {
  std::vector<TextSpan> pieces;
  pieces.reserve(list.pieces.size());
  std::vector<Section> sections;
  for (size_t index = 0; index < list.pieces.size(); ++index) {
    const size_t base = list.pieces[index].begin;
    sections.clear();
    find_sections(list[index], [&](size_t begin, size_t end, bool match) { sections.push_back({{base + begin, base + end}, match}); });
    apply_behavior(sections, behavior, pieces);
  }
  const auto begin = [](const std::vector<TextSpan>& spans) { return spans.empty() ? SIZE_MAX : spans.front().begin; };
  list.at_beginning = list.at_beginning && begin(pieces) == begin(list.pieces);
  list.pieces = std::move(pieces);
}

// Rewrites each piece: append(result, piece, is_first) writes what it becomes.
template <class Append>
void rewrite_pieces(PieceList& list, const Append& append) {
  std::string text;
  text.reserve(list.text.size() + list.text.size() / 4);
  std::vector<TextSpan> pieces;
  for (size_t index = 0; index < list.pieces.size(); ++index) {
    const size_t begin = text.size();
    append(text, list[index], index == 0);
    pieces.push_back({begin, text.size()});
  }
  list.text = std::move(text);
  list.pieces = std::move(pieces);
}

}  // namespace

std::unique_ptr<PreTokenizer> make_split(std::string_view pattern, std::string_view place) {
  if (pattern == R"(\d{1,3}(?=(?:\d{3})*\b))") return std::make_unique<DigitGroupsPreTokenizer>(DigitGrouping::before_word_end);
  if (pattern == R"(\p{N}{1,3}(?=(?:\p{N}{3})*+(?!\p{N})))") return std::make_unique<DigitGroupsPreTokenizer>(DigitGrouping::any_numbers);
  if (pattern == R"((?=(\d{3})+(?!\d)))") return std::make_unique<DigitGroupsPreTokenizer>(DigitGrouping::cuts);
  return std::make_unique<SplitPreTokenizer>(Regex(pattern, place), SplitBehavior::isolated);
}

void SplitPreTokenizer::apply(PieceList& list, RegexScratch& scratch) const {
  split_pieces(list, behavior_, [&](std::string_view text, const auto& emit) {
    if (!is_valid_utf8(text)) return emit(0, text.size(), false);
    size_t done = 0;
    pattern_.for_each_match(text, scratch, [&](TextSpan match) {
      if (match.begin > done) emit(done, match.begin, invert_);
      emit(match.begin, match.end, !invert_);
      done = match.end;
    });
    if (done < text.size()) emit(done, text.size(), invert_);
  });
}

void DigitGroupsPreTokenizer::apply(PieceList& list, RegexScratch&) const {
  const auto is_digit = [&](const DecodedCharacter& character) {
    const bool any_number = grouping_ == DigitGrouping::any_numbers;
    return character.valid && (any_number ? is_number(character.code) : is_decimal_digit(character.code));
  };
  // Oniguruma's \w.
  const auto continues_word = [](const DecodedCharacter& character) {
    const char32_t code = character.code;
    if (code == 0xB2 || code == 0xB3 || code == 0xB9 || (code >= 0xBC && code <= 0xBE)) return true;
    return character.valid && is_word(code) && code != 0x200C && code != 0x200D;
  };
  split_pieces(list, SplitBehavior::isolated, [&](std::string_view text, const auto& emit) {
    size_t done = 0;
    const auto cut = [&](size_t at) {
      if (at > done) emit(done, at, false);
      done = at;
    };
    std::vector<size_t> begins;  // of the digits of a run
    for (size_t offset = 0; offset < text.size();) {
      DecodedCharacter character = decode_character(text, offset);
      if (!is_digit(character)) {
        offset += character.length;
        continue;
      }
      begins.clear();
      while (offset < text.size()) {
        character = decode_character(text, offset);
        if (!is_digit(character)) break;
        begins.push_back(offset);
        offset += character.length;
      }
      if (grouping_ == DigitGrouping::before_word_end && offset < text.size() && continues_word(character)) continue;
      const size_t first = begins.size() % 3;
      const bool cuts_only = grouping_ == DigitGrouping::cuts;
      for (size_t index = cuts_only ? first : 0; index < begins.size(); index += index == 0 && first > 0 ? first : 3) cut(begins[index]);
      if (!cuts_only) cut(offset);
    }
    if (done < text.size()) emit(done, text.size(), false);
  });
}

void CharacterPreTokenizer::apply(PieceList& list, RegexScratch&) const {
  split_pieces(list, behavior_, [&](std::string_view text, const auto& emit) {
    size_t done = 0;
    for (size_t offset = 0; offset < text.size();) {
      const DecodedCharacter character = decode_character(text, offset);
      const size_t end = offset + character.length;
      if (character.valid && separates_(character.code)) {
        if (offset > done) emit(done, offset, false);
        emit(offset, end, true);
        done = end;
      }
      offset = end;
    }
    if (done < text.size()) emit(done, text.size(), false);
  });
}

void FixedLengthPreTokenizer::apply(PieceList& list, RegexScratch&) const {
  split_pieces(list, SplitBehavior::isolated, [&](std::string_view text, const auto& emit) {
    size_t begin = 0;
    size_t characters = 0;
    for (size_t offset = 0; offset < text.size();) {
      offset += decode_character(text, offset).length;
      if (++characters < length_ && offset < text.size()) continue;
      emit(begin, offset, false);
      begin = offset;
      characters = 0;
    }
  });
}

void PrefixSpacePreTokenizer::apply(PieceList& list, RegexScratch&) const {
  rewrite_pieces(list, [](std::string& result, std::string_view piece, bool) {
    if (!piece.starts_with(' ')) result += ' ';
    result += piece;
  });
}

void ByteLettersPreTokenizer::apply(PieceList& list, RegexScratch&) const {
  rewrite_pieces(list, [](std::string& result, std::string_view piece, bool) { append_letters(result, piece); });
}

void MetaspacePreTokenizer::apply(PieceList& list, RegexScratch&) const {
  rewrite_pieces(list, [&](std::string& result, std::string_view piece, bool is_first) {
    const bool wanted = scheme_ == PrependScheme::always || (scheme_ == PrependScheme::first && is_first && list.at_beginning);
    if (wanted && !piece.starts_with(' ') && !piece.starts_with(marker_)) result += marker_;
    for (const char letter : piece) {
      if (letter == ' ') {
        result += marker_;
      } else {
        result += letter;
      }
    }
  });
  if (!split_) return;
  split_pieces(list, SplitBehavior::merged_with_next, [&](std::string_view text, const auto& emit) {
    size_t done = 0;
    for (size_t at = text.find(marker_); at != std::string_view::npos; at = text.find(marker_, done)) {
      if (at > done) emit(done, at, false);
      done = at + marker_.size();
      emit(at, done, true);
    }
    if (done < text.size()) emit(done, text.size(), false);
  });
}

void MarkerPreTokenizer::apply(PieceList& list, RegexScratch&) const {
  split_pieces(list, SplitBehavior::isolated, [](std::string_view text, const auto& emit) {
    size_t begin = 0;
    size_t offset = 0;
    while (offset < text.size()) {
      while (text.substr(offset).starts_with(kSpaceMarker)) offset += kSpaceMarker.size();
      offset = std::min(text.find(kSpaceMarker, offset), text.size());
      emit(begin, offset, false);
      begin = offset;
    }
  });
}

}  // namespace wick
