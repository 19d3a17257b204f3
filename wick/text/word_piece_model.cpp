#include "wick/text/word_piece_model.h"

#include <algorithm>
#include <utility>

#include "wick/text/unicode.h"

namespace wick {
namespace {

bool begins_character(std::string_view text, size_t offset) noexcept {
  return offset == text.size() || (static_cast<unsigned char>(text[offset]) & 0xC0) != 0x80;
}

size_t count_characters(std::string_view text) noexcept {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace

WordPieceModel::WordPieceModel(const Vocabulary& vocabulary, WordPieceOptions options)
    : vocabulary_(vocabulary), options_(std::move(options)) {}

void WordPieceModel::encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const {
  const size_t first = ids.size();
  const auto give_up = [&] {
    ids.resize(first);
    if (options_.unknown != kNoToken) ids.push_back(options_.unknown);
  };
  if (piece.size() > options_.longest_word && count_characters(piece) > options_.longest_word) return give_up();
  for (size_t begin = 0; begin < piece.size();) {
    const std::string& prefix = begin == 0 ? options_.first_prefix : options_.continuing_prefix;
    std::string& text = scratch.letters;
    text.assign(prefix);
    text.append(piece.substr(begin, vocabulary_.longest_text()));
    TokenId id = kNoToken;
    size_t length = text.size() - prefix.size();
    for (; length > 0; --length) {
      if (!begins_character(piece, begin + length)) continue;
      id = vocabulary_.find(std::string_view(text).substr(0, prefix.size() + length));
      if (id != kNoToken) break;
    }
    if (id == kNoToken) return give_up();
    ids.push_back(id);
    begin += length;
  }
}

}  // namespace wick
