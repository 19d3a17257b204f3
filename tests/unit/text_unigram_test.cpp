// The unigram model's segmentation is the one that a walk from each character over every length of piece finds, ties included.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "random_letters.h"
#include "wick/base/error.h"
#include "wick/base/utf8.h"
#include "wick/text/tokenizer/unigram_model.h"

namespace wick {
namespace {

using Ids = std::vector<TokenId>;

struct Piece {
  std::string text;
  double score = 0;
  TokenKind kind = TokenKind::normal;
};

// Token 0 is the unknown one.
Vocabulary vocabulary_of(const std::vector<Piece>& pieces, bool bytes) {
  Vocabulary vocabulary;
  vocabulary.add("<unk>", TokenKind::unknown, 0);
  for (const Piece& piece : pieces) vocabulary.add(piece.text, piece.kind, piece.score);
  for (int byte = 0; bytes && byte < 256; ++byte) vocabulary.add(byte_token(static_cast<uint8_t>(byte)), TokenKind::byte, 0);
  vocabulary.build_index();
  return vocabulary;
}

// Viterbi's search by trying, from each character on, the pieces of every length, the shortest first.
class QuadraticSearch {
 public:
  QuadraticSearch(const Vocabulary& vocabulary, UnigramOptions options) : vocabulary_(vocabulary), options_(options) {
    double lowest = 0;
    bool any = false;
    for (TokenId id = 0; id < vocabulary.size(); ++id) {
      const TokenKind kind = vocabulary.kind(id);
      if (kind == TokenKind::normal || !options.match_user_defined) {
        lowest = any ? std::min(lowest, vocabulary.score(id)) : vocabulary.score(id);
        any = true;
        highest_ = std::max(highest_, vocabulary.score(id));
      }
      if (vocabulary.text(id).empty() || (kind != TokenKind::normal && kind != TokenKind::user_defined)) continue;
      ids_.emplace(vocabulary.text(id), id);
      lengths_.insert(vocabulary.text(id).size());
    }
    unknown_ = rounded(lowest - 10);
  }

  // The ids, with options_.unknown for each unknown character.
  [[nodiscard]] Ids encode(std::string_view text) const {
    std::vector<Best> best(text.size() + 1);
    best[0].reached = true;
    for (size_t begin = 0; begin < text.size();) {
      const size_t character = decode_character(text, begin).length;
      bool whole_character = false;
      for (const size_t length : lengths_) {
        const auto found = length <= text.size() - begin ? ids_.find(text.substr(begin, length)) : ids_.end();
        if (found == ids_.end()) continue;
        offer(best[begin + length], best[begin].score + score_of(found->second), begin, found->second);
        whole_character = whole_character || length == character;
      }
      if (!whole_character) offer(best[begin + character], best[begin].score + unknown_, begin, options_.unknown);
      begin += character;
    }
    Ids ids;
    for (size_t end = text.size(); end > 0; end = best[end].begin) ids.push_back(best[end].id);
    std::reverse(ids.begin(), ids.end());
    return ids;
  }

 private:
  struct Best {
    double score = 0;
    size_t begin = 0;
    TokenId id = kNoToken;
    bool reached = false;
  };

  [[nodiscard]] double rounded(double score) const { return options_.single_precision ? static_cast<float>(score) : score; }
  void offer(Best& best, double score, size_t begin, TokenId id) const {
    score = rounded(score);
    if (!best.reached || score > best.score) best = {score, begin, id, true};
  }
  [[nodiscard]] double score_of(TokenId id) const {
    if (vocabulary_.kind(id) != TokenKind::user_defined || !options_.match_user_defined) return vocabulary_.score(id);
    if (!options_.single_precision) return 0;
    return static_cast<double>(static_cast<float>(vocabulary_.text(id).size()) * static_cast<float>(highest_)) - 0.1;
  }

