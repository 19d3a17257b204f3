// A CodePointSet is a set of Unicode characters as ranges; surrogates are never in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace wick {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

class CodePointSet {
 public:
  using Range = std::pair<char32_t, char32_t>;  // first and last

  CodePointSet() = default;
  CodePointSet(std::initializer_list<Range> ranges);

  void add(char32_t first, char32_t last);
  void add(const CodePointSet& other);
  // Sorted, apart from each other and without surrogates.
  [[nodiscard]] const std::vector<Range>& ranges() const;
  [[nodiscard]] CodePointSet complement() const;
  [[nodiscard]] CodePointSet without(const CodePointSet& other) const;
  [[nodiscard]] CodePointSet intersection(const CodePointSet& other) const;
  [[nodiscard]] bool contains(char32_t code) const;
  [[nodiscard]] bool empty() const { return ranges().empty(); }

  [[nodiscard]] static CodePointSet all();
  // ECMAScript's \d, \w, \s and '.'.
  [[nodiscard]] static CodePointSet digits();
  [[nodiscard]] static CodePointSet word();
  [[nodiscard]] static CodePointSet space();
  [[nodiscard]] static CodePointSet dot();
  // The set of a general category, as in \p{L} and \p{Lu}, long names too ("Letter"); none if there is no such category.
  [[nodiscard]] static std::optional<CodePointSet> category(std::string_view name);

 private:
  mutable std::vector<Range> ranges_;
  mutable bool sorted_ = true;
};

// Characters from first to last in UTF-8 as sequences of byte ranges: each sequence is one to four ranges, and they overlap nowhere.
struct Utf8Sequence {
  std::pair<uint8_t, uint8_t> bytes[4];
  uint8_t length = 0;
};
[[nodiscard]] std::vector<Utf8Sequence> utf8_sequences(char32_t first, char32_t last);

}  // namespace wick
