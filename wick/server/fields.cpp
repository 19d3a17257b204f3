#include "wick/server/fields.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "wick/base/fail.h"

namespace wick::server {

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  constexpr size_t kLongest = 80;
  if (value.is_string() && value.get_ref<const std::string&>().size() > kLongest) return "a text of many characters";
  return to_text(value);
}

Fields::Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (!object.is_object()) violate_path(path_.empty() ? "the body" : path_, "must be an object", shown(object));
}

std::string Fields::path_of(std::string_view name) const { return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name); }

const Json* Fields::find(std::string_view name) const {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::violate(std::string_view name, std::string constraint) {
  const Json* value = find(name);
  violations_.push_back({path_of(name), std::move(constraint), value == nullptr ? "" : shown(*value)});
}

void Fields::violate_path(std::string path, std::string constraint, std::string value) {
  violations_.push_back({std::move(path), std::move(constraint), std::move(value)});
}

std::optional<std::string> Fields::text(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  violate(name, "must be a text");
  return std::nullopt;
}

std::optional<bool> Fields::boolean(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  violate(name, "must be true or false");
  return std::nullopt;
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t minimum, int64_t maximum) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  std::optional<int64_t> result;
  if (value->is_number_unsigned()) {
    const auto number = value->get<uint64_t>();
    if (number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) result = static_cast<int64_t>(number);
  } else if (value->is_number_integer()) {
    result = value->get<int64_t>();
  } else if (value->is_number_float()) {
    // Some clients write 256.0.
    const auto number = value->get<double>();
    if (std::trunc(number) == number && std::abs(number) < 0x1p53) result = static_cast<int64_t>(number);
  }
  if (result && *result >= minimum && *result <= maximum) return result;
  violate(name, maximum == std::numeric_limits<int64_t>::max() ? fmt::format("must be a whole number, {} or more", minimum)
                                                               : fmt::format("must be a whole number from {} to {}", minimum, maximum));
  return std::nullopt;
}

std::optional<double> Fields::number(std::string_view name, double minimum, double maximum) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto number = value->get<double>();
    if (number >= minimum && number <= maximum) return number;
  }
  violate(name, fmt::format("must be a number from {} to {}", minimum, maximum));
  return std::nullopt;
}

std::vector<std::string> Fields::texts(std::string_view name, size_t most) {
  const Json* value = find(name);
  std::vector<std::string> result;
  if (value == nullptr) return result;
  const std::string constraint = fmt::format("must be a text or a list of at most {} texts", most);
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array() || value->size() > most) {
    violate(name, constraint);
    return result;
  }
  for (const Json& item : *value) {
    if (!item.is_string()) {
      violate(name, constraint);
      return {};
    }
    result.push_back(item.get<std::string>());
  }
  return result;
}

const Json* Fields::object(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr || value->is_object()) return value;
  violate(name, "must be an object");
  return nullptr;
}

const Json* Fields::list(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr || value->is_array()) return value;
  violate(name, "must be a list");
  return nullptr;
}

bool Fields::require(std::string_view name) {
  if (!object_.is_object()) return false;
  if (has(name)) return true;
  violations_.push_back({path_of(name), "is required", ""});
  return false;
}

bool Fields::is_violated(std::string_view name) const {
  const std::string path = path_of(name);
  return std::ranges::any_of(violations_, [&](const Violation& violation) { return violation.field == path; });
}

void Fields::take(std::vector<Violation> violations) {
  violations_.insert(violations_.end(), std::make_move_iterator(violations.begin()), std::make_move_iterator(violations.end()));
}

void Fields::check() {
  if (!violations_.empty()) throw ApiError(std::exchange(violations_, {}));
}

}  // namespace wick::server
