// A TokenTrie holds the bytes of a vocabulary's tokens in the order of a walk, so that a mask is one pass with jumps over what is refused.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wick/text/tokenizer/vocabulary.h"

namespace [[gnu::visibility("default")]] wick {
class Tokenizer;
}  // namespace wick

namespace wick {

// Which characters a text holds: a bit for each class of them. ASCII's printable characters, \t, \n and \r are classes of their own.
struct CharacterClasses {
  static constexpr unsigned kControl = 0;  // all others of ASCII
  static constexpr unsigned kBeyond = 1;   // all characters beyond ASCII
  static constexpr unsigned kBroken = 2;   // bytes that are no whole characters
  static constexpr unsigned kLong = 3;     // and the next ones: more characters than each of kLengths
  static constexpr std::array<size_t, 3> kLengths = {16, 32, 64};
  static constexpr unsigned kCount = 127;

  std::array<uint64_t, 2> bits{};

  [[nodiscard]] static constexpr unsigned of(uint8_t byte) noexcept {
    if (byte >= 0x80) return kBeyond;
    const bool own = (byte >= ' ' && byte != 0x7F) || byte == '\t' || byte == '\n' || byte == '\r';
    return own ? byte : kControl;
  }
  void set(unsigned index) noexcept { bits[index / 64] |= uint64_t{1} << (index % 64); }
  [[nodiscard]] bool test(unsigned index) const noexcept { return (bits[index / 64] >> (index % 64) & 1U) != 0; }
  void add(const CharacterClasses& other) noexcept {
    bits[0] |= other.bits[0];
    bits[1] |= other.bits[1];
  }
  [[nodiscard]] bool is_within(const CharacterClasses& other) const noexcept {
    return ((bits[0] & ~other.bits[0]) | (bits[1] & ~other.bits[1])) == 0;
  }
};

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
  // Character classes in a node's subtree from the node's own byte on, and whether one of its texts is broken or long as a whole.
  [[nodiscard]] const CharacterClasses& classes(uint32_t index) const { return classes_[index]; }
  [[nodiscard]] std::span<const TokenId> tokens(uint32_t index) const {
    return std::span(tokens_).subspan(nodes_[index].first_token, nodes_[index + 1].first_token - nodes_[index].first_token);
  }
  [[nodiscard]] size_t longest() const noexcept { return longest_; }

 private:
  std::vector<Node> nodes_;  // and one more, for the last one's tokens
  std::vector<CharacterClasses> classes_;
  std::vector<TokenId> tokens_;
  size_t longest_ = 0;
};

// The tokens of a vocabulary as masks need them.
class TokenTable {
 public:
  explicit TokenTable(const Tokenizer& tokenizer);

  [[nodiscard]] int32_t vocab_size() const noexcept { return static_cast<int32_t>(bytes_.size()); }
  [[nodiscard]] const std::string& bytes(TokenId id) const { return bytes_[static_cast<size_t>(id)]; }
  [[nodiscard]] const TokenTrie& trie() const noexcept { return trie_; }
  // Adds to a mask the tokens of whole characters whose first one is of `first` and all others of `rest`: at most `most` of them, which is
  // up to the first of kLengths, another of them, or above all: any number.
  void add_tokens_of(const CharacterClasses& first, const CharacterClasses& rest, size_t most, std::span<uint64_t> mask) const;
  // How many tokens begin with a character of a class, and how many hold one behind their first.
  [[nodiscard]] uint32_t count_beginning(unsigned character_class) const { return beginning_[character_class].count; }
  [[nodiscard]] uint32_t count_holding(unsigned character_class) const { return holding_[character_class].count; }
  [[nodiscard]] std::span<const TokenId> end_tokens() const noexcept { return end_tokens_; }
  [[nodiscard]] bool is_end(TokenId id) const noexcept;
  // Tokenizer::is_added.
  [[nodiscard]] bool is_added(TokenId id) const noexcept;
  [[nodiscard]] size_t longest() const noexcept { return trie_.longest(); }

 private:
  using Mask = std::vector<uint64_t>;
  struct Tokens {
    Mask mask;  // empty: none
    uint32_t count = 0;
  };
  struct Texts;
  TokenTable(const Tokenizer& tokenizer, Texts texts);
  void note(TokenId id, const std::string& text);

  std::vector<std::string> bytes_;  // empty for control tokens
  TokenTrie trie_;
  // Tokens of whole characters by the class of the first, the classes of the others, and their number: up to the first of kLengths, the
  // others of kLengths, and any.
  std::array<Tokens, CharacterClasses::kCount> beginning_;
  std::array<Tokens, CharacterClasses::kCount> holding_;
  std::vector<Mask> up_to_;
  std::vector<TokenId> end_tokens_;
  std::vector<TokenId> added_;  // sorted
};

}  // namespace wick
