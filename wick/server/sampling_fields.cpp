#include "wick/server/sampling_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "wick/base/fail.h"
#include "wick/engine/repetition.h"

namespace wick::server {
namespace {

constexpr size_t kMaxBiases = 10'000;
constexpr size_t kMaxBreakers = 64;

// A token's number, written as a number or a text; of any other text, as llama.cpp takes it, all its tokens. None where it is neither.
std::vector<TokenId> tokens_of(const Json& value, const Tokenizer& tokenizer) {
  int64_t number = -1;
  if (value.is_number_integer()) {
    number = value.get<int64_t>();
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return tokenizer.encode(text, {.add_special = false});
  }
  if (number < 0 || number > std::numeric_limits<TokenId>::max()) return {};
  return {static_cast<TokenId>(number)};
}

// llama.cpp writes false for a token that never comes.
std::optional<float> bias_of(const Json& value) {
  if (value.is_boolean() && !value.get<bool>()) return static_cast<float>(-kMaxLogitBias);
  if (!value.is_number() || std::abs(value.get<double>()) > kMaxLogitBias) return std::nullopt;
  return value.get<float>();
}

// OpenAI's {"15043": -100}, or llama.cpp's [[15043, -100]] and [[" Hello", -100]].
void read_biases(Fields& fields, const Tokenizer& tokenizer, SamplingParams& sampling) {
  const Json* const biases = fields.find("logit_bias");
  if (biases == nullptr) return;
  sampling.logit_bias.clear();
  bool is_good = (biases->is_object() || biases->is_array()) && biases->size() <= kMaxBiases;
  const auto add = [&](const Json& token, const Json& bias) {
    const std::vector<TokenId> ids = tokens_of(token, tokenizer);
    const std::optional<float> value = bias_of(bias);
    is_good = is_good && !ids.empty() && value;
    if (!is_good) return;
    for (const TokenId id : ids) sampling.logit_bias.push_back({.token = id, .bias = *value});
  };
  if (biases->is_object() && is_good) {
    for (const auto& [token, bias] : biases->items()) add(token, bias);
  } else if (is_good) {
    for (const Json& pair : *biases) {
      is_good = is_good && pair.is_array() && pair.size() == 2;
      if (is_good) add(pair[0], pair[1]);
    }
  }
  if (!is_good) fields.violate("logit_bias", fmt::format("must give at most {} token ids or texts numbers from -100 to 100", kMaxBiases));
}

void read_order(Fields& fields, SamplingParams& sampling) {
  if (!fields.has("samplers")) return;
  std::vector<SamplingStep> order;
  for (const std::string& name : fields.texts("samplers", 16)) {
    const std::optional<SamplingStep> step = find_sampling_step(name);
    if (!step || std::ranges::find(order, *step) != order.end()) {
      return fields.violate("samplers", "must name, each once at most, " + sampling_step_names());
    }
    order.push_back(*step);
  }
  sampling.order = std::move(order);
}

void read_breakers(Fields& fields, const Service& service, SamplingParams& sampling) {
  std::vector<std::string> breakers = service.defaults.dry_breakers;
  if (fields.has("dry_sequence_breakers")) breakers = fields.texts("dry_sequence_breakers", kMaxBreakers);
  if (sampling.dry_multiplier > 0) sampling.dry_breakers = tokens_with_any_of(service.engine->tokenizer(), breakers);
}

}  // namespace

void read_sampling_numbers(Fields& fields, SamplingParams& sampling) {
  const auto read = [&](const SamplingParameter& row, std::string_view name) {
    const double low = row.takes_minus_one ? -1 : row.low;
    if (!row.is_whole()) {
      if (const auto value = fields.number(name, low, row.high)) row.set(sampling, std::max(*value, row.low));
      return;
    }
    const auto least = static_cast<int64_t>(row.low);
    const int64_t high = row.high == SamplingParameter::kNoLimit ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(row.high);
    if (const auto value = fields.integer(name, static_cast<int64_t>(low), high)) row.set(sampling, std::max(*value, least));
  };
  for (const SamplingParameter& row : kSamplingParameters) {
    read(row, row.name);
    if (!row.request_name.empty()) read(row, row.request_name);
  }
}

void read_sampling(Fields& fields, const Service& service, SamplingParams& sampling) {
  sampling = service.defaults.params.sampling;
  read_sampling_numbers(fields, sampling);
  // -1 is llama.cpp's word for a random seed.
  if (const auto value = fields.integer("seed", std::numeric_limits<int64_t>::min())) {
    sampling.seed = *value == -1 ? std::nullopt : std::optional(static_cast<uint64_t>(*value));
  }
  read_breakers(fields, service, sampling);
  read_biases(fields, service.engine->tokenizer(), sampling);
  read_order(fields, sampling);
}

}  // namespace wick::server
