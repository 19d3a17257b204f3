// Statistics of a model's tensors, and policies that say which are sane: a norm whose weights are near zero, or a projection that was
// unpacked with a wrong scale, shows here before it shows in the text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/model/checkpoint/checkpoint.h"

namespace wick {

class Regex;

enum class TensorKind { norm, projection, embedding, other };
[[nodiscard]] std::string_view to_string(TensorKind kind) noexcept;
// By the tensor's name and shape.
[[nodiscard]] TensorKind kind_of(const CheckpointTensor& tensor);

// Statistics of dequantized values.
struct TensorStatistics {
  std::string name;
  TensorKind kind = TensorKind::other;
  DType dtype = DType::f32;
  int64_t elements = 0;
  int64_t nonfinite = 0;  // NaN or infinite; the others are of the finite ones
  double rms = 0;
  double mean = 0;
  double minimum = 0;
  double maximum = 0;
  double zeros = 0;  // their share
};
// Errors: unsupported for a type that cannot be read.
[[nodiscard]] TensorStatistics statistics_of(const CheckpointTensor& tensor);

struct Bounds {
  double low = 0;
  double high = 0;
};

// Bounds for tensors whose names match the pattern. The first rule that matches applies.
struct PolicyRule {
  std::string pattern;
  std::shared_ptr<const Regex> regex;
  std::optional<Bounds> rms = {};
  std::optional<Bounds> mean = {};
  std::optional<double> most_zeros = {};
};

struct Policy {
  std::string name;  // "built-in", or the file's
  std::vector<PolicyRule> rules;
};

// For every architecture that Wick runs: RMS of norms from 0.001 to 100, of matrices from 0.00001 to 10; not all zeros.
[[nodiscard]] Policy builtin_policy();
// {"rules": [{"tensors": REGEX, "rms": [LOW, HIGH], "mean": [LOW, HIGH], "zeros": SHARE}, …]}; "rms", "mean" and "zeros" may be absent.
// Errors: not_found, io; invalid_argument, naming the rule.
[[nodiscard]] Policy read_policy(const std::string& path);

// The rule that counts for a tensor of that name, by its number; none where no rule finds it.
[[nodiscard]] std::optional<size_t> rule_of(const Policy& policy, std::string_view name);
// Faults of a tensor, one sentence each; non-finite values always count.
[[nodiscard]] std::vector<std::string> violations(const Policy& policy, const TensorStatistics& statistics);

}  // namespace wick
