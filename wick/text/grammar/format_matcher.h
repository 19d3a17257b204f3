// A FormatMatcher reads a text byte by byte and says whether it fits an OutputFormat so far, and what may come next. It needs no
// vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/grammar/token_constraint.h"

namespace wick {

class FormatMatcher {
 public:
  // Errors: ConstraintCompiler::compile's; tokens that a grammar names are not known.
  explicit FormatMatcher(const OutputFormat& format);
  ~FormatMatcher();

  // Back to the beginning of the text.
  void reset();
  // False, and nothing has changed, if the byte does not fit.
  bool accept(uint8_t byte);
  [[nodiscard]] bool can_end() const;
  // Each class of bytes that may come next, as its bytes.
  [[nodiscard]] std::vector<std::string> next_bytes() const;

  // The first byte of `text` that does not fit; its size, if it ends too early; none, if it fits.
  [[nodiscard]] std::optional<size_t> mismatch(std::string_view text);
  // A text that fits, each class of bytes as likely as the others; none, if it would be longer than `longest`.
  [[nodiscard]] std::optional<std::string> sample(std::mt19937_64& random, size_t longest);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wick
