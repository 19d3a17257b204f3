#include "wick/text/word_piece_model.h"

#include <algorithm>
#include <utility>

#include "wick/base/utf8.h"

namespace wick {

WordPieceModel::WordPieceModel(const Vocabulary& vocabulary, WordPieceOptions options) : options_(std::move(options)) {
  vocabulary.for_each_piece([&](std::string_view text, TokenId id) {
    if (vocabulary.kind(id) != TokenKind::control) pieces_.insert(text, id);
  });
  const auto node_of = [&](std::string_view prefix) {
    ByteTrie::Node node = ByteTrie::kRoot;
    for (const char byte : prefix) {
      if (node != ByteTrie::kNoNode) node = pieces_.child(node, static_cast<unsigned char>(byte));
    }
    return node;
  };
  first_ = node_of(options_.first_prefix);
  continuing_ = node_of(options_.continuing_prefix);
}

void WordPieceModel::encode(std::string_view piece, EncodeScratch&, std::vector<TokenId>& ids) const {
  const size_t first = ids.size();
  const auto give_up = [&] {
    ids.resize(first);
    if (options_.unknown != kNoToken) ids.push_back(options_.unknown);
  };
  if (piece.size() > options_.longest_word && count_characters(piece) > options_.longest_word) return give_up();
  // Where only a word's first token has a prefix, a text that begins with it must not pass for one inside a word.
  const bool marked_first = options_.continuing_prefix.empty() && !options_.first_prefix.empty();
  for (size_t begin = 0; begin < piece.size();) {
    if (begin > 0 && marked_first && piece.substr(begin).starts_with(options_.first_prefix)) return give_up();
    TokenId id = kNoToken;
    size_t length = 0;
    ByteTrie::Node node = begin == 0 ? first_ : continuing_;
    for (size_t end = begin; end < piece.size() && node != ByteTrie::kNoNode;) {
      node = pieces_.child(node, static_cast<unsigned char>(piece[end++]));
      if (node == ByteTrie::kNoNode || pieces_.value(node) < 0) continue;
      id = pieces_.value(node);
      length = end - begin;
    }
    if (id == kNoToken) return give_up();
    ids.push_back(id);
    begin += length;
  }
}

}  // namespace wick
