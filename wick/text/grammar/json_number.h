// Languages of decimal numbers: within bounds, and multiples of a number, as automata over their digits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/grammar/dfa.h"

namespace wick {

// A decimal number, exactly: no leading zero before the point but one, no zero at the end behind it.
struct Decimal {
  bool negative = false;
  std::string whole = "0";
  std::string fraction = {};

  // Parses a number as JSON writes it; none if it has more than some hundred digits.
  [[nodiscard]] static std::optional<Decimal> parse(std::string_view text);
  [[nodiscard]] bool is_zero() const { return whole == "0" && fraction.empty(); }
};

struct NumberLimits {
  struct Bound {
    Decimal value;
    bool exclusive = false;
  };
  std::vector<Bound> smallest;  // all of them hold
  std::vector<Bound> largest;
  std::vector<Decimal> multiple_of;
  std::vector<Decimal> no_multiple_of;

  [[nodiscard]] bool none() const { return smallest.empty() && largest.empty() && multiple_of.empty() && no_multiple_of.empty(); }
};

enum class NumberForm {
  integer,             // 12, -3
  integer_or_point_0,  // and 12.0
  number,              // and 12.5; no exponent
};

// The texts of the numbers within the limits, with their sign. `place` is used in errors; the states that are visited on the way are added
// to `visited`. Errors: unsupported for a divisor with too many digits.
[[nodiscard]] Dfa number_dfa(NumberForm form, const NumberLimits& limits, std::string_view place, size_t* visited = nullptr);

}  // namespace wick
