#include "wick/cli/measure/model_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/text_input.h"
#include "wick/formats/printable.h"
#include "wick/formats/safetensors_dtype.h"
#include "wick/quant/unpack_row.h"
#include "wick/text/regex/regex.h"

namespace wick {
namespace {

constexpr const char* kRemedy = "write {\"rules\": [{\"tensors\": \"attn_norm\", \"rms\": [0.1, 4]}]}";

Bounds read_bounds(const std::string& path, const std::string& rule, const char* name, const nlohmann::json& value) {
  const bool pair = value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number();
  if (!pair || value[0].get<double>() > value[1].get<double>()) {
    fail(ErrorCode::invalid_argument, "{}: rule {}: '{}' must be [LOW, HIGH]", path, printable(rule), name);
  }
  return {value[0].get<double>(), value[1].get<double>()};
}

PolicyRule make_rule(std::string pattern, Bounds rms) {
  auto regex = std::make_shared<const Regex>(pattern, "built-in policy");
  return {.pattern = std::move(pattern), .regex = std::move(regex), .rms = rms, .most_zeros = 0.9999};
}

PolicyRule read_rule(const std::string& path, const nlohmann::json& entry) {
  if (!entry.is_object() || !entry.contains("tensors") || !entry["tensors"].is_string()) {
    fail(ErrorCode::invalid_argument, "{}: a rule without \"tensors\", a regular expression; {}", path, kRemedy);
  }
  const std::string pattern = entry["tensors"];
  PolicyRule rule{.pattern = pattern, .regex = std::make_shared<const Regex>(pattern, path)};
  for (const auto& [name, value] : entry.items()) {
    if (name == "tensors") continue;
    if (name == "rms") {
      rule.rms = read_bounds(path, pattern, "rms", value);
    } else if (name == "mean") {
      rule.mean = read_bounds(path, pattern, "mean", value);
    } else if (name == "zeros" && value.is_number()) {
      rule.most_zeros = value.get<double>();
    } else {
      fail(ErrorCode::invalid_argument, "{}: rule {}: '{}' is not known or not a number; there are tensors, rms, mean, zeros", path,
           printable(pattern), name);
    }
  }
  return rule;
}

}  // namespace

std::string_view to_string(TensorKind kind) noexcept {
  switch (kind) {
    case TensorKind::norm: return "norm";
    case TensorKind::projection: return "projection";
    case TensorKind::embedding: return "embedding";
    case TensorKind::other: return "other";
  }
  return "";
}

TensorKind kind_of(const CheckpointTensor& tensor) {
  if (tensor.name.find("norm") != std::string_view::npos) return TensorKind::norm;
  if (tensor.name.find("embd") != std::string_view::npos) return TensorKind::embedding;
  return tensor.shape.rank() >= 2 && tensor.name.ends_with("weight") ? TensorKind::projection : TensorKind::other;
}

TensorStatistics statistics_of(const CheckpointTensor& tensor) {
  if (!is_readable(tensor.dtype)) {
    fail(ErrorCode::unsupported, "tensor {}: {} cannot be read", printable(tensor.name), file_type_name(tensor.dtype));
  }
  TensorStatistics statistics{
      .name = std::string(tensor.name), .kind = kind_of(tensor), .dtype = tensor.dtype, .elements = tensor.shape.elements()};
  if (statistics.elements == 0) return statistics;
  const int64_t columns = tensor.shape.rank() == 0 ? 1 : tensor.shape.last();
  const CheckpointTensor whole = tensor.composed();
  std::vector<double> values(static_cast<size_t>(columns));
  double sum = 0;
  double squares = 0;
  int64_t zeros = 0;
  statistics.minimum = std::numeric_limits<double>::infinity();
  statistics.maximum = -statistics.minimum;
  for (int64_t row = 0; row < statistics.elements / columns; ++row) {
    unpack_row(whole.dtype, whole.data.data(), whole.data.size(), row, values);
    for (const double value : values) {
      if (!std::isfinite(value)) {
        ++statistics.nonfinite;
        continue;
      }
      sum += value;
      squares += value * value;
      zeros += value == 0 ? 1 : 0;
      statistics.minimum = std::min(statistics.minimum, value);
      statistics.maximum = std::max(statistics.maximum, value);
    }
  }
  const auto finite = static_cast<double>(statistics.elements - statistics.nonfinite);
  if (finite == 0) {
    statistics.minimum = statistics.maximum = 0;
    return statistics;
  }
  statistics.mean = sum / finite;
  statistics.rms = std::sqrt(squares / finite);
  statistics.zeros = static_cast<double>(zeros) / finite;
  return statistics;
}

Policy builtin_policy() {
  Policy policy{.name = "built-in", .rules = {}};
  policy.rules.push_back(make_rule(R"(norm.*\.weight$)", {0.001, 100}));
  policy.rules.push_back(make_rule(R"((^|\.)(attn|ffn|token_embd|output)[a-z_]*\.weight$)", {0.00001, 10}));
  return policy;
}

Policy read_policy(const std::string& path) {
  const nlohmann::json json = parse_json(read_text_file(path));
  if (!json.is_object() || !json.contains("rules") || !json["rules"].is_array()) {
    fail(ErrorCode::invalid_argument, "{}: not a policy; {}", path, kRemedy);
  }
  Policy policy{.name = path, .rules = {}};
  for (const nlohmann::json& entry : json["rules"]) policy.rules.push_back(read_rule(path, entry));
  return policy;
}

std::optional<size_t> rule_of(const Policy& policy, std::string_view name) {
  RegexScratch scratch;
  for (size_t number = 0; number < policy.rules.size(); ++number) {
    if (policy.rules[number].regex->matches(name, scratch)) return number;
  }
  return std::nullopt;
}

std::vector<std::string> violations(const Policy& policy, const TensorStatistics& statistics) {
  std::vector<std::string> found;
  if (statistics.nonfinite > 0) {
    found.push_back(fmt::format("{} of {} numbers are NaN or infinite", statistics.nonfinite, statistics.elements));
  }
  if (const std::optional<size_t> number = rule_of(policy, statistics.name)) {
    const PolicyRule& rule = policy.rules[*number];
    const auto check = [&](const char* what, double value, const std::optional<Bounds>& bounds) {
      if (!bounds || (value >= bounds->low && value <= bounds->high)) return;
      found.push_back(fmt::format("{} {:.6g} is outside {:g} to {:g}", what, value, bounds->low, bounds->high));
    };
    check("RMS", statistics.rms, rule.rms);
    check("mean", statistics.mean, rule.mean);
    if (rule.most_zeros && statistics.zeros > *rule.most_zeros) {
      found.push_back(fmt::format("{:.4g} % of its numbers are 0, at most {:g} % may be", 100 * statistics.zeros, 100 * *rule.most_zeros));
    }
  }
  return found;
}

}  // namespace wick
