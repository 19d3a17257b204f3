// A CharacterMap rewrites sequences of characters by a compiled table: SentencePiece's precompiled_charsmap (nmt_nfkc and the like).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

class CharacterMap {
 public:
  struct Match {
    size_t length = 0;             // bytes of the text that are rewritten
    std::string_view replacement;  // may be empty
  };

  // Bytes. A search reads so many from each place in a text. Unicode writes no character as a sequence of more than 33.
  static constexpr size_t kLongest = 128;
  static constexpr size_t kLongestReplacement = 1024;

  CharacterMap() = default;
  // `blob`: a u32 size, that many bytes of double array (Darts-clone's layout, little-endian), then zero-terminated replacements.
  // Longer sequences than kLongest are not read; of longer replacements than kLongestReplacement, so many bytes are.
  // `place` names it in errors. Errors: corrupt_file.
  CharacterMap(std::string_view blob, std::string_view place);

  [[nodiscard]] bool empty() const noexcept { return units_.empty(); }
  // The longest sequence at the beginning of `text` that the table rewrites.
  [[nodiscard]] std::optional<Match> longest(std::string_view text) const noexcept;
  // Whether more text after `text` could make a longer sequence.
  [[nodiscard]] bool may_continue(std::string_view text) const noexcept;
  // The shortest.
  [[nodiscard]] std::optional<Match> shortest(std::string_view text) const noexcept;

 private:
  [[nodiscard]] std::optional<Match> find(std::string_view text, bool first_only) const noexcept;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace wick
