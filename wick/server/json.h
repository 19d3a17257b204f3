// JSON of requests and responses: parsed with a bound on its depth, written with the keys in the order in which they were set.
#pragma once

#include <string>
#include <string_view>

#include "wick/base/json.h"

namespace wick::server {

using Json = nlohmann::ordered_json;

inline constexpr int kMaxJsonDepth = 64;

// Errors: ApiError with status 400 for a body that is not JSON, not UTF-8, nested too deep, or has a key twice in one object.
[[nodiscard]] Json parse_body(std::string_view body);
// A page of a list, as OpenAI and Anthropic write it. data: an array of objects with an id.
[[nodiscard]] Json list_page(Json data, bool has_more = false);
// The message of {"error": {"message": …}}, a response in OpenAI's form; empty where it has none.
[[nodiscard]] std::string error_message_in(const Json& response);
// Invalid UTF-8, which only a client's own text can hold, becomes U+FFFD.
[[nodiscard]] std::string to_text(const Json& json);

}  // namespace wick::server
