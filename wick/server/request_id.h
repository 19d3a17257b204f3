// The id of a request: the client's own, or a random UUID.
#pragma once

#include <cstdint>
#include <string>

#include "wick/server/http_message.h"

namespace wick::server {

// Version 4 (RFC 9562), from the system's source of randomness.
[[nodiscard]] std::string random_uuid();
// 32 random hexadecimal digits after a prefix: "chatcmpl-0f…".
[[nodiscard]] std::string random_id(std::string_view prefix);
[[nodiscard]] uint64_t random_number();
// X-Request-Id, if it is one that can be logged and sent back; else a new one.
[[nodiscard]] std::string request_id_of(const HttpRequest& request);

}  // namespace wick::server
