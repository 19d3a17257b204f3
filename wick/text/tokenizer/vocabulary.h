// A Vocabulary is the numbered list of a tokenizer's pieces: text, kind and score of each, and the way back from text to number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/hash.h"

namespace [[gnu::visibility("default")]] wick {

using TokenId = int32_t;
inline constexpr TokenId kNoToken = -1;

// The numbers of GGUF's tokenizer.ggml.token_type and of SentencePiece's ModelProto.SentencePiece.Type.
enum class TokenKind : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// Longer texts of tokens are refused: work on a text can grow with the longest token.
inline constexpr size_t kLongestToken = 4096;

class Vocabulary {
 public:
  void reserve(size_t tokens, size_t text_bytes);
  // Appends a token. `piece`: the model makes it out of text; false for tokens that were only added to the model's.
  // Errors: unsupported, if the texts together pass 2 GiB.
  TokenId add(std::string_view text, TokenKind kind, double score, bool piece = true);
  // A second text that means `id`; after the last add().
  void add_alias(std::string_view text, TokenId id);
  // Makes find() work; call once after the last add() and add_alias(). Of equal texts the first is found. Empty texts are not.
  void build_index();

  [[nodiscard]] int32_t size() const noexcept { return static_cast<int32_t>(kinds_.size()); }
  [[nodiscard]] bool contains(TokenId id) const noexcept { return id >= 0 && id < size(); }
  [[nodiscard]] std::string_view text(TokenId id) const noexcept { return row_text(id); }
  [[nodiscard]] TokenKind kind(TokenId id) const noexcept { return kinds_[static_cast<size_t>(id)]; }
  void set_kind(TokenId id, TokenKind kind) noexcept { kinds_[static_cast<size_t>(id)] = kind; }
  [[nodiscard]] double score(TokenId id) const noexcept { return scores_[static_cast<size_t>(id)]; }
  [[nodiscard]] bool is_piece(TokenId id) const noexcept { return pieces_[static_cast<size_t>(id)]; }
  // Calls visit(text, id) for each text that means a piece.
  template <class Visit>
  void for_each_piece(const Visit& visit) const {
    for (int32_t row = 0; row + 1 < static_cast<int32_t>(begins_.size()); ++row) {
      if (is_piece(row_id(row))) visit(row_text(row), row_id(row));
    }
  }
  [[nodiscard]] size_t longest_text() const noexcept { return longest_text_; }

  // kNoToken if there is none.
  [[nodiscard]] TokenId find(std::string_view text) const noexcept { return find(text, keyed_hash(text, key_)); }
  // Only among the model's pieces.
  [[nodiscard]] TokenId find_piece(std::string_view text) const noexcept;
  // find_piece() of each of `texts`, quicker than one by one: the waits for memory overlap.
  [[nodiscard]] std::vector<TokenId> find_pieces(std::span<const std::string_view> texts) const;

 private:
  struct Slot {
    uint32_t tag = 0;
    int32_t row = -1;
  };

  void append_text(std::string_view text);
  [[nodiscard]] TokenId find(std::string_view text, uint64_t hash) const noexcept;
  // Rows are the tokens, then the aliases.
  [[nodiscard]] std::string_view row_text(int32_t row) const noexcept {
    const auto index = static_cast<size_t>(row);
    return std::string_view(texts_).substr(begins_[index], begins_[index + 1] - begins_[index]);
  }
  [[nodiscard]] TokenId row_id(int32_t row) const noexcept { return row < size() ? row : aliases_[static_cast<size_t>(row - size())]; }

  HashKey key_ = process_hash_key();
  std::string texts_;
  std::vector<uint32_t> begins_ = {0};  // rows + 1
  std::vector<TokenKind> kinds_;
  std::vector<double> scores_;
  std::vector<bool> pieces_;
  std::vector<TokenId> aliases_;
  std::vector<Slot> slots_;  // open addressing, a power of two
  size_t longest_text_ = 0;
};

// The byte of a token like "<0xE2>", or -1 if `text` is not of that form.
[[nodiscard]] int parse_byte_token(std::string_view text) noexcept;
[[nodiscard]] std::string byte_token(uint8_t byte);

}  // namespace wick
