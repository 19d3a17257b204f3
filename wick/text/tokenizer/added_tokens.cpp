#include "wick/text/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "wick/text/unicode/unicode.h"

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

void AddedTokens::add(AddedToken token) { tokens_.push_back(std::move(token)); }

void AddedTokens::build_index() {
  for (const bool normalized : {false, true}) {
    for (const bool parse_special : {false, true}) {
      std::vector<TextMatcher::Entry> entries;
      for (size_t index = 0; index < tokens_.size(); ++index) {
        const AddedToken& token = tokens_[index];
        if (token.normalized != normalized || (token.special && !parse_special)) continue;
        entries.push_back({token.text, static_cast<int32_t>(index)});
      }
      matchers_[index_of(normalized, parse_special)] = TextMatcher(entries);
    }
  }
}

std::vector<TextSegment> AddedTokens::split(std::string_view text, bool normalized, bool parse_special) const {
  std::vector<TextSegment> segments;
  size_t done = 0;
  TextMatcher::Search search(matcher(normalized, parse_special), text);
  size_t offset = 0;
  // The next token may begin in white space that the one before took along.
  for (auto match = search.next(0); match; match = search.next(offset)) {
    offset = match->begin + match->length;
    const AddedToken& token = tokens_[static_cast<size_t>(match->value)];
    TextSpan range{match->begin, offset};
    if (token.single_word && touches_word(text, range)) continue;
    if (token.strip_left) range.begin = std::max(skip_space_left(text, range.begin, done), done);
    // What follows within white space that was taken along ends where that ends.
    if (token.strip_right) range.end = range.end <= done ? done : skip_space_right(text, range.end);
    if (range.begin >= range.end) continue;  // white space that the token before took along
    if (range.begin > done) segments.push_back({{done, range.begin}, kNoToken});
    segments.push_back({range, token.id});
    done = range.end;
  }
  if (done < text.size()) segments.push_back({{done, text.size()}, kNoToken});
  return segments;
}

}  // namespace wick
