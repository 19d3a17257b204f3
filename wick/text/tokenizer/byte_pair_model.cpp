#include "wick/text/tokenizer/byte_pair_model.h"

#include <algorithm>
#include <bit>

#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/unicode/unicode.h"

namespace wick {

void MergeTable::reserve(size_t entries) {
  const size_t wanted = count_ + entries;
  if (slots_.size() >= wanted + wanted / 2 && !slots_.empty()) return;
  bits_ = static_cast<unsigned>(std::bit_width(std::max<size_t>(15, wanted + wanted / 2)));
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size_t{1} << bits_));
  for (const Slot& slot : old) {
    if (slot.key == UINT64_MAX) continue;
    size_t place = slot_of(slot.key);
    while (slots_[place].key != UINT64_MAX) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = slot;
  }
}

void MergeTable::insert(std::span<const Entry> entries, bool last_stays) {
  const auto key_of = [](const Entry& entry) {
    return (uint64_t{static_cast<uint32_t>(entry.left)} << 32) | static_cast<uint32_t>(entry.right);
  };
  for (const Entry& entry : entries) __builtin_prefetch(&slots_[slot_of(key_of(entry))], 1);
  for (const Entry& entry : entries) {
    const uint64_t key = key_of(entry);
    size_t slot = slot_of(key);
    while (slots_[slot].key != UINT64_MAX && slots_[slot].key != key) slot = (slot + 1) & (slots_.size() - 1);
    const bool known = slots_[slot].key == key;
    if (known && !last_stays) continue;
    slots_[slot] = {key, entry.merge};
    if (!known) ++count_;
  }
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
    const TokenId id = vocabulary.find_piece(byte_to_letter(static_cast<uint8_t>(byte)));
    // Where the file does not say which tokens were added: one of that text ("õ" in DeepSeek Coder's list) means the character.
    const auto was_added = [&](TokenKind kind) { return kind == TokenKind::user_defined || kind == TokenKind::control; };
    byte_ids_.push_back(id != kNoToken && !options_.added_letters && was_added(vocabulary.kind(id)) ? kNoToken : id);
  }
}

std::vector<size_t> BytePairModel::add_merges(std::span<const MergeTexts> merges) {
  constexpr size_t kBatch = 64;
  std::vector<size_t> unusable;
  std::string joint;
  std::vector<std::string_view> texts;
  std::vector<MergeTable::Entry> entries;
  merges_.reserve(merges.size());
  for (size_t begin = 0; begin < merges.size(); begin += kBatch) {
    const std::span<const MergeTexts> batch = merges.subspan(begin, std::min(kBatch, merges.size() - begin));
    const auto right_part = [&](const MergeTexts& merge) {
      return merge.right.substr(merge.right.starts_with(options_.continuing_prefix) ? options_.continuing_prefix.size() : 0);
    };
    joint.clear();
    texts.clear();
    entries.clear();
    for (const MergeTexts& merge : batch) joint.append(merge.left).append(right_part(merge));
    size_t offset = 0;
    for (const MergeTexts& merge : batch) {
      const size_t length = merge.left.size() + right_part(merge).size();
      texts.insert(texts.end(), {merge.left, merge.right, std::string_view(joint).substr(offset, length)});
      offset += length;
    }
    const std::vector<TokenId> ids = vocabulary_.find_pieces(texts);
    for (size_t index = 0; index < batch.size(); ++index, ++next_rank_) {
      const TokenId* id = &ids[3 * index];
      if (id[0] == kNoToken || id[1] == kNoToken || id[2] == kNoToken) {
        unusable.push_back(next_rank_);
      } else {
        entries.push_back({id[0], id[1], {next_rank_, id[2]}});
      }
    }
    merges_.insert(entries, options_.last_merge_stays);
  }
  return unusable;
}

// As in Hugging Face's library, an unknown symbol waits for the next known one, so bytes of the fallback between them come before it.
class BytePairModel::WaitingUnknown {
 public:
  WaitingUnknown(std::vector<Symbol>& symbols, TokenId id, bool fuse) : symbols_(symbols), id_(id), fuse_(fuse) {}

  void add(uint32_t begin, uint32_t length) {
    if (id_ == kNoToken) return;  // left out, as in llama.cpp too
    if (symbol_ && fuse_) {
      symbol_->length += length;
      return;
    }
    release();
    symbol_ = Symbol{begin, length, id_, false};
  }

  void release() {
    if (symbol_) symbols_.push_back(*symbol_);
    symbol_.reset();
  }

 private:
  std::vector<Symbol>& symbols_;
  TokenId id_;
  bool fuse_;
  std::optional<Symbol> symbol_;
};

void BytePairModel::split_bytes(std::string_view piece, std::vector<Symbol>& symbols) const {
  WaitingUnknown unknown(symbols, options_.unknown, options_.fuse_unknown);
  for (size_t offset = 0; offset < piece.size(); ++offset) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(piece[offset])];
    if (id != kNoToken) {
      unknown.release();
      symbols.push_back({static_cast<uint32_t>(offset), 1, id, false});
    } else if (const std::string_view letter = byte_to_letter(static_cast<uint8_t>(piece[offset]));
               options_.byte_fallback && fallback_.covers(letter)) {
      for (const char byte : letter) symbols.push_back({static_cast<uint32_t>(offset), 1, fallback_[byte], false});
    } else {
      unknown.add(static_cast<uint32_t>(offset), 1);
    }
  }
  unknown.release();
}

void BytePairModel::split_characters(std::string_view piece, std::vector<Symbol>& symbols) const {
  std::string text;
  WaitingUnknown unknown(symbols, options_.unknown, options_.fuse_unknown);
  for (size_t offset = 0; offset < piece.size();) {
    const uint32_t length = decode_character(piece, offset).length;
    const auto begin = static_cast<uint32_t>(offset);
    const std::string_view character = piece.substr(offset, length);
    text.clear();
    if (offset > 0) text += options_.continuing_prefix;
    text += character;
    offset += length;
    if (offset == piece.size()) text += options_.word_suffix;
    const TokenId id = vocabulary_.find_piece(text);
    if (id != kNoToken) {
      unknown.release();
      symbols.push_back({begin, length, id, false});
    } else if (options_.byte_fallback && fallback_.covers(text)) {
      for (const char byte : text) symbols.push_back({begin, 1, fallback_[byte], false});
    } else {
      unknown.add(begin, length);
    }
  }
  unknown.release();
}

void BytePairModel::merge_tokens_by_id(std::string_view piece, EncodeScratch& scratch) const {
  // The letters of the piece hold the texts of the symbols, one after another.
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
  if (options_.ignore_merges || (options_.whole_newlines && piece.find_first_not_of('\n') == std::string_view::npos)) {
    std::string_view text = piece;
    if (options_.bytes_to_letters) {
      scratch.letters.clear();
      append_letters(scratch.letters, piece);
      text = scratch.letters;
    }
    const TokenId id = text.size() > vocabulary_.longest_text() ? kNoToken : vocabulary_.find_piece(text);
    if (id != kNoToken && vocabulary_.kind(id) != TokenKind::control) {
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
    merge_symbols(symbols, scratch.merge, [&](const Symbol& left, const Symbol& right) { return merges_.find(left.id, right.id); });
  }
  for (const Symbol& symbol : symbols) ids.push_back(symbol.id);
}

}  // namespace wick
