#include "wick/text/tokenizer/unigram_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wick/base/fail.h"
#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

constexpr double kUnknownPenalty = 10.0;  // an unknown character scores so much below the worst piece

}  // namespace

UnigramModel::UnigramModel(const Vocabulary& vocabulary, UnigramOptions options, std::string_view name)
    : vocabulary_(vocabulary), options_(options) {
  double lowest = std::numeric_limits<double>::max();
  // SentencePiece begins with the smallest positive float, so that scores below 0 do not count.
  double highest = std::numeric_limits<float>::min();
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenKind kind = vocabulary.kind(id);
    const bool scored = kind == TokenKind::normal || !options.match_user_defined;
    if (!vocabulary.is_piece(id)) continue;
    if (scored) {
      lowest = std::min(lowest, vocabulary.score(id));
      highest = std::max(highest, vocabulary.score(id));
    }
    if (kind == TokenKind::normal || kind == TokenKind::user_defined) pieces_.insert(vocabulary.text(id), id);
  }
  if (lowest == std::numeric_limits<double>::max()) lowest = 0;
  unknown_score_ = lowest - kUnknownPenalty;
  highest_score_ = highest;
  if (options_.single_precision) unknown_score_ = static_cast<float>(unknown_score_);
  connect(name);
  if (options_.byte_fallback) fallback_ = ByteFallback(vocabulary);
}

double UnigramModel::score_of(TokenId id, size_t length) const noexcept {
  if (vocabulary_.kind(id) != TokenKind::user_defined || !options_.match_user_defined) return vocabulary_.score(id);
  // High enough to be chosen wherever it occurs.
  return options_.single_precision ? static_cast<double>(static_cast<float>(length) * static_cast<float>(highest_score_)) - 0.1 : 0.0;
}

void UnigramModel::offer(Step& step, double score, size_t begin, TokenId id) const noexcept {
  if (options_.single_precision) score = static_cast<float>(score);
  if (step.begin >= 0 && !(score > step.score)) return;
  step = {score, static_cast<int32_t>(begin), id};
}

// The pieces that end with a state's text are those that end with its fallback's text, and the text itself if it is one.
void UnigramModel::connect(std::string_view name) {
  longest_.assign(pieces_.nodes(), -1);
  std::vector<int32_t> nested;  // of endings_: how many each ends with, itself among them
  pieces_.connect([&](ByteAutomaton::Node node, uint32_t depth) {
    const int32_t shorter = longest_[pieces_.fallback(node)];
    const TokenId id = pieces_.value(node);
    longest_[node] = id < 0 ? shorter : static_cast<int32_t>(endings_.size());
    if (id < 0) return;
    endings_.push_back({vocabulary_.score(id), depth, id, shorter, vocabulary_.kind(id) == TokenKind::user_defined});
    nested.push_back(shorter < 0 ? 1 : nested[static_cast<size_t>(shorter)] + 1);
    if (nested.back() <= kMaxNestedPieces) return;
    fail(ErrorCode::unsupported, "{}: token {} ends with {} other tokens; at most {} may end with one another", name, id, nested.back() - 1,
         kMaxNestedPieces);
  });
}

// Takes the best of the pieces that end at `end`, the longest first: that is the order in which a search that goes on from each character
// meets them, and of equal sums the first stays.
void UnigramModel::reach(size_t end, size_t last_character, int32_t longest, std::vector<Step>& steps) const {
  Step best;
  bool whole_character = false;
  for (int32_t index = longest; index >= 0;) {
    const Ending& ending = endings_[static_cast<size_t>(index)];
    index = ending.shorter;
    const size_t begin = end - ending.length;
    const Step& from = steps[begin];
    if (from.begin < 0) continue;  // within a character
    offer(best, from.score + (ending.user_defined ? score_of(ending.id, ending.length) : ending.score), begin, ending.id);
    whole_character = whole_character || begin == last_character;
  }
  if (!whole_character) offer(best, steps[last_character].score + unknown_score_, last_character, options_.unknown);
  steps[end] = best;
}

void UnigramModel::encode(std::string_view piece, EncodeScratch&, std::vector<TokenId>& ids) const {
  if (piece.empty()) return;
  std::vector<Step> steps(piece.size() + 1);
  steps[0].begin = 0;
  ByteAutomaton::Node node = ByteAutomaton::kRoot;
  for (size_t begin = 0; begin < piece.size();) {
    const size_t end = begin + decode_character(piece, begin).length;
    for (size_t offset = begin; offset < end; ++offset) node = pieces_.step(node, static_cast<unsigned char>(piece[offset]));
    reach(end, begin, longest_[node], steps);
    begin = end;
  }
  const size_t first = ids.size();
  // Backwards; a run of unknown characters is all its bytes, or one unknown token.
  for (size_t end = piece.size(); end > 0;) {
    const Step& step = steps[end];
    auto begin = static_cast<size_t>(step.begin);
    if (step.id != options_.unknown) {
      ids.push_back(step.id);
    } else {
      while (begin > 0 && steps[begin].id == options_.unknown) begin = static_cast<size_t>(steps[begin].begin);
      const std::string_view text = piece.substr(begin, end - begin);
      if (options_.byte_fallback && fallback_.covers(text)) {
        for (size_t index = text.size(); index-- > 0;) ids.push_back(fallback_[text[index]]);
      } else if (options_.unknown != kNoToken) {
        ids.push_back(options_.unknown);
      }
    }
    end = begin;
  }
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
}

}  // namespace wick
