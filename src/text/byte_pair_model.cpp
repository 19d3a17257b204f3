#include "text/byte_pair_model.h"

#include <algorithm>
#include <bit>

#include "text/byte_alphabet.h"
#include "text/unicode.h"

namespace wick {

void MergeTable::reserve(size_t merges) {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(std::bit_ceil(std::max<size_t>(16, merges + merges / 2))));
  for (const Slot& slot : old) {
    if (slot.key == UINT64_MAX) continue;
    size_t place = slot_of(slot.key);
    while (slots_[place].key != UINT64_MAX) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = slot;
  }
}

void MergeTable::insert(TokenId left, TokenId right, PairMerge merge) {
  if (4 * (count_ + 1) > 3 * slots_.size()) reserve(2 * (count_ + 1));
  const uint64_t key = (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
  size_t slot = slot_of(key);
  while (slots_[slot].key != UINT64_MAX && slots_[slot].key != key) slot = (slot + 1) & (slots_.size() - 1);
  if (slots_[slot].key == key) return;
  slots_[slot] = {key, merge};
  ++count_;
}

PairMerge MergeTable::find(TokenId left, TokenId right) const noexcept {
  if (slots_.empty() || left < 0 || right < 0) return {};
  const uint64_t key = (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
  for (size_t slot = slot_of(key); slots_[slot].key != UINT64_MAX; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot].key == key) return slots_[slot].merge;
  }
  return {};
}

BytePairModel::BytePairModel(const Vocabulary& vocabulary, BytePairOptions options)
    : vocabulary_(vocabulary), options_(std::move(options)) {
  if (options_.byte_fallback) fallback_ = ByteFallback(vocabulary);
  if (!options_.bytes_to_letters) return;
  for (int byte = 0; byte < 256; ++byte) {
    const TokenId id = vocabulary.find(byte_to_letter(static_cast<uint8_t>(byte)));
    // An added token of that text ("õ" in DeepSeek Coder's list) means the character, not the byte.
    const bool of_model = id != kNoToken && vocabulary.kind(id) != TokenKind::user_defined && vocabulary.kind(id) != TokenKind::control;
    byte_ids_.push_back(of_model ? id : kNoToken);
  }
}

bool BytePairModel::add_merge(std::string_view left, std::string_view right) {
  const uint32_t rank = next_rank_++;
  const TokenId left_id = vocabulary_.find(left);
  const TokenId right_id = vocabulary_.find(right);
  if (left_id == kNoToken || right_id == kNoToken) return false;
  if (right.starts_with(options_.continuing_prefix)) right.remove_prefix(options_.continuing_prefix.size());
  std::string both;
  both.reserve(left.size() + right.size());
  both.append(left).append(right);
  const TokenId merged = vocabulary_.find(both);
  if (merged == kNoToken) return false;
  merges_.insert(left_id, right_id, {rank, merged});
  return true;
}

void BytePairModel::split_bytes(std::string_view piece, std::vector<Symbol>& symbols) const {
  for (size_t offset = 0; offset < piece.size(); ++offset) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(piece[offset])];
    const TokenId symbol = id == kNoToken ? options_.unknown : id;
    const auto begin = static_cast<uint32_t>(offset);
    if (symbol != kNoToken) {
      symbols.push_back({begin, 1, symbol, false});
      continue;
    }
    // Bytes that no valid text has (0xF5 …) are in some vocabularies missing: they are read as U+FFFD.
    for (const unsigned char replacement : {0xEF, 0xBF, 0xBD}) {
      if (byte_ids_[replacement] != kNoToken) symbols.push_back({begin, 1, byte_ids_[replacement], false});
    }
  }
}

void BytePairModel::split_characters(std::string_view piece, std::vector<Symbol>& symbols) const {
  std::string text;
  bool previous_unknown = false;
  for (size_t offset = 0; offset < piece.size();) {
    const uint32_t length = decode_character(piece, offset).length;
    const auto begin = static_cast<uint32_t>(offset);
    const std::string_view character = piece.substr(offset, length);
    text.clear();
    if (offset > 0) text += options_.continuing_prefix;
    text += character;
    offset += length;
    if (offset == piece.size()) text += options_.word_suffix;
    const TokenId id = vocabulary_.find(text);
    if (id != kNoToken) {
      symbols.push_back({begin, length, id, false});
      previous_unknown = false;
    } else if (options_.byte_fallback && fallback_.covers(character)) {
      for (uint32_t index = 0; index < length; ++index) symbols.push_back({begin + index, 1, fallback_[character[index]], false});
      previous_unknown = false;
    } else if (options_.unknown != kNoToken) {
      if (previous_unknown && options_.fuse_unknown) {
        symbols.back().length += length;
      } else {
        symbols.push_back({begin, length, options_.unknown, false});
      }
      previous_unknown = true;
    }
  }
}

void BytePairModel::merge_tokens_by_id(std::string_view piece, EncodeScratch& scratch) const {
  // The symbols' texts stand one after another in the letters of the piece.
  std::string& letters = scratch.letters;
  letters.clear();
  std::vector<uint32_t> begins;
  for (const char byte : piece) {
    begins.push_back(static_cast<uint32_t>(letters.size()));
    letters += byte_to_letter(static_cast<uint8_t>(byte));
  }
  begins.push_back(static_cast<uint32_t>(letters.size()));
  merge_symbols(scratch.symbols, scratch.merge, [&](const Symbol& left, const Symbol& right) -> PairMerge {
    if (left.begin + left.length != right.begin) return {};  // a byte without token stood between them
    const uint32_t begin = begins[left.begin];
    const uint32_t length = begins[right.begin + right.length] - begin;
    if (length > vocabulary_.longest_text()) return {};
    const TokenId merged = vocabulary_.find(std::string_view(letters).substr(begin, length));
    return merged == kNoToken ? PairMerge{} : PairMerge{static_cast<uint32_t>(merged), merged};
  });
}

void BytePairModel::encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  if (options_.ignore_merges) {
    std::string_view text = piece;
    if (options_.bytes_to_letters) {
      scratch.letters.clear();
      append_letters(scratch.letters, piece);
      text = scratch.letters;
    }
    const TokenId id = text.size() > vocabulary_.longest_text() ? kNoToken : vocabulary_.find(text);
    if (id != kNoToken) {
      ids.push_back(id);
      return;
    }
  }
  symbols.clear();
  if (options_.bytes_to_letters) {
    split_bytes(piece, symbols);
  } else {
    split_characters(piece, symbols);
  }
  if (options_.rank_by_id) {
    merge_tokens_by_id(piece, scratch);
  } else {
    merge_symbols(symbols, scratch.merge,
                  [&](const Symbol& left, const Symbol& right) { return merges_.find(left.id, right.id); });
  }
  for (const Symbol& symbol : symbols) ids.push_back(symbol.id);
}

}  // namespace wick
