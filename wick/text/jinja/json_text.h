// JSON as Python's json module writes it, and JSON as values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wick/text/jinja/value.h"

namespace wick::jinja {

struct JsonStyle {
  bool ascii_only = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // of one level
  bool takes_iterators = false;       // and views, as arrays
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// json.dumps. Errors: TypeError for what JSON has not. NaN and infinity are written as Python writes them.
[[nodiscard]] std::string to_json(Budget& budget, const Value& value, const JsonStyle& style);
// json.loads; of two fields of one name the last counts. Errors: Raised "ValueError", naming the byte; also beyond 200 levels.
[[nodiscard]] Value from_json(Budget& budget, std::string_view text);

}  // namespace wick::jinja
