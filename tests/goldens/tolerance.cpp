#include "goldens/tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

namespace wick::goldens {
namespace {

// Half a unit in the last place of numbers near 1, and the smallest number above 0.
struct Precision {
  double unit;
  double smallest;
};

Precision precision(DType dtype) {
  switch (dtype) {
    case DType::f64: return {0x1p-53, 0x1p-1074};
    case DType::f32: return {0x1p-24, 0x1p-149};
    case DType::f16: return {0x1p-11, 0x1p-24};
    case DType::bf16: return {0x1p-8, 0x1p-133};
    default: return {0x1p-4, 0x1p-9};
  }
}

// Ops that are expressions of other ops: each intermediate result is rounded to the dtype.
bool is_expression(std::string_view op) {
  constexpr auto kExpressions = std::to_array<std::string_view>(
      {"adam", "adamw", "attention", "batch_norm", "batch_norm_train", "binary_cross_entropy_with_logits", "cross_entropy", "einsum",
       "group_norm", "gru", "huber", "log_sum_exp", "lstm", "mse", "nll", "norm", "selu", "sgd", "var"});
  return std::find(kExpressions.begin(), kExpressions.end(), op) != kExpressions.end();
}

// How many roundings to the dtype the quantity goes through at most, each of numbers as large as the largest.
double roundings(const Case& entry, Quantity quantity) {
  switch (quantity) {
    case Quantity::result: return is_expression(entry.op) ? 12 : 0;
    case Quantity::gradient: return 12;
    case Quantity::second_gradient: return 64;
  }
  return 0;
}

// The largest finite number among the expected ones and the inputs, at least 1.
double magnitude(const Case& entry, const Expected& expected) {
  double largest = 1;
  for (int64_t i = 0; i < expected.shape.elements(); ++i) {
    const double value = std::fabs(number_at(expected.dtype, expected.bytes, i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  for (const InputSpec& input : entry.inputs) {
    const nlohmann::json& values = input.values;
    if (!is_float(input.dtype) || (values[0] != "grid" && values[0] != "odd")) continue;
    const double scale = std::ldexp(values[0] == "odd" ? 2 : 1, values[3].get<int>());
    largest = std::max({largest, std::fabs(values[1].get<double>()) * scale, std::fabs(values[2].get<double>()) * scale});
  }
  return largest;
}

std::string place(const Shape& shape, int64_t index) {
  std::string text;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    text = fmt::format("{}{}{}", index % shape[d], text.empty() ? "" : ", ", text);
    index /= shape[d];
  }
  return "[" + text + "]";
}

bool same_bits(const Expected& expected, std::span<const std::byte> actual, int64_t index) {
  const auto size = static_cast<size_t>(storage_bytes(expected.dtype, 1));
  return std::memcmp(expected.bytes.data() + static_cast<size_t>(index) * size, actual.data() + static_cast<size_t>(index) * size, size) ==
         0;
}

}  // namespace

std::optional<std::string> difference(const Case& entry, Quantity quantity, const Expected& expected, const Tensor& actual) {
  if (actual.dtype() != expected.dtype) return fmt::format("dtype {}, expected {}", to_string(actual.dtype()), to_string(expected.dtype));
  if (actual.shape() != expected.shape) return fmt::format("shape {}, expected {}", actual.shape().to_string(), expected.shape.to_string());
  const std::vector<std::byte> bytes = actual.to_bytes();
  const bool bits = is_integer(expected.dtype) || entry.op == "to_dtype";
  const Precision stored = precision(expected.dtype);
  const double arithmetic = expected.dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
  const double scale = magnitude(entry, expected);
  const double fixed = (roundings(entry, quantity) * stored.unit + (8.0 + 2.0 * static_cast<double>(entry.terms)) * arithmetic) * scale;
  for (int64_t i = 0; i < expected.shape.elements(); ++i) {
    if (same_bits(expected, bytes, i)) continue;
    const double want = number_at(expected.dtype, expected.bytes, i);
    const double got = number_at(expected.dtype, bytes, i);
    if (!bits && got == want) continue;  // -0 is 0
    if (std::isnan(want) && std::isnan(got)) continue;
    // The golden was rounded once and so was the result: together at most one unit in the last place.
    const double allowed = entry.exact ? 0 : fixed + 2 * stored.unit * std::fabs(want) + stored.smallest;
    if (!bits && std::fabs(got - want) <= allowed) continue;
    return fmt::format("{}: {}, expected {} ± {}", place(expected.shape, i), got, want, allowed);
  }
  return std::nullopt;
}

}  // namespace wick::goldens
