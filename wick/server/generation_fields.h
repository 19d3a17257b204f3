// The members of a request that say how to generate: the same names mean the same in every API.
#pragma once

#include <cstdint>

#include "wick/engine/request.h"
#include "wick/server/fields.h"
#include "wick/server/http_message.h"

namespace wick::server {

// Reads temperature, top_p, top_k, min_p, the penalties, seed, stop, n, best_of, logit_bias and what else the engine knows into a request.
// Wrong ones are recorded in `fields`.
void read_generation(Fields& fields, Request& request);
// max_tokens under whatever name; `fallback` where none is there. A number below 0 means as many as the context holds.
void read_max_tokens(Fields& fields, std::initializer_list<std::string_view> names, int64_t fallback, Request& request);
// Whose turn it is among requests (Request::user): the client's key, and within it the user that the request names.
void name_user(const HttpRequest& http, Request& request);
// stream, and include_usage of stream_options.
struct StreamOptions {
  bool streams = false, with_usage = false;
};
[[nodiscard]] StreamOptions read_stream_options(Fields& fields);
// The user's texts in prompts are never taken for control tokens, but where the API says so.
inline constexpr size_t kMostStops = 4;
// Tokens where a request names no limit.
inline constexpr int64_t kUnlimitedTokens = 1 << 30;

}  // namespace wick::server
