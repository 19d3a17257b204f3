#include "wick/server/generation_fields.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"

namespace wick::server {
namespace {

template <class T>
void read_number(Fields& fields, std::initializer_list<std::string_view> names, double minimum, double maximum, T& target) {
  for (const std::string_view name : names) {
    if (const auto value = fields.number(name, minimum, maximum)) target = static_cast<T>(*value);
  }
}

void read_sampling(Fields& fields, SamplingParams& sampling) {
  read_number(fields, {"temperature"}, 0, 2, sampling.temperature);
  read_number(fields, {"top_p"}, 0, 1, sampling.top_p);
  read_number(fields, {"min_p"}, 0, 1, sampling.min_p);
  read_number(fields, {"repetition_penalty", "repeat_penalty"}, 0, 2, sampling.repetition_penalty);
  read_number(fields, {"presence_penalty"}, -2, 2, sampling.presence_penalty);
  read_number(fields, {"frequency_penalty"}, -2, 2, sampling.frequency_penalty);
  // -1 is vLLM's word for "all".
  if (const auto value = fields.integer("top_k", -1)) sampling.top_k = std::max<int64_t>(*value, 0);
  if (const auto value = fields.integer("repeat_last_n", -1)) sampling.penalty_window = *value;
  // -1 is llama.cpp's word for a random seed.
  if (const auto value = fields.integer("seed", std::numeric_limits<int64_t>::min()); value && *value != -1) {
    sampling.seed = static_cast<uint64_t>(*value);
  }
}

}  // namespace

void read_generation(Fields& fields, Request& request) {
  read_sampling(fields, request.params.sampling);
  request.params.stop = fields.texts("stop", kMostStops);
  if (std::ranges::find(request.params.stop, std::string()) != request.params.stop.end()) {
    fields.violate("stop", "must not hold an empty text");
  }
  if (const auto value = fields.boolean("ignore_eos")) request.params.ignore_eos = *value;
  if (const auto value = fields.integer("priority", std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())) {
    request.priority = static_cast<int32_t>(*value);
  }
  if (const auto value = fields.text("user")) request.user = *value;
  if (const auto value = fields.text("cache_salt")) request.cache_salt = *value;
}

void read_max_tokens(Fields& fields, std::initializer_list<std::string_view> names, int64_t fallback, Request& request) {
  request.params.max_tokens = fallback;
  for (const std::string_view name : names) {
    if (const auto value = fields.integer(name, -2)) request.params.max_tokens = *value < 0 ? kUnlimitedTokens : *value;
  }
}

void name_user(const HttpRequest& http, Request& request) {
  if (!http.client.empty()) request.user = fmt::format("{}/{}", http.client, request.user);
}

StreamOptions read_stream_options(Fields& fields) {
  StreamOptions result{.streams = fields.boolean("stream").value_or(false)};
  if (const Json* const options = fields.object("stream_options")) {
    Fields more(*options, "stream_options");
    result.with_usage = more.boolean("include_usage").value_or(false);
    fields.take(std::move(more.violations()));
  }
  return result;
}

}  // namespace wick::server
