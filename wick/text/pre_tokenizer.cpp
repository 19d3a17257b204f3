#include "wick/text/pre_tokenizer.h"

#include <algorithm>
#include <optional>

#include "wick/text/byte_alphabet.h"
#include "wick/text/token_model.h"
#include "wick/text/unicode.h"

namespace wick {
namespace {

struct Section {
  Range range;
  bool match = false;
};

void add_piece(std::vector<Range>& pieces, Range range) {
  if (range.begin < range.end) pieces.push_back(range);
}

// MergedWithPrevious, or read backwards MergedWithNext: the first match of a run joins its neighbour; others stand alone.
void merge_matches(std::vector<Section>& sections, bool with_next, std::vector<Range>& pieces) {
  if (with_next) std::reverse(sections.begin(), sections.end());
  std::vector<Range> merged;
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
  for (const Range& range : merged) add_piece(pieces, range);
}

void apply_behavior(std::vector<Section>& sections, SplitBehavior behavior, std::vector<Range>& pieces) {
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
  std::vector<Range> pieces;
  pieces.reserve(list.pieces.size());
  std::vector<Section> sections;
  for (size_t index = 0; index < list.pieces.size(); ++index) {
    const size_t base = list.pieces[index].begin;
    sections.clear();
    find_sections(list[index], [&](size_t begin, size_t end, bool match) { sections.push_back({{base + begin, base + end}, match}); });
    apply_behavior(sections, behavior, pieces);
  }
  list.pieces = std::move(pieces);
}

// Rewrites each piece: append(result, piece, is_first) writes what it becomes.
template <class Append>
void rewrite_pieces(PieceList& list, const Append& append) {
  std::string text;
  text.reserve(list.text.size() + list.text.size() / 4);
  std::vector<Range> pieces;
  for (size_t index = 0; index < list.pieces.size(); ++index) {
    const size_t begin = text.size();
    append(text, list[index], index == 0);
    pieces.push_back({begin, text.size()});
  }
  list.text = std::move(text);
  list.pieces = std::move(pieces);
}

}  // namespace

void SplitPreTokenizer::apply(PieceList& list, RegexScratch& scratch) const {
  split_pieces(list, behavior_, [&](std::string_view text, const auto& emit) {
    if (!is_valid_utf8(text)) return emit(0, text.size(), false);
    size_t done = 0;
    size_t offset = 0;
    Range match;
    while (offset <= text.size() && pattern_.find(text, offset, scratch, match)) {
      if (match.begin > done) emit(done, match.begin, invert_);
      emit(match.begin, match.end, !invert_);
      done = match.end;
      offset = match.end;
      if (match.begin < match.end) continue;
      if (offset == text.size()) break;
      offset += decode_character(text, offset).length;
    }
    if (done < text.size()) emit(done, text.size(), invert_);
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
