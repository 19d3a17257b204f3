#include "wick/text/tokenizer/piece_merge_model.h"

#include <algorithm>
#include <bit>

#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

// Orders floats as integers, the highest first; +0 and -0 are equal.
uint32_t priority_of(float score) noexcept {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);
  const uint32_t ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return std::min(~ascending, PairMerge::kNone - 1);
}

}  // namespace

PieceMergeModel::PieceMergeModel(const Vocabulary& vocabulary, PieceMergeOptions options) : vocabulary_(vocabulary), options_(options) {
  if (options_.byte_fallback) fallback_ = ByteFallback(vocabulary);
  if (!options_.match_user_defined) return;
  std::vector<TextMatcher::Entry> entries;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.kind(id) == TokenKind::user_defined) entries.push_back({vocabulary.text(id), id});
  }
  user_defined_ = TextMatcher(entries);
}

uint32_t PieceMergeModel::character_length(std::string_view piece, size_t offset) const noexcept {
  if (!options_.lead_byte_lengths) return decode_character(piece, offset).length;
  const auto first = static_cast<unsigned char>(piece[offset]);
  const uint32_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return static_cast<uint32_t>(std::min<size_t>(length, piece.size() - offset));
}

void PieceMergeModel::split(std::string_view piece, std::vector<Symbol>& symbols) const {
  symbols.clear();
  TextMatcher::Search user_defined(user_defined_, piece);
  for (size_t offset = 0; offset < piece.size();) {
    Symbol symbol{.begin = static_cast<uint32_t>(offset)};
    if (const auto match = user_defined.at(offset)) {
      symbol.length = match->length;
      symbol.id = match->value;
      symbol.frozen = true;
    } else {
      symbol.length = character_length(piece, offset);
      symbol.id = vocabulary_.find(piece.substr(offset, symbol.length));
    }
    offset += symbol.length;
    symbols.push_back(symbol);
  }
}

void PieceMergeModel::encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const {
  UnusedSplits splits;
  split(piece, scratch.symbols);
  merge_symbols(scratch.symbols, scratch.merge, [&](const Symbol& left, const Symbol& right) -> PairMerge {
    const uint32_t length = left.length + right.length;
    if (left.frozen || right.frozen || length > vocabulary_.longest_text()) return {};
    const TokenId merged = vocabulary_.find(piece.substr(left.begin, length));
    if (merged == kNoToken) return {};
    if (vocabulary_.kind(merged) == TokenKind::unused) {
      splits[std::string(vocabulary_.text(merged))] = {std::string(piece.substr(left.begin, left.length)),
                                                       std::string(piece.substr(right.begin, right.length))};
    }
    return {priority_of(static_cast<float>(vocabulary_.score(merged))), merged};
  });
  for (const Symbol& symbol : scratch.symbols) emit(piece.substr(symbol.begin, symbol.length), symbol.id, splits, 0, ids);
}

void PieceMergeModel::emit(std::string_view text, TokenId id, const UnusedSplits& splits, int depth, std::vector<TokenId>& ids) const {
  constexpr int kDeepest = 100;  // parts are shorter than the whole, so that only a hostile vocabulary comes near
  if (id != kNoToken && vocabulary_.kind(id) == TokenKind::unused && depth < kDeepest) {
    const auto split = splits.find(std::string(text));
    if (split != splits.end()) {
      const auto& [left, right] = split->second;
      emit(left, vocabulary_.find(left), splits, depth + 1, ids);
      emit(right, vocabulary_.find(right), splits, depth + 1, ids);
      return;
    }
  }
  if (id != kNoToken && id != options_.unknown) {
    ids.push_back(id);
    return;
  }
  if (options_.byte_fallback && fallback_.covers(text)) {
    for (const char byte : text) ids.push_back(fallback_[byte]);
  } else if (options_.unknown != kNoToken && !(options_.fuse_unknown && !ids.empty() && ids.back() == options_.unknown)) {
    ids.push_back(options_.unknown);
  }
}

}  // namespace wick
