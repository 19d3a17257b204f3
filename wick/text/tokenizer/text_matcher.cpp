#include "wick/text/tokenizer/text_matcher.h"

#include <algorithm>
#include <string>

namespace wick {
namespace {

// Matches are kept for so many bytes at a time, and for four times the longest text at least: each block is searched together with as
// many bytes after it as the longest text has.
constexpr size_t kBlock = size_t{1} << 14;

}  // namespace

TextMatcher::TextMatcher(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    reversed_.insert(std::string(entry.text.rbegin(), entry.text.rend()), entry.value);
    longest_ = std::max(longest_, entry.text.size());
  }
  states_.resize(reversed_.nodes());
  reversed_.connect([&](ByteAutomaton::Node node, uint32_t depth) {
    const int32_t value = reversed_.value(node);
    states_[node] = value >= 0 ? State{depth, value} : states_[reversed_.fallback(node)];
  });
}

// Adds the matches that begin at offsets from `begin` to `end` - 1, the last one first.
void TextMatcher::search(std::string_view text, size_t begin, size_t end, std::vector<Match>& matches) const {
  ByteAutomaton::Node node = ByteAutomaton::kRoot;
  for (size_t offset = std::min(text.size(), end + longest_); offset-- > begin;) {
    node = reversed_.step(node, static_cast<unsigned char>(text[offset]));
    const State& state = states_[node];
    if (state.length > 0 && offset < end) matches.push_back({offset, state.length, state.value});
  }
}

std::optional<TextMatcher::Match> TextMatcher::Search::next(size_t offset) {
  if (matcher_.empty()) return std::nullopt;
  while (true) {
    while (!matches_.empty() && matches_.back().begin < offset) matches_.pop_back();
    if (!matches_.empty()) return matches_.back();
    const size_t begin = std::max(searched_, offset);
    if (begin >= text_.size()) return std::nullopt;
    searched_ = begin + std::min(text_.size() - begin, std::max(kBlock, 4 * matcher_.longest_));
    matcher_.search(text_, begin, searched_, matches_);
  }
}

std::optional<TextMatcher::Match> TextMatcher::Search::at(size_t offset) {
  const std::optional<Match> match = next(offset);
  return match && match->begin == offset ? match : std::nullopt;
}

}  // namespace wick
