// The tests that `is` knows.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wick/text/jinja/bound_arguments.h"
#include "wick/text/jinja/operators.h"
#include "wick/text/jinja/renderer.h"

namespace wick::jinja {
namespace {

const Value& only(const char* name, const Arguments& arguments, size_t count) {
  static const Value kNone{};
  if (!arguments.named.empty() || arguments.positional.size() != count) {
    raise("TypeError", fmt::format("test {} takes {} argument{}", name, count, count == 1 ? "" : "s"));
  }
  return count == 0 ? kNone : arguments.positional.front();
}

template <Kind kind>
bool is_kind(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) {
  return input.is(kind);
}

bool is_defined(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) { return !input.is_undefined(); }
bool is_number(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) { return input.is_number(); }
bool is_truth(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) {
  return input.is(Kind::boolean) && input.whole() != 0;
}
bool is_false(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) {
  return input.is(Kind::boolean) && input.whole() == 0;
}
bool is_sequence(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) {
  return input.is(Kind::list) || input.is(Kind::tuple) || input.is(Kind::range) || input.is_string() || input.is(Kind::dict) ||
         input.is_undefined();
}
bool is_iterable_value(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) { return is_iterable(input); }
bool is_callable(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) {
  return input.is(Kind::callable) ? input.callable().type_name() != std::string_view("Cycler")
                                  : input.is(Kind::loop) || input.is_undefined();
}
bool is_lower(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) { return is_of_class(to_text(input), "lower"); }
bool is_upper(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) { return is_of_class(to_text(input), "upper"); }
bool is_escaped(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) { return input.is_safe(); }
bool is_known_filter(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) {
  return input.is_string() && is_filter(input.text());
}
bool is_known_test(Renderer& /*renderer*/, const Value& input, Arguments& /*arguments*/) {
  return input.is_string() && is_test(input.text());
}

bool leaves(Renderer& renderer, const Value& input, int64_t divisor, int64_t rest) {
  const Value result = binary(renderer.budget(), "%", input, Value::integer(divisor));
  return is_equal(result, Value::integer(rest));
}
bool is_odd(Renderer& renderer, const Value& input, Arguments& /*arguments*/) { return leaves(renderer, input, 2, 1); }
bool is_even(Renderer& renderer, const Value& input, Arguments& /*arguments*/) { return leaves(renderer, input, 2, 0); }
bool is_divisible(Renderer& renderer, const Value& input, Arguments& arguments) {
  const Bound<1> bound("test_divisibleby", arguments, {"num"}, 1);
  return is_equal(binary(renderer.budget(), "%", input, bound.at(0)), Value::integer(0));
}

template <char first, char second>
bool compares_so(Renderer& /*renderer*/, const Value& input, Arguments& arguments) {
  static constexpr char kSign[] = {first, second, '\0'};
  return compares(kSign, input, only(kSign, arguments, 1));
}

bool is_same_as(Renderer& /*renderer*/, const Value& input, Arguments& arguments) { return is_same(input, only("sameas", arguments, 1)); }
bool is_in(Renderer& /*renderer*/, const Value& input, Arguments& arguments) { return contains(only("in", arguments, 1), input); }

constexpr std::pair<std::string_view, TestFunction> kTests[] = {
    {"odd", is_odd},
    {"even", is_even},
    {"divisibleby", is_divisible},
    {"defined", is_defined},
    {"undefined", is_kind<Kind::undefined>},
    {"filter", is_known_filter},
    {"test", is_known_test},
    {"none", is_kind<Kind::none>},
    {"boolean", is_kind<Kind::boolean>},
    {"false", is_false},
    {"true", is_truth},
    {"integer", is_kind<Kind::integer>},
    {"float", is_kind<Kind::real>},
    {"lower", is_lower},
    {"upper", is_upper},
    {"string", is_kind<Kind::string>},
    {"mapping", is_kind<Kind::dict>},
    {"number", is_number},
    {"sequence", is_sequence},
    {"iterable", is_iterable_value},
    {"callable", is_callable},
    {"sameas", is_same_as},
    {"escaped", is_escaped},
    {"in", is_in},
    {"==", compares_so<'=', '='>},
    {"eq", compares_so<'=', '='>},
    {"equalto", compares_so<'=', '='>},
    {"!=", compares_so<'!', '='>},
    {"ne", compares_so<'!', '='>},
    {">", compares_so<'>', '\0'>},
    {"gt", compares_so<'>', '\0'>},
    {"greaterthan", compares_so<'>', '\0'>},
    {"ge", compares_so<'>', '='>},
    {">=", compares_so<'>', '='>},
    {"<", compares_so<'<', '\0'>},
    {"lt", compares_so<'<', '\0'>},
    {"lessthan", compares_so<'<', '\0'>},
    {"<=", compares_so<'<', '='>},
    {"le", compares_so<'<', '='>},
};

TestFunction find_test(std::string_view name) {
  const auto found = std::find_if(std::begin(kTests), std::end(kTests), [&](const auto& entry) { return entry.first == name; });
  return found == std::end(kTests) ? nullptr : found->second;
}

}  // namespace

bool is_test(std::string_view name) { return find_test(name) != nullptr; }

bool Renderer::test(const std::string& name, const Value& input, Arguments& arguments) {
  const TestFunction function = find_test(name);
  if (function == nullptr) raise("TemplateRuntimeError", fmt::format("No test named {} found.", text_repr(name)));
  budget_.step();
  return function(*this, input, arguments);
}

}  // namespace wick::jinja
