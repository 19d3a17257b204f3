#include "wick/server/generation_fields.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/sampling_fields.h"

namespace wick::server {
namespace {

void read_stop_tokens(Fields& fields, int32_t vocabulary, std::vector<TokenId>& tokens) {
  const Json* const list = fields.list("stop_token_ids");
  if (list == nullptr) return;
  tokens.clear();
  for (const Json& item : *list) {
    const bool is_token = item.is_number_integer() && item.get<int64_t>() >= 0 && item.get<int64_t>() < vocabulary;
    if (!is_token) return fields.violate("stop_token_ids", fmt::format("must hold token ids from 0 to {}", vocabulary - 1));
    tokens.push_back(item.get<TokenId>());
  }
}

}  // namespace

void read_stops(Fields& fields, std::string_view name, std::vector<std::string>& stops) {
  if (!fields.has(name)) return;
  stops = fields.texts(name, kMaxStopStrings);
  std::erase(stops, std::string());  // clients send [""] for none
}

void read_generation(Fields& fields, const Service& service, Request& request) {
  const GenerationParams& defaults = service.defaults.params;
  request.params.stop = defaults.stop;
  request.params.stop_tokens = defaults.stop_tokens;
  request.params.ignore_eos = defaults.ignore_eos;
  read_sampling(fields, service, request.params.sampling);
  read_stop_tokens(fields, service.engine->tokenizer().vocab_size(), request.params.stop_tokens);
  read_stops(fields, "stop", request.params.stop);
  if (const auto value = fields.boolean("ignore_eos")) request.params.ignore_eos = *value;
  if (const auto value = fields.integer("priority", std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())) {
    request.priority = static_cast<int32_t>(*value);
  }
  if (const auto value = fields.text("user")) request.user = *value;
  if (const auto value = fields.text("cache_salt")) request.cache_salt = *value;
}

void read_max_tokens(Fields& fields, const Service& service, std::initializer_list<std::string_view> names, int64_t own, Request& request) {
  int64_t tokens = service.defaults.max_tokens.value_or(own);
  for (const std::string_view name : names) tokens = fields.integer(name, -2).value_or(tokens);
  request.params.max_tokens = tokens < 0 ? kUnlimitedTokens : tokens;
}

void name_user(const HttpRequest& http, Request& request) {
  if (!http.client.empty()) request.user = fmt::format("{}/{}", http.client, request.user);
}

StreamOptions read_stream_options(Fields& fields) {
  StreamOptions result{.streams = fields.boolean("stream").value_or(false)};
  result.with_progress = fields.boolean("return_progress").value_or(false) && result.streams;
  if (const Json* const options = fields.object("stream_options")) {
    Fields more(*options, "stream_options");
    result.with_usage = more.boolean("include_usage").value_or(false);
    fields.take(std::move(more.violations()));
  }
  return result;
}

}  // namespace wick::server
