// The prompt member of OpenAI's completions and embeddings: a text, a list of texts, a list of tokens, or a list of such lists.
#pragma once

#include <string>
#include <vector>

#include "wick/engine/request.h"
#include "wick/server/fields.h"

namespace wick::server {

// A request for each prompt, with its text or tokens set. Wrong ones are recorded in `fields`.
[[nodiscard]] std::vector<Request> read_prompts(Fields& fields, std::string_view name, size_t most);

}  // namespace wick::server
