// A TextMatcher finds the longest of its texts that begins at each offset of a text, in time linear in the text's length.
//
// It is an automaton over the reversed texts, run from the end of the text to its beginning: its state at an offset is the longest
// beginning of the rest that ends one of the texts, and with it the longest of the texts that begins there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/byte_automaton.h"

namespace wick {

class TextMatcher {
 public:
  struct Entry {
    std::string_view text;
    int32_t value = 0;  // at least 0
  };
  struct Match {
    size_t begin = 0;
    uint32_t length = 0;
    int32_t value = 0;
  };

  TextMatcher() = default;
  // Among equal texts the first counts; an empty text never matches.
  explicit TextMatcher(std::span<const Entry> entries);

  [[nodiscard]] bool empty() const noexcept { return reversed_.empty(); }

  // Searches one text from front to back: offsets must not decrease from call to call.
  class Search {
   public:
    // Matcher and text must outlive the search.
    Search(const TextMatcher& matcher, std::string_view text) : matcher_(matcher), text_(text) {}
    // The longest text that begins at `offset`, or at the first offset after it where one does.
    [[nodiscard]] std::optional<Match> next(size_t offset);
    // The longest text that begins at `offset`.
    [[nodiscard]] std::optional<Match> at(size_t offset);

   private:
    const TextMatcher& matcher_;
    std::string_view text_;
    size_t searched_ = 0;         // the end of the block that was searched last
    std::vector<Match> matches_;  // that begin in it, the last one first
  };

 private:
  // The longest text that the rest begins with.
  struct State {
    uint32_t length = 0;  // 0: none
    int32_t value = -1;
  };

  void search(std::string_view text, size_t begin, size_t end, std::vector<Match>& matches) const;

  ByteAutomaton reversed_;
  std::vector<State> states_;  // of its nodes
  size_t longest_ = 0;
};

}  // namespace wick
