#include "wick/text/grammar/json_number.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr size_t kMaxDigits = 400;
constexpr int64_t kLargestDivisor = 10'000;

// Builds the automaton of a function over states: next(state, byte) gives a state or none, final(state) whether a number may end.
template <class State, class Next, class Final>
Dfa explore(const State& start, const Next& next, const Final& final) {
  Dfa dfa;
  std::map<State, uint32_t> numbers = {{start, 0}};
  std::vector<State> states = {start};
  dfa.nodes.emplace_back();
  for (size_t index = 0; index < states.size(); ++index) {
    const State state = states[index];
    dfa.nodes[index].final = final(state);
    for (const char byte : std::string_view(".0123456789")) {
      const std::optional<State> reached = next(state, byte);
      if (!reached) continue;
      const auto [entry, added] = numbers.try_emplace(*reached, static_cast<uint32_t>(states.size()));
      if (added) {
        states.push_back(*reached);
        dfa.nodes.emplace_back();
      }
      const auto letter = static_cast<uint8_t>(byte);
      std::vector<ByteEdge>& edges = dfa.nodes[index].bytes;
      if (!edges.empty() && edges.back().target == entry->second && edges.back().last + 1 == letter) {
        edges.back().last = letter;
      } else {
        edges.push_back({letter, letter, entry->second});
      }
    }
  }
  return dfa;
}

enum class NumberPart : uint8_t { start, zero, whole, point, fraction };

// How a number's text goes on, without its sign.
std::optional<NumberPart> next_part(NumberPart part, char byte) {
  if (byte == '.') return part == NumberPart::zero || part == NumberPart::whole ? std::optional(NumberPart::point) : std::nullopt;
  switch (part) {
    case NumberPart::start: return byte == '0' ? NumberPart::zero : NumberPart::whole;
    case NumberPart::zero: return std::nullopt;
    case NumberPart::whole: return NumberPart::whole;
    case NumberPart::point:
    case NumberPart::fraction: return NumberPart::fraction;
  }
  return std::nullopt;
}

bool may_end(NumberPart part) { return part == NumberPart::zero || part == NumberPart::whole || part == NumberPart::fraction; }

Dfa form_dfa(NumberForm form) {
  return explore(
      NumberPart::start,
      [form](NumberPart part, char byte) -> std::optional<NumberPart> {
        if (byte == '.' && form == NumberForm::integer) return std::nullopt;
        const bool behind_point = part == NumberPart::point || part == NumberPart::fraction;
        if (behind_point && byte != '0' && form == NumberForm::integer_or_point_0) return std::nullopt;
        return next_part(part, byte);
      },
      may_end);
}

// Compares a number without sign with a bound, digit by digit. `order`: of what has been read and the bound's beginning of that length.
class Comparison {
 public:
  struct State {
    NumberPart part = NumberPart::start;
    size_t digits = 0;  // before the point, then behind it; no more than matter
    int order = 0;
    [[nodiscard]] auto operator<=>(const State&) const = default;
  };

  explicit Comparison(const Decimal& bound) : bound_(bound) {}

  [[nodiscard]] std::optional<State> next(State state, char byte) const {
    const std::optional<NumberPart> part = next_part(state.part, byte);
    if (!part) return std::nullopt;
    if (byte == '.') return State{NumberPart::point, 0, order_of_whole(state)};
    if (*part == NumberPart::zero || *part == NumberPart::whole) {
      if (state.digits < bound_.whole.size() && state.order == 0)
        state.order = (byte > bound_.whole[state.digits]) - (byte < bound_.whole[state.digits]);
      state.digits = std::min(state.digits + 1, bound_.whole.size() + 1);
      return State{*part, state.digits, state.order};
    }
    if (state.order != 0) return State{*part, 0, state.order};
    const char digit = state.digits < bound_.fraction.size() ? bound_.fraction[state.digits] : '0';
    return State{*part, std::min(state.digits + 1, bound_.fraction.size()), (byte > digit) - (byte < digit)};
  }

  // -1, 0 or 1: the number that ends here is below, equal to or above the bound.
  [[nodiscard]] int result(const State& state) const {
    if (state.part == NumberPart::zero || state.part == NumberPart::whole) {
      const int order = order_of_whole(state);
      return order != 0 || bound_.fraction.empty() ? order : -1;
    }
    return state.order != 0 || state.digits >= bound_.fraction.size() ? state.order : -1;
  }

 private:
  // A whole part with fewer digits is less, one with more is greater.
  [[nodiscard]] int order_of_whole(const State& state) const {
    if (state.digits != bound_.whole.size()) return state.digits < bound_.whole.size() ? -1 : 1;
    return state.order;
  }

  const Decimal& bound_;
};

// Numbers without sign that are at least the bound (`above`), or at most.
Dfa bound_dfa(const Decimal& bound, bool above, bool exclusive) {
  const Comparison comparison(bound);
  return explore(
      Comparison::State{}, [&](const Comparison::State& state, char byte) { return comparison.next(state, byte); },
      [&](const Comparison::State& state) {
        if (!may_end(state.part)) return false;
        const int result = comparison.result(state);
        return result == 0 ? !exclusive : (result > 0) == above;
      });
}

