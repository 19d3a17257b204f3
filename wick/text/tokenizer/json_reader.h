// A JsonReader is one place in a tokenizer.json: typed access to its fields, with errors that name file and place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/json.h"

namespace wick {

class JsonReader {
 public:
  using Json = nlohmann::json;

  JsonReader(const Json& value, const std::string& file, std::string place, int arrays = 0)
      : value_(&value), file_(&file), place_(std::move(place)), arrays_(arrays) {}

  [[nodiscard]] const Json& value() const noexcept { return *value_; }
  // "file: field", for errors.
  [[nodiscard]] std::string where() const { return *file_ + ": " + place_; }
  [[noreturn]] void corrupt(std::string_view what) const {
    fail(ErrorCode::corrupt_file, "{}: {}; the file is damaged or no tokenizer.json", where(), what);
  }
  [[noreturn]] void unsupported(std::string_view what) const {
    fail(ErrorCode::unsupported, "{}: {} is not supported by this build", where(), what);
  }

  // The field, or none if it is absent or null.
  [[nodiscard]] std::optional<JsonReader> find(const char* key) const {
    if (!value_->is_object()) corrupt("not an object");
    const auto entry = value_->find(key);
    if (entry == value_->end() || entry->is_null()) return std::nullopt;
    return JsonReader(*entry, *file_, place_.empty() ? key : place_ + "." + key, arrays_);
  }
  [[nodiscard]] JsonReader get(const char* key) const {
    if (auto field = find(key)) return *std::move(field);
    corrupt(fmt::format("no field '{}'", key));
  }
  [[nodiscard]] JsonReader at(size_t index) const {
    return JsonReader((*value_)[index], *file_, fmt::format("{}[{}]", place_, index), arrays_ + 1);
  }
  // How many arrays this is an element of, inside each other.
  [[nodiscard]] int arrays() const noexcept { return arrays_; }

  [[nodiscard]] const std::string& string() const {
    if (!value_->is_string()) corrupt("not a string");
    return value_->get_ref<const std::string&>();
  }
  [[nodiscard]] bool boolean() const {
    if (!value_->is_boolean()) corrupt("not true or false");
    return value_->get<bool>();
  }
  [[nodiscard]] int64_t integer() const {
    if (!value_->is_number_integer()) corrupt("not a whole number");
    return value_->get<int64_t>();
  }
  [[nodiscard]] double number() const {
    if (!value_->is_number()) corrupt("not a number");
    return value_->get<double>();
  }
  // The number of elements. Errors unless it is an array.
  [[nodiscard]] size_t array_size() const {
    if (!value_->is_array()) corrupt("not an array");
    return value_->size();
  }

  [[nodiscard]] bool flag(const char* key, bool otherwise) const {
    const auto field = find(key);
    return field ? field->boolean() : otherwise;
  }
  [[nodiscard]] std::string text(const char* key, const std::string& otherwise) const {
    const auto field = find(key);
    return field ? field->string() : otherwise;
  }
  [[nodiscard]] int64_t integer(const char* key, int64_t otherwise) const {
    const auto field = find(key);
    return field ? field->integer() : otherwise;
  }
  // The field "type" that names which of several kinds this is.
  [[nodiscard]] const std::string& type() const { return get("type").string(); }

 private:
  const Json* value_;
  const std::string* file_;
  std::string place_;
  int arrays_ = 0;
};

}  // namespace wick