  const Vocabulary& vocabulary_;
  UnigramOptions options_;
  std::map<std::string_view, TokenId> ids_;
  std::set<size_t> lengths_;
  double highest_ = std::numeric_limits<float>::min();
  double unknown_ = 0;
};

// A run of unknown characters is one token.
Ids joined(const Ids& ids, TokenId unknown) {
  Ids result;
  for (const TokenId id : ids) {
    if (id != unknown || result.empty() || result.back() != unknown) result.push_back(id);
  }
  return result;
}

// The same, spelled as byte tokens.
Ids spelled(const Ids& ids, const Vocabulary& vocabulary, std::string_view text) {
  Ids result;
  size_t offset = 0;
  for (const TokenId id : ids) {
    if (id != 0) {
      result.push_back(id);
      offset += vocabulary.text(id).size();
      continue;
    }
    for (size_t left = decode_character(text, offset).length; left > 0; --left) {
      result.push_back(vocabulary.find(byte_token(static_cast<uint8_t>(text[offset++]))));
    }
  }
  return result;
}

void expect_quadratic_search(const std::vector<Piece>& pieces, UnigramOptions options, std::string_view text) {
  const Vocabulary vocabulary = vocabulary_of(pieces, options.byte_fallback);
  options.unknown = 0;
  const Ids expected = QuadraticSearch(vocabulary, options).encode(text);
  Ids ids;
  EncodeScratch scratch;
  UnigramModel(vocabulary, options, "test").encode(text, scratch, ids);
  ASSERT_EQ(ids, options.byte_fallback ? spelled(expected, vocabulary, text) : joined(expected, 0)) << text;
}

UnigramOptions random_options(std::mt19937& random) {
  return {.byte_fallback = random() % 2 == 0, .match_user_defined = random() % 2 == 0, .single_precision = random() % 2 == 0};
}

// Scores of few values, so that many sums are equal or differ by their last bit.
TEST(UnigramModel, TakesTheSegmentationOfTheQuadraticSearch) {
  std::mt19937 random(1);
  for (int round = 0; round < 4000; ++round) {
    const size_t kinds = 1 + random() % kLetters.size();
    std::vector<Piece> pieces(random() % 12);
    for (Piece& piece : pieces) {
      piece = {random_letters(random, kinds, 1 + random() % 6), -0.1 * static_cast<double>(random() % 4)};
      if (random() % 8 == 0) piece.kind = TokenKind::user_defined;
      if (random() % 16 == 0) piece.kind = TokenKind::control;
    }
    expect_quadratic_search(pieces, random_options(random), random_letters(random, kinds, 1 + random() % 60));
  }
}

TEST(UnigramModel, TakesDeepAndNestedPiecesAsTheQuadraticSearch) {
  std::mt19937 random(2);
  for (int round = 0; round < 24; ++round) {
    std::vector<Piece> pieces = {{std::string(kLongestToken, 'a'), -1}, {std::string(kLongestToken - 1, 'a') + "b", -2}};
    for (int nested = 0; nested < 40; ++nested) {
      const size_t length = nested < 20 ? 1 + random() % 40 : 1 + random() % kLongestToken;
      pieces.push_back({(random() % 4 == 0 ? "b" : "") + std::string(length, 'a'), -0.1 * static_cast<double>(random() % 30)});
    }
    // As deep pieces as these, in a text that breaks some of them off.
    std::string text(9'000, 'a');
    for (size_t breaks = random() % 4; breaks > 0; --breaks) text[random() % text.size()] = random() % 2 == 0 ? 'b' : 'c';
    expect_quadratic_search(pieces, random_options(random), text);
  }
}

TEST(UnigramModel, OfEqualSumsTheLastPieceIsTheLongest) {
  const std::vector<Piece> pieces = {{"a", -1}, {"aa", -2}, {"aaa", -3}, {"aaaa", -4}};
  const Vocabulary vocabulary = vocabulary_of(pieces, false);
  const UnigramModel model(vocabulary, {.unknown = 0}, "test");
  EncodeScratch scratch;
  Ids ids;
  model.encode("aaaaaa", scratch, ids);
  EXPECT_EQ(ids, (Ids{2, 4}));
}

// The pieces b and a, aa, aaa … up to this many.
std::vector<Piece> nested_pieces(int32_t count) {
  std::vector<Piece> pieces = {{"b", -1}};
  for (int32_t length = 1; length <= count; ++length) pieces.push_back({std::string(static_cast<size_t>(length), 'a'), -0.5 * length});
  return pieces;
}

TEST(UnigramModel, TakesAsManyNestedPiecesAsAreSupported) {
  expect_quadratic_search(nested_pieces(kMaxNestedPieces), {}, "b" + std::string(300, 'a') + "ba");
}

TEST(UnigramModel, RefusesMoreNestedPiecesByTheTokenThatEndsWithThem) {
  const Vocabulary vocabulary = vocabulary_of(nested_pieces(kMaxNestedPieces + 1), false);
  try {
    const UnigramModel model(vocabulary, {.unknown = 0}, "test.json");
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_STREQ(error.what(), "test.json: token 130 ends with 128 other tokens; at most 128 may end with one another");
  }
}

}  // namespace
}  // namespace wick
