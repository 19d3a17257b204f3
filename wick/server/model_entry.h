// A model as GET /v1/models lists it. It has the members of OpenAI's form and of Anthropic's; the clients of one ignore those of the other.
#pragma once

#include <cstdint>
#include <string>

#include "wick/server/json.h"

namespace wick::server {

// The members that every model has. `created` is in Unix time.
[[nodiscard]] Json model_entry(const std::string& id, int64_t created);

}  // namespace wick::server
