#include "wick/text/grammar/token_trie.h"

#include <algorithm>

#include "wick/base/utf8.h"
#include "wick/text/token_constraint.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

bool is_plain(const std::string& text) {
  const bool ordinary = std::all_of(text.begin(), text.end(), [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte >= 0x20 && byte != 0x7F && letter != '"' && letter != '\\';
  });
  return ordinary && is_valid_utf8(text) && count_characters(text) <= TokenTable::kMostPlainCharacters;
}

size_t common_prefix(std::string_view left, std::string_view right) {
  const size_t most = std::min(left.size(), right.size());
  return static_cast<size_t>(std::mismatch(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(most), right.begin()).first -
                             left.begin());
}

}  // namespace

TokenTrie::TokenTrie(std::vector<std::pair<std::string, TokenId>> tokens) {
  std::erase_if(tokens, [](const auto& token) { return token.first.empty(); });
  std::sort(tokens.begin(), tokens.end());
  nodes_.push_back({});
  std::vector<uint32_t> path = {0};  // the nodes from the root to the last token's
  const auto close_to = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back()) nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  std::string_view last;
  for (const auto& [text, id] : tokens) {
    longest_ = std::max(longest_, text.size());
    close_to(common_prefix(last, text));
    while (path.size() <= text.size()) {
      const auto depth = static_cast<uint16_t>(path.size());
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back(
          {.first_token = static_cast<uint32_t>(tokens_.size()), .depth = depth, .byte = static_cast<uint8_t>(text[depth - 1U])});
    }
    tokens_.push_back(id);
    last = text;
  }
  close_to(0);
  nodes_[0].end = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.first_token = static_cast<uint32_t>(tokens_.size())});
}

struct TokenTable::Split {
  std::vector<std::string> bytes;
  std::vector<std::pair<std::string, TokenId>> plain;
  std::vector<std::pair<std::string, TokenId>> other;

  explicit Split(const Tokenizer& tokenizer) {
    for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
      const bool has_text = !tokenizer.is_special(id) && !tokenizer.ends_generation(id);
      bytes.push_back(has_text ? tokenizer.token_bytes(id) : std::string());
      if (!bytes.back().empty()) (is_plain(bytes.back()) ? plain : other).emplace_back(bytes.back(), id);
    }
  }
};

TokenTable::TokenTable(const Tokenizer& tokenizer) : TokenTable(tokenizer, Split(tokenizer)) {}

TokenTable::TokenTable(const Tokenizer& tokenizer, Split split)
    : bytes_(std::move(split.bytes)),
      plain_(split.plain),
      other_(std::move(split.other)),
      plain_masks_(kMostPlainCharacters + 1, std::vector<uint64_t>(mask_words(tokenizer.vocab_size()), 0)),
      end_tokens_(tokenizer.end_of_generation()) {
  for (const auto& [text, id] : split.plain) {
    const size_t characters = count_characters(text);
    for (size_t most = characters; most <= kMostPlainCharacters; ++most)
      plain_masks_[most][static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
  }
}

bool TokenTable::is_end(TokenId id) const noexcept { return std::binary_search(end_tokens_.begin(), end_tokens_.end(), id); }

}  // namespace wick
