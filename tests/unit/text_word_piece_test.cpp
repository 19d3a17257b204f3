// WordPiece's cut of a word is the one that tries, from each place on, the pieces of every length, the longest first.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "random_letters.h"
#include "wick/base/utf8.h"
#include "wick/text/tokenizer/word_piece_model.h"

namespace wick {
namespace {

using Ids = std::vector<TokenId>;

struct WordPiece {
  std::string text;
  TokenKind kind = TokenKind::normal;
};

constexpr TokenId kUnknown = 0;

Vocabulary vocabulary_of(const std::vector<WordPiece>& pieces) {
  Vocabulary vocabulary;
  vocabulary.add("[UNK]", TokenKind::control, 0);
  for (const WordPiece& piece : pieces) vocabulary.add(piece.text, piece.kind, 0);
  vocabulary.build_index();
  return vocabulary;
}

// Looks up each beginning of the rest of the word, the longest first.
class QuadraticCut {
 public:
  QuadraticCut(const Vocabulary& vocabulary, const WordPieceOptions& options) : options_(options) {
    for (TokenId id = 0; id < vocabulary.size(); ++id) {
      if (vocabulary.kind(id) == TokenKind::control) continue;
      ids_.emplace(vocabulary.text(id), id);
      longest_ = std::max(longest_, vocabulary.text(id).size());
    }
  }

  [[nodiscard]] Ids encode(std::string_view word) const {
    if (count_characters(word) > options_.longest_word) return {kUnknown};
    const bool marked_first = options_.continuing_prefix.empty() && !options_.first_prefix.empty();
    Ids ids;
    for (size_t begin = 0; begin < word.size();) {
      const std::string_view rest = word.substr(begin, longest_);
      if (begin > 0 && marked_first && rest.starts_with(options_.first_prefix)) return {kUnknown};
      size_t length = rest.size();
      std::string text = (begin == 0 ? options_.first_prefix : options_.continuing_prefix) + std::string(rest);
      auto found = ids_.find(text);
      while (length > 0 && found == ids_.end()) {
        --length;
        text.pop_back();
        found = ids_.find(text);
      }
      if (length == 0) return {kUnknown};
      ids.push_back(found->second);
      begin += length;
    }
    return ids;
  }

 private:
  const WordPieceOptions& options_;
  std::map<std::string, TokenId, std::less<>> ids_;
  size_t longest_ = 0;
};

// Behind an id that is there already.
Ids encode(const WordPieceModel& model, std::string_view word) {
  EncodeScratch scratch;
  Ids ids = {77};
  model.encode(word, scratch, ids);
  EXPECT_EQ(ids.at(0), 77);
  ids.erase(ids.begin());
  return ids;
}

void expect_quadratic_cut(const std::vector<WordPiece>& pieces, const WordPieceOptions& options, std::string_view word) {
  const Vocabulary vocabulary = vocabulary_of(pieces);
  ASSERT_EQ(encode(WordPieceModel(vocabulary, options), word), QuadraticCut(vocabulary, options).encode(word)) << word;
}

// Those of Hugging Face's files, of GGUF, and of neither.
WordPieceOptions random_word_piece_options(std::mt19937& random) {
  WordPieceOptions options = {.unknown = kUnknown};
  if (random() % 2 == 0) options.continuing_prefix = "";
  if (random() % 2 == 0) options.first_prefix = "\u2581";
  if (random() % 8 == 0) options.longest_word = random() % 80;
  return options;
}

std::vector<WordPiece> random_pieces(std::mt19937& random, const WordPieceOptions& options, size_t kinds) {
  std::vector<WordPiece> pieces;
  for (const std::string& letter : kLetters) {
    if (random() % 16 != 0) pieces.push_back({options.first_prefix + letter});
    if (random() % 16 != 0) pieces.push_back({options.continuing_prefix + letter});
  }
  for (size_t more = random() % 12; more > 0; --more) {
    const size_t length = random() % 4 == 0 ? 20 + random() % 60 : random() % 6;
    const std::string& prefix = random() % 4 == 0 ? options.first_prefix : options.continuing_prefix;
    pieces.push_back({prefix + random_letters(random, kinds, length), random() % 16 == 0 ? TokenKind::control : TokenKind::normal});
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  return pieces;
}

TEST(WordPieceModel, CutsAsTheQuadraticSearchDoes) {
  std::mt19937 random(1);
  for (int round = 0; round < 4000; ++round) {
    const size_t kinds = 1 + random() % kLetters.size();
    const WordPieceOptions options = random_word_piece_options(random);
    const std::vector<WordPiece> pieces = random_pieces(random, options, kinds);
    // A word of letters and pieces, long ones among them.
    std::string word;
    for (size_t parts = random() % 12; parts > 0; --parts) {
      std::string_view part = pieces.empty() ? std::string_view() : pieces[random() % pieces.size()].text;
      const bool continuing = part.starts_with(options.continuing_prefix);
      const std::string& prefix = continuing ? options.continuing_prefix : options.first_prefix;
      if (part.starts_with(prefix)) part.remove_prefix(prefix.size());
      word += random() % 2 == 0 ? std::string(part) : random_letters(random, kinds, random() % 8);
    }
    expect_quadratic_cut(pieces, options, word);
  }
}

// Pieces of which the text has almost all, at each place.
TEST(WordPieceModel, CutsByDeepPiecesAsTheQuadraticSearchDoes) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const WordPieceOptions options = random_word_piece_options(random);
    std::vector<WordPiece> pieces = {{options.first_prefix + "a"}, {options.continuing_prefix + "a"}, {options.continuing_prefix + "b"}};
    for (size_t more = 1 + random() % 8; more > 0; --more) {
      const std::string& prefix = random() % 4 == 0 ? options.first_prefix : options.continuing_prefix;
      std::string text(1 + random() % 120, 'a');
      if (random() % 4 == 0) text[random() % text.size()] = 'b';
      pieces.push_back({prefix + text + (random() % 4 == 0 ? "" : kLetters[1 + random() % 5])});
    }
    // Some longer than a block of the automaton's search; those with c cannot be cut.
    std::string word(round % 50 == 0 ? 20'000 : 1 + random() % 1'000, 'a');
    for (size_t breaks = random() % 20; breaks > 0; --breaks) word.replace(random() % word.size(), 1, kLetters[random() % 5]);
    if (random() % 8 == 0) word[random() % word.size()] = 'c';
    expect_quadratic_cut(pieces, options, word);
  }
}

TEST(WordPieceModel, TheMarkOfFirstPiecesIsUnknownInsideLongWords) {
  const Vocabulary vocabulary = vocabulary_of({{"\u2581a"}, {"a"}, {std::string(90, 'a') + "b"}});
  const WordPieceModel model(vocabulary, {.first_prefix = "\u2581", .continuing_prefix = "", .unknown = kUnknown});
  const std::string word(500, 'a');
  Ids expected(500 - 90, 2);
  expected[0] = 1;
  expected.push_back(3);
  EXPECT_EQ(encode(model, word + "b"), expected);
  EXPECT_EQ(encode(model, word + "\u2581a"), (Ids{kUnknown}));
}

}  // namespace
}  // namespace wick
