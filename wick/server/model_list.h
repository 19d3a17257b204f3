// The response of GET /v1/models. It has the members of OpenAI's form and of Anthropic's; the clients of one ignore those of the other.
#pragma once

#include <cstdint>
#include <string>

#include "wick/server/json.h"

namespace wick::server {

// Unix time in RFC 3339, in UTC: 2026-11-30T22:56:24Z.
[[nodiscard]] std::string time_text(int64_t seconds);

// The members that every model has. `created` is in Unix time.
[[nodiscard]] Json model_entry(const std::string& id, int64_t created);

// The models, all on one page.
[[nodiscard]] Json model_list(Json models);

}  // namespace wick::server
