// The members of a request that say how to generate: the same names mean the same in every API.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/engine/request.h"
#include "wick/server/fields.h"
#include "wick/server/http_message.h"
#include "wick/server/worker.h"

namespace wick::server {

// Reads temperature, top_p, top_k, min_p, the penalties, seed, stop, n, best_of, logit_bias and what else the engine knows into a request;
// the service's defaults where it does not name them. Wrong ones are recorded in `fields`.
void read_generation(Fields& fields, const Service& service, Request& request);
// max_tokens under whatever name; where none is there, the service's default, or else the API's `own`. A number below 0 means as many as
// the context holds.
void read_max_tokens(Fields& fields, const Service& service, std::initializer_list<std::string_view> names, int64_t own, Request& request);
// Whose turn it is among requests (Request::user): the client's key, and within it the user that the request names.
void name_user(const HttpRequest& http, Request& request);
// Texts that end an answer, under any name; as they are where it is not there.
void read_stops(Fields& fields, std::string_view name, std::vector<std::string>& stops);
// stream, include_usage of stream_options, and llama-server's return_progress.
struct StreamOptions {
  bool streams = false, with_usage = false, with_progress = false;
};
[[nodiscard]] StreamOptions read_stream_options(Fields& fields);
// Tokens where a request names no limit.
inline constexpr int64_t kUnlimitedTokens = 1 << 30;

}  // namespace wick::server
