#include "wick/formats/gguf.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr const char* kConvertAgain = "the model was converted wrongly or the file is corrupt: convert or download it again";

// The value as T, or none if T cannot hold it. Floats become integers only where they are whole.
template <class T, class Source>
std::optional<T> convert_exactly(Source value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_floating_point_v<Source>) {
    // 2^digits and its negative are exact in every float type; the comparisons are false for NaN.
    const double wide = value;
    const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const double lowest = std::is_signed_v<T> ? -limit : 0.0;
    if (!(wide >= lowest && wide < limit) || std::trunc(wide) != wide) return std::nullopt;
    return static_cast<T>(wide);
  } else {
    if (!std::in_range<T>(value)) return std::nullopt;
    return static_cast<T>(value);
  }
}

template <class T, class Source>
void append_converted(const GgufArray& array, std::vector<T>& values) {
  for (uint64_t index = 0; index < array.size; ++index) {
    Source element;
    std::memcpy(&element, array.packed.data() + index * sizeof(Source), sizeof(Source));
    const std::optional<T> value = convert_exactly<T>(element);
    if (!value)
      fail(ErrorCode::dtype_mismatch, "metadata array: element {} is {}, which is out of range; {}", index, element, kConvertAgain);
    values.push_back(*value);
  }
}

}  // namespace

std::optional<uint64_t> as_uint(const GgufValue& value) {
  return std::visit(
      [](const auto& held) -> std::optional<uint64_t> {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_integral_v<Held> && !std::is_same_v<Held, bool>) return convert_exactly<uint64_t>(held);
        return std::nullopt;
      },
      value.value);
}

std::optional<double> as_float(const GgufValue& value) {
  return std::visit(
      [](const auto& held) -> std::optional<double> {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_arithmetic_v<Held> && !std::is_same_v<Held, bool>) return static_cast<double>(held);
        return std::nullopt;
      },
      value.value);
}

std::string describe_gguf_value(const GgufValue& value) {
  return std::visit(
      [&](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, GgufArray>)
          return fmt::format("an array of {} {}", held.size, to_string(held.element_type));
        else if constexpr (std::is_same_v<Held, std::string_view>)
          return "the string " + printable(held);
        else
          return fmt::format("the {} {}", to_string(value.type()), held);
      },
      value.value);
}

uint64_t packed_bytes(GgufType type) noexcept {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean: return 1;
    case GgufType::u16:
    case GgufType::i16: return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32: return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64: return 8;
    case GgufType::string:
    case GgufType::array: return 0;
  }
  return 0;
}

std::string_view to_string(GgufType type) noexcept {
  switch (type) {
    case GgufType::u8: return "u8";
    case GgufType::i8: return "i8";
    case GgufType::u16: return "u16";
    case GgufType::i16: return "i16";
    case GgufType::u32: return "u32";
    case GgufType::i32: return "i32";
    case GgufType::f32: return "f32";
    case GgufType::boolean: return "bool";
    case GgufType::string: return "string";
    case GgufType::array: return "array";
    case GgufType::u64: return "u64";
    case GgufType::i64: return "i64";
    case GgufType::f64: return "f64";
  }
  return "unknown";
}

template <class T>
std::vector<T> GgufArray::to_vector() const {
  std::vector<T> values;
  if (element_type != GgufType::string && element_type != GgufType::array) values.reserve(size);
  switch (element_type) {
    case GgufType::u8:
    case GgufType::boolean: append_converted<T, uint8_t>(*this, values); break;
    case GgufType::i8: append_converted<T, int8_t>(*this, values); break;
    case GgufType::u16: append_converted<T, uint16_t>(*this, values); break;
    case GgufType::i16: append_converted<T, int16_t>(*this, values); break;
    case GgufType::u32: append_converted<T, uint32_t>(*this, values); break;
    case GgufType::i32: append_converted<T, int32_t>(*this, values); break;
    case GgufType::f32: append_converted<T, float>(*this, values); break;
    case GgufType::u64: append_converted<T, uint64_t>(*this, values); break;
    case GgufType::i64: append_converted<T, int64_t>(*this, values); break;
    case GgufType::f64: append_converted<T, double>(*this, values); break;
    case GgufType::string:
    case GgufType::array:
      fail(ErrorCode::dtype_mismatch, "metadata array: its {} elements are {}s, not numbers; {}", size, to_string(element_type),
           kConvertAgain);
  }
  return values;
}

template std::vector<int32_t> GgufArray::to_vector<int32_t>() const;
template std::vector<uint32_t> GgufArray::to_vector<uint32_t>() const;
template std::vector<int64_t> GgufArray::to_vector<int64_t>() const;
template std::vector<uint64_t> GgufArray::to_vector<uint64_t>() const;
template std::vector<float> GgufArray::to_vector<float>() const;
template std::vector<double> GgufArray::to_vector<double>() const;

const GgufValue* GgufFile::find(std::string_view key) const noexcept {
  const auto found = metadata_index_.find(key);
  return found == metadata_index_.end() ? nullptr : &metadata_[found->second].second;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const noexcept {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

uint64_t GgufFile::offset_of(std::string_view text) const noexcept {
  return static_cast<uint64_t>(reinterpret_cast<const std::byte*>(text.data()) - base_);
}

void GgufFile::fail_absent(std::string_view key) const {
  fail(ErrorCode::not_found, "{}: metadata {} is absent; {}", name_, printable(key), kConvertAgain);
}

void GgufFile::fail_kind(std::string_view key, const char* wanted) const {
  const auto& [own_key, value] = metadata_[metadata_index_.at(key)];
  fail(ErrorCode::corrupt_file, "{}: metadata {} at byte {} is {}, but {} is needed; {}", name_, printable(key), offset_of(own_key),
       describe_gguf_value(value), wanted, kConvertAgain);
}

std::optional<uint64_t> GgufFile::find_uint(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = as_uint(*value);
  if (!number) fail_kind(key, "an integer that is not negative");
  return number;
}

std::optional<double> GgufFile::find_float(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = as_float(*value);
  if (!number) fail_kind(key, "a number");
  return number;
}

std::optional<bool> GgufFile::find_bool(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const bool* held = std::get_if<bool>(&value->value);
  if (held == nullptr) fail_kind(key, "a boolean");
  return *held;
}

std::optional<std::string_view> GgufFile::find_string(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* held = std::get_if<std::string_view>(&value->value);
  if (held == nullptr) fail_kind(key, "a string");
  return *held;
}

const GgufArray* GgufFile::find_array(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return nullptr;
  const auto* held = std::get_if<GgufArray>(&value->value);
  if (held == nullptr) fail_kind(key, "an array");
  return held;
}

uint64_t GgufFile::get_uint(std::string_view key) const {
  const auto value = find_uint(key);
  if (!value) fail_absent(key);
  return *value;
}

double GgufFile::get_float(std::string_view key) const {
  const auto value = find_float(key);
  if (!value) fail_absent(key);
  return *value;
}

std::string_view GgufFile::get_string(std::string_view key) const {
  const auto value = find_string(key);
  if (!value) fail_absent(key);
  return *value;
}

const GgufArray& GgufFile::get_array(std::string_view key) const {
  const GgufArray* value = find_array(key);
  if (value == nullptr) fail_absent(key);
  return *value;
}

}  // namespace wick
