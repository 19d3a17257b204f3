// The tokens of a prompt, and whether they and what is to follow them fit into the context.
#pragma once

#include <optional>
#include <string>

#include "wick/engine/engine.h"
#include "wick/server/fields.h"

namespace wick::server {

// Why a prompt, or it and its max_tokens, are more than the context holds.
struct ContextExcess {
  Violation violation;  // of "prompt" or "max_tokens"
  std::string message;  // the message without the API's parameter name
};

// Replaces the request's text by its tokens, so that a prompt is encoded once. `given`: max_tokens is the client's, not what the API filled
// in. Errors: Engine::encode_prompt's.
[[nodiscard]] std::optional<ContextExcess> find_context_excess(const Engine& engine, Request& request, bool given);

// The same, with what it finds as an ApiError CONTEXT_LENGTH_EXCEEDED. kUnlimitedTokens, and a max_tokens that the API filled in, are cut
// to what is left of the context; whether they were.
bool fit_into_context(const Engine& engine, Request& request, bool given);

}  // namespace wick::server
