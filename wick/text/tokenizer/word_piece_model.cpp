#include "wick/text/tokenizer/word_piece_model.h"

#include <algorithm>
#include <utility>

#include "wick/base/utf8.h"

namespace wick {
namespace {

// A walk may read the longest piece and fall back to a short one, at each place again. Once walks have read so many times the bytes that
// they passed, an automaton finds the pieces; unless all of them are short.
constexpr size_t kMaxReads = 8;
constexpr size_t kShortPiece = 32;

}  // namespace

WordPieceModel::WordPieceModel(const Vocabulary& vocabulary, WordPieceOptions options) : options_(std::move(options)) {
  std::vector<TextMatcher::Entry> continuing;
  size_t longest = 0;
  vocabulary.for_each_piece([&](std::string_view text, TokenId id) {
    if (vocabulary.kind(id) == TokenKind::control) return;
    pieces_.insert(text, id);
    if (!text.starts_with(options_.continuing_prefix)) return;
    continuing.push_back({text.substr(options_.continuing_prefix.size()), id});
    longest = std::max(longest, continuing.back().text.size());
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
  if (longest > kShortPiece) long_pieces_ = TextMatcher(continuing);
}

TextMatcher::Match WordPieceModel::walk(ByteTrie::Node node, std::string_view text, size_t& reads) const noexcept {
  TextMatcher::Match longest;
  size_t end = 0;
  while (end < text.size() && node != ByteTrie::kNoNode) {
    node = pieces_.child(node, static_cast<unsigned char>(text[end++]));
    if (node == ByteTrie::kNoNode || pieces_.value(node) < 0) continue;
    longest = {.length = static_cast<uint32_t>(end), .value = pieces_.value(node)};
  }
  reads += end;
  return longest;
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
  TextMatcher::Search search(long_pieces_, piece);
  size_t reads = 0;
  for (size_t begin = 0; begin < piece.size();) {
    if (begin > 0 && marked_first && piece.substr(begin).starts_with(options_.first_prefix)) return give_up();
    const bool walks = begin == 0 || long_pieces_.empty() || reads <= kMaxReads * (begin + kShortPiece);
    const TextMatcher::Match longest =
        walks ? walk(begin == 0 ? first_ : continuing_, piece.substr(begin), reads) : search.at(begin).value_or(TextMatcher::Match{});
    if (longest.length == 0) return give_up();
    ids.push_back(longest.value);
    begin += longest.length;
  }
}

}  // namespace wick
