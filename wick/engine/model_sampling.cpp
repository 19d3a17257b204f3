#include "wick/engine/model_sampling.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "wick/base/fail.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {
namespace {

constexpr std::string_view kPrefix = "general.sampling.";
constexpr std::string_view kOrder = "sequence";

std::string key_of(std::string_view name) { return std::string(kPrefix) + std::string(name); }

std::string place_of(const Checkpoint& checkpoint, std::string_view name) {
  return checkpoint.name() + ": " + checkpoint.where(key_of(name));
}

void say(ModelSampling& model, std::string_view parameter, std::string_view value) {
  model.said += fmt::format("{}{} {}", model.said.empty() ? "" : ", ", parameter, value);
}

void read_number(const Checkpoint& checkpoint, const SamplingParameter& row, ModelSampling& model) {
  const std::optional<double> value = row.key.empty() ? std::nullopt : checkpoint.find_float(key_of(row.key));
  if (!value) return;
  constexpr double kMax = 1 << 30;
  if (row.is_whole() && !(std::trunc(*value) == *value && std::abs(*value) <= kMax)) {
    fail(ErrorCode::corrupt_file, "{} is {:g}, but a whole number is needed; correct it, or take it out of the file",
         place_of(checkpoint, row.key), *value);
  }
  row.set(model.params, row.takes_minus_one ? std::max(*value, row.low) : *value);
  say(model, row.name, fmt::format("{:g}", *value));
}

void check_ranges(const Checkpoint& checkpoint, const SamplingParams& params) {
  const std::vector<ParameterViolation> violations = find_violations(params);
  if (violations.empty()) return;
  const ParameterViolation& first = violations.front();
  const auto* const row = std::find_if(kSamplingParameters.begin(), kSamplingParameters.end(),
                                       [&](const SamplingParameter& each) { return each.name == first.parameter; });
  fail(ErrorCode::corrupt_file, "{} is {}, and {} {}; correct it, or take it out of the file",
       place_of(checkpoint, row == kSamplingParameters.end() ? kOrder : row->key), first.value, first.parameter, first.constraint);
}

// Whether the whole text is one.
template <class T>
bool is_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<SamplingStep> parse_sampling_order(std::string_view text, std::string_view origin) {
  std::vector<SamplingStep> order;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(";,", begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const std::optional<SamplingStep> step = find_sampling_step(name);
    if (!step) {
      fail(ErrorCode::invalid_argument, "{}: no step '{}'; there are {}", origin, name, sampling_step_names());
    }
    if (std::find(order.begin(), order.end(), *step) != order.end())
      fail(ErrorCode::invalid_argument, "{}: '{}' stands there twice", origin, name);
    order.push_back(*step);
    begin = end + 1;
  }
  return order;
}

std::vector<LogitBias> parse_logit_biases(std::string_view text, std::string_view origin) {
  std::vector<LogitBias> biases;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view piece = text.substr(begin, end - begin);
    const size_t sign = std::min(piece.find_first_of("+-=", 1), piece.size());
    const std::string_view token = piece.substr(0, sign);
    std::string_view number = piece.substr(sign);
    if (number.starts_with('=')) number.remove_prefix(1);
    if (number.starts_with('+')) number.remove_prefix(1);
    LogitBias entry;
    if (!is_number(token, entry.token) || !is_number(number, entry.bias) || entry.token < 0 ||
        !(std::abs(static_cast<double>(entry.bias)) <= kMaxLogitBias)) {
      fail(ErrorCode::invalid_argument, "{} '{}': must be a token and a bias of -100 to 100, like 15043+1.5 or 15043-100", origin, piece);
    }
    biases.push_back(entry);
    begin = end + 1;
  }
  return biases;
}

ModelSampling read_model_sampling(const Checkpoint& checkpoint) {
  ModelSampling model;
  for (const SamplingParameter& row : kSamplingParameters) read_number(checkpoint, row, model);
  const std::optional<std::string_view> order = checkpoint.find_string(key_of(kOrder));
  if (order && !order->empty()) {
    model.params.order = parse_sampling_order(*order, place_of(checkpoint, kOrder));
    say(model, "order", *order);
  }
  check_ranges(checkpoint, model.params);
  return model;
}

}  // namespace wick
