#include "wick/text/tokenizer/longest_match_model.h"

#include <fmt/format.h>

#include "wick/base/fail.h"
#include "wick/text/tokenizer/byte_alphabet.h"

namespace wick {
namespace {

// -1 for what is no hexadecimal digit.
int hexadecimal(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

}  // namespace

LongestMatchModel::LongestMatchModel(const Vocabulary& vocabulary, const std::string& place) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.kind(id) != TokenKind::normal) continue;
    if (const std::optional<std::string> bytes = letters_to_bytes(vocabulary.text(id))) trie_.insert(*bytes, id);
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const ByteTrie::Node node = trie_.child(ByteTrie::kRoot, static_cast<unsigned char>(byte));
    if (node != ByteTrie::kNoNode && trie_.value(node) >= 0) continue;
    fail(ErrorCode::corrupt_file,
         "{}: the vocabulary has no token of the byte 0x{:02X}: no other tokens cover all texts; download it again", place, byte);
  }
}

void LongestMatchModel::encode(std::string_view piece, EncodeScratch&, std::vector<TokenId>& ids) const {
  for (size_t at = 0; at < piece.size();) {
    ByteTrie::Node node = ByteTrie::kRoot;
    TokenId best = kNoToken;
    size_t best_end = at + 1;
    for (size_t end = at; end < piece.size();) {
      node = trie_.child(node, static_cast<unsigned char>(piece[end++]));
      if (node == ByteTrie::kNoNode) break;
      if (const int32_t value = trie_.value(node); value >= 0) {
        best = value;
        best_end = end;
      }
    }
    ids.push_back(best);
    at = best_end;
  }
}

std::optional<std::string> unescape_token(std::string_view escaped) {
  std::string bytes;
  for (size_t at = 0; at < escaped.size(); ++at) {
    if (escaped[at] != '\\') {
      bytes += escaped[at];
      continue;
    }
    if (++at == escaped.size()) return std::nullopt;
    switch (escaped[at]) {
      case 't': bytes += '\t'; break;
      case 'n': bytes += '\n'; break;
      case 'r': bytes += '\r'; break;
      case 'x': {
        if (at + 2 >= escaped.size()) return std::nullopt;
        const int high = hexadecimal(escaped[at + 1]), low = hexadecimal(escaped[at + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes += static_cast<char>(16 * high + low);
        at += 2;
        break;
      }
      default: bytes += escaped[at]; break;
    }
  }
  return bytes;
}

std::string escape_token(std::string_view bytes) {
  // Python chooses quotation marks that need no escapes.
  const bool escapes_quotes = bytes.find('\'') != std::string_view::npos && bytes.find('"') != std::string_view::npos;
  std::string escaped;
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '\\' || (letter == '\'' && escapes_quotes)) {
      escaped += {'\\', letter};
    } else if (letter == '\t') {
      escaped += "\\t";
    } else if (letter == '\n') {
      escaped += "\\n";
    } else if (letter == '\r') {
      escaped += "\\r";
    } else if (byte < 0x20 || byte >= 0x7F) {
      escaped += fmt::format("\\x{:02x}", byte);
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

bool is_rwkv_vocabulary(std::string_view bytes) noexcept {
  const size_t space = bytes.find_first_not_of("0123456789");
  if (space == 0 || space > 9 || space == std::string_view::npos || bytes[space] != ' ') return false;
  const std::string_view literal = bytes.substr(space + 1, 2);
  return literal.starts_with('\'') || literal.starts_with('"') || literal == "b'" || literal == "b\"";
}

}  // namespace wick
