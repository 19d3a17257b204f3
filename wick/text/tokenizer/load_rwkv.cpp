// RWKV's World vocabulary: a line for each token, its id, a Python literal of its text or its bytes, and how many bytes it has.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "wick/base/fail.h"
#include "wick/base/utf8.h"
#include "wick/formats/printable.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/longest_match_model.h"
#include "wick/text/tokenizer/special_tokens.h"
#include "wick/text/tokenizer/tokenizer_parts.h"

namespace wick {
namespace {

// More tokens than any vocabulary has.
constexpr uint64_t kMaxTokens = 1 << 22;

std::optional<uint64_t> number_of(std::string_view digits, int base) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

// The UTF-8 of a literal between its quotation marks: escapes name characters there, and not bytes.
std::optional<std::string> text_of_literal(std::string_view literal) {
  std::string text;
  for (size_t at = 0; at < literal.size();) {
    const char kind = literal[at] == '\\' && at + 1 < literal.size() ? literal[at + 1] : '\0';
    const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (digits > 0) {
      const std::optional<uint64_t> point = number_of(literal.substr(at + 2, digits), 16);
      if (at + 2 + digits > literal.size() || !point || *point > 0x10FFFF) return std::nullopt;
      append_character(text, static_cast<char32_t>(*point));
      at += 2 + digits;
      continue;
    }
    const size_t length = literal[at] == '\\' ? 2 : 1;
    const std::optional<std::string> plain = unescape_token(literal.substr(at, length));
    if (!plain) return std::nullopt;
    text += *plain;
    at += length;
  }
  return text;
}

std::optional<std::string> bytes_of_literal(std::string_view literal) {
  const bool bytes = literal.starts_with('b');
  if (bytes) literal.remove_prefix(1);
  if (literal.size() < 2 || literal.front() != literal.back() || (literal.front() != '\'' && literal.front() != '"')) return std::nullopt;
  const std::string_view inner = literal.substr(1, literal.size() - 2);
  return bytes ? unescape_token(inner) : text_of_literal(inner);
}

}  // namespace

std::unique_ptr<TokenizerParts> read_rwkv_vocabulary(std::string_view bytes, const std::string& name, const SpecialTokens& special) {
  auto parts = std::make_unique<TokenizerParts>();
  parts->name = name;
  Vocabulary& vocabulary = parts->vocabulary;
  // What ends a text; files have no line for it.
  std::string end = "<s>";
  for (const SpecialTokens::Added& token : special.added) {
    if (token.id == 0 && !token.text.empty()) end = token.text;
  }
  vocabulary.add(end, TokenKind::control, 0.0, false);
  size_t number = 0;
  while (!bytes.empty()) {
    const size_t length = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, length);
    bytes.remove_prefix(std::min(length + 1, bytes.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const size_t first = line.find(' '), last = line.rfind(' ');
    const std::optional<uint64_t> id = number_of(line.substr(0, std::min(first, line.size())), 10);
    const std::optional<uint64_t> size = last == std::string_view::npos ? std::nullopt : number_of(line.substr(last + 1), 10);
    const std::optional<std::string> token = first < last ? bytes_of_literal(line.substr(first + 1, last - first - 1)) : std::nullopt;
    const bool fits =
        id && size && token && token->size() == *size && *size > 0 && *id >= static_cast<uint64_t>(vocabulary.size()) && *id < kMaxTokens;
    if (!fits) {
      fail(ErrorCode::corrupt_file,
           "{}: line {}: '{}' is not an id above those before it, a Python literal and the number of its bytes; download the file again",
           name, number, printable(line.substr(0, 80)));
    }
    while (static_cast<uint64_t>(vocabulary.size()) < *id) vocabulary.add("", TokenKind::unused, 0.0);
    std::string letters;
    append_letters(letters, *token);
    vocabulary.add(letters, TokenKind::normal, 0.0);
  }
  add_folder_tokens(*parts, special);
  vocabulary.build_index();
  parts->added.add({.text = end, .id = 0, .special = true});
  parts->eos = parts->bos = 0;
  complete_rwkv(*parts);
  complete_tokenizer(*parts);
  return parts;
}

void complete_rwkv(TokenizerParts& parts) {
  parts.accepts_invalid = true;
  parts.model = std::make_unique<LongestMatchModel>(parts.vocabulary, parts.name);
  parts.decoder = TokenDecoder(parts.vocabulary, DecodeRules{.letters_to_bytes = true, .literal_user_defined = true});
}

}  // namespace wick
