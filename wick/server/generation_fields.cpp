#include "wick/server/generation_fields.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/sampling_fields.h"

namespace wick::server {
namespace {

void read_stop_tokens(Fields& fields, std::vector<TokenId>& tokens) {
  const Json* const list = fields.list("stop_token_ids");
  if (list == nullptr) return;
  for (const Json& item : *list) {
    const bool is_token =
        item.is_number_integer() && item.get<int64_t>() >= 0 && item.get<int64_t>() <= std::numeric_limits<TokenId>::max();
    if (!is_token) return fields.violate("stop_token_ids", "must hold token ids");
    tokens.push_back(item.get<TokenId>());
  }
}

}  // namespace

void read_generation(Fields& fields, Request& request) {
  read_sampling(fields, request.params.sampling);
  read_stop_tokens(fields, request.params.stop_tokens);
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
