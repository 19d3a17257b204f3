// Python's two ways to format a text: "%s" % value and "{}".format(value).
#pragma once

#include <string_view>

#include "wick/text/jinja/value.h"

namespace wick::jinja {

class Renderer;

[[nodiscard]] Value format_percent(Budget& budget, const Value& format, const Value& operand);
[[nodiscard]] Value format_braces(Renderer& renderer, std::string_view format, const Arguments& arguments);
// format(value, specification), such as ">10.2f". Errors: ValueError.
[[nodiscard]] std::string format_value(Budget& budget, const Value& value, std::string_view specification);

}  // namespace wick::jinja
