#include "wick/text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "wick/text/unicode.h"

namespace wick {
namespace {

bool touches_word(std::string_view text, TextSpan range) noexcept {
  if (range.begin > 0 && is_word(decode_character(text, previous_character(text, range.begin)).code)) return true;
  return range.end < text.size() && is_word(decode_character(text, range.end).code);
}

size_t skip_space_left(std::string_view text, size_t begin, size_t limit) noexcept {
  while (begin > limit) {
    const size_t previous = previous_character(text, begin);
    if (previous < limit || !is_whitespace(decode_character(text, previous).code)) break;
    begin = previous;
  }
  return begin;
}

size_t skip_space_right(std::string_view text, size_t end) noexcept {
  while (end < text.size()) {
    const DecodedCharacter character = decode_character(text, end);
    if (!is_whitespace(character.code)) break;
    end += character.length;
  }
  return end;
}

}  // namespace

void AddedTokens::add(AddedToken token) {
  const auto index = static_cast<int32_t>(tokens_.size());
  const size_t base = token.normalized ? 2 : 0;
  tries_[base + 1].insert(token.text, index);
  if (!token.special) tries_[base].insert(token.text, index);
  tokens_.push_back(std::move(token));
}

std::vector<TextSegment> AddedTokens::split(std::string_view text, bool normalized, bool parse_special) const {
  const ByteTrie& tokens = trie(normalized, parse_special);
  std::vector<TextSegment> segments;
  size_t done = 0;
  for (size_t offset = 0; !tokens.empty() && offset < text.size();) {
    if (tokens.child(ByteTrie::kRoot, static_cast<unsigned char>(text[offset])) == ByteTrie::kNoNode) {
      ++offset;
      continue;
    }
    const auto match = tokens.longest(text.substr(offset));
    const AddedToken* token = match ? &tokens_[static_cast<size_t>(match->value)] : nullptr;
    if (token == nullptr || (token->single_word && touches_word(text, {offset, offset + match->length}))) {
      offset += token == nullptr ? 1 : match->length;
      continue;
    }
    TextSpan range{offset, offset + match->length};
    if (token->strip_left) range.begin = std::max(skip_space_left(text, range.begin, done), done);
    // What follows within white space that was taken along ends where that ends.
    if (token->strip_right) range.end = range.end <= done ? done : skip_space_right(text, range.end);
    if (range.begin >= range.end) {  // white space that the token before took along
      offset += match->length;
      continue;
    }
    if (range.begin > done) segments.push_back({{done, range.begin}, kNoToken});
    segments.push_back({range, token->id});
    // The next token may begin in white space that this one took along.
    offset += match->length;
    done = range.end;
  }
  if (done < text.size()) segments.push_back({{done, text.size()}, kNoToken});
  return segments;
}

}  // namespace wick
