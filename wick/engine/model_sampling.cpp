#include "wick/engine/model_sampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "wick/base/fail.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {
namespace {

constexpr std::string_view kPrefix = "general.sampling.";
constexpr std::string_view kOrder = "sequence";

struct NumberKey {
  std::string_view key;        // behind the prefix
  std::string_view parameter;  // of SamplingParams
  bool is_whole;
  void (*set)(SamplingParams& params, double value);
};

template <float SamplingParams::* Member>
void set_decimal(SamplingParams& params, double value) {
  params.*Member = static_cast<float>(value);
}

template <int64_t SamplingParams::* Member>
void set_whole(SamplingParams& params, double value) {
  params.*Member = static_cast<int64_t>(value);
}

// Readers of such files take all tokens for a k of 0 and below.
void set_top_k(SamplingParams& params, double value) { params.top_k = static_cast<int64_t>(std::max(value, 0.0)); }

constexpr auto kNumberKeys =
    std::to_array<NumberKey>({{"temp", "temperature", false, set_decimal<&SamplingParams::temperature>},
                              {"top_k", "top_k", true, set_top_k},
                              {"top_p", "top_p", false, set_decimal<&SamplingParams::top_p>},
                              {"min_p", "min_p", false, set_decimal<&SamplingParams::min_p>},
                              {"penalty_repeat", "repetition_penalty", false, set_decimal<&SamplingParams::repetition_penalty>},
                              {"penalty_last_n", "penalty_window", true, set_whole<&SamplingParams::penalty_window>},
                              {"xtc_probability", "xtc_probability", false, set_decimal<&SamplingParams::xtc_probability>},
                              {"xtc_threshold", "xtc_threshold", false, set_decimal<&SamplingParams::xtc_threshold>},
                              {"mirostat", "mirostat", true, set_whole<&SamplingParams::mirostat>},
                              {"mirostat_tau", "mirostat_tau", false, set_decimal<&SamplingParams::mirostat_tau>},
                              {"mirostat_eta", "mirostat_eta", false, set_decimal<&SamplingParams::mirostat_eta>}});

std::string key_of(std::string_view name) { return std::string(kPrefix) + std::string(name); }

std::string place_of(const Checkpoint& checkpoint, std::string_view name) {
  return checkpoint.name() + ": " + checkpoint.where(key_of(name));
}

void say(ModelSampling& model, std::string_view parameter, std::string_view value) {
  model.said += fmt::format("{}{} {}", model.said.empty() ? "" : ", ", parameter, value);
}

void read_number(const Checkpoint& checkpoint, const NumberKey& row, ModelSampling& model) {
  const std::optional<double> value = checkpoint.find_float(key_of(row.key));
  if (!value) return;
  constexpr double kMax = 1 << 30;
  if (row.is_whole && !(std::trunc(*value) == *value && std::abs(*value) <= kMax)) {
    fail(ErrorCode::corrupt_file, "{} is {:g}, but a whole number is needed; correct it, or take it out of the file",
         place_of(checkpoint, row.key), *value);
  }
  row.set(model.params, *value);
  say(model, row.parameter, fmt::format("{:g}", *value));
}

void check_ranges(const Checkpoint& checkpoint, const SamplingParams& params) {
  const std::vector<ParameterViolation> violations = find_violations(params);
  if (violations.empty()) return;
  const ParameterViolation& first = violations.front();
  const auto* const row =
      std::find_if(kNumberKeys.begin(), kNumberKeys.end(), [&](const NumberKey& each) { return each.parameter == first.parameter; });
  fail(ErrorCode::corrupt_file, "{} is {}, and {} {}; correct it, or take it out of the file",
       place_of(checkpoint, row == kNumberKeys.end() ? kOrder : row->key), first.value, first.parameter, first.constraint);
}

}  // namespace

std::vector<SamplingStep> parse_sampling_order(std::string_view text, std::string_view origin) {
  std::vector<SamplingStep> order;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(";,", begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const std::optional<SamplingStep> step = find_sampling_step(name);
    if (!step) {
      fail(ErrorCode::invalid_argument,
           "{}: no step '{}'; there are penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc and temperature", origin, name);
    }
    if (std::find(order.begin(), order.end(), *step) != order.end())
      fail(ErrorCode::invalid_argument, "{}: '{}' stands there twice", origin, name);
    order.push_back(*step);
    begin = end + 1;
  }
  return order;
}

ModelSampling read_model_sampling(const Checkpoint& checkpoint) {
  ModelSampling model;
  for (const NumberKey& row : kNumberKeys) read_number(checkpoint, row, model);
  const std::optional<std::string_view> order = checkpoint.find_string(key_of(kOrder));
  if (order && !order->empty()) {
    model.params.order = parse_sampling_order(*order, place_of(checkpoint, kOrder));
    say(model, "order", *order);
  }
  check_ranges(checkpoint, model.params);
  return model;
}

}  // namespace wick
