#include "wick/text/tokenizer/normalizer.h"

#include <algorithm>

#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/token_model.h"

namespace wick {
namespace {

// Calls visit(code, bytes) for each character of valid text.
template <class Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  for (size_t offset = 0; offset < text.size();) {
    const DecodedCharacter character = decode_character(text, offset);
    visit(character.code, text.substr(offset, character.length));
    offset += character.length;
  }
}

// BERT's text cleaning takes tab, newline and carriage return for spaces, and every other control character out.
std::string clean_text(std::string_view text) {
  std::string result;
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (code == '\t' || code == '\n' || code == '\r') {
      result += ' ';
    } else if (code != kReplacementCharacter && !is_control(code)) {
      result += is_whitespace(code) ? " " : bytes;
    }
  });
  return result;
}

std::string isolate_ideographs(std::string_view text) {
  std::string result;
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    const bool ideograph = is_cjk_ideograph(code);
    if (ideograph) result += ' ';
    result += bytes;
    if (ideograph) result += ' ';
  });
  return result;
}

bool is_nmt_control(char32_t code) noexcept {
  return (code >= 0x1 && code <= 0x8) || code == 0xB || (code >= 0xE && code <= 0x1F) || code == 0x7F || code == 0x8F || code == 0x9F;
}

bool is_nmt_space(char32_t code) noexcept {
  return code == 0x9 || code == 0xA || code == 0xC || code == 0xD || code == 0x1680 || (code >= 0x200B && code <= 0x200F) ||
         code == 0x2028 || code == 0x2029 || code == 0x2581 || code == 0xFEFF || code == 0xFFFD;
}

}  // namespace

std::string UnicodeFormNormalizer::apply(std::string_view text, RegexScratch&) const { return normalize(text, form_); }

std::string LowercaseNormalizer::apply(std::string_view text, RegexScratch&) const { return lowercase(text); }

std::string StripAccentsNormalizer::apply(std::string_view text, RegexScratch&) const {
  std::string result;
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (!is_mark(code)) result += bytes;
  });
  return result;
}

std::string StripNormalizer::apply(std::string_view text, RegexScratch&) const {
  size_t begin = text.size();
  size_t end = 0;
  size_t offset = 0;
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (!is_whitespace(code)) {
      begin = std::min(begin, offset);
      end = offset + bytes.size();
    }
    offset += bytes.size();
  });
  if (!left_) begin = 0;
  if (!right_) end = text.size();
  return begin < end ? std::string(text.substr(begin, end - begin)) : std::string();
}

std::string ReplaceNormalizer::apply(std::string_view text, RegexScratch& scratch) const {
  return pattern_.replace(text, content_, scratch);
}

std::string PrependNormalizer::apply(std::string_view text, RegexScratch&) const {
  return text.empty() ? std::string() : prefix_ + std::string(text);
}

std::string BertNormalizer::apply(std::string_view text, RegexScratch&) const {
  std::string result(text);
  if (options_.clean_text) result = clean_text(result);
  if (options_.split_ideographs) result = isolate_ideographs(result);
  if (options_.strip_accents) {
    const std::string decomposed = normalize(result, NormalForm::nfd);
    result.clear();
    for_each_character(decomposed, [&](char32_t code, std::string_view bytes) {
      if (!is_nonspacing_mark(code)) result += bytes;
    });
  }
  return options_.lowercase ? lowercase(result) : result;
}

std::string ByteLettersNormalizer::apply(std::string_view text, RegexScratch&) const {
  std::string result;
  append_letters(result, text);
  return result;
}

std::string NmtNormalizer::apply(std::string_view text, RegexScratch&) const {
  std::string result;
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (is_nmt_space(code)) {
      result += ' ';
    } else if (!is_nmt_control(code)) {
      result += bytes;
    }
  });
  return result;
}

std::string PrecompiledNormalizer::apply(std::string_view text, RegexScratch&) const {
  constexpr size_t kShortCluster = 6;  // bytes
  std::string result;
  for (size_t offset = 0; offset < text.size();) {
    const size_t length = grapheme_length(text, offset);
    const std::string_view cluster = text.substr(offset, length);
    offset += length;
    const auto whole = length < kShortCluster ? map_.shortest(cluster) : std::nullopt;
    if (whole) {
      result += whole->replacement;
      continue;
    }
    for_each_character(cluster, [&](char32_t, std::string_view bytes) {
      const auto match = map_.shortest(bytes);
      result += match ? match->replacement : bytes;
    });
  }
  // Nobody says that a map's replacements are UTF-8.
  return is_valid_utf8(result) ? result : replace_invalid(result, InvalidBytes::one_per_subpart);
}

SentencePieceNormalizer::Prefix SentencePieceNormalizer::normalize_prefix(std::string_view text) const noexcept {
  if (const auto match = map_.longest(text)) return {match->replacement, match->length};
  const DecodedCharacter character = decode_character(text, 0);
  if (character.valid) return {text.substr(0, character.length), character.length};
  if (options_.keep_invalid) return {text.substr(0, 1), 1};
  return {"\xEF\xBF\xBD", 1};
}

std::string SentencePieceNormalizer::apply(std::string_view text, RegexScratch&) const {
  const std::string_view space = options_.escape_whitespaces ? kSpaceMarker : std::string_view(" ");
  const size_t size = text.size();
  TextMatcher::Search kept(kept_, text);
  const auto next_prefix = [&]() -> Prefix {
    const auto match = kept.at(size - text.size());
    return match ? Prefix{text.substr(0, match->length), match->length} : normalize_prefix(text);
  };
  if (options_.remove_extra_whitespaces) {
    while (!text.empty()) {
      const Prefix prefix = next_prefix();
      if (prefix.text != " ") break;
      text.remove_prefix(prefix.consumed);
    }
  }
  std::string result;
  if (text.empty()) return result;
  result.reserve(text.size() + text.size() / 2 + 3);
  if (options_.add_dummy_prefix && !options_.treat_whitespace_as_suffix) result += space;
  bool after_space = options_.remove_extra_whitespaces;
  while (!text.empty()) {
    const Prefix prefix = next_prefix();
    std::string_view piece = prefix.text;
    while (after_space && piece.starts_with(' ')) piece.remove_prefix(1);
    for (const char letter : piece) {
      if (letter == ' ') {
        result += space;
      } else {
        result += letter;
      }
    }
    if (!piece.empty()) after_space = options_.remove_extra_whitespaces && piece.ends_with(' ');
    text.remove_prefix(prefix.consumed);
  }
  if (options_.remove_extra_whitespaces) {
    while (result.ends_with(space)) result.erase(result.size() - space.size());
  }
  if (options_.add_dummy_prefix && options_.treat_whitespace_as_suffix) result += space;
  return result;
}

}  // namespace wick