// Reads digits modulo a divisor d / 10^k.
Dfa multiple_dfa(const Decimal& divisor, std::string_view place) {
  const std::string digits = divisor.whole + divisor.fraction;
  int64_t modulus = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), modulus);
  if (modulus < 1 || modulus > kLargestDivisor || digits.size() > 18) {
    fail(ErrorCode::unsupported, "{}: divisors are supported up to {} without their point", place, kLargestDivisor);
  }
  const size_t places = divisor.fraction.size();
  using State = std::tuple<NumberPart, size_t, int64_t>;  // part, digits behind the point, remainder
  return explore(
      State{NumberPart::start, 0, 0},
      [&](const State& state, char byte) -> std::optional<State> {
        const auto& [part, behind, remainder] = state;
        const std::optional<NumberPart> next = next_part(part, byte);
        if (!next) return std::nullopt;
        if (byte == '.') return State{*next, 0, remainder};
        const bool fraction = *next == NumberPart::fraction;
        if (fraction && behind == places) return byte == '0' ? std::optional(State{*next, behind, remainder}) : std::nullopt;
        return State{*next, behind + (fraction ? 1 : 0), (remainder * 10 + (byte - '0')) % modulus};
      },
      [&](const State& state) {
        auto [part, behind, remainder] = state;
        if (!may_end(part)) return false;
        for (; behind < places; ++behind) remainder = remainder * 10 % modulus;
        return remainder == 0;
      });
}

// Numbers of one sign, without it.
Dfa unsigned_dfa(NumberForm form, const NumberLimits& limits, bool negative, std::string_view place, size_t* visited) {
  Dfa result = form_dfa(form);
  const auto restrict_to = [&](const NumberLimits::Bound& bound, bool at_least) {
    const bool same_sign = bound.value.negative == negative || bound.value.is_zero();
    // A bound of the other sign, or zero on the far side, holds for all numbers of this sign or for none.
    if (same_sign) {
      result = intersect(result, bound_dfa(bound.value, at_least != negative, bound.exclusive), place, visited);
    } else if (at_least == negative) {
      result = {};
    }
  };
  for (const NumberLimits::Bound& bound : limits.smallest) restrict_to(bound, true);
  for (const NumberLimits::Bound& bound : limits.largest) restrict_to(bound, false);
  const auto multiples = [&](const Decimal& divisor) {
    Dfa dfa = multiple_dfa(divisor, place);
    if (visited != nullptr) *visited += dfa.nodes.size();
    return dfa;
  };
  for (const Decimal& divisor : limits.multiple_of) result = intersect(result, multiples(divisor), place, visited);
  for (const Decimal& divisor : limits.no_multiple_of) result = subtract(result, multiples(divisor), place, visited);
  return result;
}

}  // namespace

std::optional<Decimal> Decimal::parse(std::string_view text) {
  Decimal result;
  if (text.starts_with("-")) {
    result.negative = true;
    text.remove_prefix(1);
  }
  const size_t e = text.find_first_of("eE");
  int64_t exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with("+")) digits.remove_prefix(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc()) return std::nullopt;
    text = text.substr(0, e);
  }
  const size_t point = text.find('.');
  std::string digits(text.substr(0, point));
  int64_t whole_digits = static_cast<int64_t>(digits.size()) + exponent;
  if (point != std::string_view::npos) digits += text.substr(point + 1);
  constexpr auto kMax = static_cast<int64_t>(kMaxDigits);
  if (digits.size() > kMaxDigits || whole_digits > kMax || whole_digits < -kMax) return std::nullopt;
  if (whole_digits < 0) {
    digits.insert(0, static_cast<size_t>(-whole_digits), '0');
    whole_digits = 0;
  }
  if (static_cast<size_t>(whole_digits) > digits.size()) digits.append(static_cast<size_t>(whole_digits) - digits.size(), '0');
  result.whole = digits.substr(0, static_cast<size_t>(whole_digits));
  result.fraction = digits.substr(static_cast<size_t>(whole_digits));
  result.whole.erase(0, std::min(result.whole.find_first_not_of('0'), result.whole.size()));
  if (result.whole.empty()) result.whole = "0";
  while (!result.fraction.empty() && result.fraction.back() == '0') result.fraction.pop_back();
  if (result.is_zero()) result.negative = false;
  return result;
}

Dfa number_dfa(NumberForm form, const NumberLimits& limits, std::string_view place, size_t* visited) {
  const Dfa positive = unsigned_dfa(form, limits, false, place, visited);
  Dfa negative = unsigned_dfa(form, limits, true, place, visited);
  if (form == NumberForm::integer) {
    // -0 is a number, but nobody writes it as an integer.
    const Dfa nonzero = bound_dfa(Decimal{}, true, true);
    negative = intersect(negative, nonzero, place);
  }
  Dfa result;
  result.nodes.emplace_back();
  const auto append = [&](const Dfa& part) {
    const auto offset = static_cast<uint32_t>(result.nodes.size());
    for (DfaNode node : part.nodes) {
      for (ByteEdge& edge : node.bytes) edge.target += offset;
      result.nodes.push_back(std::move(node));
    }
    return offset;
  };
  if (!negative.empty()) {
    const uint32_t first = append(negative);
    result.nodes[0].bytes.push_back({'-', '-', first});
  }
  if (!positive.empty()) {
    const uint32_t first = append(positive);
    const std::vector<ByteEdge> edges = result.nodes[first].bytes;
    result.nodes[0].bytes.insert(result.nodes[0].bytes.end(), edges.begin(), edges.end());
  }
  return result;
}

}  // namespace wick
