// A CharacterSet is a set of code points as a pattern's class writes it: ranges, properties, unions, intersections, complements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

inline constexpr char32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

// The set is kept as PCRE2 text. What PCRE2 can write as one class ("[a-z\p{L}]") stays one class, which is quick; other operations
// become lookaheads before one character, which match the same set because each operand matches exactly one character.
class CharacterSet {
 public:
  CharacterSet() = default;
  // The union of PCRE2 class items: "a-z\p{L}".
  explicit CharacterSet(std::string_view items) : items_(items) {}

  void add_range(char32_t first, char32_t last);
  void add(const CharacterSet& other);
  void intersect(const CharacterSet& other);
  void complement() noexcept { negated_ = !negated_; }

  // A PCRE2 expression that matches exactly one character, of the set; quantifiers may follow it.
  [[nodiscard]] std::string expression() const;

 private:
  // One expression for all members, before the complement.
  [[nodiscard]] std::string members() const;

  std::string items_;                // members of a PCRE2 class
  std::vector<std::string> others_;  // expressions of one character each: further members
  bool negated_ = false;
};

// The set that \p{name} or [:name:] means in Oniguruma, as PCRE2 class items; empty if there is no such property. Names are compared
// without case, spaces, '-' and '_'.
[[nodiscard]] std::string find_property(std::string_view name);
[[nodiscard]] std::string find_posix_bracket(std::string_view name);

// \s, \w and \d of Oniguruma: White_Space; letters, marks, decimal digits and connectors; decimal digits. Outside of brackets \w also
// has the six other numbers of Latin-1.
inline constexpr std::string_view kSpaceItems =
    "\\t-\\r\\x20\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}";
inline constexpr std::string_view kWordItems = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}";
inline constexpr std::string_view kBracketWordItems = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
inline constexpr std::string_view kDigitItems = "\\p{Nd}";
inline constexpr std::string_view kHexItems = "0-9A-Fa-f";

}  // namespace wick
