// The tokens of a prompt, and whether they and what is to follow them fit into the context.
#pragma once

#include <string_view>

#include "wick/engine/engine.h"
#include "wick/server/fields.h"

namespace wick::server {

// Replaces the request's text by its tokens, so that a prompt is encoded once. kUnlimitedTokens, and a max_tokens that the API filled in
// (`given` is false), are cut to what is left of the context; whether they were. Errors: ApiError CONTEXT_LENGTH_EXCEEDED where the
// prompt's tokens and a given max_tokens are more than the context; Engine::encode_prompt's.
bool fit_into_context(const Engine& engine, Request& request, bool given);

}  // namespace wick::server
