// Python's operators on values, and what iterates and indexes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wick/text/jinja/value.h"

namespace wick::jinja {

// + - * / // % **. Errors: TypeError, ZeroDivisionError, OverflowError beyond 64 bits.
[[nodiscard]] Value binary(Budget& budget, std::string_view sign, const Value& left, const Value& right);
[[nodiscard]] bool compares(std::string_view sign, const Value& left, const Value& right);
[[nodiscard]] bool contains(const Value& container, const Value& item);

// The items of anything iterable; an iterator is empty afterwards. Errors: TypeError for what is not.
[[nodiscard]] Values iterate(Budget& budget, const Value& value);
[[nodiscard]] bool is_iterable(const Value& value);
// len(value). Errors: TypeError.
[[nodiscard]] int64_t length(const Value& value);
// value[key] for sequences, strings and dicts; none where there is no such item.
[[nodiscard]] std::optional<Value> find_item(Budget& budget, const Value& value, const Value& key);
struct Slice {
  std::optional<int64_t> begin, end, step;
};
[[nodiscard]] std::optional<Value> slice(Budget& budget, const Value& value, const Slice& bounds);
// int(value) of a number that must be whole. Errors: TypeError.
[[nodiscard]] int64_t to_whole(const Value& value);

}  // namespace wick::jinja
