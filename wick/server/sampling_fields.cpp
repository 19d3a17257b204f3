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
constexpr double kLargestBias = 100;
constexpr size_t kMaxBreakers = 64;

template <class T>
void read_number(Fields& fields, std::initializer_list<std::string_view> names, double minimum, double maximum, T& target) {
  for (const std::string_view name : names) {
    if (const auto value = fields.number(name, minimum, maximum)) target = static_cast<T>(*value);
  }
}

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
  if (value.is_boolean() && !value.get<bool>()) return static_cast<float>(-kLargestBias);
  if (!value.is_number() || std::abs(value.get<double>()) > kLargestBias) return std::nullopt;
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
      return fields.violate("samplers",
                            "must name, each once at most, penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc and temperature");
    }
    order.push_back(*step);
  }
  sampling.order = std::move(order);
}

void read_repetition(Fields& fields, const Service& service, SamplingParams& sampling) {
  read_number(fields, {"repetition_penalty", "repeat_penalty"}, 0, 2, sampling.repetition_penalty);
  read_number(fields, {"presence_penalty"}, -2, 2, sampling.presence_penalty);
  read_number(fields, {"frequency_penalty"}, -2, 2, sampling.frequency_penalty);
  if (const auto value = fields.integer("repeat_last_n", -1)) sampling.penalty_window = *value;
  read_number(fields, {"dry_multiplier"}, 0, 100, sampling.dry_multiplier);
  read_number(fields, {"dry_base"}, 1, 100, sampling.dry_base);
  if (const auto value = fields.integer("dry_allowed_length", 1)) sampling.dry_allowed_length = *value;
  if (const auto value = fields.integer("dry_penalty_last_n", -1)) sampling.dry_window = *value;
  std::vector<std::string> breakers = service.defaults.dry_breakers;
  if (fields.has("dry_sequence_breakers")) breakers = fields.texts("dry_sequence_breakers", kMaxBreakers);
  if (sampling.dry_multiplier > 0) sampling.dry_breakers = tokens_with_any_of(service.engine->tokenizer(), breakers);
}

}  // namespace

void read_sampling(Fields& fields, const Service& service, SamplingParams& sampling) {
  sampling = service.defaults.params.sampling;
  read_number(fields, {"temperature"}, 0, kMaxTemperature, sampling.temperature);
  read_number(fields, {"top_p"}, 0, 1, sampling.top_p);
  read_number(fields, {"min_p"}, 0, 1, sampling.min_p);
  read_number(fields, {"typical_p"}, 0, 1, sampling.typical_p);
  read_number(fields, {"top_n_sigma"}, -1, 100, sampling.top_n_sigma);
  sampling.top_n_sigma = std::max(sampling.top_n_sigma, 0.0F);  // -1 is llama.cpp's word for none
  read_number(fields, {"xtc_probability"}, 0, 1, sampling.xtc_probability);
  read_number(fields, {"xtc_threshold"}, 0, 1, sampling.xtc_threshold);
  if (const auto value = fields.integer("mirostat", 0, 2)) sampling.mirostat = *value;
  read_number(fields, {"mirostat_tau"}, 0, 20, sampling.mirostat_tau);
  read_number(fields, {"mirostat_eta"}, 0, 1, sampling.mirostat_eta);
  // -1 is vLLM's word for "all".
  if (const auto value = fields.integer("top_k", -1)) sampling.top_k = std::max<int64_t>(*value, 0);
  // -1 is llama.cpp's word for a random seed.
  if (const auto value = fields.integer("seed", std::numeric_limits<int64_t>::min())) {
    sampling.seed = *value == -1 ? std::nullopt : std::optional(static_cast<uint64_t>(*value));
  }
  read_repetition(fields, service, sampling);
  read_biases(fields, service.engine->tokenizer(), sampling);
  read_order(fields, sampling);
}

}  // namespace wick::server
