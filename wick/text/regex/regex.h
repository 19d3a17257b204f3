// A Regex is a compiled pattern over UTF-8 text (PCRE2, JIT), written as tokenizer files write it: in Oniguruma's syntax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace wick {

// The bytes from `begin` up to `end` of a text.
struct TextSpan {
  size_t begin = 0;
  size_t end = 0;
};

// Working memory of a match; one per thread and call chain, reused between matches.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

 private:
  friend class Regex;
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

class Regex {
 public:
  // `place` names the pattern's origin in errors. Errors: corrupt_file (a malformed pattern), unsupported (a construct of Oniguruma's
  // that this build does not translate).
  Regex(std::string_view pattern, std::string_view place);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // Finds the first match at or after `offset`. `text` must be valid UTF-8 and is the whole subject: lookaround sees no further.
  // Errors: unsupported, if the pattern needs more steps or memory than a match may take.
  [[nodiscard]] bool find(std::string_view text, size_t offset, RegexScratch& scratch, TextSpan& match) const;
  // Calls visit(match) for each match from left to right. An empty match right after another one does not count, as in Oniguruma's
  // bindings. Errors: find's.
  template <class Visit>
  void for_each_match(std::string_view text, RegexScratch& scratch, const Visit& visit) const {
    size_t done = SIZE_MAX;
    TextSpan match;
    for (size_t offset = 0; offset <= text.size() && find(text, offset, scratch, match);) {
      if (match.begin == match.end && match.end == done) {
        offset = next_character(text, offset);
        continue;
      }
      visit(match);
      done = match.end;
      offset = match.begin < match.end ? match.end : next_character(text, match.end);
    }
  }
  // Whether the pattern is found anywhere in a name that may hold any bytes: each invalid sequence of UTF-8 counts as U+FFFD.
  // Errors: find's.
  [[nodiscard]] bool matches(std::string_view name, RegexScratch& scratch) const;

  // `text` with every match replaced by `content`. Errors: as find(), and unsupported, if the result is longer than any normalizer needs.
  [[nodiscard]] std::string replace(std::string_view text, std::string_view content, RegexScratch& scratch) const;

 private:
  struct Code;
  // The offset of the character after the one at `offset`; beyond the text if there is none.
  [[nodiscard]] static size_t next_character(std::string_view text, size_t offset) noexcept;
  std::unique_ptr<Code> code_;
  std::string place_;
};

// A pattern that matches exactly `literal`.
[[nodiscard]] std::string quote_literal(std::string_view literal);

}  // namespace wick
