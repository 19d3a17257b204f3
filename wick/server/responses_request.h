// OpenAI's responses as a request: items of a conversation, instructions, tools and the form of the text.
#pragma once

#include "wick/server/chat_request.h"

namespace wick::server {

// The one argument that a custom tool is offered to the model with.
inline constexpr const char* kCustomInput = "input";

// Nothing is kept between requests: what refers to an earlier response is refused.
void read_responses(Fields& fields, const Service& service, ChatRequest& chat);

}  // namespace wick::server
