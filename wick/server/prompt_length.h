// Whether a prompt and what is to follow it fit into the context.
#pragma once

#include <string_view>

#include "wick/engine/engine.h"
#include "wick/server/fields.h"

namespace wick::server {

// Errors: ApiError CONTEXT_LENGTH_EXCEEDED where the prompt's tokens and `max_tokens` are more than the context; kUnlimitedTokens and what
// the API filled in (`given` is false) are cut to what is left instead.
void fit_into_context(const Engine& engine, Request& request, bool given);

}  // namespace wick::server
