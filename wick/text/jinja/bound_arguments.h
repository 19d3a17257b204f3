// Bound arguments: what a call gives for each of a function's parameters, by position or by name.
#pragma once

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "wick/text/jinja/operators.h"
#include "wick/text/jinja/python_text.h"
#include "wick/text/jinja/value.h"

namespace wick::jinja {

template <size_t count>
class Bound {
 public:
  // Errors: TypeError for more arguments than parameters, unknown names, and where one of the first `required` is missing.
  Bound(std::string_view function, const Arguments& arguments, const std::array<std::string_view, count>& names, size_t required = 0) {
    if (arguments.positional.size() > count) {
      raise("TypeError", fmt::format("{}() takes at most {} argument{} ({} given)", function, count, count == 1 ? "" : "s",
                                     arguments.positional.size()));
    }
    for (size_t index = 0; index < arguments.positional.size(); ++index) values_[index] = arguments.positional[index];
    for (const auto& [name, value] : arguments.named) {
      size_t index = 0;
      while (index < count && names[index] != name) ++index;
      if (index == count) raise("TypeError", fmt::format("{}() got an unexpected keyword argument '{}'", function, name));
      if (values_[index]) raise("TypeError", fmt::format("{}() got multiple values for argument '{}'", function, name));
      values_[index] = value;
    }
    for (size_t index = 0; index < required; ++index) {
      if (!values_[index]) raise("TypeError", fmt::format("{}() missing 1 required positional argument: '{}'", function, names[index]));
    }
  }

  [[nodiscard]] bool has(size_t index) const { return values_[index].has_value(); }
  [[nodiscard]] bool given(size_t index) const { return values_[index].has_value() && !values_[index]->is(Kind::none); }
  [[nodiscard]] const Value& at(size_t index) const { return *values_[index]; }
  [[nodiscard]] Value value(size_t index, const Value& otherwise = {}) const { return values_[index] ? *values_[index] : otherwise; }
  [[nodiscard]] int64_t whole(size_t index, int64_t otherwise) const { return values_[index] ? to_whole(*values_[index]) : otherwise; }
  [[nodiscard]] bool truth(size_t index, bool otherwise) const { return values_[index] ? is_true(*values_[index]) : otherwise; }
  // Errors: TypeError for what is no string.
  [[nodiscard]] std::string text(size_t index, std::string_view otherwise = {}) const {
    if (!values_[index]) return std::string(otherwise);
    check_defined(*values_[index]);
    if (!values_[index]->is_string()) raise("TypeError", fmt::format("must be str, not {}", type_name(*values_[index])));
    return values_[index]->text();
  }

 private:
  std::array<std::optional<Value>, count> values_ = {};
};

}  // namespace wick::jinja
