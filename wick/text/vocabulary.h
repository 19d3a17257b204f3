// A Vocabulary is the numbered list of a tokenizer's pieces: text, kind and score of each, and the way back from text to number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace [[gnu::visibility("default")]] wick {

using TokenId = int32_t;
inline constexpr TokenId kNoToken = -1;

// The numbers of GGUF's tokenizer.ggml.token_type and of SentencePiece's ModelProto.SentencePiece.Type.
enum class TokenKind : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// A hash of bytes for tables in memory: not stable between versions.
[[nodiscard]] uint64_t hash_bytes(std::string_view bytes) noexcept;

class Vocabulary {
 public:
  void reserve(size_t tokens, size_t text_bytes);
  // Appends a token. Errors: unsupported, if the texts together pass 2 GiB.
  TokenId add(std::string_view text, TokenKind kind, float score);
  // Makes find() work; call once after the last add(). Where a text stands twice, the first token is found. Empty texts are not.
  void build_index();

  [[nodiscard]] int32_t size() const noexcept { return static_cast<int32_t>(kinds_.size()); }
  [[nodiscard]] bool contains(TokenId id) const noexcept { return id >= 0 && id < size(); }
  [[nodiscard]] std::string_view text(TokenId id) const noexcept {
    const auto index = static_cast<size_t>(id);
    return std::string_view(texts_).substr(begins_[index], begins_[index + 1] - begins_[index]);
  }
  [[nodiscard]] TokenKind kind(TokenId id) const noexcept { return kinds_[static_cast<size_t>(id)]; }
  void set_kind(TokenId id, TokenKind kind) noexcept { kinds_[static_cast<size_t>(id)] = kind; }
  [[nodiscard]] float score(TokenId id) const noexcept { return scores_[static_cast<size_t>(id)]; }
  [[nodiscard]] size_t longest_text() const noexcept { return longest_text_; }

  // kNoToken if there is none.
  [[nodiscard]] TokenId find(std::string_view text) const noexcept { return find(text, hash_bytes(text)); }
  // With the hash_bytes of `text` at hand.
  [[nodiscard]] TokenId find(std::string_view text, uint64_t hash) const noexcept;
  // find() of each of `texts`, quicker than one by one: the waits for memory overlap.
  [[nodiscard]] std::vector<TokenId> find_all(std::span<const std::string_view> texts) const;

 private:
  struct Slot {
    uint32_t tag = 0;
    TokenId id = kNoToken;
  };

  std::string texts_;
  std::vector<uint32_t> begins_ = {0};  // size() + 1
  std::vector<TokenKind> kinds_;
  std::vector<float> scores_;
  std::vector<Slot> slots_;  // open addressing, a power of two
  size_t longest_text_ = 0;
};

// The token "<0xE2>" that stands for one byte: its byte, or -1 if `text` is not of that form.
[[nodiscard]] int parse_byte_token(std::string_view text) noexcept;
[[nodiscard]] std::string byte_token(uint8_t byte);

}  // namespace wick
