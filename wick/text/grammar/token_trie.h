// A TokenTrie holds the bytes of a vocabulary's tokens in the order of a walk, so that a mask is one pass with jumps over what is refused.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wick/text/vocabulary.h"

namespace wick {

class Tokenizer;

class TokenTrie {
 public:
  struct Node {
    uint32_t end = 0;  // the first node behind this one's subtree
    uint32_t first_token = 0;
    uint16_t depth = 0;
    uint8_t byte = 0;
  };

  // The texts need not be sorted; empty ones are left out.
  explicit TokenTrie(std::vector<std::pair<std::string, TokenId>> tokens);

  // Node 0 is the root; a child comes behind its parent, before its parent's end.
  [[nodiscard]] std::span<const Node> nodes() const noexcept { return {nodes_.data(), nodes_.size() - 1}; }
  [[nodiscard]] const Node& at(uint32_t index) const { return nodes_[index]; }
  [[nodiscard]] std::span<const TokenId> tokens(uint32_t index) const {
    return std::span(tokens_).subspan(nodes_[index].first_token, nodes_[index + 1].first_token - nodes_[index].first_token);
  }
  [[nodiscard]] size_t longest() const noexcept { return longest_; }

 private:
  std::vector<Node> nodes_;  // and one more, for the last one's tokens
  std::vector<TokenId> tokens_;
  size_t longest_ = 0;
};

// The tokens of a vocabulary as masks need them.
class TokenTable {
 public:
  explicit TokenTable(const Tokenizer& tokenizer);

  // Plain tokens are up to so many whole characters without '"', '\' and control characters: what a string of JSON is mostly made of.
  static constexpr size_t kMostPlainCharacters = 16;

  [[nodiscard]] int32_t vocab_size() const noexcept { return static_cast<int32_t>(bytes_.size()); }
  [[nodiscard]] const std::string& bytes(TokenId id) const { return bytes_[static_cast<size_t>(id)]; }
  [[nodiscard]] const TokenTrie& plain() const noexcept { return plain_; }
  [[nodiscard]] const TokenTrie& other() const noexcept { return other_; }
  // The mask of plain tokens with at most so many characters, up to kMostPlainCharacters.
  [[nodiscard]] std::span<const uint64_t> plain_up_to(size_t characters) const { return plain_masks_[characters]; }
  [[nodiscard]] std::span<const TokenId> end_tokens() const noexcept { return end_tokens_; }
  [[nodiscard]] bool is_end(TokenId id) const noexcept;
  [[nodiscard]] size_t longest() const noexcept { return std::max(plain_.longest(), other_.longest()); }

 private:
  struct Split;
  TokenTable(const Tokenizer& tokenizer, Split split);

  std::vector<std::string> bytes_;  // empty for control tokens
  TokenTrie plain_;
  TokenTrie other_;
  std::vector<std::vector<uint64_t>> plain_masks_;
  std::vector<TokenId> end_tokens_;
};

}  // namespace wick
